/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * two_scopes SHARED LOCAL: each rank: 1 MPI_File_open of SHARED on MPI_COMM_WORLD, 3 write_at_all of 4096 bytes, 1 close; 1
 * MPI_File_open of SHARED.RANK on MPI_COMM_SELF, 1 write_at of 512 bytes, 1 close; 1 open of LOCAL, 1 write of 100 bytes times its
 * rank plus one, 1 close.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;
static char block[4096];

static void check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "two_scopes: %s failed\n", what);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static void write_together(const char *path)
{
	MPI_File file;

	check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), "open");
	for (int i = 0; i < 3; i++)
		check(MPI_File_write_at_all(file, (MPI_Offset)(i * ranks + rank) * (MPI_Offset)sizeof(block), block, sizeof(block),
					    MPI_BYTE, MPI_STATUS_IGNORE),
		      "write_at_all");
	check(MPI_File_close(&file), "close");
}

static void write_alone(const char *path)
{
	char own[4096];
	MPI_File file;

	snprintf(own, sizeof(own), "%s.%d", path, rank);
	check(MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), "open on self");
	check(MPI_File_write_at(file, 0, block, 512, MPI_BYTE, MPI_STATUS_IGNORE), "write_at");
	check(MPI_File_close(&file), "close on self");
}

static void write_local(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
	size_t bytes = 100 * (size_t)(rank + 1);

	check(fd < 0 || write(fd, block, bytes) != (ssize_t)bytes || close(fd), "write of the local file");
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 3)
		MPI_Abort(MPI_COMM_WORLD, 2);
	memset(block, 'a' + rank, sizeof(block));
	write_together(argv[1]);
	write_alone(argv[1]);
	write_local(argv[2]);
	MPI_Finalize();
	return 0;
}
