/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ior API FILE SEGMENTS BLOCK TRANSFER [FLAGS], under mpirun: the access pattern of IOR on one shared file. Each rank writes,
 * and then reads, SEGMENTS blocks of BLOCK bytes in transfers of TRANSFER bytes, segment by segment; in a segment the ranks'
 * blocks follow each other (strided, if a block is one transfer). FLAGS, as in IOR: F one file FILE.RANK for each rank, C each
 * rank reads what the next one wrote, z the transfers of a phase in random order; and of our own: w makes FILE.ready when the file
 * is open, and waits until FILE.go exists. So each rank makes SEGMENTS * BLOCK / TRANSFER
 * writes and as many reads of TRANSFER bytes each, by API:
 *	POSIX: pwrite64, pread64; MPIIO: MPI_File_write_at, MPI_File_read_at; MPIIO-C: MPI_File_write_at_all,
 *	MPI_File_read_at_all; HDF5: H5Dwrite, H5Dread of bytes; HDF5-C: the same, collective; PNETCDF: ncmpi_put_vara_schar_all,
 *	ncmpi_get_vara_schar_all; AIO: aio_write, aio_read, each with aio_return; MMAP: no call, but one mmap of the whole file
 *	and one msync.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#ifdef HAVE_PNETCDF
#include <pnetcdf.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int rank, ranks;
static long segments, block, transfer;
static int own_file, read_next, shuffled;
static MPI_Comm comm = MPI_COMM_WORLD;
static char *buffer;

/* How an API opens the file, moves one transfer, and closes it. */
struct api {
	const char *name;
	void (*open)(const char *path);
	void (*move)(long offset, int write);
	void (*close)(void);
};

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "ior: %s failed (errno %d)\n", what, errno);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static long file_bytes(void)
{
	return segments * block * (own_file ? 1 : ranks);
}

/* ---- POSIX, AIO, MMAP ---- */

static int fd;
static char *map;

static void fd_open(const char *path)
{
	fd = open(path, O_RDWR | O_CREAT, 0644);
	must(fd >= 0, "open");
}

static void fd_close(void)
{
	must(!close(fd), "close");
}

static void posix_move(long offset, int write)
{
	must((write ? pwrite(fd, buffer, transfer, offset) : pread(fd, buffer, transfer, offset)) == transfer, "pwrite or pread");
}

static void aio_move(long offset, int write)
{
	struct aiocb cb = { .aio_fildes = fd, .aio_buf = buffer, .aio_nbytes = transfer, .aio_offset = offset };
	const struct aiocb *const list[] = { &cb };

	must(!(write ? aio_write(&cb) : aio_read(&cb)), "aio_write or aio_read");
	while (aio_error(&cb) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	must(aio_return(&cb) == transfer, "aio_return");
}

static void map_open(const char *path)
{
	fd_open(path);
	must(!ftruncate(fd, file_bytes()), "ftruncate");
	map = mmap(NULL, file_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(map != MAP_FAILED, "mmap");
}

static void map_move(long offset, int write)
{
	memcpy(write ? map + offset : buffer, write ? buffer : map + offset, transfer);
}

static void map_close(void)
{
	must(!msync(map, file_bytes(), MS_SYNC), "msync");
	must(!munmap(map, file_bytes()), "munmap");
	fd_close();
}

/* ---- MPI-IO ---- */

static MPI_File mpi_file;

static void mpi_open(const char *path)
{
	must(!MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &mpi_file), "MPI_File_open");
}

static void mpi_move(long offset, int write)
{
	MPI_Status status;

	must(!(write ? MPI_File_write_at(mpi_file, offset, buffer, transfer, MPI_BYTE, &status) :
	       MPI_File_read_at(mpi_file, offset, buffer, transfer, MPI_BYTE, &status)), "MPI_File_write_at or read_at");
}

static void mpi_move_all(long offset, int write)
{
	MPI_Status status;

	must(!(write ? MPI_File_write_at_all(mpi_file, offset, buffer, transfer, MPI_BYTE, &status) :
	       MPI_File_read_at_all(mpi_file, offset, buffer, transfer, MPI_BYTE, &status)),
	       "MPI_File_write_at_all or read_at_all");
}

static void mpi_close(void)
{
	must(!MPI_File_close(&mpi_file), "MPI_File_close");
}

/* ---- HDF5 ---- */

static hid_t h5_file, h5_data, h5_space, h5_memory, h5_transfer = H5P_DEFAULT;

static void h5_open(const char *path)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	hsize_t all = file_bytes(), one = transfer;

	must(H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL) >= 0, "H5Pset_fapl_mpio");
	h5_file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
	h5_space = H5Screate_simple(1, &all, NULL);
	h5_memory = H5Screate_simple(1, &one, NULL);
	h5_data = H5Dcreate2(h5_file, "data", H5T_NATIVE_UCHAR, h5_space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	must(h5_data >= 0, "H5Dcreate2");
	H5Pclose(access);
}

static void h5_open_collective(const char *path)
{
	h5_open(path);
	h5_transfer = H5Pcreate(H5P_DATASET_XFER);
	must(H5Pset_dxpl_mpio(h5_transfer, H5FD_MPIO_COLLECTIVE) >= 0, "H5Pset_dxpl_mpio");
}

static void h5_move(long offset, int write)
{
	hsize_t start = offset, count = transfer;

	must(H5Sselect_hyperslab(h5_space, H5S_SELECT_SET, &start, NULL, &count, NULL) >= 0, "H5Sselect_hyperslab");
	must((write ? H5Dwrite(h5_data, H5T_NATIVE_UCHAR, h5_memory, h5_space, h5_transfer, buffer) :
	      H5Dread(h5_data, H5T_NATIVE_UCHAR, h5_memory, h5_space, h5_transfer, buffer)) >= 0, "H5Dwrite or H5Dread");
}

static void h5_close(void)
{
	H5Sclose(h5_memory);
	H5Sclose(h5_space);
	H5Dclose(h5_data);
	must(H5Fclose(h5_file) >= 0, "H5Fclose");
}

/* ---- PnetCDF ---- */

#ifdef HAVE_PNETCDF
static int nc, nc_data;

static void nc_open(const char *path)
{
	int dim;

	must(!ncmpi_create(comm, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &nc), "ncmpi_create");
	must(!ncmpi_def_dim(nc, "bytes", file_bytes(), &dim), "ncmpi_def_dim");
	must(!ncmpi_def_var(nc, "data", NC_BYTE, 1, &dim, &nc_data), "ncmpi_def_var");
	must(!ncmpi_enddef(nc), "ncmpi_enddef");
}

static void nc_move(long offset, int write)
{
	MPI_Offset start = offset, count = transfer;

	must(!(write ? ncmpi_put_vara_schar_all(nc, nc_data, &start, &count, (signed char *)buffer) :
	       ncmpi_get_vara_schar_all(nc, nc_data, &start, &count, (signed char *)buffer)), "ncmpi_put_vara or get_vara");
}

static void nc_close(void)
{
	must(!ncmpi_close(nc), "ncmpi_close");
}
#endif

static const struct api apis[] = {
	{ "POSIX", fd_open, posix_move, fd_close }, { "AIO", fd_open, aio_move, fd_close },
	{ "MMAP", map_open, map_move, map_close }, { "MPIIO", mpi_open, mpi_move, mpi_close },
	{ "MPIIO-C", mpi_open, mpi_move_all, mpi_close }, { "HDF5", h5_open, h5_move, h5_close },
	{ "HDF5-C", h5_open_collective, h5_move, h5_close },
#ifdef HAVE_PNETCDF
	{ "PNETCDF", nc_open, nc_move, nc_close },
#endif
};

/* A permutation of 0 … n - 1, the same in each run (constants of Knuth's MMIX generator). */
static void shuffle(long *order, long n)
{
	unsigned long long state = rank + 1;

	for (long i = n - 1; i > 0; i--) {
		long with, swap = order[i];

		state = state * 6364136223846793005ull + 1442695040888963407ull;
		with = (state >> 33) % (i + 1);
		order[i] = order[with];
		order[with] = swap;
	}
}

static void phase(const struct api *api, int write)
{
	long in_block = block / transfer, n = segments * in_block, *order = calloc(n, sizeof(*order));
	long of_rank = own_file ? 0 : !write && read_next ? (rank + 1) % ranks : rank;

	must(order != NULL, "calloc");
	for (long i = 0; i < n; i++)
		order[i] = i;
	if (shuffled)
		shuffle(order, n);
	for (long i = 0; i < n; i++) {
		long segment = order[i] / in_block, at = order[i] % in_block * transfer;

		api->move((segment * (own_file ? 1 : ranks) + of_rank) * block + at, write);
	}
	free(order);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* At most a minute. */
static void wait_for_go(const char *file)
{
	char path[4096];
	FILE *ready;

	snprintf(path, sizeof(path), "%s.ready", file);
	ready = rank ? NULL : fopen(path, "w");
	if (ready)
		fclose(ready);
	snprintf(path, sizeof(path), "%s.go", file);
	for (int i = 0; i < 6000 && !rank && access(path, F_OK); i++)
		usleep(10000);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	const struct api *api = NULL;
	char path[4096];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 6 && argc != 7) {
		for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]); i++)
			printf("ior %s FILE SEGMENTS BLOCK TRANSFER [FLAGS]\n", apis[i].name);
		MPI_Finalize();
		return 2;
	}
	segments = atol(argv[3]);
	block = atol(argv[4]);
	transfer = atol(argv[5]);
	buffer = calloc(1, transfer);
	own_file = argc == 7 && strchr(argv[6], 'F');
	read_next = argc == 7 && strchr(argv[6], 'C');
	shuffled = argc == 7 && strchr(argv[6], 'z');
	comm = own_file ? MPI_COMM_SELF : MPI_COMM_WORLD;
	must(snprintf(path, sizeof(path), own_file ? "%s.%d" : "%s", argv[2], rank) < (int)sizeof(path), "path");
	for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]); i++)
		if (!strcmp(apis[i].name, argv[1]))
			api = &apis[i];
	must(api && buffer, "API");
	api->open(path);
	if (argc == 7 && strchr(argv[6], 'w'))
		wait_for_go(argv[2]);
	phase(api, 1);
	phase(api, 0);
	api->close();
	free(buffer);
	MPI_Finalize();
	return 0;
}
