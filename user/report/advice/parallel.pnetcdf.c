/* Each rank writes its own part, instead of sending it to one rank. */
ncmpi_put_vara_double_all(ncid, varid, (MPI_Offset[]){ first_row, 0 }, (MPI_Offset[]){ rows, columns }, values);
