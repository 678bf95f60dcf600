/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Ranks that share a file by MPI-IO, or read and write on their own.
 */
#include <mpi.h>

#include "planted_mpi.h"

#define NO_STATUS MPI_STATUS_IGNORE

static char block[4 * MIB];

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

		if (bad)
			CHECK(!MPI_File_write_at(f, at, block, bytes, MPI_BYTE, NO_STATUS)); /* planted: independent_writes */
		else
			CHECK(!MPI_File_write_at_all(f, at, block, bytes, MPI_BYTE, NO_STATUS));
	}
	MPI_File_close(&f);
}

/* A file of so many MiB without data (a hole): the first read of each page has its price. */
static int make_holes(const char *dir, const char *name, int mib)
{
	int fd;

	if (!rank) {
		fd = open(in(dir, name), O_WRONLY | O_CREAT, 0644);
		CHECK(fd >= 0 && !ftruncate(fd, (off_t)mib * MIB));
		close(fd);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	fd = open(in(dir, name), O_RDONLY);
	CHECK(fd >= 0);
	begin_work();
	return fd;
}

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* The same with its pages in memory (from Linux 5.14 on): the first access to each, read or write, costs no more than others. */
static int make_loaded(const char *dir, const char *name, int mib)
{
	int fd = make_holes(dir, name, mib);
	size_t bytes = (size_t)mib * MIB;

	if (!rank) {
		void *pages = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

		CHECK(pages != MAP_FAILED);
		madvise(pages, bytes, MADV_POPULATE_READ);
		munmap(pages, bytes);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	begin_work();
	return fd;
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
	begin_work();
}

static void independent_reads(bool bad, const char *dir)
{
	int n = bad ? 5000 : 4, bytes = bad ? 256 : MIB;
	MPI_File f;

	make_shared(dir, "shared.dat", 16);
	f = open_shared(dir, "shared.dat", MPI_MODE_RDONLY);
	for (int i = 0; i < n; i++) {
		MPI_Offset at = ((MPI_Offset)i * size + rank) * bytes;

		if (bad)
			CHECK(!MPI_File_read_at(f, at, block, bytes, MPI_BYTE, NO_STATUS)); /* planted: independent_reads */
		else
			CHECK(!MPI_File_read_at_all(f, at, block, bytes, MPI_BYTE, NO_STATUS));
	}
	MPI_File_close(&f);
}

/* Rank 1 has ten times the data of the others, or all have the same: together as much. */
static void unequal(bool bad, const char *dir)
{
	int fd = open(in(dir, "shared.dat"), O_WRONLY | O_CREAT, 0644), n = bad ? (rank == 1 ? 300 : 30) : (270 + 30 * size) / size;

	CHECK(fd >= 0);
	for (int i = 0; i < n; i++)
		CHECK(pwrite(fd, block, MIB, ((off_t)rank * 512 + i) * MIB) == MIB); /* planted: unequal */
	close(fd);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void unequal_reads(bool bad, const char *dir)
{
	int fd = make_holes(dir, "shared.dat", 3072), n = bad ? (rank == 1 ? 750 : 150) : (600 + 150 * size) / size;

	for (int i = 0; i < n; i++)
		CHECK(pread(fd, block, MIB, ((off_t)rank * 768 + i) * MIB) == MIB); /* planted: unequal_reads */
	close(fd);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 writes what it gathered, or each its own part. */
static void serial(bool bad, const char *dir)
{
	off_t bytes = (off_t)size * 4 * MIB;
	char *all = malloc(bytes);
	int fd = -1;

	CHECK(all);
	close(make_loaded(dir, "shared.dat", 8 * bytes / MIB));
	if (!rank || !bad)
		CHECK((fd = open(in(dir, "shared.dat"), O_WRONLY)) >= 0);
	for (int i = 0; i < 8; i++) {
		if (bad)
			MPI_Gather(block, 4 * MIB, MPI_BYTE, all, 4 * MIB, MPI_BYTE, 0, MPI_COMM_WORLD);
		if (bad && !rank)
			CHECK(pwrite(fd, all, bytes, i * bytes) == bytes); /* planted: serial */
		if (!bad)
			CHECK(pwrite(fd, block, 4 * MIB, ((off_t)i * size + rank) * 4 * MIB) == 4 * MIB);
	}
	free(all);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* All read all of the table, or one reads it and sends it. */
static void read_by_all(bool bad, const char *dir)
{
	int fd = make_holes(dir, "table.dat", 128);
	char *table = malloc(128 * MIB);

	CHECK(table);
	for (int i = 0; i < 128 && (bad || !rank); i++)
		CHECK(pread(fd, table + (size_t)i * MIB, MIB, (off_t)i * MIB) == MIB); /* planted: read_by_all */
	if (!bad)
		MPI_Bcast(table, 128 * MIB, MPI_BYTE, 0, MPI_COMM_WORLD);
	free(table);
	close(fd);
}

/* Every second block of 4 KiB by a view: the library reads what lies between, to write it back. Or the blocks stand together. */
static void rmw(bool bad, const char *dir)
{
	MPI_Datatype every_second;
	MPI_File f;

	close(make_loaded(dir, "sieve.dat", 256));
	f = open_shared(dir, "sieve.dat", MPI_MODE_RDWR);
	MPI_Type_vector(512, 4 * KIB, bad ? 8 * KIB : 4 * KIB, MPI_BYTE, &every_second);
	MPI_Type_commit(&every_second);
	for (int i = 0; i < 64 / size; i++) {
		MPI_File_set_view(f, ((MPI_Offset)i * size + rank) * 4 * MIB, MPI_BYTE, every_second, "native", MPI_INFO_NULL);
		CHECK(!MPI_File_write_at(f, 0, block, 512 * 4 * KIB, MPI_BYTE, NO_STATUS)); /* planted: rmw */
	}
	MPI_Type_free(&every_second);
	MPI_File_close(&f);
}

/* Rank 1 computes longer before each collective write, or all compute as long. */
/* COMPUTE=1: late by computing, not by sleeping. */
static void be_late(void)
{
	clock_t begin = clock();

	if (getenv("COMPUTE"))
		while (clock() - begin < CLOCKS_PER_SEC * 3 / 100)
			;
	else
		usleep(30000);
}

static void late(bool bad, const char *dir)
{
	MPI_File f = open_shared(dir, "shared.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY);

	for (int i = 0; i < 6; i++) {
		MPI_Offset at = ((MPI_Offset)i * size + rank) * 64 * KIB;

		if (rank == 1 || !bad)
			be_late();
		CHECK(!MPI_File_write_at_all(f, at, block, 64 * KIB, MPI_BYTE, NO_STATUS)); /* planted: late */
	}
	MPI_File_close(&f);
}

/* Little data by collective calls goes through one process; or each rank writes its own. */
static void one_writer(bool bad, const char *dir)
{
	MPI_File f = open_shared(dir, "shared.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY);
	int n = bad ? 1000 : 4, bytes = bad ? 4 * KIB : MIB;

	for (int i = 0; i < n; i++) {
		MPI_Offset at = ((MPI_Offset)i * size + rank) * bytes;

		if (bad)
			CHECK(!MPI_File_write_at_all(f, at, block, bytes, MPI_BYTE, NO_STATUS)); /* planted: one_writer */
		else
			CHECK(!MPI_File_write_at(f, at, block, bytes, MPI_BYTE, NO_STATUS));
	}
	MPI_File_close(&f);
}

/* Collective writes of scattered blocks, which the library does not join because a hint forbids it; or it may. */
static void degraded(bool bad, const char *dir)
{
	MPI_Datatype scattered;
	MPI_Info info;
	MPI_File f;

	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_cb_write", bad ? "disable" : "enable");
	MPI_Info_set(info, "romio_ds_write", "disable");
	CHECK(!MPI_File_open(MPI_COMM_WORLD, in(dir, "shared.dat"), MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &f));
	MPI_Type_vector(1024, 1 * KIB, size * KIB, MPI_BYTE, &scattered);
	MPI_Type_commit(&scattered);
	for (int i = 0; i < 8; i++) {
		MPI_File_set_view(f, (MPI_Offset)i * size * MIB + rank * KIB, MPI_BYTE, scattered, "native", info);
		CHECK(!MPI_File_write_at_all(f, 0, block, MIB, MPI_BYTE, NO_STATUS)); /* planted: degraded */
	}
	MPI_Type_free(&scattered);
	MPI_Info_free(&info);
	MPI_File_close(&f);
}

int main(int argc, char **argv)
{
	static const struct planted cases[] = {
		{ "independent_writes", independent_writes }, { "independent_reads", independent_reads }, { "unequal", unequal },
		{ "unequal_reads", unequal_reads }, { "serial", serial }, { "read_by_all", read_by_all }, { "rmw", rmw },
		{ "late", late }, { "one_writer", one_writer }, { "degraded", degraded },
	};

	begin_mpi(&argc, &argv);
	memset(block, 1, sizeof(block));
	run_mpi_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
	MPI_Finalize();
	return 0;
}
