/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The stack of open calls of a thread: push at entry, pop at return, and removal of frames that were left without a return. A call
 * without children becomes one CALL record; ENTER is sent when the first child enters.
 */
#ifndef IOPROBE_BPF_CALLS_H
#define IOPROBE_BPF_CALLS_H

#include "collectives.bpf.h"
#include "cpu_time.bpf.h"
#include "describe.bpf.h"
#include "payload.bpf.h"
#include "returns.bpf.h"
#include "stacks.bpf.h"
#include "vectors.bpf.h"

/* ---- records of a frame ---- */

/* Returns the flags of a call's records that are known at its entry. */
static __always_inline u8 flags_of_frame(const struct frame *f)
{
	return f->flags & FRAME_UNALIGNED ? IOP_F_UNALIGNED : 0;
}

static __always_inline u32 call_record(struct thread *t, struct frame *f, u8 type, u32 depth, s64 ret)
{
	struct iop_rec_call *rec = (void *)t->scratch;

	rec->probe = f->probe;
	rec->depth = depth;
	rec->arg_failed = f->arg_failed;
	set_record_site(rec->site, depth || !call_sites ? 0 : t->site);
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
	u32 used = returned ? append_strings_returned(t, f, desc) : append_strings(t, f, desc, false);

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
	rec_header((void *)t->scratch, t, IOP_REC_ENTER, (desc ? IOP_F_STRINGS : 0) | flags_of_frame(f), len, now);
	if (len > MAX_CALL_LEN)
		return 0;
	send_record(t, t->scratch, len, false);
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
	send_record(t, t->scratch, sizeof(struct iop_rec_call), false);
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

/* Removes the frames from this index on; what belongs to them ends with them. */
static __always_inline void frames_remove(struct thread *t, u32 index)
{
	t->depth = index;
	if (index < t->header.depth)
		t->header.room = 0;
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
	frames_remove(t, top);
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
static __always_inline void frames_prune(struct thread *t, u64 sp, u64 now)
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

__noinline int send_enter_at(struct thread *t, u32 index, u64 now)
{
	struct frame *f = t ? frame_at(t, index) : 0;

	if (f && !(f->flags & (FRAME_ENTERED | FRAME_LEFT_OUT)))
		send_enter(t, f, index, false, now);
	return 0;
}

/* Sends the pending ENTERs below this depth. */
__noinline int send_enters(struct thread *t, u32 depth, u64 now)
{
	for (u32 i = 0; i < MAX_DEPTH; i++) {
		if (i >= depth)
			break;
		send_enter_at(t, i, now);
	}
	return 0;
}

/* Returns the next frame, after sending its parent's ENTER unless the call is filtered. NULL if the stack is full: the call is
 * counted and not recorded. */
static __always_inline struct frame *frame_push(struct thread *t, u64 now, bool excluded)
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

#define FIRST_PAGE 4096         /* no program has data there */

/* Stores the value that the pointer in slot `from` points to in slot `to`. Returns 1 if it cannot be read. A null pointer
 * (MPI_STATUS_IGNORE of Open MPI) is not tried: the page fault costs as much as the rest of the call's record. */
static __always_inline int read_out_arg(struct frame *f, u32 from, u32 to, u32 kind, u32 offset)
{
	u64 value = 0;
	s32 small = 0;
	long bad;

	if (!f)
		return 0;
	from &= IOP_MAX_ARGS - 1;
	to &= IOP_MAX_ARGS - 1;
	if (f->args[from] < FIRST_PAGE) {
		bad = 1;
	} else if (kind == IOP_ARG_OUT_MMSG) {
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
#define LENGTH_STEPS 64
#define LENGTH_UNREADABLE (~0ull)
#define LENGTH_NEWLINE (1ull << 32)     /* the string ends with a newline */

struct length_walk { struct thread *t; u64 pointer, length, newline; bool ended; };

/* Returns 1 at the end of the string. */
static __always_inline long add_length(struct length_walk *walk)
{
	struct thread *t = walk->t;
	long n = bpf_probe_read_user_str(t->scratch, LENGTH_ROOM, (void *)(walk->pointer + walk->length));
	u32 last = (u32)(n - 2) & (LENGTH_ROOM - 1);

	if (n <= 0)
		return 1;
	walk->length += n - 1;
	barrier_var(last);
	if (n > 1)
		walk->newline = t->scratch[last & (LENGTH_ROOM - 1)] == '\n' ? LENGTH_NEWLINE : 0;
	if (n == LENGTH_ROOM)
		return 0;
	walk->ended = true;
	return 1;
}

static long length_step(u32 i, void *data)
{
	(void)i;
	return add_length(data);
}

/* Returns the length of a string, with LENGTH_NEWLINE, or LENGTH_UNREADABLE. */
__noinline u64 string_length(struct thread *t, u64 pointer)
{
	struct length_walk walk = { .t = t, .pointer = pointer };

	if (!t)
		return LENGTH_UNREADABLE;
	if (!add_length(&walk))
		bpf_loop(LENGTH_STEPS - 1, length_step, &walk, 0);
	return walk.ended ? walk.length | walk.newline : LENGTH_UNREADABLE;
}

/* Stores the length of the string that slot `from` points to in slot `to`. A line without a newline at its end may contain a NUL:
 * its length is known only if it is as long as its room allows. how: LENGTH_OF. Returns 1 if there is no length. */
#define LENGTH_OF(kind, offset) ((kind) | (u32)(offset) << 8)
static __always_inline int read_length(struct thread *t, struct frame *f, u32 from, u32 to, u32 how)
{
	u32 kind = how & 0xff;
	u64 length, room;

	if (!t || !f)
		return 0;
	from &= IOP_MAX_ARGS - 1;
	to &= IOP_MAX_ARGS - 1;
	length = string_length(t, f->args[from]);
	room = how & LENGTH_OF(0, IOP_LINE_ROOM) ? f->args[(from + 1) & (IOP_MAX_ARGS - 1)] : 0;
	f->args[to] = 0;
	if (length == LENGTH_UNREADABLE)
		return 1;
	if (kind == IOP_ARG_OUT_LINE && !(length & LENGTH_NEWLINE) && (!length || length + 1 != room))
		return 1;
	length &= LENGTH_NEWLINE - 1;
	f->args[to] = kind == IOP_ARG_OUT_PUTS ? length + 1 : length;
	return 0;
}

static __always_inline bool is_length(u32 kind)
{
	return kind == IOP_ARG_OUT_LENGTH || kind == IOP_ARG_OUT_LINE || kind == IOP_ARG_OUT_PUTS;
}

#define READ_ONLY_OUT 16        /* or'ed to the index: args[] then holds just the values of OUT arguments; it was emptied before */

/* Reads the target of one OUT argument. Returns 1 if no others follow. A separate function, as is the loop: the verifier checks it
 * once and not for every state of its caller. */
__noinline int read_out_target(struct thread *t, struct frame *f, const struct iop_desc *desc, u32 which)
{
	bool only = which & READ_ONLY_OUT;
	u32 i = which & (IOP_MAX_ARGS - 1), kind, offset, to;

	if (!t || !f || !desc)
		return 1;
	kind = desc->arg[i].kind;
	offset = desc->arg[i].offset;
	to = only ? f->nargs : i;
	if (is_length(kind) ? read_length(t, f, i, to, LENGTH_OF(kind, offset)) : read_out_arg(f, i, to, kind, offset)) {
		f->arg_failed |= 1 << (to & (IOP_MAX_ARGS - 1));
	} else if (kind == IOP_ARG_OUT_LINE && (offset & IOP_LINE_KEPT)) {
		f->nargs = only ? f->nargs + 1 : offset & IOP_LINE_KEPT;
		return 1;
	}
	if (only)
		f->nargs++;
	return 0;
}

/* Reads the targets of OUT arguments. With `only`, args[] then holds just those. */
__noinline int read_out_targets(struct thread *t, struct frame *f, const struct iop_desc *desc, bool only)
{
	if (!t || !f || !desc)
		return 0;
	for (u32 i = 0; i < IOP_MAX_ARGS; i++) {
		u32 kind = desc->arg[i].kind;

		if (i >= desc->nargs)
			break;
		if (!is_length(kind) && kind != IOP_ARG_OUT_VALUE && kind != IOP_ARG_OUT_INT && kind != IOP_ARG_OUT_MMSG)
			continue;
		if (read_out_target(t, f, desc, only ? i | READ_ONLY_OUT : i))
			break;
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
	rec_header((void *)t->scratch, t, type, (strings ? IOP_F_STRINGS : 0) | flags_of_frame(f), len, now);
	if (len > MAX_CALL_LEN)
		return;
	send_record(t, t->scratch, len, false);
}

#endif
