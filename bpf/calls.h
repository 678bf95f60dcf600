/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The stack of open calls of a thread: push at entry, pop at return, and removal of frames that were left without a return. A call
 * without children becomes one CALL record; ENTER is sent when the first child enters.
 */
#ifndef IOPROBE_BPF_CALLS_H
#define IOPROBE_BPF_CALLS_H

#include "collectives.h"
#include "cpu_time.h"
#include "describe.h"
#include "returns.h"
#include "stacks.h"
#include "vectors.h"

/* ---- records of a frame ---- */

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
__noinline u32 append_strings(struct thread *t, struct frame *f, const struct iop_desc *desc, bool returned)
{
	u32 used = 0;

	if (!t || !f || !desc)
		return 0;
	f->flags &= ~FRAME_LATE_STRINGS;
	for (u32 i = 0; i < IOP_MAX_ARGS; i++) {
		if (i >= desc->nargs)
			break;
		used = append_argument(t, f, desc, returned ? i | APPEND_RETURNED : i, used);
	}
	if (used > STRINGS_ROOM - 8)
		return 0;
	barrier_var(used);
	__builtin_memset(t->scratch + STRINGS_AT + used, 0, 8);
	return (used + 7) & ~7u;
}

static __always_inline void set_site(struct iop_rec_call *rec, u32 site)
{
	rec->site[0] = site;
	rec->site[1] = site >> 8;
	rec->site[2] = site >> 16;
}

static __always_inline u32 call_record(struct thread *t, struct frame *f, u8 type, u32 depth, s64 ret)
{
	struct iop_rec_call *rec = (void *)t->scratch;

	rec->probe = f->probe;
	rec->depth = depth;
	rec->arg_failed = f->arg_failed;
	set_site(rec, depth || !call_sites ? 0 : t->site);
	rec->enter_ns = f->enter_ns;
	rec->ret = ret;
	rec->nargs = f->nargs;
	for (int i = 0; i < IOP_MAX_ARGS; i++)
		rec->args[i] = f->args[i];
	return sizeof(*rec) + 8 * (f->nargs & 15);
}

/* Strings are built behind the longest possible argument list, so the list is moved up against them and args[] is padded to its
 * full length. */
static __always_inline u32 call_record_strings(struct thread *t, struct frame *f, const struct iop_desc *desc, bool returned)
{
	struct iop_rec_call *rec = (void *)t->scratch;
	u32 used = append_strings(t, f, desc, returned);

	rec->nargs = IOP_MAX_ARGS;
	return STRINGS_AT + (used & (STRINGS_ROOM - 1));
}

__noinline int send_enter(struct thread *t, struct frame *f, u32 depth, bool strings, u64 now)
{
	struct iop_desc *desc;
	u32 id, len;

	if (!t || !f)
		return 0;
	id = f->probe;
	len = call_record(t, f, IOP_REC_ENTER, depth, 0);
	desc = strings ? bpf_map_lookup_elem(&descriptors, &id) : 0;
	if (desc)
		len = call_record_strings(t, f, desc, false);
	f->flags |= FRAME_ENTERED;
	rec_header((void *)t->scratch, t, IOP_REC_ENTER, desc ? IOP_F_STRINGS : 0, len, now);
	if (len > MAX_CALL_LEN)
		return 0;
	send(t, t->scratch, len, false);
	return 0;
}

/* unseen: its return cannot be observed. */
__noinline int send_abandoned(struct thread *t, struct frame *f, u32 depth, bool unseen, u64 now)
{
	u32 len;

	if (!t || !f)
		return 0;
	if (cpu_time && !depth)
		cpu_call_abandoned(t);
	if (collectives && !depth)
		t->held.after_io = !(f->flags & FRAME_COLLECTIVE);
	if ((f->flags & FRAME_LEFT_OUT) || (f->flags & (FRAME_TEST | FRAME_ENTERED)) == FRAME_TEST)
		return count_abandoned(f, now);
	if (!(f->flags & FRAME_ENTERED))
		send_enter(t, f, depth, f->flags & FRAME_ARRAYS, now);
	f->nargs = 0;
	len = call_record(t, f, IOP_REC_EXIT, depth, 0);
	rec_header((void *)t->scratch, t, IOP_REC_EXIT, unseen ? IOP_F_ABANDONED | IOP_F_UNSEEN : IOP_F_ABANDONED,
		   sizeof(struct iop_rec_call), now);
	send(t, t->scratch, sizeof(struct iop_rec_call), false);
	return len;
}

/* The barrier keeps the compiler from computing the address before the bounds check, which the verifier would reject. */
static __always_inline struct frame *frame_at(struct thread *t, u32 index)
{
	barrier_var(index);
	if (index >= MAX_DEPTH)
		return 0;
	barrier_var(index);
	return &t->frames[index];
}

__noinline bool abandon_top(struct thread *t, u64 now)
{
	struct frame *f;
	u32 top;

	if (!t)
		return false;
	top = t->depth - 1;
	f = frame_at(t, top);
	if (!f)
		return false;
	t->depth = top;
	send_abandoned(t, f, top, false, now);
	return true;
}

/* Closes every frame at and above index `keep` as abandoned. */
__noinline int abandon_to(struct thread *t, u32 keep, u64 now)
{
	for (int i = 0; i < MAX_DEPTH && t; i++)
		if (t->depth <= keep || !abandon_top(t, now))
			break;
	return 0;
}

/* ---- frames that were left without a return ---- */

/* Returns whether a frame's stack slot no longer holds its return address: then the frame has ended, whatever the stack pointer.
 * This detects what the stack pointer cannot: after a longjmp the program may call deeper than the frame was (glibc 2.41 makes its
 * system calls two frames deeper than 2.36). A frame that was left is not detected as long as its slot is unchanged. */
__noinline bool slot_changed(struct thread *t, u32 index)
{
	struct frame *f;
	u64 ra = 0;

	if (!t)
		return false;
	f = frame_at(t, index);
	if (!f || (f->flags & FRAME_SYSCALL) || !f->ret)
		return false;
	if (bpf_probe_read_user(&ra, sizeof(ra), (void *)f->sp) || ra == f->ret)
		return false;
	return !is_trampoline(t, (void *)bpf_get_current_task(), ra);
}

/* Returns whether the frame at this index was left, seen from a call with this stack pointer. Stacks grow down: a frame whose
 * return address lies below that of the new call was left (longjmp, exception). sp 0: the call is on a stack of its own, and
 * its stack pointer does not compare with the frames. A tail call finds the caller's hijacked return address, a fresh call at
 * the same depth a real one. A separate function, like other loop bodies over frames: the verifier checks it once and not for
 * every frame. */
__noinline bool frame_is_left(struct thread *t, u32 index, u64 sp)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	bool alt = on_altstack(task, sp);
	struct frame *f;
	u64 ra = 0;

	if (!t)
		return false;
	f = frame_at(t, index);
	if (!f)
		return false;
	if ((f->flags & FRAME_SYSCALL) || slot_changed(t, index))
		return true;
	if (!sp)
		return false;
	if (alt && !(f->flags & FRAME_ALTSTACK))
		return false;
	if (sp < f->sp && (alt || !(f->flags & FRAME_ALTSTACK)))
		return false;
	return sp != f->sp || bpf_probe_read_user(&ra, sizeof(ra), (void *)sp) || !is_trampoline(t, task, ra);
}

/* Returns the number of frames that are still alive when a call enters with this stack pointer. */
__noinline u32 frames_alive(struct thread *t, u64 sp)
{
	u32 alive = t ? t->depth : 0;

	if (t && stack_of(t, sp) == STACK_FOREIGN)
		sp = 0;
	for (int i = 0; i < MAX_DEPTH && t; i++) {
		if (!alive || !frame_is_left(t, alive - 1, sp))
			break;
		alive--;
	}
	return alive;
}

static __always_inline u32 flags_turned_off(struct thread *t)
{
	struct iop_process_key key = process_key(t);
	u32 *flags = bpf_map_lookup_elem(&turned_off, &key);

	return flags ? *flags : 0;
}

__noinline bool frame_is_off(struct thread *t, u32 index, u32 off)
{
	struct iop_desc *desc;
	struct frame *f;
	u32 id;

	if (!t)
		return false;
	f = frame_at(t, index);
	if (!f || (f->flags & FRAME_SYSCALL))
		return false;
	id = f->probe;
	desc = bpf_map_lookup_elem(&descriptors, &id);
	return desc && (desc->flags & off);
}

/* Calls that were open when their probes were detached have no return: they are closed before anything enters below them. */
__noinline int abandon_turned_off(struct thread *t, u64 now)
{
	u32 off = t ? flags_turned_off(t) : 0, keep = t ? t->depth : 0;

	for (int i = 0; i < MAX_DEPTH && t && off; i++) {
		if (!keep || !frame_is_off(t, keep - 1, off))
			break;
		keep--;
	}
	if (t && keep < t->depth)
		abandon_to(t, keep, now ? now : bpf_ktime_get_ns());
	return 0;
}

/* now: time for the records of the entering call; 0: they read the clock later. */
static __always_inline void prune(struct thread *t, u64 sp, u64 now)
{
	struct frame *top;

	if (t->depth && recording_by(t->recording)->any_turned_off)
		abandon_turned_off(t, now);
	top = frame_at(t, t->depth - 1);
	if (!t->depth || !top)
		return;
	if (sp < top->sp && at_home(t, sp) && !(top->flags & (FRAME_SYSCALL | FRAME_ALTSTACK)) && !slot_changed(t, t->depth - 1))
		return;
	abandon_to(t, frames_alive(t, sp), now ? now : bpf_ktime_get_ns());
}

/* ---- push and pop ---- */

/* Sends the pending ENTERs below this depth. */
__noinline int send_enters(struct thread *t, u32 depth, u64 now)
{
	for (u32 i = 0; i < MAX_DEPTH; i++) {
		struct frame *f = t ? frame_at(t, i) : 0;

		if (i >= depth || !f)
			break;
		if (!(f->flags & (FRAME_ENTERED | FRAME_LEFT_OUT)))
			send_enter(t, f, i, false, now);
	}
	return 0;
}

/* Returns the next frame, after sending its parent's ENTER unless the call is filtered. NULL if the stack is full: the call is
 * counted and not recorded. */
static __always_inline struct frame *push(struct thread *t, u64 now, bool excluded)
{
	u32 depth = t->depth;
	struct frame *parent, *f;

	if (depth >= MAX_DEPTH) {
		t->frames_too_deep++;
		return 0;
	}
	parent = depth ? frame_at(t, depth - 1) : 0;
	if (parent && !excluded && !(parent->flags & FRAME_ENTERED)) {
		now = now ? now : bpf_ktime_get_ns();
		if (parent->flags & FRAME_TEST)
			send_enters(t, depth, now);
		else
			send_enter(t, parent, depth - 1, parent->flags & FRAME_ARRAYS, now);
	}
	if (collectives && !depth && !excluded)
		send_held_collective(t);
	f = frame_at(t, depth);
	if (f) {
		f->slot = slot_of(t);
		t->depth = depth + 1;
		if (cpu_time && !depth)
			cpu_call_begins(t);
	}
	return f;
}

/* Stores the value that the pointer in slot `from` points to in slot `to`. Returns 1 if it cannot be read. */
__noinline int read_out_arg(struct frame *f, u32 from, u32 to, u32 kind, u32 offset)
{
	u64 value = 0;
	s32 small = 0;
	long bad;

	if (!f)
		return 0;
	from &= IOP_MAX_ARGS - 1;
	to &= IOP_MAX_ARGS - 1;
	if (kind == IOP_ARG_OUT_MMSG) {
		value = messages_moved(f->args[from], f->sp);   /* needs the result: of a system call only */
		bad = value == LENGTH_UNKNOWN;
	} else if (kind == IOP_ARG_OUT_VALUE) {
		bad = bpf_probe_read_user(&value, sizeof(value), (void *)(f->args[from] + offset));
	} else {
		bad = bpf_probe_read_user(&small, sizeof(small), (void *)(f->args[from] + offset));
		value = (s64)small;
	}
	f->args[to] = value;
	return bad != 0;
}

#define LENGTH_ROOM 4096

/* Stores the length of the string that slot `from` points to in slot `to`. A line without a newline at its end may contain a NUL:
 * its length is unknown. Returns 1 if there is no length. */
__noinline int read_length(struct thread *t, struct frame *f, u32 from, u32 to, u32 kind)
{
	u32 last;
	long n;

	if (!t || !f)
		return 0;
	from &= IOP_MAX_ARGS - 1;
	to &= IOP_MAX_ARGS - 1;
	n = bpf_probe_read_user_str(t->scratch, LENGTH_ROOM, (void *)f->args[from]);
	f->args[to] = 0;
	if (n <= 0 || n >= LENGTH_ROOM)
		return 1;
	last = (u32)(n - 2) & (LENGTH_ROOM - 1);
	barrier_var(last);
	if (kind == IOP_ARG_OUT_LINE && (n < 2 || t->scratch[last & (LENGTH_ROOM - 1)] != '\n'))
		return 1;
	f->args[to] = kind == IOP_ARG_OUT_PUTS ? n : n - 1;
	return 0;
}

static __always_inline bool is_length(u32 kind)
{
	return kind == IOP_ARG_OUT_LENGTH || kind == IOP_ARG_OUT_LINE || kind == IOP_ARG_OUT_PUTS;
}

/* Reads the targets of OUT arguments. With `only`, args[] then holds just those; it was emptied before. A separate function, like
 * other loops: the verifier checks it once and not for every state of its caller. */
__noinline int read_out_targets(struct thread *t, struct frame *f, const struct iop_desc *desc, bool only)
{
	if (!t || !f || !desc)
		return 0;
	for (u32 i = 0; i < IOP_MAX_ARGS; i++) {
		u32 kind = desc->arg[i].kind, to = only ? f->nargs : i;

		if (i >= desc->nargs)
			break;
		if (!is_length(kind) && kind != IOP_ARG_OUT_VALUE && kind != IOP_ARG_OUT_INT && kind != IOP_ARG_OUT_MMSG)
			continue;
		if (is_length(kind) ? read_length(t, f, i, to, kind) : read_out_arg(f, i, to, kind, desc->arg[i].offset))
			f->arg_failed |= 1 << (to & (IOP_MAX_ARGS - 1));
		if (only)
			f->nargs++;
	}
	return 0;
}

/* With `only`, args[] then holds just the values of OUT arguments, as an EXIT record requires. */
static __always_inline void read_out_args(struct thread *t, struct frame *f, const struct iop_desc *desc, bool only)
{
	if (only)
		f->arg_failed = f->nargs = 0;
	if (desc->has & IOP_HAS_OUT)
		read_out_targets(t, f, desc, only);
}

/* Sends the record of a call that returned: the frame is already popped, depth is the number of frames below it. */
static __always_inline void send_return(struct thread *t, struct frame *f, const struct iop_desc *desc, u32 depth, s64 ret, u64 now)
{
	bool entered = f->flags & FRAME_ENTERED;
	bool strings = (desc->has & IOP_HAS_LATE) || (f->flags & FRAME_LATE_STRINGS) ||
		       (!entered && ((desc->flags & IOP_D_STRINGS) || (desc->has & IOP_HAS_ARRAYS)));
	u8 type = entered ? IOP_REC_EXIT : IOP_REC_CALL;
	u32 len;

	if (filter_calls && !entered && call_excluded(f, desc, ret, now))
		return;
	if (collectives && !depth && !(f->flags & FRAME_COLLECTIVE))
		t->held.after_io = 1;
	if (cpu_time && !depth)
		cpu_call_ends(t, f->enter_ns, now);
	/* with strings it keeps their pointers: an EXIT with strings carries all arguments, so that the reader can match them */
	read_out_args(t, f, desc, entered && !strings);
	len = call_record(t, f, type, depth, ret);
	if (strings)
		len = call_record_strings(t, f, desc, true);
	rec_header((void *)t->scratch, t, type, strings ? IOP_F_STRINGS : 0, len, now);
	if (len > MAX_CALL_LEN)
		return;
	send(t, t->scratch, len, false);
}

#endif
