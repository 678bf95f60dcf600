/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Small kernels with the symptoms of three published cases (Bez et al., "Drilling down I/O bottlenecks with cross-layer I/O profile
 * exploration", section V), and twins with the changes that helped there: openPMD's HDF5 output of WarpX, AMReX's plot files, the
 * decomposition map of E3SM-IO.
 */
#include <hdf5.h>

#include "planted_mpi.h"

static double data[64 * 64 * 64];

static hid_t open_file(const char *path, bool create, bool collective_metadata)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS), file;

	H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
	H5Pset_all_coll_metadata_ops(access, collective_metadata);
	H5Pset_coll_metadata_write(access, collective_metadata);
	file = create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(path, H5F_ACC_RDONLY, access);
	CHECK(file >= 0);
	H5Pclose(access);
	return file;
}

static hid_t transfer(bool collective)
{
	hid_t list = H5Pcreate(H5P_DATASET_XFER);

	H5Pset_dxpl_mpio(list, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
	return list;
}

static void attach_number(hid_t object, const char *name, double value)
{
	hid_t scalar = H5Screate(H5S_SCALAR),
	      attribute = H5Acreate2(object, name, H5T_NATIVE_DOUBLE, scalar, H5P_DEFAULT, H5P_DEFAULT);

	CHECK(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value) >= 0);
	H5Aclose(attribute);
	H5Sclose(scalar);
}

/* A field of 64 x 32 x 32 cells in mini blocks of 16 x 8 x 8: each rank writes its own, one by one and independently, with
 * attributes for each field; or all ranks write their part of the field together. */
static void write_field(hid_t group, const char *name, bool bad)
{
	hsize_t dims[3] = { 64, 32, 32 }, block[3] = { 16, 8, 8 }, part[3] = { 64 / size, 32, 32 }, start[3] = { 0, 0, 0 },
		*count = bad ? block : part;
	hid_t space = H5Screate_simple(3, dims, NULL), memory = H5Screate_simple(3, count, NULL), list = transfer(!bad);
	hid_t set = H5Dcreate2(group, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	int blocks = bad ? 64 / size : 1;

	CHECK(set >= 0);
	attach_number(set, "unitSI", 1);
	attach_number(set, "timeOffset", 0);
	for (int i = 0; i < blocks; i++) {
		hsize_t which = rank * blocks + i;

		start[0] = bad ? which / 16 * 16 : rank * part[0];
		start[1] = bad ? which / 4 % 4 * 8 : 0;
		start[2] = bad ? which % 4 * 8 : 0;
		H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
		CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, list, data) >= 0); /* planted: openpmd */
	}
	H5Dclose(set);
	H5Pclose(list);
	H5Sclose(memory);
	H5Sclose(space);
}

static void openpmd(bool bad, const char *dir)
{
	static const char *const fields[] = { "E_x", "E_y", "E_z", "B_x" };
	hid_t file = open_file(in(dir, "openpmd.h5"), true, !bad);

	for (int step = 0; step < 2; step++) {
		char name[32];
		hid_t group;

		snprintf(name, sizeof(name), "step%d", step);
		group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		CHECK(group >= 0);
		attach_number(group, "time", step);
		for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
			write_field(group, fields[i], bad);
		H5Gclose(group);
	}
	CHECK(H5Fclose(file) >= 0);
}

/* Plot files of boxes of 8 x 8 x 8 cells: a collective write for each box, or one for all boxes of a rank. */
static void write_plot(const char *path, bool bad)
{
	hsize_t box = 8 * 8 * 8, boxes = 150, all = box * boxes * size, count = bad ? box : box * boxes;
	hid_t file = open_file(path, true, true), space = H5Screate_simple(1, &all, NULL),
	      memory = H5Screate_simple(1, &count, NULL);
	hid_t set = H5Dcreate2(file, "level_0", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
	      list = transfer(true);

	CHECK(set >= 0);
	for (hsize_t i = 0; i < (bad ? boxes : 1); i++) {
		hsize_t start = bad ? (i * size + rank) * box : rank * count;

		H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL);
		CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, list, data) >= 0); /* planted: amrex */
	}
	H5Pclose(list);
	H5Dclose(set);
	H5Sclose(memory);
	H5Sclose(space);
	CHECK(H5Fclose(file) >= 0);
}

static void amrex(bool bad, const char *dir)
{
	for (int i = 0; i < 2; i++) {
		char name[32];

		snprintf(name, sizeof(name), "plt%05d.h5", i);
		write_plot(in(dir, name), bad);
	}
}

#define SEGMENTS 5000
#define SEGMENT 16 /* numbers */

static void write_map(const char *path)
{
	hsize_t all = SEGMENTS * SEGMENT * 4;
	hid_t file, space, set;
	int *numbers = calloc(all, sizeof(*numbers));

	if (!rank) {
		file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
		space = H5Screate_simple(1, &all, NULL);
		set = H5Dcreate2(file, "D1.offsets", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		CHECK(numbers && set >= 0 && H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
		H5Dclose(set);
		H5Sclose(space);
		CHECK(H5Fclose(file) >= 0);
	}
	free(numbers);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank reads its segments of the map one by one, two thirds in order, the rest anywhere; or all of its part in one collective
 * call. */
static void e3sm(bool bad, const char *dir)
{
	hsize_t count = bad ? SEGMENT : SEGMENTS * SEGMENT, start;
	hid_t file, set, space, memory = H5Screate_simple(1, &count, NULL), list = transfer(!bad);
	int *numbers = calloc(SEGMENTS * SEGMENT, sizeof(*numbers));

	write_map(in(dir, "map.h5"));
	file = open_file(in(dir, "map.h5"), false, true);
	set = H5Dopen2(file, "D1.offsets", H5P_DEFAULT);
	space = H5Dget_space(set);
	CHECK(numbers && set >= 0);
	for (hsize_t i = 0; i < (bad ? SEGMENTS : 1); i++) {
		hsize_t segment = i % 3 ? i : i * 7919 % SEGMENTS;

		start = bad ? (segment * 4 + rank % 4) * SEGMENT : (hsize_t)(rank % 4) * count;
		H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL);
		CHECK(H5Dread(set, H5T_NATIVE_INT, memory, space, list, numbers) >= 0); /* planted: e3sm */
	}
	H5Pclose(list);
	H5Sclose(space);
	H5Sclose(memory);
	H5Dclose(set);
	CHECK(H5Fclose(file) >= 0);
	free(numbers);
}

int main(int argc, char **argv)
{
	static const struct planted cases[] = { { "openpmd", openpmd }, { "amrex", amrex }, { "e3sm", e3sm } };

	begin_mpi(&argc, &argv);
	for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++)
		data[i] = i;
	run_mpi_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
	MPI_Finalize();
	return 0;
}
