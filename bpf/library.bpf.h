/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls of library functions: their entry and their return.
 */
#ifndef IOPROBE_BPF_LIBRARY_H
#define IOPROBE_BPF_LIBRARY_H

#include "arguments.bpf.h"
#include "call_site.bpf.h"
#include "constants.bpf.h"
#include "header.bpf.h"
#include "kernel_stack.bpf.h"
#include "submitted.bpf.h"
#include "wait.bpf.h"

/* The n-th integer argument, n >= 6, lies above the return address. */
__noinline int set_stack_argument(struct frame *f, u32 i, u32 kind, u64 address, u32 offset)
{
	u64 value = 0;

	if (!f || i >= IOP_MAX_ARGS)
		return 0;
	if (bpf_probe_read_user(&value, sizeof(value), (void *)address))
		f->arg_failed |= 1 << i;
	return set_argument(f, i, kind, value, offset);
}

/* Copied to scratch: the context itself cannot be indexed. */
static __always_inline u64 *integer_arguments(struct pt_regs *ctx, struct thread *t)
{
	u64 *regs = (void *)t->scratch;

	regs[0] = ctx->di;
	regs[1] = ctx->si;
	regs[2] = ctx->dx;
	regs[3] = ctx->cx;
	regs[4] = ctx->r8;
	regs[5] = ctx->r9;
	return regs;
}

/* Where handles are numbers there is nothing to dereference: the number itself is kept. A status begins with the byte count. The
 * integer arguments are in scratch. */
__noinline int set_narrow_arguments(struct thread *t, struct frame *f)
{
	struct iop_desc *desc;
	u32 id = f ? f->probe : 0;
	u64 *regs;

	desc = bpf_map_lookup_elem(&descriptors, &id);
	if (!t || !f || !desc)
		return 0;
	regs = (void *)t->scratch;
	for (u32 i = 0; i < IOP_MAX_ARGS; i++) {
		u32 kind = desc->arg[i].kind, offset = desc->arg[i].offset, source = desc->arg[i].source;

		if (i >= desc->nargs)
			break;
		if (!offset || source >= 6)
			continue;
		if (kind == IOP_ARG_IN_VALUE || kind == IOP_ARG_IN_INT) {
			f->args[i] = (u32)regs[source];
			f->arg_failed &= ~(1 << i);
		} else if (kind == IOP_ARG_OUT_VALUE) {
			f->args[i] = regs[source] - offset;
		}
	}
	return 0;
}

/* The integer arguments are in scratch. A separate function: inline, the verifier would follow it once for each way that leads
 * here. */
__noinline int fetch_library_args(struct thread *t, struct frame *f, const struct iop_desc *desc, u64 sp)
{
	u64 *regs;

	if (!t || !f || !desc)
		return 0;
	regs = (void *)t->scratch;
	for (u32 i = 0; i < IOP_MAX_ARGS; i++) {
		u32 source = desc->arg[i].source;

		if (i >= desc->nargs)
			break;
		if (source < 6)
			fetch_argument(f, i, desc->arg[i].kind, regs[source], desc->arg[i].offset);
		else
			set_stack_argument(f, i, desc->arg[i].kind, sp + 8 + 8 * (source - 6), desc->arg[i].offset);
	}
	return 0;
}

static __always_inline int no_return_call(struct thread *t, struct frame *f, const struct iop_desc *desc, u64 now)
{
	frames_remove(t, t->depth - 1);
	send_return(t, f, desc, t->depth, 0, now);
	return 1;
}

/* Waits in such calls are not tracked: which requests they complete is unknown. */
static __always_inline bool is_unfollowed_wait(struct thread *t, const struct iop_desc *desc)
{
	struct iop_demand *demand;

	if (!(desc->requests & IOP_R_TAKES) || !(desc->requests & IOP_R_FILTER))
		return false;
	demand = demand_here(t);
	if (demand && demand->outstanding > 0)
		COUNT(t->recording, waits_not_followed, 1);
	return true;
}

/* Ends the recording of a call whose return is not observed: only its begin is known. */
static __always_inline int entry_only_call(struct thread *t, struct frame *f, const struct iop_desc *desc, u64 now)
{
	frames_remove(t, t->depth - 1);
	COUNT(t->recording, entry_only, 1);
	if (desc->flags & IOP_D_STRINGS)
		f->flags |= FRAME_ARRAYS;
	if (!unseen_excluded(t, desc))
		send_abandoned(t, f, t->depth, true, now);
	return 1;
}

/* During the change from links per process to a link for all, both see the same calls. */
static __always_inline bool is_other_link(struct thread *t, u64 cookie)
{
	u32 number = cookie >> IOP_COOKIE_LIBRARY_SHIFT & IOP_MAX_LIBRARIES_FOR_ALL;

	return cookie & (recording_by(t->recording)->libraries_for_all >> number & 1 ? IOP_COOKIE_OWN : IOP_COOKIE_FOR_ALL);
}

/* A link for all that belongs to another recording. */
static __always_inline bool is_foreign_link(struct thread *t, u64 cookie)
{
	return (cookie >> IOP_COOKIE_SLOT_SHIFT & IOP_RECORDING_SLOT) != slot_of(t);
}

/* musl's sprintf and sscanf call vfprintf and vfscanf with a stream on their stack, which is not a file. An address between the
 * stack pointer and the upper end of the thread's stack can be nothing else. */
static __always_inline bool is_no_handle(struct thread *t, const struct iop_desc *desc, struct pt_regs *ctx)
{
	u64 handle;

	if (!desc->heap_handle)
		return false;
	handle = integer_arguments(ctx, t)[(desc->heap_handle - 1) & (IOP_HEAP_HANDLES - 1)];
	return handle > ctx->sp && stack_of(t, ctx->sp) == STACK_HOME && at_home(t, handle);
}

/* Behind a prologue rbp may already be the function's own: the walk then begins in the function itself. Calls on single bytes are
 * frequent and carry little information: no call site for them. Afterwards t->up.top is the return address, 0 if the walk did not
 * read it. */
static __always_inline void set_site_of_library_call(struct pt_regs *ctx, struct thread *t, u32 id, const struct iop_desc *desc,
						     u64 sp, u64 now)
{
	if (!call_sites)
		return;
	t->up.top = 0;
	if (t->depth != 1)
		return;
	if (desc->flags & IOP_D_STREAM_BYTES)
		t->site = 0;
	else if (sp == ctx->sp)
		set_site_of_call(t, id, 0, sp, ctx->bp, now);
	else
		set_site_of_call(t, id, ctx->ip + 1, ctx->sp, ctx->bp, now);
}

enum inner_verdict { INNER_RECORDED, INNER_SKIPPED, INNER_BEGINS };

/* Decides how to record a call whose row depends on its caller (enum iop_inner). Inside a call of the layer above (netCDF, for
 * HDF5) it is skipped, recorded at its entry only (sets t->inner), or recorded. Where every call has a return probe nothing is
 * skipped: an unwinder needs the return address. A separate function: inline, the verifier would follow the rest of the entry
 * once for each outcome. Returns 64 bits: clang 19 reuses the result 1 as that of the program, and the verifier must know all
 * its bits. */
__noinline u64 judge_inner(struct thread *t, u32 id)
{
	struct iop_desc *desc = bpf_map_lookup_elem(&descriptors, &id), *outer = 0;
	struct frame *top;

	if (!t || !desc)
		return INNER_RECORDED;
	top = t->depth && returns_optional ? frame_at(t, t->depth - 1) : 0;
	if (top && !(top->flags & FRAME_SYSCALL)) {
		id = top->probe;
		outer = bpf_map_lookup_elem(&descriptors, &id);
	}
	if (outer && outer->covers == desc->layer + 1) {
		t->inner = desc->inner == IOP_INNER_AT_ENTRY;
		return desc->inner == IOP_INNER_SKIPPED ? INNER_SKIPPED : INNER_RECORDED;
	}
	return desc->inner >= IOP_INNER_BEGINS && recording_by(t->recording)->any_withheld ? INNER_BEGINS : INNER_RECORDED;
}

/* A process whose calls of a layer came from the layer above begins calls of its own: the thread waits for the probes that they
 * need. Returns false if it could not wait. Static: a global function could not schedule task work here. */
static __noinline int await_withheld(struct thread *t, u64 sp)
{
	struct iop_process_key key;
	u64 *state;

	if (!t)
		return 1;
	key = process_key(t);
	state = bpf_map_lookup_elem(&withheld, &key);
	if (!state)
		return 1;
	if (*state != IOP_WITHHELD)
		return 0;
	if (hold_begin(t, bpf_get_current_task_btf(), sp, IOP_HOLD_DIRECT))
		return 1;
	hold_failed(t);
	return 0;
}

/* At the return of a call that waited at its entry: are the probes still withheld? A thread that waits for a recorder that hangs
 * would wait at each further call, too: the first wait in vain is the last. */
static __noinline int waited_in_vain(struct thread *t, u64 since_ns)
{
	struct iop_process_key key;
	u64 *state;

	if (!t)
		return 0;
	key = process_key(t);
	state = bpf_map_lookup_elem(&withheld, &key);
	if (!state)
		return 0;
	__sync_val_compare_and_swap(state, IOP_WITHHELD, since_ns);
	return 1;
}

/* Returns whether the call is recorded. What is selected in a dataspace may be missed while probes are withheld: it stays
 * unknown. */
static __always_inline bool passes_inner(struct thread *t, const struct iop_desc *desc, u32 id, u64 sp)
{
	u64 verdict;

	t->inner = 0;
	if (!desc->inner)
		return true;
	verdict = judge_inner(t, id);
	if (verdict != INNER_BEGINS)
		return verdict != INNER_SKIPPED;
	return await_withheld(t, sp) || desc->inner != IOP_INNER_BEGINS_SPACE;
}

/* Returns 1 if no return probe is needed. */
static __always_inline int enter_library_call(struct pt_regs *ctx, struct thread *t, u64 cookie, struct task_struct *task,
					      bool hijacks)
{
	u32 id = cookie & IOP_COOKIE_ROW;
	struct iop_desc *desc;
	struct frame *f;
	bool observed, beside;
	u64 sp, now;

	if (is_other_link(t, cookie))
		return 1;
	desc = bpf_map_lookup_elem(&descriptors, &id);
	if (!desc)
		return 1;
	if (is_no_handle(t, desc, ctx))
		return 1;
	sp = ctx->sp + (cookie >> IOP_COOKIE_FRAME_SHIFT);
	now = bpf_ktime_get_ns();
	frames_prune(t, sp, now);
	beside = (desc->flags & IOP_D_NESTED) && !t->depth;
	if (beside && !collectives)
		return 1;
	if (recording_by(t->recording)->any_turned_off && (desc->flags & flags_turned_off(t)))
		return 1;
	if (!passes_inner(t, desc, id, sp))
		return 1;
	observed = (desc->flags & IOP_D_NO_RETURN) || (!(cookie & IOP_COOKIE_ENTRY_ONLY) && return_is_observed(t, sp));
	if (!observed && (beside || is_unfollowed_wait(t, desc)))
		return 1;
	if (observed && (desc->requests & IOP_R_TAKES)) {
		integer_arguments(ctx, t);
		if (!take_requests(t, id, !!(cookie & IOP_COOKIE_NARROW), sp))
			return 1;
	}
	if (desc->requests & IOP_R_DEMAND)
		demand_probes(t, now);
	f = frame_push(t, now, beside || (observed && (desc->requests & IOP_R_TESTS)));
	if (!f)
		return 1;
	f->enter_ns = now;
	f->sp = sp;
	set_site_of_library_call(ctx, t, id, desc, sp, now);
	f->ret = call_sites ? t->up.top : 0;
	if (!f->ret && bpf_probe_read_user(&f->ret, sizeof(f->ret), (void *)sp))
		f->ret = 0;
	f->probe = id;
	f->nargs = desc->nargs;
	f->arg_failed = 0;
	f->flags = hijacks && observed && !(desc->flags & IOP_D_NO_RETURN) ? FRAME_HIJACKED : 0;
	if (observed && (desc->requests & IOP_R_TESTS))
		f->flags |= FRAME_TEST;
	if (beside)
		f->flags |= FRAME_COLLECTIVE;
	if (t->depth > 1 && on_altstack(task, sp))
		f->flags |= FRAME_ALTSTACK;
	if ((desc->has & IOP_HAS_CONSTANTS) && recording_by(t->recording)->any_constants)
		send_constants(t, now);
	if (desc->has & IOP_HAS_ARRAYS)
		f->flags |= FRAME_ARRAYS;
	integer_arguments(ctx, t);
	fetch_library_args(t, f, desc, sp);
	if (cookie & IOP_COOKIE_NARROW)
		set_narrow_arguments(t, f);
	if (desc->has & IOP_HAS_HEADER)
		header_begins(t, desc);
	if (desc->contents && t->header.room)
		header_remember(t, desc, integer_arguments(ctx, t));
	if (t->inner || (desc->flags & IOP_D_NO_RETURN))
		return no_return_call(t, f, desc, now);
	if (!observed)
		return entry_only_call(t, f, desc, now);
	if (desc->flags & IOP_D_STRINGS)
		send_enter(t, f, t->depth - 1, true, now);
	else if (desc->requests & IOP_R_AT_ENTRY)
		send_requests_begun(t, f, id, now);
	return 0;
}

__noinline bool is_frame_of(struct thread *t, u32 index, u32 id, u64 sp)
{
	struct frame *f;

	if (!t)
		return false;
	f = frame_at(t, index);
	return f && f->probe == id && f->sp == sp && !(f->flags & FRAME_SYSCALL);
}

/* Returns the index of the frame that returns, found by function and stack pointer; MAX_DEPTH if there is none. */
__noinline u32 find_frame(struct thread *t, u32 id, u64 sp)
{
	for (u32 i = 0; i < MAX_DEPTH && t; i++) {
		if (i >= t->depth)
			break;
		if (is_frame_of(t, t->depth - 1 - i, id, sp))
			return t->depth - 1 - i;
	}
	return MAX_DEPTH;
}

/* sp: where the return address is, or was. */
static __always_inline int leave_library_call(struct pt_regs *ctx, struct thread *t, u64 cookie, u64 sp)
{
	u32 id = cookie & IOP_COOKIE_ROW;
	u64 now = bpf_ktime_get_ns();
	struct iop_desc *desc;
	struct frame *f;
	u32 index;

	desc = bpf_map_lookup_elem(&descriptors, &id);
	if (!desc)
		return 0;
	index = t->depth - 1;
	f = frame_at(t, index);
	if (!f || f->probe != id || f->sp != sp || (f->flags & FRAME_SYSCALL)) {
		index = find_frame(t, id, sp);
		f = frame_at(t, index);
		if (!f) {
			/* of the others there may be none */
			if (!(desc->requests & IOP_R_TAKES) && !desc->inner && return_is_observed(t, sp))
				t->returns_without_frame++;
			return 0;
		}
		abandon_to(t, index + 1, now);
	}
	frames_remove(t, index);
	if ((f->flags & FRAME_WAITED) && waited_in_vain(t, f->enter_ns) && desc->inner == IOP_INNER_BEGINS_SPACE) {
		/* what is selected in the dataspace may be missed: without a result it stays unknown */
		if (f->flags & FRAME_ENTERED)
			send_abandoned(t, f, index, false, now);
		return 0;
	}
	if ((f->flags & (FRAME_TEST | FRAME_ENTERED)) == FRAME_TEST) {
		if (test_repeats(t, f, id, desc->requests & IOP_R_TAKES, ctx->ax)) {
			count_excluded(f, desc, IOP_FILTER_REPEATED, ctx->ax, now);
			return 0;
		}
		send_enters(t, index, now);
	}
	if (collectives && (f->flags & FRAME_COLLECTIVE) && hold_collective(t, f, (s32)ctx->ax, now))
		return 0;
	if (desc->requests & IOP_R_TAKES)
		finish_requests(t, f, id, now);
	if ((desc->requests & IOP_R_ISSUES) && !(s32)ctx->ax)
		request_made(t, f, id, !!(cookie & IOP_COOKIE_NARROW), now);
	header_of_library_call(t, desc, ctx->ax, now);
	send_return(t, f, desc, index, ctx->ax, now);
	return 0;
}

/* Probes behind a function's prologue have the function's frame between the stack pointer and the return address, and a second
 * probe at the function's end. */
SEC("uprobe")
int call_entry(struct pt_regs *ctx)
{
	u64 cookie = bpf_get_attach_cookie(ctx), frame = cookie >> IOP_COOKIE_FRAME_SHIFT;
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_of(task);

	stay_on_kernel_stack(ctx);
	if (!t || is_foreign_link(t, cookie))
		return 0;
	t->hits++;
	if (!(cookie & IOP_COOKIE_EXIT))
		enter_library_call(ctx, t, cookie, task, !frame);
	else if (!is_other_link(t, cookie))
		leave_library_call(ctx, t, cookie, ctx->sp + frame);
	return 0;
}

SEC("uprobe")
int call_return(struct pt_regs *ctx)
{
	struct thread *t = thread_of(bpf_get_current_task_btf());
	u64 cookie = bpf_get_attach_cookie(ctx);

	stay_on_kernel_stack(ctx);
	if (!t || is_foreign_link(t, cookie) || is_other_link(t, cookie))
		return 0;
	t->hits++;
	return leave_library_call(ctx, t, cookie, ctx->sp - 8);
}

/* Reads what bpf_get_attach_cookie and bpf_session_is_return return: each of these calls costs as much as reading the clock,
 * and the second one is declared differently from Linux 7.0 on. user/bpf/features.c looks for these types before it chooses
 * sessions. */
static __always_inline bool run_context(u64 *cookie, bool *is_return)
{
	struct bpf_uprobe_multi_run_ctx *run = 0;

	if (!bpf_core_type_exists(struct bpf_uprobe_multi_run_ctx) || !bpf_core_field_exists(run->session_ctx.is_return) ||
	    !bpf_core_field_exists(run->uprobe->cookie) || !bpf_core_field_exists(((struct task_struct *)0)->bpf_ctx) ||
	    !bpf_rdonly_cast)
		return false;
	run = bpf_rdonly_cast(bpf_get_current_task_btf()->bpf_ctx, bpf_core_type_id_kernel(struct bpf_uprobe_multi_run_ctx));
	*cookie = run->uprobe->cookie;
	*is_return = run->session_ctx.is_return;
	return true;
}

SEC("uprobe")
int call_session(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_of(task);
	bool is_return;
	u64 cookie;

	stay_on_kernel_stack(ctx);
	if (!t)
		return 1;
	if (!run_context(&cookie, &is_return) || is_foreign_link(t, cookie))
		return 1;
	t->hits++;
	return is_return ? leave_library_call(ctx, t, cookie, ctx->sp - 8) : enter_library_call(ctx, t, cookie, task, true);
}

#endif
