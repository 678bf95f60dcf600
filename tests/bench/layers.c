/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * layers DIR: the benchmark's worker for serial HDF5 and netCDF-4; every kind has a file of its own with one
 * array of SIZE bytes of doubles.
 */
#include <hdf5.h>
#include <netcdf.h>

#include "worker.h"

#define MAX_DOUBLES 131072

static const char *dir;
static double values[MAX_DOUBLES];

static const char *name_of(const char *kind, size_t size)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/bench.%s.%zu", dir, kind, size);
	return path;
}

static int h5_write(hid_t set, long n)
{
	int failed = 0;

	while (n-- && !failed)
		failed = H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0;
	return failed;
}

/* The file is opened once: what is measured are the puts. */
static int do_h5(long n, size_t size)
{
	static hid_t file, set;
	static size_t open_size;
	hsize_t dims = size / sizeof(double);
	hid_t space;

	if (!size || dims > MAX_DOUBLES)
		return -1;
	if (open_size != size) {
		if (open_size) {
			H5Dclose(set);
			H5Fclose(file);
		}
		file = H5Fcreate(name_of("h5", size), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
		space = H5Screate_simple(1, &dims, NULL);
		set = H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		H5Sclose(space);
		open_size = size;
	}
	return file < 0 || set < 0 || h5_write(set, n);
}

static int nc_make(const char *path, size_t doubles, int *file, int *var)
{
	int dim;

	return nc_create(path, NC_NETCDF4 | NC_CLOBBER, file) || nc_def_dim(*file, "d", doubles, &dim) ||
	       nc_def_var(*file, "x", NC_DOUBLE, 1, &dim, var) || nc_def_var_fill(*file, *var, NC_NOFILL, NULL) || nc_enddef(*file);
}

static int do_nc(long n, size_t size)
{
	static int file, var;
	static size_t open_size;
	size_t start = 0, doubles = size / sizeof(double);

	if (!size || doubles > MAX_DOUBLES)
		return -1;
	if (open_size != size) {
		if (open_size)
			nc_close(file);
		if (nc_make(name_of("nc", size), doubles, &file, &var))
			return -1;
		open_size = size;
	}
	while (n--)
		if (nc_put_vara_double(file, var, &start, &doubles, values))
			return -1;
	return 0;
}

static const struct kind kinds[] = { { "h5", do_h5 }, { "nc", do_nc } };

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	dir = argv[1];
	puts("ready");
	fflush(stdout);
	return serve(kinds, sizeof(kinds) / sizeof(*kinds));
}
