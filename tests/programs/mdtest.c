/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * mdtest DIR FILES BYTES, under mpirun: the access pattern of mdtest, each rank in a directory of its own below DIR: 1 mkdir; FILES files,
 * each by 1 open, 1 write of BYTES, 1 close; 1 stat of each; each by 1 open, 1 read of BYTES, 1 close; 1 unlink of each; 1 rmdir.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[4000], path[4096];
static long files, bytes;
static char *buffer;

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static const char *name(long i)
{
	snprintf(path, sizeof(path), "%s/f.%ld", directory, i);
	return path;
}

static void one(long i, int flags)
{
	int fd = open(name(i), flags, 0644);

	must(fd >= 0, "open");
	must((flags == O_RDONLY ? read(fd, buffer, bytes) : write(fd, buffer, bytes)) == bytes, "read or write");
	must(!close(fd), "close");
}

int main(int argc, char **argv)
{
	struct stat st;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	must(argc == 4, "mdtest DIR FILES BYTES");
	files = atol(argv[2]);
	bytes = atol(argv[3]);
	buffer = calloc(1, bytes);
	snprintf(directory, sizeof(directory), "%s/rank.%d", argv[1], rank);
	must(!mkdir(directory, 0755), "mkdir");
	for (long i = 0; i < files; i++)
		one(i, O_WRONLY | O_CREAT | O_EXCL);
	MPI_Barrier(MPI_COMM_WORLD);
	for (long i = 0; i < files; i++)
		must(!stat(name(i), &st) && st.st_size == bytes, "stat");
	MPI_Barrier(MPI_COMM_WORLD);
	for (long i = 0; i < files; i++)
		one(i, O_RDONLY);
	for (long i = 0; i < files; i++)
		must(!unlink(name(i)), "unlink");
	must(!rmdir(directory), "rmdir");
	free(buffer);
	MPI_Finalize();
	return 0;
}
