/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * collective NAME: under mpirun, transfers of which some are asked to be collective, by every rank of its own 4 ints.
 * NAME.h5: 5 H5Dwrite: by default, independent, collective, by a copy of that list, independent again; 2 H5Dread: collective, by
 * default. NAME.nc, netCDF-4, variables a and b: 5 nc_put_vara_int: a by default, a after nc_var_par_access(collective) of a, b,
 * and a and b after the same of b.
 */
#include <hdf5.h>
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>

#include <stdio.h>

#include "golden.h"

#define N 4

static int rank, size;

static void hdf5(const char *path)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER), copy, file, space, memory, id;
	hsize_t all = (hsize_t)size * N, start = (hsize_t)rank * N, count = N;
	int values[N] = { rank };

	must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "H5Pset_fapl_mpio");
	file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
	must(file >= 0, "H5Fcreate");
	space = H5Screate_simple(1, &all, NULL);
	memory = H5Screate_simple(1, &count, NULL);
	id = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	must(id >= 0, "H5Dcreate2");
	must(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) >= 0, "H5Sselect_hyperslab");
	must(H5Dwrite(id, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values) >= 0, "H5Dwrite");
	must(H5Dwrite(id, H5T_NATIVE_INT, memory, space, transfer, values) >= 0, "H5Dwrite");
	must(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE) >= 0, "H5Pset_dxpl_mpio");
	must(H5Dwrite(id, H5T_NATIVE_INT, memory, space, transfer, values) >= 0, "H5Dwrite");
	copy = H5Pcopy(transfer);
	must(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_INDEPENDENT) >= 0, "H5Pset_dxpl_mpio");
	must(H5Dwrite(id, H5T_NATIVE_INT, memory, space, copy, values) >= 0, "H5Dwrite");
	must(H5Dwrite(id, H5T_NATIVE_INT, memory, space, transfer, values) >= 0, "H5Dwrite");
	must(H5Dread(id, H5T_NATIVE_INT, memory, space, copy, values) >= 0, "H5Dread");
	must(H5Dread(id, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values) >= 0, "H5Dread");
	H5Pclose(copy);
	H5Pclose(transfer);
	H5Pclose(access);
	H5Sclose(memory);
	H5Sclose(space);
	H5Dclose(id);
	must(H5Fclose(file) >= 0, "H5Fclose");
}

static void put(int file, int variable)
{
	size_t start = (size_t)rank * N, count = N;
	int values[N] = { rank };

	must(!nc_put_vara_int(file, variable, &start, &count, values), "nc_put_vara_int");
}

static void netcdf(const char *path)
{
	int file, dim, a, b;

	must(!nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "nc_create_par");
	must(!nc_def_dim(file, "n", (size_t)size * N, &dim), "nc_def_dim");
	must(!nc_def_var(file, "a", NC_INT, 1, &dim, &a), "nc_def_var");
	must(!nc_def_var(file, "b", NC_INT, 1, &dim, &b), "nc_def_var");
	must(!nc_enddef(file), "nc_enddef");
	put(file, a);
	must(!nc_var_par_access(file, a, NC_COLLECTIVE), "nc_var_par_access");
	put(file, a);
	put(file, b);
	must(!nc_var_par_access(file, b, NC_COLLECTIVE), "nc_var_par_access");
	put(file, a);
	put(file, b);
	must(!nc_close(file), "nc_close");
}

int main(int argc, char **argv)
{
	char path[4096];

	must(argc == 2, "usage: collective NAME");
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	snprintf(path, sizeof(path), "%s.h5", argv[1]);
	hdf5(path);
	snprintf(path, sizeof(path), "%s.nc", argv[1]);
	netcdf(path);
	MPI_Finalize();
	return 0;
}
