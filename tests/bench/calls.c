/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * calls DIR: the benchmark's worker for system calls and ISO C streams, on DIR/bench.
 */
#include <fcntl.h>
#include <sys/syscall.h>

#include "worker.h"

#define LINE 64

static char block[1 << 20];
static char path[4096];
static int fd;
static FILE *stream, *lines;    /* lines is read only */
static long left;       /* bytes up to the end of the file */

/* Called before every transfer of a sequential kind: starts over at the end of the file. */
static void advance(size_t size)
{
	if (left < (long)size) {
		lseek(fd, 0, SEEK_SET);
		left = FILE_BYTES;
	}
	left -= (long)size;
}

static int do_read(long n, size_t size)
{
	while (n--) {
		advance(size);
		if (read(fd, block, size) != (ssize_t)size)
			return -1;
	}
	return 0;
}

static int do_write(long n, size_t size)
{
	while (n--) {
		advance(size);
		if (write(fd, block, size) != (ssize_t)size)
			return -1;
	}
	return 0;
}

static int do_pread(long n, size_t size)
{
	while (n--)
		if (pread(fd, block, size, 0) != (ssize_t)size)
			return -1;
	return 0;
}

static int do_pwrite(long n, size_t size)
{
	while (n--)
		if (pwrite(fd, block, size, 0) != (ssize_t)size)
			return -1;
	return 0;
}

static int do_getppid(long n, size_t size)
{
	(void)size;
	while (n--)
		syscall(SYS_getppid);
	return 0;
}

/* open, four reads, close; counted as six calls. */
static int do_files(long n, size_t size)
{
	for (long i = 0; i < n; i += 6) {
		int file = open(path, O_RDONLY);

		if (file < 0)
			return -1;
		for (int k = 0; k < 4; k++)
			if (read(file, block, size) != (ssize_t)size)
				return -1;
		close(file);
	}
	return 0;
}

static void stream_advance(FILE *file, size_t size)
{
	if (left < (long)size) {
		rewind(file);
		left = FILE_BYTES;
	}
	left -= (long)size;
}

static int do_fread(long n, size_t size)
{
	for (left = 0; n--; ) {
		stream_advance(lines, size);
		if (fread(block, 1, size, lines) != size)
			return -1;
	}
	return 0;
}

static int do_fwrite(long n, size_t size)
{
	for (left = 0; n--; ) {
		stream_advance(stream, size);
		if (fwrite(block, 1, size, stream) != size)
			return -1;
	}
	return 0;
}

static int do_fgets(long n, size_t size)
{
	if (size != LINE)
		return -1;
	for (left = 0; n--; ) {
		stream_advance(lines, size);
		if (!fgets(block, (int)size + 1, lines) || block[LINE - 1] != '\n')
			return -1;
	}
	return 0;
}

static int do_fprintf(long n, size_t size)
{
	for (left = 0; n--; ) {
		stream_advance(stream, size);
		if (fprintf(stream, "%0*ld\n", (int)size - 1, n) != (int)size)
			return -1;
	}
	return 0;
}

static int do_fputc(long n, size_t size)
{
	(void)size;
	for (left = 0; n--; ) {
		stream_advance(stream, 1);
		if (fputc('x', stream) != 'x')
			return -1;
	}
	return 0;
}

static const struct kind kinds[] = {
	{ "read", do_read }, { "write", do_write }, { "pread", do_pread }, { "pwrite", do_pwrite }, { "getppid", do_getppid },
	{ "files", do_files }, { "fread", do_fread }, { "fwrite", do_fwrite }, { "fgets", do_fgets }, { "fprintf", do_fprintf },
	{ "fputc", do_fputc },
};

static FILE *make_file(const char *name, const char *mode)
{
	FILE *file = fopen(name, "w+");

	for (long at = 0; file && at < FILE_BYTES; at += sizeof(block))
		if (fwrite(block, 1, sizeof(block), file) != sizeof(block))
			return NULL;
	return file ? freopen(name, mode, file) : NULL;
}

static int prepare(const char *dir)
{
	memset(block, 'x', sizeof(block));
	for (size_t i = LINE - 1; i < sizeof(block); i += LINE)
		block[i] = '\n';
	snprintf(path, sizeof(path), "%s/bench.lines", dir);
	lines = make_file(path, "r");
	snprintf(path, sizeof(path), "%s/bench", dir);
	stream = make_file(path, "r+");
	fd = open(path, O_RDWR);
	return stream && lines && fd >= 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (prepare(argv[1]))
		return 3;
	puts("ready");
	fflush(stdout);
	return serve(kinds, sizeof(kinds) / sizeof(*kinds));
}
