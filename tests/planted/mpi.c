/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Ranks that share a file by MPI-IO, or read and write on their own.
 */
#include <mpi.h>

#include "planted.h"

static char block[4 * MIB];
static int rank, size;

static MPI_File open_shared(const char *dir, const char *name, int mode)
{
	MPI_File f;

	CHECK(!MPI_File_open(MPI_COMM_WORLD, in(dir, name), mode, MPI_INFO_NULL, &f));
	return f;
}

/* Rows of 256 B, or of 1 MiB, of all ranks in turn. */
static void independent_writes(bool bad, const char *dir)
{
	MPI_File f = open_shared(dir, "shared.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY);
	int n = bad ? 5000 : 4, bytes = bad ? 256 : MIB;

	for (int i = 0; i < n; i++) {
		MPI_Offset at = ((MPI_Offset)i * size + rank) * bytes;

		CHECK(!(bad ? MPI_File_write_at : MPI_File_write_at_all)(f, at, block, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
	}
	MPI_File_close(&f);
}

static void make_shared(const char *dir, const char *name, int mib)
{
	if (!rank) {
		int fd = open(in(dir, name), O_WRONLY | O_CREAT, 0644);

		CHECK(fd >= 0);
		for (int i = 0; i < mib; i++)
			CHECK(write(fd, block, MIB) == MIB);
		close(fd);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void independent_reads(bool bad, const char *dir)
{
	int n = bad ? 5000 : 4, bytes = bad ? 256 : MIB;
	MPI_File f;

	make_shared(dir, "shared.dat", 16);
	f = open_shared(dir, "shared.dat", MPI_MODE_RDONLY);
	for (int i = 0; i < n; i++) {
		MPI_Offset at = ((MPI_Offset)i * size + rank) * bytes;

		CHECK(!(bad ? MPI_File_read_at : MPI_File_read_at_all)(f, at, block, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
	}
	MPI_File_close(&f);
}

/* Rank 1 has ten times the data of the others, or all have the same. */
static void unequal(bool bad, const char *dir)
{
	int fd = open(in(dir, "shared.dat"), O_WRONLY | O_CREAT, 0644), n = bad ? (rank == 1 ? 100 : 10) : 32;

	CHECK(fd >= 0);
	for (int i = 0; i < n; i++)
		CHECK(pwrite(fd, block, MIB, ((off_t)rank * 128 + i) * MIB) == MIB);
	close(fd);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void unequal_reads(bool bad, const char *dir)
{
	int fd, n = bad ? (rank == 1 ? 100 : 10) : 32;

	make_shared(dir, "shared.dat", 128);
	fd = open(in(dir, "shared.dat"), O_RDONLY);
	CHECK(fd >= 0);
	for (int i = 0; i < n; i++)
		CHECK(pread(fd, block, MIB, (off_t)(bad && rank == 1 ? i : rank * 32 + i) * MIB) == MIB);
	close(fd);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 writes what it gathered, or each its own part. */
static void serial(bool bad, const char *dir)
{
	char *all = malloc((size_t)size * 4 * MIB);
	int fd = -1;

	CHECK(all);
	if (!rank || !bad)
		CHECK((fd = open(in(dir, "shared.dat"), O_WRONLY | O_CREAT, 0644)) >= 0);
	for (int i = 0; i < 8; i++) {
		if (bad)
			MPI_Gather(block, 4 * MIB, MPI_BYTE, all, 4 * MIB, MPI_BYTE, 0, MPI_COMM_WORLD);
		if (bad && !rank)
			CHECK(pwrite(fd, all, (size_t)size * 4 * MIB, (off_t)i * size * 4 * MIB) == (ssize_t)size * 4 * MIB);
		if (!bad)
			CHECK(pwrite(fd, block, 4 * MIB, ((off_t)i * size + rank) * 4 * MIB) == 4 * MIB);
	}
	free(all);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* All read all of it, or one reads and sends it. */
static void read_by_all(bool bad, const char *dir)
{
	int fd;

	make_shared(dir, "table.dat", 32);
	fd = open(in(dir, "table.dat"), O_RDONLY);
	CHECK(fd >= 0);
	for (int i = 0; i < 32; i++) {
		if (bad || !rank)
			CHECK(pread(fd, block, MIB, (off_t)i * MIB) == MIB);
		if (!bad)
			MPI_Bcast(block, MIB, MPI_BYTE, 0, MPI_COMM_WORLD);
	}
	close(fd);
}

/* Every second block of 4 KiB by a view: the library reads what lies between, to write it back. Or the blocks stand together. */
static void rmw(bool bad, const char *dir)
{
	MPI_Datatype every_second;
	MPI_File f;

	if (!rank) {                    /* of zeros that nobody wrote */
		int fd = open(in(dir, "sieve.dat"), O_WRONLY | O_CREAT, 0644);

		CHECK(fd >= 0 && !ftruncate(fd, 32 * MIB));
		close(fd);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	f = open_shared(dir, "sieve.dat", MPI_MODE_RDWR);
	MPI_Type_vector(512, 4 * KIB, bad ? 8 * KIB : 4 * KIB, MPI_BYTE, &every_second);
	MPI_Type_commit(&every_second);
	for (int i = 0; i < 4; i++) {
		MPI_File_set_view(f, ((MPI_Offset)i * size + rank) * 4 * MIB, MPI_BYTE, every_second, "native", MPI_INFO_NULL);
		CHECK(!MPI_File_write_at(f, 0, block, 512 * 4 * KIB, MPI_BYTE, MPI_STATUS_IGNORE));
	}
	MPI_Type_free(&every_second);
	MPI_File_close(&f);
}

int main(int argc, char **argv)
{
	static const struct planted cases[] = {
		{ "independent_writes", independent_writes }, { "independent_reads", independent_reads }, { "unequal", unequal },
		{ "unequal_reads", unequal_reads }, { "serial", serial }, { "read_by_all", read_by_all }, { "rmw", rmw },
	};

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	memset(block, 1, sizeof(block));
	run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
	MPI_Finalize();
	return 0;
}
