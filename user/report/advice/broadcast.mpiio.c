/* One rank reads, all others get a copy. */
if (rank == 0)
	MPI_File_read_at(file, 0, values, n, MPI_DOUBLE, MPI_STATUS_IGNORE);
MPI_Bcast(values, n, MPI_DOUBLE, 0, comm);
