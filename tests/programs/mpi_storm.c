/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * mpi_storm FILE: 1 iwrite_at with MPI_Wait; 2 s of messages to oneself, each with 2 MPI_Wait; 1 iwrite_at with MPI_Wait, of which
 * an observer may miss the end; half a second later 5 iwrite_at with MPI_Wait. 100 bytes each.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static MPI_File file;
static int placed;

static void check(int error, const char *what)
{
	if (error == MPI_SUCCESS)
		return;
	fprintf(stderr, "mpi_storm: %s: error %d\n", what, error);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static void write_blocks(int n)
{
	static const char block[100];

	for (int i = 0; i < n; i++) {
		MPI_Request request;
		MPI_Status status;

		check(MPI_File_iwrite_at(file, placed++ * 100, block, 100, MPI_BYTE, &request), "iwrite_at");
		check(MPI_Wait(&request, &status), "wait");
	}
}

static void messages(double seconds)
{
	double end = MPI_Wtime() + seconds;

	while (MPI_Wtime() < end) {
		MPI_Request receive, send;
		int in, out = 1;

		check(MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &receive), "irecv");
		check(MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &send), "isend");
		check(MPI_Wait(&receive, MPI_STATUS_IGNORE), "wait");
		check(MPI_Wait(&send, MPI_STATUS_IGNORE), "wait");
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	if (argc != 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	check(MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
	write_blocks(1);
	messages(2);
	write_blocks(1);
	usleep(500000);
	write_blocks(5);
	check(MPI_File_close(&file), "close");
	MPI_Finalize();
	return 0;
}
