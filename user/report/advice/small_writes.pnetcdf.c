/* Post the pieces, then write them in one collective call. */
for (int i = 0; i < rows; i++)
	ncmpi_iput_vara_double(ncid, varid, (MPI_Offset[]){ first_row + i, 0 }, (MPI_Offset[]){ 1, columns }, values + i * columns,
			       NULL);
ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL);
