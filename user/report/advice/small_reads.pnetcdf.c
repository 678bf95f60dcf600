/* One collective call for many rows. */
ncmpi_get_vara_double_all(ncid, varid, (MPI_Offset[]){ first_row, 0 }, (MPI_Offset[]){ rows, columns }, values);
