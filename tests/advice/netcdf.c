/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The variables of snippets for netCDF, on a parallel file. Errors of its functions end the program.
 */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>

#define status_text nc_strerror
#include "parallel_file.h"

#define BEFORE \
	MPI_Comm comm UNUSED = MPI_COMM_WORLD; \
	const size_t rows UNUSED = 8, columns UNUSED = 16, first_row UNUSED = rank * 8; \
	static double values[8 * 16] UNUSED; \
	int ncid, varid, dimids[2], first; \
	check(nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &ncid), "nc_create_par"); \
	first = ncid; \
	check(nc_def_dim(ncid, "row", 8 * nranks, &dimids[0]), "nc_def_dim"); \
	check(nc_def_dim(ncid, "column", 16, &dimids[1]), "nc_def_dim"); \
	check(nc_def_var(ncid, "field", NC_DOUBLE, 2, dimids, &varid), "nc_def_var"); \
	path = "advice-second.nc";
#define AFTER \
	check(nc_close(ncid), "nc_close"); \
	if (ncid != first) \
		check(nc_close(first), "nc_close");
#define BEGIN BEGIN_MPI
#define END MPI_Finalize();

/* Data in define mode: netCDF-4 leaves it by itself. */
#define nc_var_par_access(...) check((nc_var_par_access)(__VA_ARGS__), "nc_var_par_access")
#define nc_put_vara_double(...) check((nc_put_vara_double)(__VA_ARGS__), "nc_put_vara_double")
#define nc_get_vara_double(...) check((nc_get_vara_double)(__VA_ARGS__), "nc_get_vara_double")
#define nc_set_fill(...) check((nc_set_fill)(__VA_ARGS__), "nc_set_fill")
#define nc_set_var_chunk_cache(...) check((nc_set_var_chunk_cache)(__VA_ARGS__), "nc_set_var_chunk_cache")
#define nc_def_var_chunking(...) check((nc_def_var_chunking)(__VA_ARGS__), "nc_def_var_chunking")
#define nc__enddef(...) check((nc__enddef)(__VA_ARGS__), "nc__enddef")
#define nc_enddef(...) check((nc_enddef)(__VA_ARGS__), "nc_enddef")
#define nc_put_att_text(...) check((nc_put_att_text)(__VA_ARGS__), "nc_put_att_text")
#define nc_sync(...) check((nc_sync)(__VA_ARGS__), "nc_sync")
