/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Serial HDF5.
 */
#include <hdf5.h>

#include "planted.h"

#define ROWS 2048
#define COLUMNS 2048

/* The space is allocated, and filled, when the dataset is created; or it is not filled. */
static void fill(bool bad, const char *dir)
{
	hsize_t dims[2] = { 2 * ROWS, COLUMNS };
	hid_t file = H5Fcreate(in(dir, "fill.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
		space = H5Screate_simple(2, dims, NULL);
	hid_t create = H5Pcreate(H5P_DATASET_CREATE), set;
	double *data = calloc(2 * ROWS * COLUMNS, sizeof(*data));

	CHECK(file >= 0 && data);
	H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY);
	H5Pset_fill_time(create, bad ? H5D_FILL_TIME_ALLOC : H5D_FILL_TIME_NEVER);
	set = H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, create, H5P_DEFAULT); /* planted: fill */
	CHECK(set >= 0 && H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
	H5Dclose(set);
	H5Pclose(create);
	H5Sclose(space);
	CHECK(H5Fclose(file) >= 0);
	free(data);
}

/* Rows of a dataset whose chunks span all columns and 256 rows, with a cache too small for one chunk, or large enough for all. */
static void chunks(bool bad, const char *dir)
{
	hsize_t dims[2] = { 512, 1024 }, chunk[2] = { 256, 1024 }, start[2] = { 0, 0 }, row[2] = { 1, 1024 };
	hid_t file = H5Fcreate(in(dir, "chunks.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
		space = H5Screate_simple(2, dims, NULL);
	hid_t create = H5Pcreate(H5P_DATASET_CREATE), access = H5Pcreate(H5P_DATASET_ACCESS),
		memory = H5Screate_simple(2, row, NULL), set;
	double *data = calloc(1024 * 1024, sizeof(*data));

	CHECK(file >= 0 && data);
	H5Pset_chunk(create, 2, chunk);
	H5Pset_shuffle(create);         /* a filter: a chunk is read as a whole */
	set = H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, create, H5P_DEFAULT);
	CHECK(set >= 0 && H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
	H5Dclose(set);
	begin_work();
	H5Pset_chunk_cache(access, 521, bad ? 0 : 64 * MIB, 0.75);
	set = H5Dopen2(file, "field", access);
	for (hsize_t i = 0; i < 24; i++) {
		start[0] = i;
		H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, row, NULL);
		CHECK(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) >= 0); /* planted: chunks */
	}
	H5Dclose(set);
	H5Pclose(create);
	H5Pclose(access);
	H5Sclose(space);
	H5Sclose(memory);
	CHECK(H5Fclose(file) >= 0);
	free(data);
}

/* Most columns of a dataset of one chunk without filters, with a cache too small for it, or large enough. */
static void bypass(bool bad, const char *dir)
{
	hsize_t dims[2] = { 1024, 1024 }, start[2] = { 0, 0 }, column[2] = { 1024, 40 };
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file, space = H5Screate_simple(2, dims, NULL);
	hid_t create = H5Pcreate(H5P_DATASET_CREATE), access = H5Pcreate(H5P_DATASET_ACCESS),
		memory = H5Screate_simple(2, column, NULL), set;
	double *data = calloc(1024 * 1024, sizeof(*data));

	H5Pset_sieve_buf_size(fapl, 0); /* each piece is a request */
	file = H5Fcreate(in(dir, "bypass.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
	CHECK(file >= 0 && data);
	H5Pset_chunk(create, 2, dims);
	set = H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, create, H5P_DEFAULT);
	CHECK(set >= 0 && H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
	H5Dclose(set);
	begin_work();
	H5Pset_chunk_cache(access, 521, bad ? MIB : 64 * MIB, 0.75);
	set = H5Dopen2(file, "field", access);
	for (hsize_t i = 0; i < 24; i++) {
		start[1] = 40 * i;
		H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, column, NULL);
		CHECK(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) >= 0); /* planted: bypass */
	}
	H5Dclose(set);
	H5Pclose(create);
	H5Pclose(access);
	H5Pclose(fapl);
	H5Sclose(space);
	H5Sclose(memory);
	CHECK(H5Fclose(file) >= 0);
	free(data);
}

/* A column of a contiguous dataset in one call, or rows with as many elements. */
static void strided(bool bad, const char *dir)
{
	hsize_t dims[2] = { ROWS, COLUMNS }, start[2] = { 0, 0 }, column[2] = { ROWS, 1 }, rows[2] = { 2, COLUMNS };
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file, space = H5Screate_simple(2, dims, NULL);
	hid_t memory = H5Screate_simple(2, bad ? column : rows, NULL), plist = H5Pcreate(H5P_DATASET_XFER), set;
	double *data = calloc(ROWS * COLUMNS, sizeof(*data));

	H5Pset_sieve_buf_size(fapl, 0); /* each piece is a request */
	file = H5Fcreate(in(dir, "strided.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
	CHECK(file >= 0 && data);
	set = H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	CHECK(set >= 0 && H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
	begin_work();
	for (hsize_t i = 0; i < 10; i++) {
		start[bad] = 2 * i;
		H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, bad ? column : rows, NULL);
		CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, plist, data) >= 0); /* planted: strided */
	}
	H5Dclose(set);
	H5Pclose(plist);
	H5Pclose(fapl);
	H5Sclose(space);
	H5Sclose(memory);
	CHECK(H5Fclose(file) >= 0);
	free(data);
}

/* Data that the library packs: the time is the library's. */
static void compressed(bool bad, const char *dir)
{
	hsize_t dims[2] = { 512, 1024 }, chunk[2] = { 512, 1024 };
	hid_t file = H5Fcreate(in(dir, "packed.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
		space = H5Screate_simple(2, dims, NULL);
	hid_t create = H5Pcreate(H5P_DATASET_CREATE);
	double *data = calloc(512 * 1024, sizeof(*data));

	CHECK(file >= 0 && data);
	for (int i = 0; i < 512 * 1024; i++)
		data[i] = i % 1000;
	if (bad) {
		H5Pset_chunk(create, 2, chunk);
		H5Pset_deflate(create, 6);
	}
	for (int i = 0; i < 2; i++) {
		hid_t set = H5Dcreate2(file, i ? "second" : "first", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, create, H5P_DEFAULT);

		CHECK(set >= 0);
		CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0); /* planted: compressed */
		CHECK(H5Dclose(set) >= 0);
	}
	H5Pclose(create);
	H5Sclose(space);
	CHECK(H5Fclose(file) >= 0);
	free(data);
}

/* The library's own records go to the file one by one, since each is flushed; or at the end. */
static void attributes(bool bad, const char *dir)
{
	hid_t file = H5Fcreate(in(dir, "attributes.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
	char name[32];

	CHECK(file >= 0);
	for (int i = 0; i < 800; i++) {
		hid_t group, attribute;

		snprintf(name, sizeof(name), "group%d", i);
		group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		attribute = H5Acreate2(group, "units", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
		CHECK(group >= 0 && H5Awrite(attribute, H5T_NATIVE_INT, &i) >= 0);
		H5Aclose(attribute);
		H5Gclose(group);
		if (bad)
			CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0); /* planted: attributes */
	}
	H5Sclose(space);
	CHECK(H5Fclose(file) >= 0);
}

int main(int argc, char **argv)
{
	static const struct planted cases[] = {
		{ "fill", fill }, { "chunks", chunks }, { "bypass", bypass }, { "strided", strided }, { "compressed", compressed },
		{ "attributes", attributes },
	};

	return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
