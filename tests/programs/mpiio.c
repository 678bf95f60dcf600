/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * mpiio FILE: each rank, blocks of 4096 bytes: 1 open, 5 write_at_all, 5 write_at, 3 iwrite_at each with MPI_Wait, 1
 * write_at_all_begin and _end, 2 write_shared, 1 write_ordered, 1 seek, 4 read_all, 2 iread_at_all with MPI_Wait, 1 sync, 1 close;
 * rank 0: 1 MPI_File_delete.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 4096 };

static int rank, ranks;
static char block[BLOCK];

static void check(int error, const char *what)
{
	char text[MPI_MAX_ERROR_STRING];
	int len;

	if (error == MPI_SUCCESS)
		return;
	MPI_Error_string(error, text, &len);
	fprintf(stderr, "mpiio: %s: %s\n", what, text);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

/* The n-th block of this rank. */
static MPI_Offset place(int n)
{
	return (MPI_Offset)(n * ranks + rank) * BLOCK;
}

static void write_explicit(MPI_File file)
{
	for (int i = 0; i < 5; i++)
		check(MPI_File_write_at_all(file, place(i), block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "write_at_all");
	for (int i = 5; i < 10; i++)
		check(MPI_File_write_at(file, place(i), block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "write_at");
	for (int i = 10; i < 13; i++) {
		MPI_Request request;

		check(MPI_File_iwrite_at(file, place(i), block, BLOCK, MPI_BYTE, &request), "iwrite_at");
		check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
	}
	check(MPI_File_write_at_all_begin(file, place(13), block, BLOCK, MPI_BYTE), "write_at_all_begin");
	check(MPI_File_write_at_all_end(file, block, MPI_STATUS_IGNORE), "write_at_all_end");
}

static void write_shared(MPI_File file)
{
	for (int i = 0; i < 2; i++)
		check(MPI_File_write_shared(file, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "write_shared");
	check(MPI_File_write_ordered(file, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "write_ordered");
}

static void read_back(MPI_File file)
{
	char back[BLOCK];

	check(MPI_File_seek(file, place(0), MPI_SEEK_SET), "seek");
	for (int i = 0; i < 4; i++)
		check(MPI_File_read_all(file, back, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE), "read_all");
	for (int i = 0; i < 2; i++) {
		MPI_Request request;

		check(MPI_File_iread_at_all(file, place(5 + i), back, BLOCK, MPI_BYTE, &request), "iread_at_all");
		check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
		if (memcmp(back, block, BLOCK) != 0) {
			fprintf(stderr, "mpiio: data differ\n");
			MPI_Abort(MPI_COMM_WORLD, 4);
		}
	}
}

int main(int argc, char **argv)
{
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	memset(block, 'a' + rank, BLOCK);
	check(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
	write_explicit(file);
	check(MPI_File_sync(file), "sync");
	read_back(file);
	write_shared(file);
	check(MPI_File_close(&file), "close");
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		check(MPI_File_delete(argv[1], MPI_INFO_NULL), "delete");
	MPI_Finalize();
	return 0;
}
