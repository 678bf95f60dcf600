/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The variables of snippets for HDF5. An error ends the program.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

static herr_t failed(hid_t stack, void *data)
{
	(void)data;
	H5Eprint2(stack, stderr);
	MPI_Abort(MPI_COMM_WORLD, 1);
	return 0;
}

/* What a snippet opened, too. */
static void close_all(unsigned kind)
{
	hid_t ids[16];
	ssize_t n = H5Fget_obj_ids(H5F_OBJ_ALL, kind, 16, ids);

	for (ssize_t i = 0; i < n; i++)
		(kind == H5F_OBJ_FILE ? H5Fclose : H5Dclose)(ids[i]);
}

#define SNIPPET(name) \
	static void advice_##name(const char *path, const char *own_path UNUSED, int rank, int nranks)
#define BEFORE \
	MPI_Comm comm UNUSED = MPI_COMM_WORLD; \
	const hsize_t rows = 8, columns = 16, first_row = rank * rows; \
	static double values[8 * 16]; \
	hid_t access = H5Pcreate(H5P_FILE_ACCESS); \
	H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL); \
	hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access); \
	hid_t filespace = H5Screate_simple(2, (hsize_t[]){ rows * nranks, columns }, NULL); \
	hid_t memspace = H5Screate_simple(2, (hsize_t[]){ rows, columns }, NULL); \
	hid_t dset = H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, filespace, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT); \
	H5Sselect_hyperslab(filespace, H5S_SELECT_SET, (hsize_t[]){ first_row, 0 }, NULL, (hsize_t[]){ rows, columns }, NULL); \
	H5Dwrite(dset, H5T_NATIVE_DOUBLE, memspace, filespace, H5P_DEFAULT, values); \
	path = "advice-second.h5";      /* for snippets that create one */
#define AFTER \
	close_all(H5F_OBJ_DATASET); \
	H5Pclose(access); \
	H5Sclose(memspace); \
	H5Sclose(filespace); \
	close_all(H5F_OBJ_FILE); \
	MPI_Barrier(MPI_COMM_WORLD);
#define RUN(name) advice_##name(argv[1], own, rank, nranks)
#define BEGIN \
	char own[40]; \
	BEGIN_MPI \
	snprintf(own, sizeof(own), "advice-own-%d.h5", rank); \
	H5Eset_auto2(H5E_DEFAULT, failed, NULL);
#define END MPI_Finalize();
