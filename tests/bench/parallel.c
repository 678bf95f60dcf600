/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * parallel DIR: the benchmark's worker for MPI-IO and parallel netCDF-4. Rank 0 takes the orders and tells the others; every rank
 * writes SIZE bytes of its own in every call. Prints "ready PID PID…" first.
 */
#include <fcntl.h>
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>

#include "worker.h"

#define MAX_DOUBLES 131072

static const char *dir;
static int rank, ranks;
static double values[MAX_DOUBLES];
static MPI_File shared;
static int own;                 /* descriptor of a file of the rank */

/* The slowest rank's time; a failure (-1) of any rank fails all. */
static double agree_as_slowest(double value)
{
	double slowest, least;

	MPI_Allreduce(&value, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	MPI_Allreduce(&value, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
	return least < 0 ? least : slowest;
}

static int do_independent(long n, size_t size)
{
	while (n--)
		if (MPI_File_write_at(shared, (MPI_Offset)rank * (MPI_Offset)size, values, (int)size, MPI_BYTE, MPI_STATUS_IGNORE))
			return -1;
	return 0;
}

static int do_collective(long n, size_t size)
{
	while (n--)
		if (MPI_File_write_at_all(shared, (MPI_Offset)rank * (MPI_Offset)size, values, (int)size, MPI_BYTE,
					  MPI_STATUS_IGNORE))
			return -1;
	return 0;
}

/* With one rank there is no waiting: only the cost of the call is measured. */
static int do_barrier(long n, size_t size)
{
	(void)size;
	while (n--)
		if (MPI_Barrier(MPI_COMM_SELF))
			return -1;
	return 0;
}

/* A write of its own between two collective calls. */
static int do_between(long n, size_t size)
{
	while (n--)
		if (MPI_Barrier(MPI_COMM_SELF) || pwrite(own, values, size, 0) != (ssize_t)size || MPI_Barrier(MPI_COMM_SELF))
			return -1;
	return 0;
}

static int nc_make(size_t doubles, int *file, int *var)
{
	char path[4096];
	int dim;

	snprintf(path, sizeof(path), "%s/bench.pnc.%zu", dir, doubles);
	return nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, file) ||
	       nc_def_dim(*file, "d", doubles * ranks, &dim) || nc_def_var(*file, "x", NC_DOUBLE, 1, &dim, var) ||
	       nc_def_var_fill(*file, *var, NC_NOFILL, NULL) || nc_enddef(*file) || nc_var_par_access(*file, *var, NC_COLLECTIVE);
}

static int do_pnc(long n, size_t size)
{
	static int file, var;
	static size_t open_size;
	size_t doubles = size / sizeof(double), start = (size_t)rank * doubles;

	if (!size || doubles > MAX_DOUBLES)
		return -1;
	if (open_size != size) {
		if (open_size)
			nc_close(file);
		if (nc_make(doubles, &file, &var))
			return -1;
		open_size = size;
	}
	while (n--)
		if (nc_put_vara_double(file, var, &start, &doubles, values))
			return -1;
	return 0;
}

static const struct kind kinds[] = { { "independent", do_independent }, { "collective", do_collective }, { "pnc", do_pnc },
	{ "barrier", do_barrier }, { "between", do_between } };

static int serve_ranks(void)
{
	char line[256];

	for (;;) {
		if (rank || !fgets(line, sizeof(line), stdin))
			line[0] = 0;
		MPI_Bcast(line, sizeof(line), MPI_CHAR, 0, MPI_COMM_WORLD);
		if (!line[0])
			return 0;
		if (obey(rank ? NULL : stdout, kinds, sizeof(kinds) / sizeof(*kinds), line))
			return 3;
	}
}

static void say_ready(void)
{
	int pid = getpid(), *pids = calloc(ranks, sizeof(int));

	MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (!rank) {
		printf("ready");
		for (int i = 0; i < ranks; i++)
			printf(" %d", pids[i]);
		puts("");
		fflush(stdout);
	}
	free(pids);
}

int main(int argc, char **argv)
{
	char path[4096];
	int status;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	dir = argv[1];
	agree = agree_as_slowest;
	snprintf(path, sizeof(path), "%s/bench.mpi", dir);
	if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &shared))
		MPI_Abort(MPI_COMM_WORLD, 3);
	snprintf(path, sizeof(path), "%s/bench.own.%d", dir, rank);
	own = open(path, O_CREAT | O_RDWR, 0600);
	if (own < 0)
		MPI_Abort(MPI_COMM_WORLD, 3);
	say_ready();
	status = serve_ranks();
	if (status)
		MPI_Abort(MPI_COMM_WORLD, status);
	MPI_File_close(&shared);
	MPI_Finalize();
	return 0;
}
