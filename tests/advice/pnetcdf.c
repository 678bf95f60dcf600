/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The variables of snippets for PnetCDF. Errors of its functions end the program.
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

static int check(int status, const char *what)
{
	if (status != NC_NOERR) {
		fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return status;
}

#define SNIPPET(name) static void advice_##name(const char *path, int rank, int nranks)
#define BEFORE \
	MPI_Comm comm __attribute__((unused)) = MPI_COMM_WORLD; \
	const MPI_Offset rows __attribute__((unused)) = 8, columns __attribute__((unused)) = 16, first_row __attribute__((unused)) = rank * 8; \
	static double values[8 * 16] __attribute__((unused)); \
	int ncid, varid __attribute__((unused)), dimids[2], first; \
	MPI_Info info; \
	MPI_Info_create(&info); \
	check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid), "ncmpi_create"); \
	first = ncid; \
	check(ncmpi_def_dim(ncid, "row", 8 * nranks, &dimids[0]), "ncmpi_def_dim"); \
	check(ncmpi_def_dim(ncid, "column", 16, &dimids[1]), "ncmpi_def_dim"); \
	check(ncmpi_def_var(ncid, "field", NC_DOUBLE, 2, dimids, &varid), "ncmpi_def_var"); \
	check(ncmpi_enddef(ncid), "ncmpi_enddef"); \
	path = "advice-second.nc";
#define AFTER \
	check((ncmpi_close)(ncid), "ncmpi_close"); \
	if (ncid != first) \
		check((ncmpi_close)(first), "ncmpi_close"); \
	MPI_Info_free(&info);
#define RUN(name) advice_##name(argv[1], rank, nranks)
#define BEGIN \
	int rank, nranks; \
	MPI_Init(&argc, &argv); \
	MPI_Comm_rank(MPI_COMM_WORLD, &rank); \
	MPI_Comm_size(MPI_COMM_WORLD, &nranks);
#define END MPI_Finalize();

#define ncmpi_put_vara_double_all(...) check((ncmpi_put_vara_double_all)(__VA_ARGS__), "ncmpi_put_vara_double_all")
#define ncmpi_get_vara_double_all(...) check((ncmpi_get_vara_double_all)(__VA_ARGS__), "ncmpi_get_vara_double_all")
#define ncmpi_iput_vara_double(...) check((ncmpi_iput_vara_double)(__VA_ARGS__), "ncmpi_iput_vara_double")
#define ncmpi_wait_all(...) check((ncmpi_wait_all)(__VA_ARGS__), "ncmpi_wait_all")
#define ncmpi_sync(...) check((ncmpi_sync)(__VA_ARGS__), "ncmpi_sync")
