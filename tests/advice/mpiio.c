/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The variables of snippets for MPI-IO. An error ends the program, also one of files.
 */
#include <mpi.h>
#include <stdio.h>

#include "harness.h"

struct variables { MPI_Comm comm; const char *path; MPI_File file; MPI_Offset offset; double values[1000]; };

static void run(int (*snippet)(struct variables *v, int rank, int nranks), const char *path)
{
	static struct variables v;
	int rank, nranks;

	v.comm = MPI_COMM_WORLD;
	v.path = path;
	MPI_Comm_rank(v.comm, &rank);
	MPI_Comm_size(v.comm, &nranks);
	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
	MPI_File_open(v.comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &v.file);
	v.offset = rank * (MPI_Offset)sizeof(v.values);
	MPI_File_write_at(v.file, v.offset, v.values, 1000, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_Barrier(v.comm);
	snippet(&v, rank, nranks);
	MPI_File_close(&v.file);
	MPI_Barrier(v.comm);
}

#define SNIPPET(name) \
	static int advice_##name(struct variables *v, int rank UNUSED, int nranks UNUSED)
#define BEFORE \
	MPI_Comm comm UNUSED = v->comm; \
	const char *path UNUSED = v->path; \
	double *values UNUSED = v->values; \
	const int n UNUSED = 1000, pieces UNUSED = 10; \
	MPI_Offset offset UNUSED = v->offset; \
	MPI_File file UNUSED = v->file, old = v->file; \
	MPI_Datatype type UNUSED; \
	MPI_Info info; \
	MPI_Info_create(&info);
#define AFTER \
	MPI_Info_free(&info); \
	if (file != old) \
		MPI_File_close(&file); \
	return 0;
#define RUN(name) run(advice_##name, argv[1])
#define BEGIN MPI_Init(&argc, &argv);
#define END MPI_Finalize();
