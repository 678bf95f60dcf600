/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The spool on disk: a file header, then blocks. Private to writer.c and reader.c.
 */
#ifndef IOPROBE_SPOOL_FORMAT_H
#define IOPROBE_SPOOL_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#define SPOOL_MAGIC "ioprobe\n"
#define SPOOL_VERSION 1
#define SPOOL_BYTE_ORDER 0x01020304u    /* in the writer's byte order */
#define SPOOL_BLOCK_MAGIC 0x424f4f49u   /* "IOOB" */
#define SPOOL_BLOCK_BYTES (256u << 10)  /* size of the records in a block; a larger record makes a larger block */
#define SPOOL_BLOCK_MAX_BYTES (128u << 20) /* upper limit for a block: what a damaged or forged header can make a reader allocate */
#define SPOOL_LEVEL 1                   /* of zstd */

/* The first block of a file is created together with it and overwritten in place: it holds one text record with the progress of the
 * recording, STATUS and finally END. So neither needs space when the disk is full or the file may not grow (except on a
 * copy-on-write file system). It is never compressed. A kill may leave it half written: then its checksum does not match, and it is
 * skipped. */
#define SPOOL_STATUS_BLOCK 1u           /* spool_block_header.kind */
#define SPOOL_STATUS_BYTES 8192u        /* of the block, its header included */

/* A block without records that describe others (spool_reader_skip_plain). */
#define SPOOL_PLAIN_BLOCK 2u

struct spool_file_header {
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
};

struct spool_block_header {
	uint32_t magic;
	uint32_t raw_len;       /* size of the records */
	uint32_t stored_len;    /* bytes that follow; equal to raw_len: not compressed */
	uint32_t records;
	uint32_t kind;          /* 0, SPOOL_STATUS_BLOCK or SPOOL_PLAIN_BLOCK */
	uint32_t crc;           /* CRC-32 of the fields above and the stored bytes */
};

_Static_assert(sizeof(struct spool_file_header) == 16, "spool_file_header");
_Static_assert(sizeof(struct spool_block_header) == 24, "spool_block_header");

static inline uint32_t spool_block_crc(const struct spool_block_header *header, const void *stored)
{
	uLong crc = crc32(0, (const void *)header, offsetof(struct spool_block_header, crc));

	return crc32(crc, stored, header->stored_len);
}

#endif
