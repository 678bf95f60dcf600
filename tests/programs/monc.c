/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * monc FILE STEPS: the shape of the Met Office NERC Cloud model: every second rank is an I/O server, the others compute. A
 * simulation rank sends FIELDS fields per step to its server (the next rank), whose main thread only receives them and gives each
 * to a pool of THREADS threads, which keep it in memory. At the end one thread of each pool, not the main one, writes all to one
 * netCDF-4 file, collectively over the servers: STEPS * FIELDS nc_put_vara_double on each server, of COLUMNS doubles, and one
 * nc_create_par and nc_close.
 */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 2, THREADS = 4, COLUMNS = 512 };

struct job { int step, field; double values[COLUMNS]; struct job *next; };

static MPI_Comm servers;
static int steps;
static const char *path;

/* The pool: jobs that wait, values that were kept. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static struct job *waiting;
static int kept, wanted;
static double *memory;
static int writer_chosen;

static void check(int error, const char *what)
{
	if (error == 0)
		return;
	fprintf(stderr, "monc: %s failed: %d\n", what, error);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static void simulate(int server)
{
	double values[COLUMNS + 2] = { 0 };

	for (int step = 0; step < steps; step++)
		for (int field = 0; field < FIELDS; field++) {
			for (int i = 0; i < COLUMNS; i++)
				values[2 + i] = step + field * 0.5 + i;
			values[0] = step;
			values[1] = field;
			check(MPI_Send(values, COLUMNS + 2, MPI_DOUBLE, server, 0, MPI_COMM_WORLD), "MPI_Send");
		}
}

/* All that was kept, each server its columns. */
static void write_dump(void)
{
	size_t start[2] = { 0, 0 }, count[2] = { 1, COLUMNS };
	int nc, dims[2], vars[FIELDS], me, n;
	char name[16];

	MPI_Comm_rank(servers, &me);
	MPI_Comm_size(servers, &n);
	check(nc_create_par(path, NC_NETCDF4, servers, MPI_INFO_NULL, &nc), "nc_create_par");
	check(nc_def_dim(nc, "time", steps, &dims[0]), "nc_def_dim");
	check(nc_def_dim(nc, "column", (size_t)n * COLUMNS, &dims[1]), "nc_def_dim");
	for (int field = 0; field < FIELDS; field++) {
		snprintf(name, sizeof(name), "field%d", field);
		check(nc_def_var(nc, name, NC_DOUBLE, 2, dims, &vars[field]), "nc_def_var");
		check(nc_var_par_access(nc, vars[field], NC_COLLECTIVE), "nc_var_par_access");
	}
	check(nc_enddef(nc), "nc_enddef");
	start[1] = (size_t)me * COLUMNS;
	for (int step = 0; step < steps; step++)
		for (int field = 0; field < FIELDS; field++) {
			start[0] = step;
			const double *row = memory + ((size_t)step * FIELDS + field) * COLUMNS;

			check(nc_put_vara_double(nc, vars[field], start, count, row), "nc_put_vara_double");   /* planted: monc */
		}
	check(nc_close(nc), "nc_close");
}

static void *work(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	while (kept < wanted) {
		struct job *job = waiting;

		if (!job) {
			pthread_cond_wait(&wake, &lock);
			continue;
		}
		waiting = job->next;
		memcpy(memory + ((size_t)job->step * FIELDS + job->field) * COLUMNS, job->values, sizeof(job->values));
		free(job);
		kept++;
	}
	pthread_cond_broadcast(&wake);
	if (writer_chosen++) {
		pthread_mutex_unlock(&lock);
		return NULL;
	}
	pthread_mutex_unlock(&lock);
	write_dump();
	return NULL;
}

static void serve(void)
{
	pthread_t threads[THREADS];
	double values[COLUMNS + 2];

	wanted = steps * FIELDS;
	memory = calloc(wanted, COLUMNS * sizeof(*memory));
	check(!memory, "calloc");
	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, work, NULL), "pthread_create");
	for (int i = 0; i < wanted; i++) {
		struct job *job = malloc(sizeof(*job));

		check(!job, "malloc");
		check(MPI_Recv(values, COLUMNS + 2, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
		job->step = values[0];
		job->field = values[1];
		memcpy(job->values, values + 2, sizeof(job->values));
		pthread_mutex_lock(&lock);
		job->next = waiting;
		waiting = job;
		pthread_cond_signal(&wake);
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	free(memory);
}

int main(int argc, char **argv)
{
	int rank, ranks, level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 3 || ranks % 2 || level < MPI_THREAD_SERIALIZED)
		MPI_Abort(MPI_COMM_WORLD, 2);
	path = argv[1];
	steps = atoi(argv[2]);
	check(MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? 1 : MPI_UNDEFINED, 0, &servers), "MPI_Comm_split");
	if (rank % 2)
		serve();
	else
		simulate(rank + 1);
	MPI_Finalize();
	return 0;
}
