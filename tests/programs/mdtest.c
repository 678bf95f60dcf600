/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * mdtest DIR FILES BYTES [BRANCHES DEPTH], under mpirun: the access pattern of mdtest, each rank in a tree of its own below DIR,
 * of 1 + BRANCHES + … + BRANCHES^DEPTH directories (without the arguments: one). In each directory 1 mkdir; FILES files, each by
 * 1 open, 1 write of BYTES, 1 close; then in each 1 stat of each file; then each by 1 open, 1 read of BYTES, 1 close, 1 unlink;
 * 1 rmdir.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static long files, bytes, branches, depth;
static char *buffer;

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static const char *name(const char *directory, long i)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/f.%ld", directory, i);
	return path;
}

static void one(const char *directory, long i, int flags)
{
	int fd = open(name(directory, i), flags, 0644);

	must(fd >= 0, "open");
	must((flags == O_RDONLY ? read(fd, buffer, bytes) : write(fd, buffer, bytes)) == bytes, "read or write");
	must(!close(fd), "close");
}

static void create(const char *directory)
{
	must(!mkdir(directory, 0755), "mkdir");
	for (long i = 0; i < files; i++)
		one(directory, i, O_WRONLY | O_CREAT | O_EXCL);
}

static void examine(const char *directory)
{
	struct stat st;

	for (long i = 0; i < files; i++)
		must(!stat(name(directory, i), &st) && st.st_size == bytes, "stat");
}

static void read_and_remove(const char *directory)
{
	for (long i = 0; i < files; i++)
		one(directory, i, O_RDONLY);
	for (long i = 0; i < files; i++)
		must(!unlink(name(directory, i)), "unlink");
}

/* Parents before their children (create) or after them (remove). */
static void walk(const char *directory, long level, void (*before)(const char *), void (*after)(const char *))
{
	char child[4096];

	if (before)
		before(directory);
	for (long i = 0; i < branches && level < depth; i++) {
		must(snprintf(child, sizeof(child), "%s/d.%ld", directory, i) < (int)sizeof(child), "path");
		walk(child, level + 1, before, after);
	}
	if (after) {
		after(directory);
		must(!rmdir(directory), "rmdir");
	}
}

int main(int argc, char **argv)
{
	char root[4000];
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	must(argc == 4 || argc == 6, "mdtest DIR FILES BYTES [BRANCHES DEPTH]");
	files = atol(argv[2]);
	bytes = atol(argv[3]);
	branches = argc == 6 ? atol(argv[4]) : 0;
	depth = argc == 6 ? atol(argv[5]) : 0;
	buffer = calloc(1, bytes);
	must(snprintf(root, sizeof(root), "%s/rank.%d", argv[1], rank) < (int)sizeof(root), "path");
	walk(root, 0, create, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	walk(root, 0, examine, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
	walk(root, 0, NULL, read_and_remove);
	free(buffer);
	MPI_Finalize();
	return 0;
}
