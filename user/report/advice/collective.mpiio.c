/* Collective: the library combines the ranks' pieces. Reading: MPI_File_read_at_all. */
MPI_File_write_at_all(file, offset, values, n, MPI_DOUBLE, MPI_STATUS_IGNORE);
