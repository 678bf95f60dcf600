/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The variables of snippets for PnetCDF. Errors of its functions end the program.
 */
#include <mpi.h>
#include <pnetcdf.h>

#define status_text ncmpi_strerror
#include "parallel_file.h"

#define BEFORE \
	MPI_Comm comm UNUSED = MPI_COMM_WORLD; \
	const MPI_Offset rows UNUSED = 8, columns UNUSED = 16, first_row UNUSED = rank * 8; \
	static double values[8 * 16] UNUSED; \
	int ncid, varid UNUSED, dimids[2], first; \
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
#define BEGIN BEGIN_MPI
#define END MPI_Finalize();

#define ncmpi_put_vara_double_all(...) check((ncmpi_put_vara_double_all)(__VA_ARGS__), "ncmpi_put_vara_double_all")
#define ncmpi_get_vara_double_all(...) check((ncmpi_get_vara_double_all)(__VA_ARGS__), "ncmpi_get_vara_double_all")
#define ncmpi_iput_vara_double(...) check((ncmpi_iput_vara_double)(__VA_ARGS__), "ncmpi_iput_vara_double")
#define ncmpi_wait_all(...) check((ncmpi_wait_all)(__VA_ARGS__), "ncmpi_wait_all")
#define ncmpi_sync(...) check((ncmpi_sync)(__VA_ARGS__), "ncmpi_sync")
