/* Each rank writes its own part, instead of sending it to one rank. */
MPI_File_write_at_all(file, rank * (MPI_Offset)n * sizeof(double), values, n, MPI_DOUBLE, MPI_STATUS_IGNORE);
