/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Serial HDF5.
 */
#include <hdf5.h>

#include "planted.h"

#define ROWS 4096
#define COLUMNS 2048

/* The space is allocated, and filled, when the dataset is created; or it is not filled. */
static void fill(bool bad, const char *dir)
{
	hsize_t dims[2] = { ROWS, COLUMNS };
	hid_t file = H5Fcreate(in(dir, "fill.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(2, dims, NULL);
	hid_t create = H5Pcreate(H5P_DATASET_CREATE), set;
	double *data = calloc(ROWS * COLUMNS, sizeof(*data));

	CHECK(file >= 0 && data);
	H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY);
	H5Pset_fill_time(create, bad ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER);
	set = H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, create, H5P_DEFAULT);
	CHECK(set >= 0 && H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
	H5Dclose(set);
	H5Pclose(create);
	H5Sclose(space);
	CHECK(H5Fclose(file) >= 0);
	free(data);
}

int main(int argc, char **argv)
{
	static const struct planted cases[] = { { "fill", fill } };

	return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
