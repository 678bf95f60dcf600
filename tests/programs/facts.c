/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * facts DIR: static facts that calls set, and that calls ask. Each rank:
 * d.h5 (rank 0, serially): /plain (contiguous), /g/packed (chunks 4x8, shuffle, deflate 5, fill value, never filled), /many
 * (chunks 3x5, chunk cache of 1234567 bytes), of 32x64 ints; /filled, 64x1024 ints that are filled when it is created;
 * alignment 4096 from 512 bytes. Rank 1 opens /g/packed and asks for its facts, and /plain.
 * n.nc (parallel netCDF-4, hint cb_buffer_size=1048576): field (chunks 2x16, no fill), packed (deflate 3), line (contiguous).
 */
#include <hdf5.h>
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdbool.h>

#include "golden.h"

static int rank;

static void ok(int status, const char *what)
{
	must(status == 0, what);
}

static void id(hid_t value, const char *what)
{
	must(value >= 0, what);
}

static void dataset(hid_t file, const char *name, hid_t creation, hid_t access)
{
	static int values[32 * 64];
	hsize_t dims[2] = { 32, 64 };
	hid_t space = H5Screate_simple(2, dims, NULL), set;

	id(space, "H5Screate_simple");
	set = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, creation, access);
	id(set, "H5Dcreate2");
	id(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
	id(H5Dclose(set), "H5Dclose");
	id(H5Sclose(space), "H5Sclose");
}

/* Space of 64 x 1024 ints is allocated and filled when the dataset is created, and nothing is written to it. */
static void filled(hid_t file)
{
	hsize_t dims[2] = { 64, 1024 };
	hid_t space = H5Screate_simple(2, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE), set;
	int fill = 7;

	id(H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
	id(H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC), "H5Pset_fill_time");
	id(H5Pset_fill_value(list, H5T_NATIVE_INT, &fill), "H5Pset_fill_value");
	set = H5Dcreate2(file, "filled", H5T_NATIVE_INT, space, H5P_DEFAULT, list, H5P_DEFAULT);
	id(set, "H5Dcreate2");
	id(H5Dclose(set), "H5Dclose");
	id(H5Pclose(list), "H5Pclose");
	id(H5Sclose(space), "H5Sclose");
}

static void make_hdf5(const char *path)
{
	hsize_t packed[2] = { 4, 8 }, many[2] = { 3, 5 };
	int fill = 7;
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), list = H5Pcreate(H5P_DATASET_CREATE), cache = H5Pcreate(H5P_DATASET_ACCESS);
	hid_t other, file;

	id(H5Pset_alignment(access, 512, 4096), "H5Pset_alignment");
	file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
	id(file, "H5Fcreate");
	dataset(file, "plain", H5P_DEFAULT, H5P_DEFAULT);
	filled(file);
	id(H5Pset_chunk(list, 2, packed), "H5Pset_chunk");
	other = H5Pcopy(list);
	id(H5Pset_shuffle(list), "H5Pset_shuffle");
	id(H5Pset_deflate(list, 5), "H5Pset_deflate");
	id(H5Pset_fill_value(list, H5T_NATIVE_INT, &fill), "H5Pset_fill_value");
	id(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
	id(H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), "H5Gcreate2");
	dataset(file, "g/packed", list, H5P_DEFAULT);
	id(H5Pset_chunk(other, 2, many), "H5Pset_chunk");
	id(H5Pset_chunk_cache(cache, 521, 1234567, 0.5), "H5Pset_chunk_cache");
	dataset(file, "many", other, cache);
	id(H5Fclose(file), "H5Fclose");
	id(H5Pclose(access), "H5Pclose");
	id(H5Pclose(list), "H5Pclose");
	id(H5Pclose(other), "H5Pclose");
	id(H5Pclose(cache), "H5Pclose");
}

/* In another process than the one that made it, nothing else would be known of it. */
static void look_at_hdf5(const char *path)
{
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set, list;
	hsize_t dims[2];
	unsigned flags, config, values[8];
	size_t n;

	id(file, "H5Fopen");
	set = H5Dopen2(file, "g/packed", H5P_DEFAULT);
	id(set, "H5Dopen2");
	list = H5Dget_create_plist(set);
	must(H5Pget_layout(list) == H5D_CHUNKED && H5Pget_chunk(list, 2, dims) == 2 && dims[1] == 8, "H5Pget_chunk");
	for (int i = 0; i < 2 * H5Pget_nfilters(list); i++)
		must((n = 8, H5Pget_filter2(list, i % 2, &flags, &n, values, 0, NULL, &config)) > 0, "H5Pget_filter2");
	id(H5Pclose(list), "H5Pclose");
	id(H5Dclose(set), "H5Dclose");
	id(H5Dclose(H5Dopen2(file, "plain", H5P_DEFAULT)), "H5Dopen2");
	id(H5Fclose(file), "H5Fclose");
}

static void make_netcdf(const char *path)
{
	size_t chunks[2] = { 2, 16 };
	int file, dims[2], field, packed, line;
	MPI_Info info;

	ok(MPI_Info_create(&info), "MPI_Info_create");
	ok(MPI_Info_set(info, "cb_buffer_size", "1048576"), "MPI_Info_set");
	ok(nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, info, &file), "nc_create_par");
	ok(MPI_Info_free(&info), "MPI_Info_free");
	ok(nc_def_dim(file, "y", 4, &dims[0]), "nc_def_dim");
	ok(nc_def_dim(file, "x", 32, &dims[1]), "nc_def_dim");
	ok(nc_def_var(file, "field", NC_INT, 2, dims, &field), "nc_def_var");
	ok(nc_def_var(file, "packed", NC_INT, 2, dims, &packed), "nc_def_var");
	ok(nc_def_var(file, "line", NC_INT, 1, &dims[1], &line), "nc_def_var");
	ok(nc_def_var_chunking(file, field, NC_CHUNKED, chunks), "nc_def_var_chunking");
	ok(nc_def_var_fill(file, field, NC_NOFILL, NULL), "nc_def_var_fill");
	ok(nc_def_var_deflate(file, packed, 1, 1, 3), "nc_def_var_deflate");
	ok(nc_def_var_chunking(file, line, NC_CONTIGUOUS, NULL), "nc_def_var_chunking");
	ok(nc_enddef(file), "nc_enddef");
	ok(nc_close(file), "nc_close");
}

int main(int argc, char **argv)
{
	must(argc == 2, "usage: facts DIR");
	ok(MPI_Init(NULL, NULL), "MPI_Init");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!rank)
		make_hdf5(IN_DIR(argv[1], "d.h5"));
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank)
		look_at_hdf5(IN_DIR(argv[1], "d.h5"));
	make_netcdf(IN_DIR(argv[1], "n.nc"));
	ok(MPI_Finalize(), "MPI_Finalize");
	return 0;
}
