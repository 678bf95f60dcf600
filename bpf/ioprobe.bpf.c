/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The programs: library call entry and return, system call enter and exit, and the life of threads and processes.
 * All are generic: what they do with a call is in its descriptor.
 */
#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "calls.h"
#include "constants.h"
#include "locks.h"
#include "requests.h"
#include "aio.h"
#include "device.h"
#include "mapped.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ---- library calls ---- */

/* One argument of a call into its frame. Global, so that the verifier looks at it once and not at every combination. */
__noinline int set_argument(struct frame *f, u32 i, u32 kind, u64 raw, u32 offset)
{
	s32 small = 0;
	long bad = 0;

	if (!f || i >= IOP_MAX_ARGS)
		return 0;
	switch (kind) {
	case IOP_ARG_INT:
		f->args[i] = (s64)(s32)raw;
		return 0;
	case IOP_ARG_IN_INT:
		bad = bpf_probe_read_user(&small, sizeof(small), (void *)(raw + offset));
		f->args[i] = (s64)small;
		break;
	case IOP_ARG_IN_VALUE:
		bad = bpf_probe_read_user(&f->args[i], sizeof(f->args[i]), (void *)(raw + offset));
		break;
	case IOP_ARG_MSG:
		f->args[i] = message_bytes(raw);
		bad = f->args[i] == LENGTH_UNKNOWN;
		break;
	default:
		f->args[i] = raw;
	}
	if (bad)
		f->arg_failed |= 1 << i;
	return 0;
}

/* Most arguments are values: no call for them. */
static __always_inline void fetch_argument(struct frame *f, u32 i, u32 kind, u64 raw, u32 offset)
{
	if (kind == IOP_ARG_IN_INT || kind == IOP_ARG_IN_VALUE || kind == IOP_ARG_MSG)
		set_argument(f, i, kind, raw, offset);
	else
		f->args[i] = kind == IOP_ARG_INT ? (u64)(s64)(s32)raw : raw;
}

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

/* Into scratch: the context itself cannot be indexed. */
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

static __always_inline void fetch_library_args(struct pt_regs *ctx, struct thread *t, struct frame *f, const struct iop_desc *desc,
					       u64 sp)
{
	u64 *regs = integer_arguments(ctx, t);

	for (u32 i = 0; i < IOP_MAX_ARGS; i++) {
		u32 source = desc->arg[i].source;

		if (i >= desc->nargs)
			break;
		if (source < 6)
			fetch_argument(f, i, desc->arg[i].kind, regs[source], desc->arg[i].offset);
		else
			set_stack_argument(f, i, desc->arg[i].kind, sp + 8 + 8 * (source - 6), desc->arg[i].offset);
	}
}

static __always_inline int no_return_call(struct thread *t, struct frame *f, const struct iop_desc *desc, u64 now)
{
	t->depth--;
	send_return(t, f, desc, t->depth, 0, now);
	return 1;
}

/* While a link for all takes over from the processes' own, both see the same calls. */
static __always_inline bool seen_by_other_link(u64 cookie)
{
	return cookie & (links_for_all ? IOP_COOKIE_OWN : IOP_COOKIE_FOR_ALL);
}

/* Returns 1 if no return probe is wanted. */
static __always_inline int enter_library_call(struct pt_regs *ctx, u64 cookie, struct task_struct *task, bool hijacks)
{
	struct thread *t = thread_of(task);
	u32 id = cookie & IOP_COOKIE_ROW;
	struct iop_desc *desc;
	struct frame *f;
	u64 sp, now;

	if (!t || seen_by_other_link(cookie))
		return 1;
	desc = bpf_map_lookup_elem(&descriptors, &id);
	if (!desc)
		return 1;
	sp = ctx->sp + (cookie >> IOP_COOKIE_FRAME_SHIFT);
	now = bpf_ktime_get_ns();
	prune(t, sp, now);
	if ((desc->flags & IOP_D_NESTED) && !t->depth)
		return 1;
	if (any_turned_off && (desc->flags & flags_turned_off()))
		return 1;
	if (desc->requests & IOP_R_TAKES) {
		integer_arguments(ctx, t);
		if (!take_requests(t, id, !!(cookie & IOP_COOKIE_NARROW), sp))
			return 1;
	}
	if (desc->requests & IOP_R_DEMAND)
		demand_probes(t, now);
	f = push(t, now, desc->requests & IOP_R_TESTS);
	if (!f)
		return 1;
	f->enter_ns = now;
	f->sp = sp;
	f->probe = id;
	f->nargs = desc->nargs;
	f->arg_failed = 0;
	f->flags = hijacks && !(desc->flags & IOP_D_NO_RETURN) ? FRAME_HIJACKED : 0;
	if (desc->requests & IOP_R_TESTS)
		f->flags |= FRAME_TEST;
	if (t->depth > 1 && on_altstack(task, sp))
		f->flags |= FRAME_ALTSTACK;
	if ((desc->has & IOP_HAS_CONSTANTS) && any_constants)
		send_constants(t, now);
	if (desc->has & IOP_HAS_ARRAYS)
		f->flags |= FRAME_ARRAYS;
	fetch_library_args(ctx, t, f, desc, sp);
	if (desc->flags & IOP_D_NO_RETURN)
		return no_return_call(t, f, desc, now);
	if (desc->flags & IOP_D_STRINGS)
		send_enter(t, f, t->depth - 1, true, now);
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

/* The index of the frame that returns, found by function and stack pointer; MAX_DEPTH if there is none. */
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
static __always_inline int leave_library_call(struct pt_regs *ctx, u64 cookie, u64 sp)
{
	u32 id = cookie & IOP_COOKIE_ROW;
	u64 now = bpf_ktime_get_ns();
	struct thread *t = thread_of(bpf_get_current_task_btf());
	struct iop_desc *desc;
	struct frame *f;
	u32 index;

	if (!t)
		return 0;
	desc = bpf_map_lookup_elem(&descriptors, &id);
	if (!desc)
		return 0;
	index = t->depth - 1;
	f = frame_at(t, index);
	if (!f || f->probe != id || f->sp != sp || (f->flags & FRAME_SYSCALL)) {
		index = find_frame(t, id, sp);
		f = frame_at(t, index);
		if (!f) {
			if (!(desc->requests & IOP_R_TAKES))    /* those may be declined */
				t->returns_without_frame++;
			return 0;
		}
		abandon_to(t, index + 1, now);
	}
	t->depth = index;
	if ((f->flags & (FRAME_TEST | FRAME_ENTERED)) == FRAME_TEST) {
		if (test_repeats(f, id, desc->requests & IOP_R_TAKES, ctx->ax)) {
			count_left_out(f, desc, IOP_FILTER_REPEATED, ctx->ax, now);
			return 0;
		}
		send_enters(t, index, now);
	}
	if (desc->requests & IOP_R_TAKES)
		finish_requests(t, f, id, now);
	if (desc->requests & IOP_R_SUBMITS)
		send_submitted(t, f, id, now);
	if ((desc->requests & IOP_R_ISSUES) && !(s32)ctx->ax)
		request_made(f, id, !!(cookie & IOP_COOKIE_NARROW), now);
	send_return(t, f, desc, index, ctx->ax, now);
	return 0;
}

/* Probes behind a function's prologue have its frame between the stack pointer and the return address, and a probe of their own at the
 * end. Returns 1 if no return probe is wanted. */
static __always_inline int library_call(struct pt_regs *ctx, u64 cookie, bool is_return)
{
	u64 frame = cookie >> IOP_COOKIE_FRAME_SHIFT;

	if ((cookie & IOP_COOKIE_EXIT) && seen_by_other_link(cookie))
		return 1;
	if (is_return || (cookie & IOP_COOKIE_EXIT))
		return leave_library_call(ctx, cookie, frame ? ctx->sp + frame : ctx->sp - 8) | (frame != 0);
	return enter_library_call(ctx, cookie, bpf_get_current_task_btf(), !frame) | (frame != 0);
}

SEC("uprobe")
int call_entry(struct pt_regs *ctx)
{
	library_call(ctx, bpf_get_attach_cookie(ctx), false);
	return 0;
}

SEC("uprobe")
int call_return(struct pt_regs *ctx)
{
	u64 cookie = bpf_get_attach_cookie(ctx);

	return seen_by_other_link(cookie) ? 0 : leave_library_call(ctx, cookie, ctx->sp - 8);
}

/* Linux 6.13: one program for entry and return; it may decline the return for this call. */
extern bool bpf_session_is_return(void) __ksym;

/* What the helpers for the cookie and the direction read too; each of the two calls costs as much as a look at the clock. */
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
	bool is_return;
	u64 cookie;

	if (!run_context(&cookie, &is_return)) {
		cookie = bpf_get_attach_cookie(ctx);
		is_return = bpf_session_is_return();
	}
	return library_call(ctx, cookie, is_return);
}

/* ---- system calls ---- */

/* The raw tracepoints of all system calls: two links, gone in a moment, where 180 classic ones take ten seconds to detach. Every
 * system call of every process passes here, so those that no table names leave first. */
static __always_inline u32 probe_of_syscall(u64 nr)
{
	return nr < MAX_SYSCALLS ? syscall_probe[nr] : NO_SYSCALL_PROBE;
}

/* 32-bit system calls have numbers of their own. */
static __always_inline bool is_compat(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

#define PROT_EXEC 4

__noinline int sum_iovec(struct frame *f, u32 i, u64 count)
{
	u64 bytes;

	if (!f || i >= IOP_MAX_ARGS)
		return 0;
	bytes = iovec_bytes(f->args[i], count);
	if (bytes == LENGTH_UNKNOWN)
		f->arg_failed |= 1 << i;
	else
		f->args[i] = bytes;
	return 0;
}

static __always_inline void syscall_registers(struct pt_regs *user, u64 *regs)
{
	regs[0] = user->di;
	regs[1] = user->si;
	regs[2] = user->dx;
	regs[3] = user->r10;
	regs[4] = user->r8;
	regs[5] = user->r9;
}

static __always_inline void fetch_syscall_args(struct pt_regs *user, struct thread *t, struct frame *f, const struct iop_desc *desc)
{
	u64 *regs = (void *)t->scratch;

	syscall_registers(user, regs);
	for (u32 i = 0; i < IOP_MAX_ARGS; i++) {
		u32 source = desc->arg[i].source;

		if (i >= desc->nargs)
			break;
		fetch_argument(f, i, desc->arg[i].kind, regs[source < 6 ? source : 5], desc->arg[i].offset);
	}
	for (u32 i = 0; i + 1 < IOP_MAX_ARGS; i++) {
		if (!(desc->has & IOP_HAS_IOV) || i + 1 >= desc->nargs)
			break;
		if (desc->arg[i].kind == IOP_ARG_IOV)
			sum_iovec(f, i, f->args[i + 1]);
	}
}

static __always_inline s32 fd_argument(struct frame *f, u32 index)
{
	return index < IOP_MAX_ARGS ? (s32)f->args[index] : -1;
}

static __always_inline void before_fd_use(struct thread *t, struct frame *f, const struct iop_desc *desc)
{
	if (desc->fd_arg != IOP_NO_FD)
		describe_if_unknown(t, fd_argument(f, desc->fd_arg));
	if (desc->fd_arg2 != IOP_NO_FD)
		describe_if_unknown(t, fd_argument(f, desc->fd_arg2));
}

/* The registers are read before the descriptors are looked at, which takes the same room. */
static __always_inline bool syscall_left_out(struct pt_regs *user, struct thread *t, const struct iop_desc *desc)
{
	u32 source = desc->arg[desc->fd_arg & (IOP_MAX_ARGS - 1)].source, source2 = desc->arg[desc->fd_arg2 & (IOP_MAX_ARGS - 1)].source;
	u64 *regs = (void *)t->scratch;

	if (!filter_files || !(desc->flags & IOP_D_OF_FILE))
		return false;
	syscall_registers(user, regs);
	return files_left_out(t, desc, regs[source < 6 ? source : 5], regs[source2 < 6 ? source2 : 5]);
}

SEC("tp_btf/sys_enter")
int syscall_enter(u64 *ctx)
{
	u32 id = probe_of_syscall(ctx[1]);
	struct pt_regs *user = (void *)ctx[0];
	struct task_struct *task;
	struct iop_desc *desc;
	struct thread *t;
	struct frame *f;
	u64 nr = ctx[1];
	bool left_out;

	if (id == NO_SYSCALL_PROBE)
		return 0;
	task = bpf_get_current_task_btf();
	t = thread_of(task);
	if (!t || is_compat(task))
		return 0;
	desc = bpf_map_lookup_elem(&descriptors, &id);
	if (!desc)
		return 0;
	if ((desc->flags & IOP_D_NEEDS_FD) && (s32)user->r8 < 0)
		return 0;       /* mmap of memory, not of a file */
	left_out = syscall_left_out(user, t, desc);
	prune(t, user->sp, 0);  /* frames that an exception or longjmp left are noticed here too */
	f = push(t, 0, left_out);
	if (!f)
		return 0;
	f->probe = id;
	f->flags = nr == mmap_nr && (user->dx & PROT_EXEC) ? FRAME_SYSCALL | FRAME_MAPS_CODE : FRAME_SYSCALL;
	if (left_out)
		f->flags |= FRAME_LEFT_OUT;
	f->nargs = desc->nargs;
	f->arg_failed = 0;
	f->sp = user->r8;       /* of mmap: the descriptor */
	fetch_syscall_args(user, t, f, desc);
	if (nr == fcntl_nr)
		fetch_flock(f, desc);
	if (!left_out)
		before_fd_use(t, f, desc);
	if (desc->flags & IOP_D_CLOSES_FD)
		forget_fd(t, fd_argument(f, desc->fd_arg));
	f->enter_ns = bpf_ktime_get_ns();
	if (desc->flags & IOP_D_AIO)
		aio_enter(t, f, nr);
	if (device && !left_out)
		device_enter(t, task);
	return 0;
}

static __always_inline bool makes_fd(const struct iop_desc *desc, struct frame *f, u64 nr)
{
	if (desc->flags & (IOP_D_MAKES_FD | IOP_D_REPLACES_FD))
		return true;
	return nr == fcntl_nr && (f->args[1] == 0 || f->args[1] == 1030);       /* F_DUPFD, F_DUPFD_CLOEXEC */
}

/* A descriptor of a file that the filter wants none of is left out with the call that made it, unless the call ends a handle that the
 * reader knows. */
static __always_inline void after_new_fd(struct thread *t, struct frame *f, const struct iop_desc *desc, s32 fd, u64 now)
{
	bool replaces_known = filter_files && (desc->flags & IOP_D_REPLACES_FD) && is_told(t, fd);

	if (filter_files)
		forget_fd(t, fd);
	if (f->flags & FRAME_LEFT_OUT)
		return;         /* a duplicate: looked at when it is used */
	if (describe_new_fd(t, fd, now, replaces_known) == FD_LEFT_OUT)
		f->flags |= FRAME_LEFT_OUT;
}

static __always_inline void after_syscall(struct thread *t, struct frame *f, const struct iop_desc *desc, u64 nr, s64 ret, u64 now)
{
	if (ret < 0 && !(ret == -EINPROGRESS && (desc->flags & IOP_D_ADDRESS)))
		return;
	if (makes_fd(desc, f, nr))
		after_new_fd(t, f, desc, ret, now);
	else if (desc->flags & IOP_D_CLOSES_FD)
		forget_fd(t, fd_argument(f, desc->fd_arg));
	else if (desc->flags & IOP_D_CLOSES_RANGE)
		forget_range(t, (u32)f->args[0], (u32)f->args[1]);
	else if ((desc->flags & IOP_D_ADDRESS) && !(f->flags & FRAME_LEFT_OUT))
		describe_socket(t, (u64)file_of(fd_argument(f, desc->fd_arg)), now);
	else if (desc->flags & IOP_D_CHDIR)
		describe_cwd(t, now);
}

/* Whether the agent knows already that the file behind a descriptor needs no more. */
static __always_inline bool was_looked_at(s32 fd)
{
	struct file *file = file_of(fd);
	struct file_key key = { 0 };
	u32 dev;

	if (!file)
		return false;
	dev = LOAD(LOAD(LOAD(file, f_inode), i_sb), s_dev);
	key.dev = (u64)(dev >> 20) << 32 | (dev & 0xfffff);
	key.ino = LOAD(LOAD(file, f_inode), i_ino);
	return bpf_map_lookup_elem(&looked_at, &key) != 0;
}

/* Code was mapped from a file: the agent looks whether it has functions to probe. */
__noinline int code_mapped(struct thread *t, u64 addr, s32 fd)
{
	struct iop_rec_map *rec;
	struct process *p;

	if (!t || was_looked_at(fd))
		return 0;
	p = process_of(t);
	if (p)
		p->unprobed_code = 1;
	rec = (void *)t->scratch;
	rec->addr = addr;
	rec_header(&rec->rec, t, IOP_REC_MAP_EXEC, 0, sizeof(*rec), bpf_ktime_get_ns());
	send(t, rec, sizeof(*rec), true);
	return 0;
}

SEC("tp_btf/sys_exit")
int syscall_exit(u64 *ctx)
{
	struct pt_regs *user = (void *)ctx[0];
	u64 nr = user->orig_ax, now;
	u32 id = probe_of_syscall(nr), index;
	struct iop_desc *desc;
	struct thread *t;
	struct frame *f;
	s32 code_fd = -1;
	s64 ret = ctx[1];
	bool code;

	if (id == NO_SYSCALL_PROBE)
		return 0;
	t = thread_of(bpf_get_current_task_btf());
	if (!t || !t->depth)
		return 0;
	now = bpf_ktime_get_ns();
	index = t->depth - 1;
	f = frame_at(t, index);
	if (!f || f->probe != id || !(f->flags & FRAME_SYSCALL))
		return 0;
	desc = bpf_map_lookup_elem(&descriptors, &id);
	if (!desc)
		return 0;
	if (device && !(f->flags & FRAME_LEFT_OUT))
		device_leave(t, bpf_get_current_task_btf(), now);
	if (desc->flags & IOP_D_AIO)
		aio_leave(t, f, nr, ret, now);
	t->depth = index;
	code = f->flags & FRAME_MAPS_CODE;
	code_fd = f->sp;
	f->sp = ret;            /* for what is read by the result */
	after_syscall(t, f, desc, nr, ret, now);
	if (f->flags & FRAME_LEFT_OUT)
		count_left_out(f, desc, IOP_FILTER_FILE, ret, now);
	else
		send_return(t, f, desc, index, ret, now);
	if (code && ret > 0)
		code_mapped(t, ret, code_fd);
	return 0;
}

/* ---- threads and processes ---- */

static __always_inline struct thread *thread_create(struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		COUNT(untracked, 1);
	return t;
}

/* A thread joins its process' slot; a process gets one of its own. */
static __always_inline void join_process(struct thread *t, struct thread *leader, u32 tgid)
{
	t->process = leader ? leader->process : process_allocate(tgid);
}

SEC("tp_btf/sched_process_fork")
int process_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	struct thread *t = thread_of(bpf_get_current_task_btf()), *c;
	struct iop_rec_fork *rec;
	bool thread;

	if (!t)
		return 0;
	thread = child->tgid == parent->tgid;
	c = thread_create(child);
	if (c)
		join_process(c, thread ? t : 0, child->tgid);
	rec = (void *)t->scratch;
	rec->child_tid = child->pid;
	rec->child_tgid = child->tgid;
	rec->flags = c ? 0 : IOP_FORK_UNTRACKED;
	rec->pad = 0;
	bpf_probe_read_kernel(rec->comm, sizeof(rec->comm), child->comm);
	rec_header(&rec->rec, t, IOP_REC_FORK, 0, sizeof(*rec), bpf_ktime_get_ns());
	send(t, rec, sizeof(*rec), !thread);
	return 0;
}

/* Descriptors may have been closed by the exec, and the kernel has mapped code. */
static __always_inline void new_program(struct thread *t)
{
	struct process *p = process_of(t);

	if (!p)
		return;
	p->unprobed_code = 1;
	forget_all_fds(p);
}

/* A thread is not recorded any more. */
static __always_inline void leave(struct thread *t, bool group_dead, s32 exit_code)
{
	struct iop_rec_task_exit *rec = (void *)t->scratch;
	struct process *p;

	rec->group_dead = group_dead;
	rec->exit_code = exit_code;
	rec->returns_without_frame = t->returns_without_frame;
	rec->frames_too_deep = t->frames_too_deep;
	rec_header(&rec->rec, t, IOP_REC_TASK_EXIT, 0, sizeof(*rec), bpf_ktime_get_ns());
	send(t, rec, sizeof(*rec), group_dead);
	p = process_of(t);
	if (group_dead && p)
		p->tgid = 0;
}

/* What a program does with rights that its user does not have is not the user's to see: for him the process ends here. */
static __always_inline bool is_privileged(struct linux_binprm *bprm)
{
	return users_rights_only && BPF_CORE_READ_BITFIELD_PROBED(bprm, secureexec);
}

SEC("tp_btf/sched_process_exec")
int process_exec(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct linux_binprm *bprm = (void *)ctx[2];
	struct thread *t = thread_of(task);
	struct iop_rec_exec *rec;
	long n;

	if (!t) {
		if (!launch_tgid || (u32)task->tgid != launch_tgid)
			return 0;
		t = thread_create(task);
		if (!t)
			return 0;
		join_process(t, 0, task->tgid);
	}
	abandon_to(t, 0, bpf_ktime_get_ns());
	if (is_privileged(bprm)) {
		COUNT(privileged, 1);
		leave(t, true, 0);
		bpf_task_storage_delete(&threads, task);
		return 0;
	}
	new_program(t);
	rec = (void *)t->scratch;
	rec->old_tid = (u32)ctx[1];
	n = bpf_probe_read_kernel_str(rec->path, PATH_ROOM, BPF_CORE_READ(bprm, filename));
	rec->path_len = n > 0 ? (n - 1) & (PATH_ROOM - 1) : 0;
	n = (sizeof(*rec) + rec->path_len + 7) & ~7u;
	rec_header(&rec->rec, t, IOP_REC_EXEC, 0, n, bpf_ktime_get_ns());
	send(t, rec, n & 0x1fff, true);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int process_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_of(task);

	if (!t)
		return 0;
	abandon_to(t, 0, bpf_ktime_get_ns());
	leave(t, BPF_CORE_READ(task, signal, live.counter) == 0, task->exit_code);
	return 0;
}

/* Takes in every thread of the target processes; run until it finds no new one. */
__u64 threads_taken;

SEC("iter/task")
int take_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *t;
	u32 tgid, *target;

	if (!task)
		return 0;
	tgid = task->tgid;
	target = bpf_map_lookup_elem(&targets, &tgid);
	if (!target || thread_of(task))
		return 0;
	t = thread_create(task);
	if (!t)
		return 0;
	if (!*target)
		*target = process_allocate(tgid);
	t->process = *target;
	threads_taken++;
	return 0;
}

#include "hold.h"
#include "uring.h"
#include "recognise.h"
