/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * parallel_nc FILE [STEPS [POINTS [WAIT_FILE]]]: parallel netCDF-4. Each rank: 1 nc_create_par, STEPS collective nc_put_vara_double
 * of POINTS doubles, nc_close; 1 nc_open_par, STEPS nc_get_vara_double, verified, nc_close. Waits for WAIT_FILE before the first
 * put.
 */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct job {
	const char *path, *wait_file;
	size_t steps, points;
	int rank, ranks;
	double *values;
};

static void check(int status, const char *what)
{
	if (status == NC_NOERR)
		return;
	fprintf(stderr, "parallel_nc: %s: %s\n", what, nc_strerror(status));
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static double value(const struct job *job, size_t step, size_t i)
{
	return (double)step * 1e6 + job->rank * 1e3 + (double)(i % 1000);
}

/* Rank 0 prints that all have opened their file, then all wait for the file: the moment to attach. */
static void wait_for_file(const struct job *job)
{
	if (job->wait_file && job->rank == 0) {
		fprintf(stderr, "parallel_nc: waiting for %s\n", job->wait_file);
		while (access(job->wait_file, F_OK) != 0)
			usleep(20000);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static int define(const struct job *job, int file)
{
	int dims[2], var;

	check(nc_def_dim(file, "step", job->steps, &dims[0]), "nc_def_dim");
	check(nc_def_dim(file, "x", job->points * (size_t)job->ranks, &dims[1]), "nc_def_dim");
	check(nc_def_var(file, "field", NC_DOUBLE, 2, dims, &var), "nc_def_var");
	check(nc_put_att_text(file, var, "units", 1, "K"), "nc_put_att_text");
	check(nc_def_var_fill(file, var, NC_NOFILL, NULL), "nc_def_var_fill");
	check(nc_enddef(file), "nc_enddef");
	check(nc_var_par_access(file, var, NC_COLLECTIVE), "nc_var_par_access");
	return var;
}

static void write_file(const struct job *job)
{
	int file, var;

	check(nc_create_par(job->path, NC_CLOBBER | NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "nc_create_par");
	var = define(job, file);
	wait_for_file(job);
	for (size_t step = 0; step < job->steps; step++) {
		size_t start[2] = { step, job->points * (size_t)job->rank }, count[2] = { 1, job->points };

		for (size_t i = 0; i < job->points; i++)
			job->values[i] = value(job, step, i);
		check(nc_put_vara_double(file, var, start, count, job->values), "nc_put_vara_double");
	}
	check(nc_close(file), "nc_close");
}

static bool verify_file(const struct job *job)
{
	int file, var;
	bool ok = true;

	check(nc_open_par(job->path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "nc_open_par");
	check(nc_inq_varid(file, "field", &var), "nc_inq_varid");
	check(nc_var_par_access(file, var, NC_COLLECTIVE), "nc_var_par_access");
	for (size_t step = 0; step < job->steps; step++) {
		size_t start[2] = { step, job->points * (size_t)job->rank }, count[2] = { 1, job->points };

		check(nc_get_vara_double(file, var, start, count, job->values), "nc_get_vara_double");
		for (size_t i = 0; i < job->points; i++)
			ok = ok && job->values[i] == value(job, step, i);
	}
	check(nc_close(file), "nc_close");
	return ok;
}

int main(int argc, char **argv)
{
	struct job job = { .steps = 10, .points = 65536 };
	int ok, all = 0;

	MPI_Init(&argc, &argv);
	if (argc < 2 || argc > 5) {
		fprintf(stderr, "usage: parallel_nc FILE [STEPS [POINTS [WAIT_FILE]]]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	job.path = argv[1];
	job.steps = argc > 2 ? strtoul(argv[2], NULL, 10) : job.steps;
	job.points = argc > 3 ? strtoul(argv[3], NULL, 10) : job.points;
	job.wait_file = argc > 4 ? argv[4] : NULL;
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
	job.values = malloc(job.points * sizeof(*job.values));
	write_file(&job);
	ok = verify_file(&job);
	MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	if (job.rank == 0)
		printf("parallel_nc: %d ranks wrote and verified %zu bytes: %s\n", job.ranks,
		       job.steps * job.points * sizeof(double) * (size_t)job.ranks, all ? "correct" : "WRONG");
	free(job.values);
	MPI_Finalize();
	return all ? 0 : 1;
}
