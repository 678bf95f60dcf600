/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * failures_mpi DIR: library calls that fail: nc_open of a missing file and of one that is no netCDF file, MPI_File_open of a
 * missing file, MPI_File_delete of a missing file: 2 nc_open, 1 MPI_File_open, 1 MPI_File_delete on each rank, all failing.
 */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>

static int expect_failure(int failed, const char *what)
{
	if (!failed)
		fprintf(stderr, "failures_mpi: %s did not fail\n", what);
	return failed ? 0 : 3;
}

int main(int argc, char **argv)
{
	char missing[4096], text[4096];
	MPI_File file;
	int status = 0, nc;
	FILE *f;

	MPI_Init(&argc, &argv);
	if (argc != 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	snprintf(missing, sizeof(missing), "%s/missing", argv[1]);
	snprintf(text, sizeof(text), "%s/text", argv[1]);
	f = fopen(text, "w");
	if (!f || fputs("no netCDF file\n", f) < 0 || fclose(f) != 0)
		MPI_Abort(MPI_COMM_WORLD, 3);
	status |= expect_failure(nc_open(missing, NC_NOWRITE, &nc) != NC_NOERR, "nc_open(missing)");
	status |= expect_failure(nc_open(text, NC_NOWRITE, &nc) != NC_NOERR, "nc_open(text)");
	status |= expect_failure(MPI_File_open(MPI_COMM_SELF, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS,
				 "MPI_File_open");
	status |= expect_failure(MPI_File_delete(missing, MPI_INFO_NULL) != MPI_SUCCESS, "MPI_File_delete");
	MPI_Finalize();
	return status;
}
