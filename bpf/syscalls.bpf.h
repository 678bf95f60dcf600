/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * System calls: their entry and exit, and the state that they change: descriptors, working directories, mapped code. Raw
 * tracepoints on all system calls: two links, detached in a moment, where 180 classic tracepoints take ten seconds. Every system
 * call of every process runs this code, so calls that no table names leave first.
 */
#ifndef IOPROBE_BPF_SYSCALLS_H
#define IOPROBE_BPF_SYSCALLS_H

#include "aio.bpf.h"
#include "arguments.bpf.h"
#include "call_site.bpf.h"
#include "device.bpf.h"
#include "fd_epochs.bpf.h"
#include "header.bpf.h"
#include "locks.bpf.h"
#include "wait.bpf.h"

static __always_inline u32 probe_of_syscall(u64 nr)
{
	return nr < MAX_SYSCALLS ? syscall_probe[nr] : NO_SYSCALL_PROBE;
}

/* 32-bit system calls have numbers of their own. */
static __always_inline bool is_compat(struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

#define USER32_CS 0x23          /* code segment of i386 programs */
#define X32_BIT 0x40000000      /* in the number of an x32 system call */

static __always_inline bool is_of_other_abi(struct task_struct *task, u64 nr)
{
	return is_compat(task) || (nr & X32_BIT);
}

static __always_inline int count_compat_call(struct task_struct *task)
{
	struct thread *t = thread_of(task);

	if (t)
		COUNT(t->recording, compat_calls, 1);
	return 0;
}

#define PROT_READ 1
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

/* The registers are in scratch. A separate function: inline, the verifier would follow it once for each way that leads here. */
__noinline int fetch_syscall_args(struct thread *t, struct frame *f, const struct iop_desc *desc)
{
	u64 *regs;

	if (!t || !f || !desc)
		return 0;
	regs = (void *)t->scratch;
	for (u32 i = 0; i < IOP_MAX_ARGS; i++) {
		u32 source = desc->arg[i].source;

		if (i >= desc->nargs)
			break;
		fetch_argument(f, i, desc->arg[i].kind, regs[source < 6 ? source : 5], desc->arg[i].offset);
	}
	if (desc->buffer && (regs[(desc->buffer - 1) & 3] & (IOP_BUFFER_ALIGNMENT - 1)))
		f->flags |= FRAME_UNALIGNED;
	for (u32 i = 0; i + 1 < IOP_MAX_ARGS; i++) {
		if (!(desc->has & IOP_HAS_IOV) || i + 1 >= desc->nargs)
			break;
		if (desc->arg[i].kind == IOP_ARG_IOV)
			sum_iovec(f, i, f->args[i + 1]);
	}
	return 0;
}

static __always_inline s32 fd_argument(struct frame *f, u32 index)
{
	return index < IOP_MAX_ARGS ? (s32)f->args[index] : -1;
}

/* Returns whether a call on a name has an excluded file in place of its directory: fstat(3) is newfstatat(fd, "", AT_EMPTY_PATH).
 * No path begins in that file, and its description would bring a handle of it, and its close, into the archive. An excluded
 * directory is described: otherwise the reader does not know where the path begins. */
static __always_inline bool names_excluded_file(struct thread *t, const struct iop_desc *desc, s32 fd)
{
	struct file *file;

	if (!filter_files || (desc->flags & (IOP_D_OF_FILE | IOP_D_MAKES_FD | IOP_D_CHDIR)))
		return false;
	file = file_of(fd);
	return file && (LOAD(LOAD(file, f_inode), i_mode) & S_IFMT) != S_IFDIR && fd_state(t, fd) == FD_LEFT_OUT;
}

static __always_inline void before_fd_use(struct thread *t, struct frame *f, const struct iop_desc *desc)
{
	if (desc->fd_arg != IOP_NO_FD && !names_excluded_file(t, desc, fd_argument(f, desc->fd_arg)))
		describe_if_unknown(t, fd_argument(f, desc->fd_arg));
	if (desc->fd_arg2 != IOP_NO_FD)
		describe_if_unknown(t, fd_argument(f, desc->fd_arg2));
}

/* Filtered calls are not counted: the reader would wait for their records. */
static __always_inline void fds_begin(struct thread *t, struct frame *f, const struct iop_desc *desc)
{
	bool closes = desc->flags & IOP_D_CLOSES_FD, replaces = desc->flags & IOP_D_REPLACES_FD;

	if (desc->fd_arg != IOP_NO_FD && !closes)
		fd_call_begins(t, 0, fd_argument(f, desc->fd_arg));
	if (desc->fd_arg2 != IOP_NO_FD && !replaces)
		fd_call_begins(t, 1, fd_argument(f, desc->fd_arg2));
	if (closes)
		fd_change_begins(t, fd_argument(f, desc->fd_arg));
	else if (replaces && fd_argument(f, desc->fd_arg) != fd_argument(f, desc->fd_arg2))
		fd_change_begins(t, fd_argument(f, desc->fd_arg2));
}

/* close(2) frees the number whatever it returns, unless it was not open. */
static __always_inline void fds_end(struct thread *t, struct frame *f, const struct iop_desc *desc, s64 ret, u64 now)
{
	if (t->fd_calls[0].index)
		fd_call_ends(t, f, 0, now);
	if (t->fd_calls[1].index)
		fd_call_ends(t, f, 1, now);
	if (t->fd_change.index)
		fd_change_ends(t, f, desc->flags & IOP_D_CLOSES_FD ? ret != -EBADF : ret >= 0, now);
}

/* Reads the registers before it inspects the descriptors: both use the same scratch memory. */
static __always_inline bool syscall_excluded(struct pt_regs *user, struct thread *t, const struct iop_desc *desc)
{
	u32 source = desc->arg[desc->fd_arg & (IOP_MAX_ARGS - 1)].source,
	    source2 = desc->arg[desc->fd_arg2 & (IOP_MAX_ARGS - 1)].source;
	u64 *regs = (void *)t->scratch;

	if (!filter_files || !(desc->flags & IOP_D_OF_FILE))
		return false;
	syscall_registers(user, regs);
	return files_excluded(t, desc, regs[source < 6 ? source : 5], regs[source2 < 6 ? source2 : 5]);
}

static __always_inline int enter_syscall(struct pt_regs *user, u64 nr)
{
	u32 id = probe_of_syscall(nr);
	struct task_struct *task;
	struct iop_desc *desc;
	struct thread *t;
	struct frame *f;
	bool excluded;

	/* Every system call of the node comes here: its registers are cheaper to look at than its task. */
	if (id >= IOP_SYSCALL_SEALS_CODE && !changes_code(nr) && user->cs != USER32_CS && !(nr & X32_BIT))
		return 0;
	task = bpf_get_current_task_btf();
	if (is_of_other_abi(task, nr))
		return count_compat_call(task);
	if (id >= IOP_SYSCALL_SEALS_CODE && !changes_code(nr))
		return 0;
	t = thread_at_syscall(task);
	if (!t)
		return 0;
	if (changes_code(nr))
		before_code_changes(user, t, nr);
	if (call_sites && id >= IOP_SYSCALL_SEALS_CODE)
		return 0;
	desc = bpf_map_lookup_elem(&descriptors, &id);
	if (!desc)
		return 0;
	if ((desc->flags & IOP_D_NEEDS_FD) && (s32)user->r8 < 0)
		return 0;       /* mmap of memory, not of a file */
	table_check(t, task);
	excluded = syscall_excluded(user, t, desc);
	frames_prune(t, user->sp, 0);  /* frames that an exception or longjmp left are detected here too */
	f = frame_push(t, 0, excluded);
	if (!f)
		return 0;
	f->probe = id;
	f->flags = nr == mmap_nr && (user->dx & PROT_EXEC) ? FRAME_SYSCALL | FRAME_MAPS_CODE : FRAME_SYSCALL;
	if (excluded)
		f->flags |= FRAME_LEFT_OUT;
	f->nargs = desc->nargs;
	f->arg_failed = 0;
	f->sp = user->r8;       /* for mmap: the descriptor */
	if (!excluded)          /* before the arguments: it reads the stack to where they are put together */
		set_site_of_call(t, id, user->ip, user->sp, user->bp, 0);
	syscall_registers(user, (void *)t->scratch);
	fetch_syscall_args(t, f, desc);
	if (nr == fcntl_nr)
		fetch_flock(f, desc);
	if (!excluded)
		before_fd_use(t, f, desc);
	if (desc->flags & IOP_D_CLOSES_FD)
		forget_fd(t, fd_argument(f, desc->fd_arg));
	if (!excluded)
		fds_begin(t, f, desc);
	f->enter_ns = bpf_ktime_get_ns();
	if (desc->flags & IOP_D_AIO)
		aio_enter(t, f, nr);
	if (device && !excluded)
		device_enter(t, task);
	return 0;
}

static __always_inline bool makes_fd(const struct iop_desc *desc, struct frame *f, u64 nr)
{
	if (desc->flags & (IOP_D_MAKES_FD | IOP_D_REPLACES_FD))
		return true;
	return nr == fcntl_nr && (f->args[1] == 0 || f->args[1] == 1030);       /* F_DUPFD, F_DUPFD_CLOEXEC */
}

/* A descriptor of a file that the filter excludes is filtered together with the call that created it, unless the call also closes a
 * handle known to the reader. */
static __always_inline void after_new_fd(struct thread *t, struct frame *f, const struct iop_desc *desc, s32 fd, u64 now)
{
	bool replaces_known = filter_files && (desc->flags & IOP_D_REPLACES_FD) && is_told(t, fd);

	if (filter_files)
		forget_fd(t, fd);
	if (f->flags & FRAME_LEFT_OUT)
		return;         /* a duplicate: inspected when it is used */
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

/* Returns whether the agent has already decided that the file behind a descriptor needs no more work. */
static __always_inline bool was_looked_at(struct thread *t, s32 fd)
{
	struct file *file = file_of(fd);
	struct iop_file_key key = { .recording = t->recording };
	u32 dev;

	if (!file)
		return false;
	dev = LOAD(LOAD(LOAD(file, f_inode), i_sb), s_dev);
	key.dev = (u64)(dev >> 20) << 32 | (dev & 0xfffff);
	key.ino = LOAD(LOAD(file, f_inode), i_ino);
	return bpf_map_lookup_elem(&looked_at, &key) != 0;
}

/* Code was mapped from a file: the agent checks it for functions to probe. */
__noinline int code_mapped(struct thread *t, u64 addr, s32 fd)
{
	struct process *p;

	if (!t || was_looked_at(t, fd))
		return 0;
	p = process_of(t);
	if (p)
		p->unprobed_code = 1;
	report_mapped_code(t, addr, false);
	return 0;
}

/* A dynamic linker makes the relocated tables of the mapped libraries read-only when all are mapped and before any of their
 * code runs: the thread is held here. Unlike the linker's rendezvous with debuggers this needs no breakpoint and no
 * particular linker. */
static __always_inline int code_sealed(struct pt_regs *user)
{
	struct task_struct *task;
	struct process *p;
	struct thread *t;

	if (user->dx != PROT_READ)
		return 0;
	task = bpf_get_current_task_btf();
	t = thread_of(task);
	if (!t || is_compat(task) || !recording_by(t->recording)->hold_limit_ns)
		return 0;
	p = process_of(t);
	if (!p || p->unprobed_code)
		hold_until_probed(t, task, user->sp);
	return 0;
}

static __always_inline int exit_syscall(struct pt_regs *user, u64 nr, s64 ret)
{
	u32 id = probe_of_syscall(nr), index;
	struct iop_desc *desc;
	struct thread *t;
	struct frame *f;
	s32 code_fd = -1;
	bool code;
	u64 now, regs[6];

	if (changes_code(nr))
		after_code_changed();
	if (id >= IOP_SYSCALL_SEALS_CODE)
		return id == NO_SYSCALL_PROBE ? 0 : code_sealed(user);
	t = thread_at_syscall(bpf_get_current_task_btf());
	if (!t || !t->depth)
		return 0;
	now = bpf_ktime_get_ns();
	index = t->depth - 1;
	f = frame_at(t, index);
	if (!f || f->probe != id || !(f->flags & FRAME_SYSCALL))
		return 0;
	t->hits += 2;           /* its entry too */
	desc = bpf_map_lookup_elem(&descriptors, &id);
	if (!desc)
		return 0;
	if (device && !(f->flags & FRAME_LEFT_OUT))
		device_leave(t, bpf_get_current_task_btf(), now);
	if (desc->flags & IOP_D_AIO)
		aio_leave(t, f, nr, ret, now);
	fds_end(t, f, desc, ret, now);
	t->depth = index;
	code = f->flags & FRAME_MAPS_CODE;
	code_fd = f->sp;
	f->sp = ret;            /* for values read according to the result */
	if (desc->contents && t->header.room && ret > 0) {
		syscall_registers(user, regs);
		header_of_syscall(t, desc, regs, ret, now);
	}
	after_syscall(t, f, desc, nr, ret, now);
	if (f->flags & FRAME_LEFT_OUT)
		count_excluded(f, desc, IOP_FILTER_FILE, ret, now);
	else
		send_return(t, f, desc, index, ret, now);
	if (code && ret > 0)
		code_mapped(t, ret, code_fd);
	return 0;
}

SEC("tp_btf/sys_enter")
int ioprobe_enter(u64 *ctx)
{
	return enter_syscall((void *)ctx[0], ctx[1]);
}

SEC("tp_btf/sys_exit")
int ioprobe_exit(u64 *ctx)
{
	struct pt_regs *user = (void *)ctx[0];

	return exit_syscall(user, user->orig_ax, ctx[1]);
}

/* The same with perf events on the tracepoints, for kernels (from 7.2 on) that can preempt a raw tracepoint's program and then skip
 * its next run on that CPU. Programs of perf events run with preemption disabled. System calls that no table names leave before the
 * registers are located. */
struct syscall_event { u64 common; s64 nr; u64 value; };        /* value: the result, or the first argument */

SEC("tp/raw_syscalls/sys_enter")
int ioprobe_enter_event(struct syscall_event *ctx)
{
	u64 nr = ctx->nr;

	if (probe_of_syscall(nr) >= IOP_SYSCALL_SEALS_CODE && !is_of_other_abi(bpf_get_current_task_btf(), nr))
		return 0;
	return enter_syscall((void *)bpf_task_pt_regs(bpf_get_current_task_btf()), nr);
}

SEC("tp/raw_syscalls/sys_exit")
int ioprobe_exit_event(struct syscall_event *ctx)
{
	u64 nr = ctx->nr;

	if (probe_of_syscall(nr) == NO_SYSCALL_PROBE)
		return 0;
	return exit_syscall((void *)bpf_task_pt_regs(bpf_get_current_task_btf()), nr, ctx->value);
}

#endif
