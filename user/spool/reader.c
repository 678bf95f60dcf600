/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads a spool block by block and returns its records. Every length is validated before use: a spool may come from a crashed
 * machine.
 */
#include "spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "spool/format.h"

struct spool_reader {
	int fd;
	ZSTD_DCtx *zstd;
	char *raw, *stored;
	size_t raw_cap, stored_cap;
	size_t raw_len, at;     /* in the current block */
	bool damaged, ended; /* ended: its end was read */
	bool skips_plain;
	off_t status;           /* offset of the status block, which is read last, 0: none */
	bool (*wait)(void *arg);        /* NULL: the file does not grow */
	void *wait_arg;
	void (*watch)(void *arg, uint64_t done, uint64_t total);
	void *watch_arg;
	off_t grown_to; /* without locks: the size when it last changed, and when that was noticed */
	uint64_t grown_ns;
};

/* Returns the number of bytes read, less than len only at the end of the file, or -errno. */
static ssize_t read_full(int fd, void *data, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, (char *)data + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += n;
	}
	return done;
}

static int reader_reserve(char **buffer, size_t *cap, size_t len)
{
	char *grown;

	if (len <= *cap)
		return 0;
	grown = realloc(*buffer, len);
	if (!grown)
		return -ENOMEM;
	*buffer = grown;
	*cap = len;
	return 0;
}

/* ---- one block ---- */

static bool header_is_sound(const struct spool_block_header *header)
{
	return header->magic == SPOOL_BLOCK_MAGIC && header->raw_len && header->raw_len <= SPOOL_BLOCK_MAX_BYTES &&
	       header->stored_len <= header->raw_len;
}

/* A fuzzer's input does not pass a checksum by chance; libFuzzer defines this macro for checks to be skipped. */
static bool checksum_fits(const struct spool_block_header *header, const void *stored)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	(void)header, (void)stored;
	return true;
#else
	return spool_block_crc(header, stored) == header->crc;
#endif
}

static int reader_unpack(struct spool_reader *reader, const struct spool_block_header *header)
{
	size_t len;

	if (header->stored_len == header->raw_len) {
		memcpy(reader->raw, reader->stored, header->raw_len);
		return 0;
	}
	len = ZSTD_decompressDCtx(reader->zstd, reader->raw, header->raw_len, reader->stored, header->stored_len);
	return !ZSTD_isError(len) && len == header->raw_len ? 0 : -EBADMSG;
}

/* Reads a block at the file's position. Returns 1 for a block, 2 for one to be skipped (a half-written status block, or a plain
 * one), 0 at the end. The sizes come from the file: the stored bytes are read before memory is allocated for the raw ones, so that
 * a damaged header cannot cause a large allocation. */
static int read_block(struct spool_reader *reader, struct spool_block_header *header)
{
	ssize_t n = reader->fd < 0 ? 0 : read_full(reader->fd, header, sizeof(*header));
	int err;

	if (n <= 0)
		return n;
	if (n < (ssize_t)sizeof(*header) || !header_is_sound(header))
		return -EBADMSG;
	err = reader_reserve(&reader->stored, &reader->stored_cap, header->stored_len);
	if (err)
		return err;
	n = read_full(reader->fd, reader->stored, header->stored_len);
	if (n < 0)
		return n;
	if ((size_t)n == header->stored_len && header->kind == SPOOL_STATUS_BLOCK && !checksum_fits(header, reader->stored))
		return 2;
	if ((size_t)n < header->stored_len || !checksum_fits(header, reader->stored))
		return -EBADMSG;
	if (reader->skips_plain && header->kind == SPOOL_PLAIN_BLOCK)
		return 2;
	err = reader_reserve(&reader->raw, &reader->raw_cap, header->raw_len);
	if (!err)
		err = reader_unpack(reader, header);
	if (err)
		return err;
	reader->raw_len = header->raw_len;
	reader->at = 0;
	return 1;
}

/* Reads the next block that is not skipped. */
static int next_block(struct spool_reader *reader)
{
	struct spool_block_header header;
	int n;

	while ((n = read_block(reader, &header)) == 2)
		;
	return n;
}

/* For a growing file: waits for the next complete block. Its status block changes until the recording has ended, and is read
 * last. */
static int next_block_growing(struct spool_reader *reader)
{
	struct spool_block_header header;
	bool grows = true;

	while (reader->wait) {
		off_t at = lseek(reader->fd, 0, SEEK_CUR);
		int n = at < 0 ? -errno : read_block(reader, &header);

		if ((n == 1 || n == 2) && header.kind == SPOOL_STATUS_BLOCK) {
			reader->status = at;
			continue;
		}
		if (n == 1 || (n < 0 && n != -EBADMSG))
			return n;
		if (!grows && n < 0)
			return n;       /* a truncated block */
		if (lseek(reader->fd, at, SEEK_SET) < 0)
			return -errno;
		if (!grows)
			break;
		grows = reader->wait(reader->wait_arg);         /* read once more after the writer has finished */
	}
	reader->wait = NULL;
	if (!reader->status || lseek(reader->fd, reader->status, SEEK_SET) < 0)
		return 0;
	reader->status = 0;
	if (read_block(reader, &header) == 1 && lseek(reader->fd, 0, SEEK_END) >= 0)
		return 1;
	reader->raw_len = reader->at = 0;
	return lseek(reader->fd, 0, SEEK_END) < 0 ? -errno : 0;
}

void spool_reader_follow(struct spool_reader *reader, bool (*wait)(void *), void *arg)
{
	reader->wait = wait;
	reader->wait_arg = arg;
}

int spool_reader_has_writer(const struct spool_reader *reader)
{
	if (flock(reader->fd, LOCK_SH | LOCK_NB))
		return errno == EWOULDBLOCK ? 1 : -errno;
	flock(reader->fd, LOCK_UN);
	return 0;
}

/* Returns whether the recording has ended, by its last record or its status block. Nothing of the current block may be left to
 * read. */
static bool has_end(struct spool_reader *reader)
{
	off_t at = lseek(reader->fd, 0, SEEK_CUR);
	struct spool_block_header header;
	bool end = false;

	if (reader->ended || at < 0 || !reader->status || lseek(reader->fd, reader->status, SEEK_SET) < 0)
		return reader->ended;
	if (read_block(reader, &header) == 1)
		end = iop_rec_valid((const struct iop_rec *)reader->raw, reader->raw_len) &&
		      ((const struct iop_rec *)reader->raw)->type == IOP_REC_END;
	reader->raw_len = reader->at = 0;
	lseek(reader->fd, at, SEEK_SET);
	return end;
}

static bool has_grown_lately(struct spool_reader *reader)
{
	struct timespec now;
	struct stat st;
	uint64_t now_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = now.tv_sec * 1000000000ull + now.tv_nsec;
	if (!fstat(reader->fd, &st) && (st.st_size != reader->grown_to || !reader->grown_ns)) {
		reader->grown_to = st.st_size;
		reader->grown_ns = now_ns;
	}
	return now_ns - reader->grown_ns < SPOOL_QUIET_NS;
}

bool spool_reader_may_grow(struct spool_reader *reader)
{
	int writer = spool_reader_has_writer(reader);

	return writer < 0 ? !has_end(reader) && has_grown_lately(reader) : writer;
}

void spool_reader_skip_plain(struct spool_reader *reader)
{
	reader->skips_plain = true;
}

void spool_reader_watch(struct spool_reader *reader, void (*function)(void *, uint64_t, uint64_t), void *arg)
{
	reader->watch = function;
	reader->watch_arg = arg;
}

static void report_position(struct spool_reader *reader)
{
	off_t at = reader->watch ? lseek(reader->fd, 0, SEEK_CUR) : -1;
	struct stat st;

	if (at >= 0 && !fstat(reader->fd, &st))
		reader->watch(reader->watch_arg, at, st.st_size);
}

/* ---- one record ---- */

int spool_reader_next(struct spool_reader *reader, const struct iop_rec **rec, size_t *len)
{
	const struct iop_rec *next;

	if (reader->damaged)
		return -EBADMSG;
	if (reader->at == reader->raw_len) {
		int n = reader->wait ? next_block_growing(reader) : next_block(reader);

		report_position(reader);
		reader->damaged = n == -EBADMSG;
		if (n <= 0)
			return n;
	}
	next = (const struct iop_rec *)(reader->raw + reader->at);
	if (!iop_rec_valid(next, reader->raw_len - reader->at)) {
		reader->damaged = true;
		return -EBADMSG;
	}
	reader->ended |= next->type == IOP_REC_END;
	*rec = next;
	*len = iop_rec_size(next);
	reader->at += *len;
	return 1;
}

/* ---- open and close ---- */

static int read_file_header(int fd)
{
	struct spool_file_header header;
	ssize_t n = read_full(fd, &header, sizeof(header));

	if (n < 0)
		return n;
	if (n < (ssize_t)sizeof(header) || memcmp(header.magic, SPOOL_MAGIC, sizeof(header.magic)) ||
	    header.version != SPOOL_VERSION || header.byte_order != SPOOL_BYTE_ORDER)
		return -EINVAL;
	return 0;
}

/* O_NONBLOCK: must not block if the name is a FIFO. */
static int open_regular(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

int spool_reader_open_at(struct spool_reader **out, int dir, const char *path)
{
	struct spool_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return -ENOMEM;
	reader->fd = open_regular(dir, path);
	err = reader->fd < 0 ? reader->fd : read_file_header(reader->fd);
	if (!err && !(reader->zstd = ZSTD_createDCtx()))
		err = -ENOMEM;
	if (err) {
		spool_reader_destroy(reader);
		return err;
	}
	*out = reader;
	return 0;
}

int spool_reader_open(struct spool_reader **out, const char *path)
{
	return spool_reader_open_at(out, AT_FDCWD, path);
}

int spool_reader_of_records(struct spool_reader **out, const void *records, size_t len)
{
	struct spool_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->fd = -1;
	reader->raw = len ? malloc(len) : NULL;
	if (len && !reader->raw) {
		free(reader);
		return -ENOMEM;
	}
	if (len)
		memcpy(reader->raw, records, len);
	reader->raw_len = len;
	*out = reader;
	return 0;
}

void spool_reader_destroy(struct spool_reader *reader)
{
	if (!reader)
		return;
	if (reader->fd >= 0)
		close(reader->fd);
	ZSTD_freeDCtx(reader->zstd);
	free(reader->raw);
	free(reader->stored);
	free(reader);
}
