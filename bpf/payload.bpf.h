/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Strings, arrays and sums of pieces behind the arguments of a call's record.
 */
#ifndef IOPROBE_BPF_PAYLOAD_H
#define IOPROBE_BPF_PAYLOAD_H

#include "state.bpf.h"

#define STRINGS_AT (sizeof(struct iop_rec_call) + 8 * IOP_MAX_ARGS)
#define STRINGS_ROOM 4096
#define MAX_CALL_LEN (STRINGS_AT + STRINGS_ROOM)
#define LENGTHS_ROOM (2 * IOP_MAX_ARGS + 8)     /* reserved behind the last text: lengths without text, and the padding */
#define TEXT_UNREADABLE 0xffff
#define TEXT_TRUNCATED 0x8000

/* Appends a length without text. The reader expects one length per string and array argument, even if no bytes could be stored.
 * Returns the bytes used. */
static __always_inline u32 append_length(struct thread *t, u32 at, u16 length)
{
	if (at > STRINGS_ROOM - 8 - 2)
		return 0;       /* unreachable: LENGTHS_ROOM */
	barrier_var(at);
	*(u16 *)(t->scratch + STRINGS_AT + at) = length;
	return 2;
}

/* Appends one string at this offset of the payload. Returns the bytes used. */
static __always_inline u32 append_string(struct thread *t, u32 at, u64 pointer)
{
	u8 *out;
	long n;

	if (at > STRINGS_ROOM - LENGTHS_ROOM - STRING_ROOM - 2)
		return append_length(t, at, TEXT_TRUNCATED);
	barrier_var(at);
	out = t->scratch + STRINGS_AT + at;
	n = bpf_probe_read_user_str(out + 2, STRING_ROOM, (void *)pointer);
	if (n <= 0)
		return append_length(t, at, TEXT_UNREADABLE);
	n = (n - 1) & (STRING_ROOM - 1);
	*(u16 *)out = n == STRING_ROOM - 1 ? n | TEXT_TRUNCATED : n;
	return n + 2;
}

/* Appends the first elements of an array. The array may end shortly before unmapped memory: then only the part on its page is
 * read. */
static __always_inline u32 append_array(struct thread *t, u32 at, u64 pointer, bool longs)
{
	u32 size = longs ? 8 * IOP_ARRAY_MAX : 4 * IOP_ARRAY_MAX, page = 4096 - (pointer & 4095);
	u8 *out;

	if (at > STRINGS_ROOM - LENGTHS_ROOM - 8 * IOP_ARRAY_MAX - 2)
		return append_length(t, at, TEXT_TRUNCATED);
	barrier_var(at);
	out = t->scratch + STRINGS_AT + at;
	if (longs && !bpf_probe_read_user(out + 2, 8 * IOP_ARRAY_MAX, (void *)pointer)) {
		*(u16 *)out = size;
		return size + 2;
	}
	if (page < size)
		size = page;
	size &= 8 * IOP_ARRAY_MAX - 1;  /* 0: all longs are on one page, and reading them failed */
	if (!size || bpf_probe_read_user(out + 2, size, (void *)pointer))
		return append_length(t, at, TEXT_UNREADABLE);
	*(u16 *)out = size;
	return size + 2;
}

static __always_inline bool is_array(u32 kind)
{
	return kind == IOP_ARG_LONGS || kind == IOP_ARG_INTS || kind == IOP_ARG_OUT_LONGS || kind == IOP_ARG_OUT_INTS;
}

static __always_inline bool is_late(u32 kind)
{
	return kind == IOP_ARG_OUT_STRING || kind == IOP_ARG_OUT_LONGS || kind == IOP_ARG_OUT_INTS;
}

/* ---- pieces ---- */

#define PIECES_LIMIT 512
#define PIECES_END (STRINGS_ROOM - LENGTHS_ROOM - sizeof(struct iop_pieces))

/* Offset of the last group in the payload, number of groups, variable of the last one, number of pieces; where the counts and
 * variables are; the last counts. Behind the payload in scratch memory: the stack of the calls that lead here has no room. */
struct pieces { u32 at, groups; s32 variable; u32 added; u64 counts, variables, value[IOP_ARRAY_MAX]; };
_Static_assert(STRINGS_AT + STRINGS_ROOM + sizeof(struct pieces) <= sizeof(((struct thread *)0)->scratch), "pieces");

static __always_inline struct pieces *pieces_of(struct thread *t)
{
	return (void *)(t->scratch + STRINGS_AT + STRINGS_ROOM);
}

/* Reads the first values of an array, which may end shortly before unmapped memory. Returns how many. */
static __always_inline u32 read_values(u64 *value, u64 pointer)
{
	u32 page = 4096 - (pointer & 4095);

	if (!bpf_probe_read_user(value, 8 * IOP_ARRAY_MAX, (void *)pointer))
		return IOP_ARRAY_MAX;
	page &= 8 * (IOP_ARRAY_MAX - 1);
	return page && !bpf_probe_read_user(value, page, (void *)pointer) ? page / 8 : 0;
}

/* Adds a piece to the last group. counts 0: one element. Returns 1 if there is no room. */
static __always_inline int add_to_group(struct thread *t, u64 counts)
{
	u32 at = pieces_of(t)->at, n = IOP_ARRAY_MAX;
	u64 *value = pieces_of(t)->value, product = 1;
	struct iop_pieces *group;

	if (at > PIECES_END)
		return 1;
	barrier_var(at);
	group = (void *)(t->scratch + STRINGS_AT + at);
	if (counts)
		n = read_values(value, counts);
	if (group->values > n)
		group->values = n;
	group->pieces++;
	for (u32 i = 0; i < IOP_ARRAY_MAX; i++) {
		product *= !counts ? 1 : i < n ? value[i] : 0;
		group->elements[i] += product;
	}
	return 0;
}

static __always_inline int new_group(struct thread *t, s32 variable)
{
	u32 at = pieces_of(t)->at;
	struct iop_pieces *group;

	if (pieces_of(t)->groups && pieces_of(t)->variable == variable)
		return 0;
	if (pieces_of(t)->groups++)
		pieces_of(t)->at = at += sizeof(*group);
	if (at > PIECES_END)
		return 1;
	barrier_var(at);
	group = (void *)(t->scratch + STRINGS_AT + at);
	__builtin_memset(group, 0, sizeof(*group));
	group->variable = pieces_of(t)->variable = variable;
	group->values = IOP_ARRAY_MAX;
	return 0;
}

/* Ends the loop if the piece cannot be read, or there is no room for it. All in one: the verifier follows 8 nested functions. */
static long piece_step(u32 n, void *data)
{
	struct thread *t = *(struct thread **)data;
	u64 array = 0, counts = pieces_of(t)->counts, variables = pieces_of(t)->variables;
	s32 variable = 0;

	if (variables && bpf_probe_read_user(&variable, sizeof(variable), (void *)(variables + 4ull * n)))
		return 1;
	if (counts && bpf_probe_read_user(&array, sizeof(array), (void *)(counts + 8ull * n)))
		return 1;
	if (new_group(t, variable) || add_to_group(t, array))
		return 1;
	pieces_of(t)->added++;
	return 0;
}

/* Appends the pieces of a call: a struct iop_pieces for each succession of pieces of one variable. Returns the bytes used. */
__noinline u32 append_pieces(struct thread *t, struct frame *f, u32 i, u32 places, u32 at)
{
	u32 variables = places >> IOP_PIECES_VARIABLES_SHIFT;
	struct pieces *pieces;
	u64 n;

	if (!t || !f || at > STRINGS_ROOM)
		return 0;
	i &= IOP_MAX_ARGS - 1;
	n = f->args[places & (IOP_MAX_ARGS - 1)];
	pieces = pieces_of(t);
	*pieces = (struct pieces){ .at = at + 2 };
	pieces->counts = variables == i ? 0 : f->args[i];
	if (variables != IOP_PIECES_NONE)
		pieces->variables = f->args[variables & (IOP_MAX_ARGS - 1)];
	if (!n || n > PIECES_LIMIT)
		return append_length(t, at, TEXT_TRUNCATED);
	bpf_loop(n, piece_step, &t, 0);
	if (pieces_of(t)->added != n)
		return append_length(t, at, TEXT_TRUNCATED);
	n = pieces_of(t)->at + sizeof(struct iop_pieces) - at;
	append_length(t, at, n - 2);
	return n;
}

/* Returns the bytes used, 0 if the argument is neither string nor array. An output argument has no contents before the call
 * returns. */
static __always_inline u32 append_payload(struct thread *t, u32 at, u64 pointer, u32 kind, bool returned)
{
	if (!is_array(kind) && kind != IOP_ARG_STRING && kind != IOP_ARG_OUT_STRING)
		return 0;
	if (is_late(kind) && !returned)
		pointer = 0;
	if (is_array(kind))
		return append_array(t, at, pointer, kind == IOP_ARG_LONGS || kind == IOP_ARG_OUT_LONGS);
	return append_string(t, at, pointer);
}

#define APPEND_RETURNED 16      /* or'ed to the index: the call has returned */

/* Appends the payload of one argument. Returns the total bytes used. */
__noinline u32 append_argument(struct thread *t, struct frame *f, const struct iop_desc *desc, u32 which, u32 used)
{
	u32 n, kind, i = which & (IOP_MAX_ARGS - 1);

	if (!t || !f || !desc)
		return used;
	kind = desc->arg[i].kind;
	n = append_payload(t, used, f->args[i], kind, which & APPEND_RETURNED);
	if (n && n <= 2 && f->args[i] && kind == IOP_ARG_STRING)
		f->flags |= FRAME_LATE_STRINGS;
	return used + n;
}

/* Appends strings and arrays of a call behind its arguments, which are padded to their full number. Returns the bytes used. */
static __always_inline u32 append_strings(struct thread *t, struct frame *f, const struct iop_desc *desc, bool returned)
{
	u32 used = 0;

	if (!t || !f || !desc)
		return 0;
	f->flags &= ~FRAME_LATE_STRINGS;
	for (u32 i = 0; i < IOP_MAX_ARGS; i++) {
		if (i >= desc->nargs)
			break;
		if (desc->arg[i].kind == IOP_ARG_PIECES || desc->arg[i].kind == IOP_ARG_IDS)
			used += append_pieces(t, f, i, desc->arg[i].offset, used);
		else
			used = append_argument(t, f, desc, returned ? i | APPEND_RETURNED : i, used);
	}
	if (used > STRINGS_ROOM - 8)
		return 0;
	barrier_var(used);
	__builtin_memset(t->scratch + STRINGS_AT + used, 0, 8);
	return (used + 7) & ~7u;
}

/* The same after the return. A separate function: inline, the verifier would follow it once for each way that leads to a return.
 * Records at the entry are sent from deeper calls, which have no room for one more. */
__noinline u32 append_strings_returned(struct thread *t, struct frame *f, const struct iop_desc *desc)
{
	return append_strings(t, f, desc, true);
}

#endif
