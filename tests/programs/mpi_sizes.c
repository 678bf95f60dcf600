/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * mpi_sizes FILE: MPI-IO under mpirun, per rank, with a status unless noted:
 *	6 MPI_File_write_at: 10 bytes, 3 chars (3), 5 ints (20), 4 doubles (32), 2 of 3 contiguous ints (24), 5 ints without a
 *	  status;
 *	2 MPI_File_write_at_all of 1 double (8) and of none; 1 MPI_File_read_at of 4 doubles (32), 1 behind the end of the file (0
 *	  of 32);
 *	1 MPI_File_iwrite_at of 5 ints with MPI_Wait (20), 3 of 1 double with MPI_Waitall (8 each), 1 MPI_File_iread_at of 7 bytes
 *	  with
 *	MPI_Test until it is done (7), 1 of 9 bytes with MPI_Wait without a status.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

static MPI_File file;

static void good(int error, const char *what)
{
	if (error == MPI_SUCCESS)
		return;
	fprintf(stderr, "mpi_sizes: %s failed\n", what);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static void write_types(MPI_Offset at)
{
	static char data[256];
	MPI_Datatype triple;
	MPI_Status status;

	good(MPI_Type_contiguous(3, MPI_INT, &triple), "MPI_Type_contiguous");
	good(MPI_Type_commit(&triple), "MPI_Type_commit");
	good(MPI_File_write_at(file, at, data, 10, MPI_BYTE, &status), "MPI_File_write_at");
	good(MPI_File_write_at(file, at, data, 3, MPI_CHAR, &status), "MPI_File_write_at");
	good(MPI_File_write_at(file, at, data, 5, MPI_INT, &status), "MPI_File_write_at");
	good(MPI_File_write_at(file, at, data, 4, MPI_DOUBLE, &status), "MPI_File_write_at");
	good(MPI_File_write_at(file, at, data, 2, triple, &status), "MPI_File_write_at");
	good(MPI_File_write_at(file, at, data, 5, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_write_at");
	good(MPI_File_write_at_all(file, at, data, 1, MPI_DOUBLE, &status), "MPI_File_write_at_all");
	good(MPI_File_write_at_all(file, at, data, 0, MPI_DOUBLE, &status), "MPI_File_write_at_all");
	good(MPI_File_read_at(file, at, data, 4, MPI_DOUBLE, &status), "MPI_File_read_at");
	good(MPI_File_read_at(file, 1 << 20, data, 4, MPI_DOUBLE, &status), "MPI_File_read_at");
	good(MPI_Type_free(&triple), "MPI_Type_free");
}

static void requests(MPI_Offset at)
{
	static char data[256];
	MPI_Request request, three[3];
	MPI_Status status, statuses[3];
	int done = 0;

	good(MPI_File_iwrite_at(file, at, data, 5, MPI_INT, &request), "MPI_File_iwrite_at");
	good(MPI_Wait(&request, &status), "MPI_Wait");
	for (int i = 0; i < 3; i++)
		good(MPI_File_iwrite_at(file, at + 32 + 8 * i, data + 8 * i, 1, MPI_DOUBLE, &three[i]), "MPI_File_iwrite_at");
	good(MPI_Waitall(3, three, statuses), "MPI_Waitall");
	good(MPI_File_iread_at(file, at, data + 128, 7, MPI_BYTE, &request), "MPI_File_iread_at");
	while (!done)
		good(MPI_Test(&request, &done, &status), "MPI_Test");
	good(MPI_File_iread_at(file, at, data + 128, 9, MPI_BYTE, &request), "MPI_File_iread_at");
	good(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc != 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	good(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "MPI_File_open");
	write_types(rank * 4096);
	requests(rank * 4096);
	good(MPI_File_close(&file), "MPI_File_close");
	MPI_Finalize();
	return 0;
}
