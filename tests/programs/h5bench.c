/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * h5bench MEMORY FILE PATH STEPS PARTICLES [CHUNK], under mpirun: the access patterns of h5bench's write and read kernels, per
 * rank and step PARTICLES particles of 8 floats, in datasets of one group for each step. MEMORY and FILE are CONTIG or
 * INTERLEAVED:
 *	to CONTIG files 8 H5Dwrite of one member each (4 bytes a particle), from arrays or, INTERLEAVED, from structures of 32
 *	bytes by a compound type of one member, into datasets of such a type; to INTERLEAVED files 1 H5Dwrite of whole
 *	structures (32 bytes a particle).
 * With CHUNK the datasets are chunked, CHUNK particles each, and transfers are collective. All is read back in the same way by
 * as many H5Dread.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 8

static int rank, ranks;
static hsize_t particles;
static hid_t creation = H5P_DEFAULT, transfer = H5P_DEFAULT;
static float *data;

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "h5bench: %s failed\n", what);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static hid_t compound(size_t size, int first, int members, size_t base)
{
	hid_t type = H5Tcreate(H5T_COMPOUND, size);
	char name[8];

	for (int i = first; i < first + members; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		must(H5Tinsert(type, name, i * sizeof(float) - base, H5T_NATIVE_FLOAT) >= 0, "H5Tinsert");
	}
	return type;
}

/* One dataset of a step: its types in the file and in memory. */
static void dataset(hid_t group, const char *name, hid_t file_type, hid_t memory_type, int write)
{
	hsize_t all = particles * ranks, start = particles * rank;
	hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &particles, NULL), id;

	must(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &particles, NULL) >= 0, "H5Sselect_hyperslab");
	id = write ? H5Dcreate2(group, name, file_type, space, H5P_DEFAULT, creation, H5P_DEFAULT) :
		     H5Dopen2(group, name, H5P_DEFAULT);
	must(id >= 0, "H5Dcreate2 or H5Dopen2");
	must((write ? H5Dwrite(id, memory_type, memory, space, transfer, data) :
	      H5Dread(id, memory_type, memory, space, transfer, data)) >= 0, "H5Dwrite or H5Dread");
	H5Dclose(id);
	H5Sclose(memory);
	H5Sclose(space);
}

static void step(hid_t file, int number, int interleaved_memory, int interleaved_file, int write)
{
	hid_t whole = compound(MEMBERS * sizeof(float), 0, MEMBERS, 0), group;
	char name[16];

	snprintf(name, sizeof(name), "step%d", number);
	group = write ? H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) : H5Gopen2(file, name, H5P_DEFAULT);
	must(group >= 0, "H5Gcreate2 or H5Gopen2");
	if (interleaved_file)
		dataset(group, "particles", whole, whole, write);
	for (int i = 0; i < MEMBERS && !interleaved_file; i++) {
		hid_t in_file = compound(sizeof(float), i, 1, i * sizeof(float));
		hid_t in_memory = compound(MEMBERS * sizeof(float), i, 1, 0);

		snprintf(name, sizeof(name), "m%d", i);
		if (interleaved_memory)
			dataset(group, name, in_file, in_memory, write);
		else
			dataset(group, name, H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, write);
		H5Tclose(in_file);
		H5Tclose(in_memory);
	}
	H5Tclose(whole);
	H5Gclose(group);
}

static void use_chunks(hsize_t chunk)
{
	creation = H5Pcreate(H5P_DATASET_CREATE);
	transfer = H5Pcreate(H5P_DATASET_XFER);
	must(H5Pset_chunk(creation, 1, &chunk) >= 0, "H5Pset_chunk");
	must(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE) >= 0, "H5Pset_dxpl_mpio");
}

int main(int argc, char **argv)
{
	int interleaved_memory, interleaved_file;
	hid_t access, file;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	must(argc == 6 || argc == 7, "h5bench MEMORY FILE PATH STEPS PARTICLES [CHUNK]");
	if (argc == 7)
		use_chunks(atol(argv[6]));
	interleaved_memory = !strcmp(argv[1], "INTERLEAVED");
	interleaved_file = !strcmp(argv[2], "INTERLEAVED");
	particles = strtoull(argv[5], NULL, 10);
	data = calloc(particles, MEMBERS * sizeof(float));
	access = H5Pcreate(H5P_FILE_ACCESS);
	must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "H5Pset_fapl_mpio");
	file = H5Fcreate(argv[3], H5F_ACC_TRUNC, H5P_DEFAULT, access);
	must(file >= 0, "H5Fcreate");
	for (int write = 1; write >= 0; write--)
		for (int i = 0; i < atoi(argv[4]); i++)
			step(file, i, interleaved_memory, interleaved_file, write);
	must(H5Fclose(file) >= 0, "H5Fclose");
	H5Pclose(access);
	free(data);
	MPI_Finalize();
	return 0;
}
