/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Appends records to a spool file, block by block. A block that cannot be written completely is removed and counted.
 */
#include "spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include "spool/format.h"

struct spool_writer {
	int fd;
	int error;              /* the first error */
	uint64_t file_bytes;    /* up to the last complete block */
	uint64_t dropped;
	uint64_t raw_bytes;     /* appended so far */
	ZSTD_CCtx *zstd;
	char *raw, *stored;     /* stored begins with room for the block's header */
	size_t raw_len, raw_cap, stored_cap;
	uint32_t records;       /* in raw */
	bool described;         /* raw has a record that is not plain */
};

/* ---- file ---- */

static int write_at(int fd, const void *data, size_t len, uint64_t offset)
{
	const char *at = data;

	while (len) {
		ssize_t n = pwrite(fd, at, len, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EIO;
		at += n;
		len -= n;
		offset += n;
	}
	return 0;
}

/* A half-written block is truncated. If even that fails the next block overwrites it, and a reader stops there. */
static int write_block(struct spool_writer *writer, size_t len)
{
	int err = write_at(writer->fd, writer->stored, len, writer->file_bytes);

	if (!err)
		writer->file_bytes += len;
	else if (ftruncate(writer->fd, writer->file_bytes))
		return err;
	return err;
}

/* ---- buffers ---- */

static int reserve_raw(struct spool_writer *writer, size_t len)
{
	char *raw;

	if (len <= writer->raw_cap)
		return 0;
	raw = realloc(writer->raw, len);
	if (!raw)
		return -ENOMEM;
	writer->raw = raw;
	writer->raw_cap = len;
	return 0;
}

static int reserve_stored(struct spool_writer *writer)
{
	size_t cap = sizeof(struct spool_block_header) + ZSTD_compressBound(writer->raw_len);
	char *stored;

	if (cap <= writer->stored_cap)
		return 0;
	stored = realloc(writer->stored, cap);
	if (!stored)
		return -ENOMEM;
	writer->stored = stored;
	writer->stored_cap = cap;
	return 0;
}

/* Frees large buffers: one large text must not use memory for the rest of the run. */
static void writer_shrink(struct spool_writer *writer)
{
	char *raw;

	if (writer->raw_cap > 4 * SPOOL_BLOCK_BYTES && (raw = realloc(writer->raw, SPOOL_BLOCK_BYTES))) {
		writer->raw = raw;
		writer->raw_cap = SPOOL_BLOCK_BYTES;
	}
	if (writer->stored_cap > 4 * SPOOL_BLOCK_BYTES) {
		free(writer->stored);
		writer->stored = NULL;
		writer->stored_cap = 0;
	}
}

static size_t compress_block(struct spool_writer *writer)
{
	char *data = writer->stored + sizeof(struct spool_block_header);
	size_t room = writer->stored_cap - sizeof(struct spool_block_header);
	size_t len = ZSTD_compressCCtx(writer->zstd, data, room, writer->raw, writer->raw_len, SPOOL_LEVEL);

	if (!ZSTD_isError(len) && len < writer->raw_len)
		return len;
	memcpy(data, writer->raw, writer->raw_len);
	return writer->raw_len;
}

static int store_block(struct spool_writer *writer)
{
	struct spool_block_header header = { .magic = SPOOL_BLOCK_MAGIC, .raw_len = writer->raw_len, .records = writer->records,
					      .kind = writer->described ? 0 : SPOOL_PLAIN_BLOCK };
	int err = reserve_stored(writer);

	if (err)
		return err;
	header.stored_len = compress_block(writer);
	header.crc = spool_block_crc(&header, writer->stored + sizeof(header));
	memcpy(writer->stored, &header, sizeof(header));
	return write_block(writer, sizeof(header) + header.stored_len);
}

/* ---- public ---- */

static int write_file_header(struct spool_writer *writer)
{
	struct spool_file_header header = { .version = SPOOL_VERSION, .byte_order = SPOOL_BYTE_ORDER };
	int err;

	memcpy(header.magic, SPOOL_MAGIC, sizeof(header.magic));
	err = write_at(writer->fd, &header, sizeof(header), 0);
	if (!err)
		writer->file_bytes = sizeof(header);
	return err;
}

static void writer_free(struct spool_writer *writer)
{
	ZSTD_freeCCtx(writer->zstd);
	free(writer->raw);
	free(writer->stored);
	free(writer);
}

int spool_writer_status(struct spool_writer *writer, enum iop_rec_type type, uint64_t time_ns, const char *head)
{
	size_t payload = SPOOL_STATUS_BYTES - sizeof(struct spool_block_header), len = strlen(head);
	struct spool_block_header *header;
	struct iop_rec_text *rec;
	int err;

	_Static_assert(sizeof(*header) + sizeof(*rec) + SPOOL_STATUS_TEXT_MAX <= SPOOL_STATUS_BYTES, "SPOOL_STATUS_TEXT_MAX");
	if (len > SPOOL_STATUS_TEXT_MAX)
		return -E2BIG;
	header = calloc(1, SPOOL_STATUS_BYTES);
	if (!header)
		return -ENOMEM;
	*header = (struct spool_block_header){ .magic = SPOOL_BLOCK_MAGIC, .raw_len = payload, .stored_len = payload, .records = 1,
					       .kind = SPOOL_STATUS_BLOCK };
	rec = (struct iop_rec_text *)(header + 1);
	rec->rec = (struct iop_rec){ .len = payload, .type = type, .time_ns = time_ns };
	rec->text_len = len;
	memcpy(rec->text, head, len);
	header->crc = spool_block_crc(header, rec);
	err = write_at(writer->fd, header, SPOOL_STATUS_BYTES, sizeof(struct spool_file_header));
	free(header);
	return err;
}

int spool_writer_create_at(struct spool_writer **out, int dir, const char *path)
{
	struct spool_writer *writer = calloc(1, sizeof(*writer));
	int err = -ENOMEM;

	if (!writer)
		return -ENOMEM;
	writer->zstd = ZSTD_createCCtx();
	if (!writer->zstd || reserve_raw(writer, SPOOL_BLOCK_BYTES))
		goto free;
	writer->fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	err = writer->fd < 0 ? -errno : 0;
	if (err)
		goto free;
	/* readers that follow the file use it to detect whether the file still grows (spool_reader_has_writer) */
	flock(writer->fd, LOCK_EX | LOCK_NB);
	err = write_file_header(writer);
	if (!err)
		err = spool_writer_status(writer, IOP_REC_STATUS, 0, "records=0\n");
	if (err)
		goto unlink;
	writer->file_bytes += SPOOL_STATUS_BYTES;
	*out = writer;
	return 0;
unlink:
	close(writer->fd);
	unlinkat(dir, path, 0);
free:
	writer_free(writer);
	return err;
}

int spool_writer_create(struct spool_writer **out, const char *path)
{
	return spool_writer_create_at(out, AT_FDCWD, path);
}

int spool_writer_flush(struct spool_writer *writer)
{
	int err;

	if (!writer->records)
		return 0;
	err = store_block(writer);
	if (err)
		writer->dropped += writer->records;
	if (err && !writer->error)
		writer->error = err;
	writer->raw_len = 0;
	writer->records = 0;
	writer->described = false;
	writer_shrink(writer);
	return err;
}

/* Returns room for one more record of len bytes, or NULL: then the record is counted as dropped. */
static char *record_room(struct spool_writer *writer, size_t len, int *flush_error)
{
	*flush_error = writer->raw_len + len > SPOOL_BLOCK_BYTES ? spool_writer_flush(writer) : 0;
	if (len > SPOOL_BLOCK_MAX_BYTES || reserve_raw(writer, writer->raw_len + len)) {
		writer->dropped++;
		if (!writer->error)
			writer->error = -ENOMEM;
		return NULL;
	}
	writer->raw_len += len;
	writer->raw_bytes += len;
	writer->records++;
	return writer->raw + writer->raw_len - len;
}

int spool_writer_append(struct spool_writer *writer, const struct iop_rec *rec)
{
	size_t len = iop_rec_size(rec);
	int flush_error;
	char *room;

	if (len < sizeof(*rec) || len % 8)
		return -EINVAL;
	room = record_room(writer, len, &flush_error);
	if (!room)
		return -ENOMEM;
	memcpy(room, rec, len);
	writer->described |= !iop_rec_is_plain(rec->type);
	return flush_error;
}

int spool_writer_text(struct spool_writer *writer, enum iop_rec_type type, uint32_t tgid, uint64_t time_ns, const char *head,
		      const char *raw)
{
	size_t head_len = strlen(head), raw_len = raw ? strlen(raw) : 0, text_len = head_len + (raw ? 1 + raw_len : 0);
	size_t len = (sizeof(struct iop_rec_text) + text_len + 7) & ~(size_t)7;
	struct iop_rec_text *rec;
	int flush_error;

	rec = (struct iop_rec_text *)record_room(writer, len, &flush_error);
	if (!rec)
		return -ENOMEM;
	writer->described = true;
	memset(rec, 0, sizeof(*rec));
	memset((char *)rec + len - 8, 0, 8);    /* padding */
	rec->rec = (struct iop_rec){ .len = len <= 65528 ? len : 0, .type = type, .tid = tgid, .tgid = tgid, .time_ns = time_ns };
	rec->text_len = text_len;
	memcpy(rec->text, head, head_len);
	if (raw) {
		rec->text[head_len] = '\n';
		memcpy(rec->text + head_len + 1, raw, raw_len);
	}
	return flush_error;
}

uint64_t spool_writer_dropped(const struct spool_writer *writer)
{
	return writer->dropped;
}

uint64_t spool_writer_bytes(const struct spool_writer *writer)
{
	return writer->file_bytes;
}

uint64_t spool_writer_raw_bytes(const struct spool_writer *writer)
{
	return writer->raw_bytes;
}

size_t spool_writer_pending(const struct spool_writer *writer)
{
	return writer->raw_len;
}

int spool_writer_free_bytes(const struct spool_writer *writer, uint64_t *bytes)
{
	struct statvfs fs;

	if (fstatvfs(writer->fd, &fs))
		return -errno;
	*bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	return 0;
}

int spool_writer_destroy(struct spool_writer *writer)
{
	int err;

	if (!writer)
		return 0;
	spool_writer_flush(writer);
	err = writer->error;
	if (close(writer->fd) && !err)
		err = -errno;
	writer_free(writer);
	return err;
}
