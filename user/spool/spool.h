/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The spool: an append-only file of blocks of records, each compressed (zstd) and protected by a CRC, so that everything written
 * before a kill or a full disk can be read up to the last complete block. The records are those of <ioprobe/record.h>.
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

/* Creates the file relative to the directory dir (-EEXIST if the name exists, also as a link), mode 0600. Returns 0 or -errno. */
int spool_writer_create_at(struct spool_writer **out, int dir, const char *path);
int spool_writer_create(struct spool_writer **out, const char *path);   /* relative to the current directory */

/* Appends one record. Blocks are written when full, or by spool_writer_flush. On -ENOSPC and the like the writer counts the records
 * that it drops (spool_writer_dropped) and tries again with each block: the file stays readable. */
int spool_writer_append(struct spool_writer *writer, const struct iop_rec *rec);
int spool_writer_flush(struct spool_writer *writer);
uint64_t spool_writer_dropped(const struct spool_writer *writer);       /* records */
uint64_t spool_writer_bytes(const struct spool_writer *writer);         /* in the file */
uint64_t spool_writer_raw_bytes(const struct spool_writer *writer);     /* of all records appended, before compression */
size_t spool_writer_pending(const struct spool_writer *writer); /* of records appended since the last block, before compression */
/* Space that unprivileged users may still use in the file's file system. Returns 0 or -errno. */
int spool_writer_free_bytes(const struct spool_writer *writer, uint64_t *bytes);

/* Appends a text record that consists of head (key=value lines) and, for TABLE and MOUNTS, raw text after an empty line (may be
 * NULL). */
int spool_writer_text(struct spool_writer *writer, enum iop_rec_type type, uint32_t tgid, uint64_t time_ns, const char *head,
		      const char *raw);

/* Writes the progress of the recording (STATUS, finally END) to space that was reserved when the file was created, so it
 * succeeds on a full disk. Replaces the text of the previous call. Returns 0 or -errno; -E2BIG if head is longer than
 * SPOOL_STATUS_TEXT_MAX. */
#define SPOOL_STATUS_TEXT_MAX 8000      /* bytes */
int spool_writer_status(struct spool_writer *writer, enum iop_rec_type type, uint64_t time_ns, const char *head);

/* Flushes, closes and frees. NULL is allowed. Returns the first error of the writer's lifetime, 0 if none. */
int spool_writer_destroy(struct spool_writer *writer);

/* Returns 0 or -errno; -EINVAL if the file is not a spool, has another version, or is not a regular file; -ELOOP if it is a
 * link. */
int spool_reader_open_at(struct spool_reader **out, int dir, const char *path);
int spool_reader_open(struct spool_reader **out, const char *path);     /* relative to the current directory */
void spool_reader_destroy(struct spool_reader *reader);

/* A reader of records in memory, which are copied: the contents of one block, without file, header and checksum (for tests). */
int spool_reader_of_records(struct spool_reader **out, const void *records, size_t len);

/* Returns 1 with the next record, valid until the next call, and its length in *len (text records may exceed 64 KiB); 0 at the end;
 * -EBADMSG if the rest of the file is damaged or truncated (all records before were returned). */
int spool_reader_next(struct spool_reader *reader, const struct iop_rec **rec, size_t *len);

/* For a growing file: at its end, or at an incomplete block, wait is called until it returns false; then the remaining records are
 * read, and finally the status. To be called before the first record is read. */
void spool_reader_follow(struct spool_reader *reader, bool (*wait)(void *arg), void *arg);
/* Returns whether the file's recorder is still writing: 1, 0, or -errno if the file system cannot tell. */
int spool_reader_has_writer(const struct spool_reader *reader);
/* The same where the file system has no locks: until the recorder has written its end, or nothing for SPOOL_QUIET_NS (it writes
 * once per second). For a reader that follows and has read all records so far. */
#define SPOOL_QUIET_NS 60000000000ull
bool spool_reader_may_grow(struct spool_reader *reader);

/* From here on blocks of nothing but plain records (iop_rec_is_plain) are skipped, if their writer has marked them: for a reader
 * that wants the others first. Skipped blocks are checked for damage, but not unpacked. Not for a growing file. */
void spool_reader_skip_plain(struct spool_reader *reader);

/* Calls function for each block that is read, with the number of bytes read so far and the current file size. */
void spool_reader_watch(struct spool_reader *reader, void (*function)(void *arg, uint64_t done, uint64_t total), void *arg);

/* Returns the length of a record in bytes, from its header. */
size_t iop_rec_size(const struct iop_rec *rec);

/* Returns whether the left bytes at rec begin with a complete record: its length covers its struct and the payload that the struct
 * announces (IOP_RECORDS in record.h). The strings of a call are not checked: their number depends on the table. Types of later
 * versions only need a valid length. spool_reader_next returns valid records only. */
bool iop_rec_valid(const struct iop_rec *rec, size_t left);
/* Whether records of this type are of one moment of one thread, and have nothing that a reader needs before it reads others: no
 * types of later versions, no text, no call sites and code. */
bool iop_rec_is_plain(uint8_t type);
const char *iop_rec_name(uint8_t type);         /* "CALL"; NULL for a type of a later version */

/* For key=value text: copies the unescaped value of key into buf; returns false if it is absent. text_escape is the inverse. */
bool text_value(const struct iop_rec_text *rec, const char *key, char *buf, size_t buf_len);
/* Returns whether the record has a number that is not negative under the key: decimal, or hexadecimal with 0x. */
bool text_number(const struct iop_rec_text *rec, const char *key, uint64_t *number);
uint64_t text_number_or_zero(const struct iop_rec_text *rec, const char *key); /* 0 also if the record has no such number */
const char *text_raw(const struct iop_rec_text *rec, size_t *len);      /* the part after the empty line; NULL if there is none */
size_t text_escape(char *dst, size_t dst_len, const char *src);

#endif
