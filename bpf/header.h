/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Headers of files: while a call opens a file whose header defines what later calls move (classic netCDF), what the calls inside
 * read is sent if it begins with the layer's magic. That is what the library saw, whatever happens to the file; no process of the
 * recorder reads the file.
 */
#ifndef IOPROBE_BPF_HEADER_H
#define IOPROBE_BPF_HEADER_H

#include "describe.h"
#include "emit.h"

#define HEADER_ROOM 65536       /* bytes that are sent for one open call */
#define CONTENTS_PIECE 2048
#define OFFSET_UNKNOWN (~0ull)

/* Where contents can be sent from: a call's buffer. */
static __always_inline void header_begins(struct thread *t, const struct iop_desc *desc)
{
	t->header = (struct header){ .magic = desc->magic, .room = HEADER_ROOM };
}

/* regs: the integer arguments. */
static __always_inline void header_remember(struct thread *t, const struct iop_desc *desc, u64 *regs)
{
	u32 at = (desc->contents & IOP_CONTENTS_AT) - 1;

	if (at > 3)
		return;
	barrier_var(at);
	t->header.buffer = regs[at & 3];
	t->header_bytes = regs[(at & 3) + 1];
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
	send(t, rec, len, false);
	return 0;
}

/* Whether these bytes belong to a header. At the file's beginning the magic decides, also for what follows. */
static __always_inline bool is_header(struct thread *t, u64 buffer, u64 offset)
{
	u32 begin = 0, magic = t->header.magic, mask = magic >> 24 ? ~0u : magic >> 16 ? 0xffffff : magic >> 8 ? 0xffff : 0xff;

	if (offset && offset != OFFSET_UNKNOWN)
		return t->header.room & HEADER_FOUND;
	if (bpf_probe_read_user(&begin, sizeof(begin), (void *)buffer))
		return false;
	if ((begin & mask) == magic) {
		t->header.room |= HEADER_FOUND;
		return true;
	}
	if (!offset)
		t->header.room = 0;     /* of another kind */
	return false;
}

__noinline int send_contents(struct thread *t, u64 buffer, u64 bytes, u64 offset, u64 now)
{
	u64 room;

	if (!t || bytes < 4 || !is_header(t, buffer, offset))
		return 0;
	if (offset == OFFSET_UNKNOWN)
		offset = 0;
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

/* At the return of a library's call. */
static __always_inline void header_of_library_call(struct thread *t, const struct iop_desc *desc, s64 ret, u64 now)
{
	if (!t->header.room || !desc->contents || (s32)ret)
		return;
	send_contents(t, t->header.buffer, t->header_bytes, OFFSET_UNKNOWN, now);
}

/* At the exit of a system call. */
static __always_inline void header_of_syscall(struct thread *t, const struct iop_desc *desc, u64 *regs, s64 ret, u64 now)
{
	u32 at = (desc->contents & IOP_CONTENTS_AT) - 1;
	struct file *file;
	u64 offset;

	if (at > 3)
		return;
	barrier_var(at);
	if (desc->contents & IOP_CONTENTS_OFFSET) {
		offset = regs[(at & 3) + 2];
	} else {
		file = file_of(regs[0]);
		if (!file)
			return;
		offset = LOAD(file, f_pos) - ret;
	}
	send_contents(t, regs[at & 3], ret, offset, now);
}

#endif
