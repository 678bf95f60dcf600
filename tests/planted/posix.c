/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One process, system calls and streams.
 */
#include "planted.h"

static char block[MIB];

static int open_file(const char *dir, const char *name, int flags)
{
	int fd = open(in(dir, name), flags, 0644);

	CHECK(fd >= 0);
	return fd;
}

/* A file of so many MiB, written in large blocks. */
static int make_file(const char *dir, const char *name, int mib)
{
	int fd = open_file(dir, name, O_RDWR | O_CREAT | O_TRUNC);

	for (int i = 0; i < mib; i++)
		CHECK(write(fd, block, MIB) == MIB);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static void small_writes(bool bad, const char *dir)
{
	int fd = make_file(dir, "small.dat", 16), n = bad ? 40000 : 20, size = bad ? 512 : MIB;

	CHECK(lseek(fd, 0, SEEK_END) == 16 * MIB);
	for (int i = 0; i < n; i++)
		CHECK(write(fd, block, size) == size);
	close(fd);
}

static void small_reads(bool bad, const char *dir)
{
	int fd = make_file(dir, "small.dat", 20), n = bad ? 40000 : 20, size = bad ? 512 : MIB;

	for (int i = 0; i < n; i++)
		CHECK(read(fd, block, size) == size);
	close(fd);
}

/* Each block once: in an order that never goes on where it was, or in the file's order. */
static void random_reads(bool bad, const char *dir)
{
	int fd = make_file(dir, "random.dat", 64);

	for (uint64_t i = 0; i < 16000; i++)
		if (bad)
			CHECK(pread(fd, block, 4 * KIB, i * 7919 % 16384 * 4 * KIB) == 4 * KIB);
	for (int i = 0; i < 32 && !bad; i++)
		CHECK(pread(fd, block, MIB, (off_t)i * MIB) == MIB);
	close(fd);
}

static void random_writes(bool bad, const char *dir)
{
	int fd = make_file(dir, "random.dat", 8);

	for (uint64_t i = 0; i < 15000 && bad; i++)
		CHECK(pwrite(fd, block, 4 * KIB, 8 * MIB + i * 7919 % 16381 * 4 * KIB) == 4 * KIB);
	for (int i = 0; i < 58 && !bad; i++)
		CHECK(pwrite(fd, block, MIB, (off_t)(8 + i) * MIB) == MIB);
	close(fd);
}

static void read_again(bool bad, const char *dir)
{
	int fd = make_file(dir, "again.dat", 16), passes = bad ? 30 : 1;

	for (int pass = 0; pass < passes; pass++)
		for (int i = 0; i < 16; i++)
			CHECK(pread(fd, block, MIB, (off_t)i * MIB) == MIB);
	close(fd);
}

static void written_again(bool bad, const char *dir)
{
	int fd = open_file(dir, "again.dat", O_WRONLY | O_CREAT), passes = bad ? 30 : 1;

	for (int pass = 0; pass < passes; pass++)
		for (int i = 0; i < 8; i++)
			CHECK(pwrite(fd, block, MIB, (off_t)i * MIB) == MIB);
	close(fd);
}

static void sync_storm(bool bad, const char *dir)
{
	int fd = open_file(dir, "sync.dat", O_WRONLY | O_CREAT);

	for (int i = 0; i < 60; i++) {
		CHECK(write(fd, block, 256 * KIB) == 256 * KIB);
		if (bad || i == 59)
			CHECK(!fsync(fd));
	}
	close(fd);
}

static void reopen(bool bad, const char *dir)
{
	int fd = make_file(dir, "often.dat", 4);

	close(fd);
	for (int i = 0; i < (bad ? 20000 : 1); i++) {
		fd = open_file(dir, "often.dat", O_RDONLY);
		if (i % 10000 == 0)
			CHECK(pread(fd, block, MIB, i ? MIB : 0) == MIB);
		close(fd);
	}
}

static void search(bool bad, const char *dir)
{
	struct stat st;
	char name[64];
	int fd = make_file(dir, "found.dat", 4);

	for (int i = 0; i < (bad ? 30000 : 20); i++) {
		snprintf(name, sizeof(name), "path%d/module%d", i % 20, i / 20);
		CHECK(stat(in(dir, name), &st) < 0);
	}
	close(fd);
}

static void streams_small(bool bad, const char *dir)
{
	FILE *f = fopen(in(dir, "stream.dat"), "w");
	size_t size = bad ? 100 : MIB, n = bad ? 40000 : 4;

	CHECK(f);
	if (!bad)
		CHECK(!setvbuf(f, NULL, _IONBF, 0));
	for (size_t i = 0; i < n; i++)
		CHECK(fwrite(block, 1, size, f) == size);
	CHECK(!fclose(f));
}

/* A lock around each small record, or one around all. */
static void locks(bool bad, const char *dir)
{
	int fd = open_file(dir, "locked.dat", O_RDWR | O_CREAT);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	for (int i = 0; i < 20000; i++) {
		lock.l_start = i * 64;
		lock.l_len = 64;
		lock.l_type = F_WRLCK;
		if (bad || !i)
			CHECK(!fcntl(fd, F_SETLK, &lock));
		if (i < 10)
			CHECK(pwrite(fd, block, MIB, (off_t)i * MIB) == MIB);
		lock.l_type = F_UNLCK;
		if (bad || !i)
			CHECK(!fcntl(fd, F_SETLK, &lock));
	}
	close(fd);
}

static void chatter(bool bad, const char *dir)
{
	FILE *f = fopen(in(dir, "run.log"), "w");

	CHECK(f);
	for (int i = 0; i < 30000; i++) {
		fprintf(f, "step %d done\n", i);
		if (bad)
			fflush(f);
	}
	CHECK(!fclose(f));
}

static void resize(bool bad, const char *dir)
{
	int fd = open_file(dir, "grows.dat", O_RDWR | O_CREAT);

	for (int i = 1; i <= 20000 && bad; i++)
		CHECK(!ftruncate(fd, (off_t)i * 4096));
	if (!bad)
		CHECK(!ftruncate(fd, 20000 * 4096));
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct planted cases[] = {
		{ "small_writes", small_writes }, { "small_reads", small_reads }, { "random_reads", random_reads }, { "random_writes", random_writes },
		{ "read_again", read_again }, { "written_again", written_again }, { "sync_storm", sync_storm }, { "reopen", reopen },
		{ "search", search }, { "streams_small", streams_small }, { "locks", locks }, { "chatter", chatter }, { "resize", resize },
	};

	memset(block, 1, sizeof(block));
	return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
