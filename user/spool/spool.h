/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The spool: an append-only file of blocks of records, each compressed (zstd) and checked by a CRC, so that what was written
 * before a kill or a full disk is read back up to the last whole block. Records are those of <ioprobe/record.h>.
 */
#ifndef IOPROBE_SPOOL_H
#define IOPROBE_SPOOL_H

#include <ioprobe/record.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct spool_writer;
struct spool_reader;

/* Makes the file below the directory dir (fails with -EEXIST if it is there, also as a link), mode 0600. Returns 0 or -errno. */
int spool_writer_create_at(struct spool_writer **out, int dir, const char *path);
int spool_writer_create(struct spool_writer **out, const char *path);   /* below the current one */

/* Appends one record. Blocks are written when full, or by spool_writer_flush. On -ENOSPC and the like the writer keeps
 * counting what it drops (spool_writer_dropped) and tries again with each block: the file stays readable. */
int spool_writer_append(struct spool_writer *writer, const struct iop_rec *rec);
int spool_writer_flush(struct spool_writer *writer);
uint64_t spool_writer_dropped(const struct spool_writer *writer);       /* records */
uint64_t spool_writer_bytes(const struct spool_writer *writer);         /* in the file */
uint64_t spool_writer_raw_bytes(const struct spool_writer *writer);     /* of all records appended, before compression */
size_t spool_writer_pending(const struct spool_writer *writer);         /* of records appended since the last block, likewise */
/* What unprivileged users may still write to the file's file system. Returns 0 or -errno. */
int spool_writer_free_bytes(const struct spool_writer *writer, uint64_t *bytes);

/* Appends a text record made of head (key=value lines) and, for TABLE and MOUNTS, raw text after an empty line (may be NULL). */
int spool_writer_text(struct spool_writer *writer, enum iop_rec_type type, uint32_t tgid, uint64_t time_ns, const char *head,
		      const char *raw);

/* Writes how the recording stands (STATUS, at last END) to where the file has room for it from its beginning, whatever the disk is
 * like. It replaces the text of the call before. Returns 0 or -errno; -E2BIG if head is longer than SPOOL_STATUS_TEXT_MAX. */
#define SPOOL_STATUS_TEXT_MAX 8000      /* bytes */
int spool_writer_status(struct spool_writer *writer, enum iop_rec_type type, uint64_t time_ns, const char *head);

/* Flushes, closes, frees. NULL is fine. Returns the first error met over its life, 0 if none. */
int spool_writer_destroy(struct spool_writer *writer);

/* Returns 0 or -errno; -EINVAL if the file is no spool, of another version, or no regular file; -ELOOP if it is a link. */
int spool_reader_open_at(struct spool_reader **out, int dir, const char *path);
int spool_reader_open(struct spool_reader **out, const char *path);     /* below the current directory */
void spool_reader_destroy(struct spool_reader *reader);

/* A reader of records in memory, which are copied: the inside of one block, without file, header and checksum (for tests). */
int spool_reader_of_records(struct spool_reader **out, const void *records, size_t len);

/* The next record, valid until the next call; its length in *len (text records may exceed 64 KiB).
 * 1 for a record, 0 at the end, -EBADMSG if the rest of the file is damaged or cut off (all before was delivered). */
int spool_reader_next(struct spool_reader *reader, const struct iop_rec **rec, size_t *len);

/* The file still grows: where it ends, or in a block that is not whole yet, wait is called until it returns false; then what
 * has come meanwhile is read, and at last the status. Call it before the first record is read. */
void spool_reader_follow(struct spool_reader *reader, bool (*wait)(void *arg), void *arg);
/* Whether its recorder still writes: 1, 0, or -errno where the file system cannot tell. */
int spool_reader_has_writer(const struct spool_reader *reader);

/* Calls function for each block that is read, with how many bytes of the file have been read and its length then. */
void spool_reader_watch(struct spool_reader *reader, void (*function)(void *arg, uint64_t done, uint64_t total), void *arg);

/* The length of a record in bytes, from its header. */
size_t iop_rec_size(const struct iop_rec *rec);

/* Whether the left bytes at rec begin with a whole record: its length holds its struct and what the struct says to follow
 * (IOP_RECORDS in record.h). The strings of a call are behind that: their number is the table's. Types of later versions only need
 * a length. spool_reader_next returns valid records only. */
bool iop_rec_valid(const struct iop_rec *rec, size_t left);
const char *iop_rec_name(uint8_t type);         /* "CALL"; NULL for a type of a later version */

/* key=value text: copies the unescaped value of key into buf; false if absent. Escaping for writing: text_escape. */
bool text_value(const struct iop_rec_text *rec, const char *key, char *buf, size_t buf_len);
const char *text_raw(const struct iop_rec_text *rec, size_t *len);      /* after the empty line; NULL if there is none */
size_t text_escape(char *dst, size_t dst_len, const char *src);

#endif
