/* One ncmpi_sync after the last write, not one after each. */
ncmpi_put_vara_double_all(ncid, varid, (MPI_Offset[]){ first_row, 0 }, (MPI_Offset[]){ rows, columns }, values);
ncmpi_sync(ncid);
