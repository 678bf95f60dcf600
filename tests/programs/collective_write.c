/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * collective_write FILE BYTES: each rank writes BYTES bytes behind those of the rank before it, by one collective call, and reads
 * them back by another. What it read must be what it wrote.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

static void all_ranks(const char *path, int bytes)
{
	char *data = malloc(bytes), *read = malloc(bytes);
	MPI_Status written, got; /* the library says there how much it moved */
	MPI_File file;
	int rank;

	must(data && read, "malloc");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	memset(data, 'a' + rank, bytes);
	must(!MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "MPI_File_open");
	must(!MPI_File_write_at_all(file, (MPI_Offset)rank * bytes, data, bytes, MPI_BYTE, &written), "MPI_File_write_at_all");
	must(!MPI_File_read_at_all(file, (MPI_Offset)rank * bytes, read, bytes, MPI_BYTE, &got), "MPI_File_read_at_all");
	must(!memcmp(data, read, bytes), "what was read");
	must(!MPI_File_close(&file), "MPI_File_close");
	free(data);
	free(read);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	must(argc == 3 && atoi(argv[2]) > 0, "usage: collective_write FILE BYTES");
	all_ranks(argv[1], atoi(argv[2]));
	MPI_Finalize();
	return 0;
}
