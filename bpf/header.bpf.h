/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Headers of files: the header of a classic netCDF file defines how much later calls move. While a call opens such a file, the
 * bytes that system calls inside it read are sent, if the file begins with the layer's magic. The recorder does not read the file:
 * the records have exactly what the library read, even if the file changes later.
 */
#ifndef IOPROBE_BPF_HEADER_H
#define IOPROBE_BPF_HEADER_H

#include "describe.bpf.h"
#include "emit.bpf.h"

#define HEADER_ROOM 65536       /* bytes that are sent for one open call */
#define HEADER_LEAST 4          /* a magic */
#define CONTENTS_PIECE 2048

/* A call that may read a header has begun: its frame is the last one. frames_remove() ends it. */
static __always_inline void header_begins(struct thread *t, const struct iop_desc *desc)
{
	t->header = (struct header){ .magic = desc->magic, .room = HEADER_ROOM, .depth = t->depth };
}

/* Keeps the buffer of a library's call until its return. regs: the integer arguments. */
static __always_inline void header_remember(struct thread *t, const struct iop_desc *desc, u64 *regs)
{
	u32 at = (desc->contents & IOP_CONTENTS_AT) - 1;

	if (at > 3)
		return;
	barrier_var(at);
	t->header.buffer = regs[at & 3];
	t->header.bytes = regs[(at & 3) + 1];
}

/* Sends a piece of n bytes, at most CONTENTS_PIECE. Returns 1 if it cannot be read. */
__noinline int send_contents_piece(struct thread *t, u64 buffer, u32 n, u64 offset, u64 now)
{
	struct iop_rec_contents *rec = (void *)(t ? t->scratch : 0);
	u32 len;

	if (!t)
		return 1;
	if (n >= CONTENTS_PIECE) {
		n = CONTENTS_PIECE;
		if (bpf_probe_read_user(rec->bytes, CONTENTS_PIECE, (void *)buffer))
			return 1;
	} else {
		n &= CONTENTS_PIECE - 1;
		*(u64 *)(rec->bytes + (n & (CONTENTS_PIECE - 8))) = 0;
		if (bpf_probe_read_user(rec->bytes, n, (void *)buffer))
			return 1;
	}
	rec->offset = offset;
	rec->len = n;
	rec->pad = 0;
	len = (sizeof(*rec) + n + 7) & ~7u;
	if (len > sizeof(*rec) + CONTENTS_PIECE)
		return 1;
	rec_header(&rec->rec, t, IOP_REC_CONTENTS, 0, len, now);
	send_record(t, rec, len, false);
	return 0;
}

__noinline int send_contents(struct thread *t, u64 buffer, u64 bytes, u64 offset, u64 now)
{
	u64 room;

	if (!t)
		return 0;
	room = t->header.room & ~HEADER_FOUND;
	if (bytes > room)
		bytes = room;
	t->header.room -= bytes;
	for (u32 i = 0; i < HEADER_ROOM / CONTENTS_PIECE; i++) {
		u64 done = (u64)i * CONTENTS_PIECE;

		if (done >= bytes || send_contents_piece(t, buffer + done, bytes - done, offset + done, now))
			break;
	}
	return 0;
}

static __always_inline bool begins_header(struct thread *t, u64 buffer, u64 bytes)
{
	u32 begin = 0, magic = t->header.magic, mask = magic >> 24 ? ~0u : magic >> 16 ? 0xffffff : magic >> 8 ? 0xffff : 0xff;

	return bytes >= HEADER_LEAST && !bpf_probe_read_user(&begin, sizeof(begin), (void *)buffer) && (begin & mask) == magic;
}

enum header_verdict { HEADER_OTHER, HEADER_OWN, HEADER_AMBIGUOUS };

/* Do bytes of this file belong to the header? Its file is the one whose beginning had the magic. Reads of other files (a library's
 * configuration, those of a callback of the program) decide nothing, unless such a file has the magic, too: then it is unknown
 * which of the two is being opened. */
__noinline int header_is_of(struct thread *t, u64 identity, u64 buffer, u64 bytes, u64 offset)
{
	struct file *file = (void *)identity;
	u32 dev, generation;
	struct inode *inode;
	bool found;
	u64 ino;

	if (!t || !file)
		return HEADER_OTHER;
	inode = LOAD(file, f_inode);
	ino = LOAD(inode, i_ino);
	dev = LOAD(LOAD(inode, i_sb), s_dev);
	generation = LOAD(inode, i_generation);
	found = t->header.room & HEADER_FOUND;
	if (found && t->header.ino == ino && t->header.dev == dev && t->header.generation == generation)
		return HEADER_OWN;
	if (offset || !begins_header(t, buffer, bytes))
		return HEADER_OTHER;
	if (found)
		return HEADER_AMBIGUOUS;
	t->header.ino = ino;
	t->header.dev = dev;
	t->header.generation = generation;
	t->header.room |= HEADER_FOUND;
	return HEADER_OWN;
}

/* At the return of a library's call, which got the beginning of a header from another process. */
static __always_inline void header_of_library_call(struct thread *t, const struct iop_desc *desc, s64 ret, u64 now)
{
	if (t->header.room && desc->contents && !(s32)ret && begins_header(t, t->header.buffer, t->header.bytes))
		send_contents(t, t->header.buffer, t->header.bytes, 0, now);
}

/* At the exit of a system call. */
static __always_inline void header_of_syscall(struct thread *t, const struct iop_desc *desc, u64 *regs, s64 ret, u64 now)
{
	u32 at = (desc->contents & IOP_CONTENTS_AT) - 1;
	struct file *file = file_of(regs[0]);
	u64 offset, buffer;
	int verdict;

	if (at > 3 || !file)
		return;
	barrier_var(at);
	buffer = regs[at & 3];
	offset = desc->contents & IOP_CONTENTS_OFFSET ? regs[(at & 3) + 2] : LOAD(file, f_pos) - ret;
	verdict = header_is_of(t, (u64)file, buffer, ret, offset);
	if (verdict == HEADER_OWN)
		send_contents(t, buffer, ret, offset, now);
	if (verdict != HEADER_AMBIGUOUS)
		return;
	t->header.room = 0;
	send_contents_piece(t, buffer, 0, 0, now);      /* without bytes */
}

#endif
