/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One process, system calls and streams.
 */
#include "planted.h"

static char block[MIB + 8] __attribute__((aligned(16)));

static int open_file(const char *dir, const char *name, int flags)
{
	int fd = open(in(dir, name), flags, 0644);

	CHECK(fd >= 0);
	return fd;
}

/* A file of so many MiB without data: the first read of each page has its price. */
static int make_holes(const char *dir, const char *name, int mib)
{
	int fd = open_file(dir, name, O_RDWR | O_CREAT | O_TRUNC);

	CHECK(!ftruncate(fd, (off_t)mib * MIB));
	begin_work();
	return fd;
}

/* A directory so deep that looking up a name in it takes longer than recording that. */
static const char *make_deep(const char *dir)
{
	static char path[4096];
	size_t len = snprintf(path, sizeof(path), "%s", dir);

	for (int i = 0; i < 100; i++) {
		len += snprintf(path + len, sizeof(path) - len, "/d");
		CHECK(!mkdir(path, 0755));
	}
	begin_work();
	return path;
}

/* A file of so many MiB, written in large blocks. */
static int make_file(const char *dir, const char *name, int mib)
{
	int fd = open_file(dir, name, O_RDWR | O_CREAT | O_TRUNC);

	for (int i = 0; i < mib; i++)
		CHECK(write(fd, block, MIB) == MIB);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	begin_work();
	return fd;
}

static void small_writes(bool bad, const char *dir)
{
	int fd = make_file(dir, "small.dat", 16), n = bad ? 150000 : 73, size = bad ? 512 : MIB;

	CHECK(lseek(fd, 0, SEEK_END) == 16 * MIB);
	for (int i = 0; i < n; i++)
		CHECK(write(fd, block, size) == size);  /* planted: small_writes */
	close(fd);
}

static void small_reads(bool bad, const char *dir)
{
	int fd = make_holes(dir, "small.dat", 74), n = bad ? 150000 : 73, size = bad ? 512 : MIB;

	for (int i = 0; i < n; i++)
		CHECK(read(fd, block, size) == size);   /* planted: small_reads */
	close(fd);
}

/* Each block once: in an order that never goes on where it was, or in the file's order. */
static void random_reads(bool bad, const char *dir)
{
	int fd = make_holes(dir, "random.dat", 128);

	for (uint64_t i = 0; i < 32000 && bad; i++)
		CHECK(pread(fd, block, 4 * KIB, i * 7919 % 32768 * 4 * KIB) == 4 * KIB);        /* planted: random_reads */
	for (int i = 0; i < 125 && !bad; i++)
		CHECK(pread(fd, block, MIB, (off_t)i * MIB) == MIB);
	close(fd);
}

static void random_writes(bool bad, const char *dir)
{
	int fd = make_file(dir, "random.dat", 8);

	for (uint64_t i = 0; i < 15000 && bad; i++)
		CHECK(pwrite(fd, block, 4 * KIB, 8 * MIB + i * 7919 % 16381 * 4 * KIB) == 4 * KIB);     /* planted: random_writes */
	for (int i = 0; i < 58 && !bad; i++)
		CHECK(pwrite(fd, block, MIB, (off_t)(8 + i) * MIB) == MIB);
	close(fd);
}

static void read_again(bool bad, const char *dir)
{
	int fd = make_file(dir, "again.dat", 16), passes = bad ? 30 : 1;

	for (int pass = 0; pass < passes; pass++)
		for (int i = 0; i < 16; i++)
			CHECK(pread(fd, block, MIB, (off_t)i * MIB) == MIB);    /* planted: read_again */
	close(fd);
}

static void written_again(bool bad, const char *dir)
{
	int fd = open_file(dir, "again.dat", O_WRONLY | O_CREAT), passes = bad ? 30 : 1;

	for (int pass = 0; pass < passes; pass++)
		for (int i = 0; i < 8; i++)
			CHECK(pwrite(fd, block, MIB, (off_t)i * MIB) == MIB);   /* planted: written_again */
	close(fd);
}

static void sync_storm(bool bad, const char *dir)
{
	int fd = open_file(dir, "sync.dat", O_WRONLY | O_CREAT);

	for (int i = 0; i < 60; i++) {
		CHECK(write(fd, block, 256 * KIB) == 256 * KIB);
		if (bad || i == 59)
			CHECK(!fsync(fd));      /* planted: sync_storm */
	}
	close(fd);
}

static void reopen(bool bad, const char *dir)
{
	const char *deep = make_deep(dir);
	int fd = make_file(deep, "often.dat", 4);

	close(fd);
	for (int i = 0; i < (bad ? 20000 : 1); i++) {
		CHECK((fd = open(in(deep, "often.dat"), O_RDONLY)) >= 0);       /* planted: reopen */
		if (i % 10000 == 0)
			CHECK(pread(fd, block, MIB, i ? MIB : 0) == MIB);
		close(fd);      /* planted: reopen */
	}
}

/* Names that exist, asked for again and again. */
static void look_ups(bool bad, const char *dir)
{
	const char *deep = make_deep(dir);
	struct stat st;
	int fd = make_file(deep, "found.dat", 4);

	for (int i = 0; i < (bad ? 20000 : 20); i++)
		CHECK(!stat(in(deep, "found.dat"), &st));       /* planted: look_ups */
	close(fd);
}

static void search(bool bad, const char *dir)
{
	const char *deep = make_deep(dir);
	struct stat st;
	char name[64];
	int fd = make_file(dir, "found.dat", 4);

	for (int i = 0; i < (bad ? 20000 : 20); i++) {
		snprintf(name, sizeof(name), "module%d", i);
		CHECK(stat(in(deep, name), &st) < 0);   /* planted: search */
	}
	close(fd);
}

/* A stream without a buffer, in pieces of 8 KiB or 1 MiB. */
static void streams_small(bool bad, const char *dir)
{
	FILE *f = fopen(in(dir, "stream.dat"), "w");
	size_t size = bad ? 8 * KIB : MIB, n = bad ? 16000 : 125;

	CHECK(f && !setvbuf(f, NULL, _IONBF, 0));
	for (size_t i = 0; i < n; i++)
		CHECK(fwrite(block, 1, size, f) == size);       /* planted: streams_small */
	CHECK(!fclose(f));
}

/* A lock around each small record, or one around all. Other locks make each one longer to find a place for. */
static void locks(bool bad, const char *dir)
{
	int fd = open_file(dir, "locked.dat", O_RDWR | O_CREAT);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 64 };

	for (int i = 0; i < 1000 && bad; i++) {
		lock.l_start = i * 128;
		CHECK(!fcntl(fd, F_SETLK, &lock));
	}
	for (int i = 0; i < 20000; i++) {
		lock.l_start = 512 * KIB + i * 64;
		lock.l_type = F_WRLCK;
		if (bad || !i)
			CHECK(!fcntl(fd, F_SETLK, &lock));      /* planted: locks */
		if (i < 10)
			CHECK(pwrite(fd, block, MIB, (off_t)i * MIB) == MIB);
		lock.l_type = F_UNLCK;
		if (bad || !i)
			CHECK(!fcntl(fd, F_SETLK, &lock));      /* planted: locks */
	}
	close(fd);
}

static void chatter(bool bad, const char *dir)
{
	FILE *f = fopen(in(dir, "run.log"), "w");
	char line[64];

	CHECK(f);
	for (int i = 0; i < (bad ? 80000 : 2000); i++) {
		size_t len = snprintf(line, sizeof(line), "step %d done\n", i);

		if (bad)
			CHECK(write(fileno(f), line, len) == (ssize_t)len);     /* planted: chatter */
		else
			CHECK(fputs(line, f) >= 0);
	}
	CHECK(!fclose(f));
}

static void resize(bool bad, const char *dir)
{
	int fd = open_file(dir, "grows.dat", O_RDWR | O_CREAT);

	for (int i = 1; i <= 40000 && bad; i++)
		CHECK(!ftruncate(fd, (off_t)i * 4096)); /* planted: resize */
	if (!bad)
		CHECK(!ftruncate(fd, 40000 * 4096));
	close(fd);
}

/* Writes to a file that is open for reading only: the program does not look at the result. */
static void failing(bool bad, const char *dir)
{
	int fd = make_file(dir, "readonly.dat", 4);

	close(fd);
	fd = open_file(dir, "readonly.dat", bad ? O_RDONLY : O_WRONLY | O_APPEND);
	for (int i = 0; i < (bad ? 20000 : 4); i++)
		if (write(fd, block, 64) < 0)       /* planted: failing */
			continue;
	close(fd);
}

/* Large writes from a buffer that begins at a multiple of 8 bytes, or behind it. */
static void unaligned_memory(bool bad, const char *dir)
{
	int fd = open_file(dir, "memory.dat", O_WRONLY | O_CREAT | O_TRUNC);

	for (int i = 0; i < 128; i++)
		CHECK(write(fd, block + bad, MIB) == MIB);      /* planted: unaligned_memory */
	close(fd);
}

static void mapped(bool bad, const char *dir)
{
	int fd = make_holes(dir, "mapped.dat", 16);
	char *memory = bad ? mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : NULL;    /* planted: mapped */

	CHECK(memory != MAP_FAILED);
	for (int i = 0; i < 16; i++)
		if (bad)
			memcpy(memory + i * MIB, block, MIB);
		else
			CHECK(pwrite(fd, block, MIB, (off_t)i * MIB) == MIB);
	if (bad)
		CHECK(!munmap(memory, 16 * MIB));
	close(fd);
}

/* A file for each of 8000 records, or one for all. */
static void creations(bool bad, const char *dir)
{
	char name[64];
	int fd = make_file(dir, "record", 1);

	for (int i = 0; i < 8000; i++) {
		snprintf(name, sizeof(name), "record%d", i);
		if (bad) {
			close(fd);
			CHECK((fd = open(in(dir, name), O_WRONLY | O_CREAT, 0644)) >= 0);       /* planted: creations */
		}
		if (i % 100 == 0)
			CHECK(write(fd, block, 100) == 100);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct planted cases[] = {
		{ "small_writes", small_writes }, { "small_reads", small_reads }, { "random_reads", random_reads },
		{ "random_writes", random_writes }, { "read_again", read_again }, { "written_again", written_again },
		{ "sync_storm", sync_storm }, { "reopen", reopen }, { "search", search }, { "streams_small", streams_small },
		{ "locks", locks }, { "chatter", chatter }, { "resize", resize },
		{ "look_ups", look_ups }, { "failing", failing }, { "mapped", mapped }, { "unaligned_memory", unaligned_memory },
		{ "creations", creations },
	};

	memset(block, 1, sizeof(block));
	return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
