/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * io_uring, through the kernel's tracepoints: an operation begins where the kernel takes the submission, in io_uring_enter or in
 * the submission polling thread, and ends where its completion is posted, which may be in any thread of the process or in a kernel
 * worker.
 */
#ifndef IOPROBE_BPF_URING_H
#define IOPROBE_BPF_URING_H

#include "async.bpf.h"
#include "tasks.bpf.h"

/* enum io_uring_op, from the ABI in linux/io_uring.h: some operations are newer than the headers of some systems */
enum {
	URING_READV = 1, URING_WRITEV = 2, URING_FSYNC = 3, URING_READ_FIXED = 4, URING_WRITE_FIXED = 5, URING_SYNC_FILE_RANGE = 8,
	URING_SENDMSG = 9, URING_RECVMSG = 10, URING_OPENAT = 18, URING_CLOSE = 19, URING_READ = 22, URING_WRITE = 23,
	URING_SEND = 26,
	URING_RECV = 27, URING_OPENAT2 = 28, URING_SEND_ZC = 47, URING_SENDMSG_ZC = 48, URING_READ_MULTISHOT = 49,
	URING_READV_FIXED = 60, URING_WRITEV_FIXED = 61,
};
#define URING_FIXED_FILE 0x01           /* bits of io_kiocb.flags are those of io_uring_sqe.flags */
#define URING_BUFFER_SELECT 0x20
#define URING_SKIP_SUCCESS 0x40
#define URING_CQE_MORE 0x02             /* io_uring_cqe.flags */
#define FILE_POINTER_MASK (~7ull)

const volatile bool uring_cqe_whole;    /* io_uring_complete passes a struct io_uring_cqe * (Linux 6.10), not its members */

/* Registered files that were already described, with their identity at that time: the kernel reuses a file's memory. */
struct uring_file_key { u64 process, file; };
struct uring_file { u64 ino, sb, excluded; };
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct uring_file_key);
	__type(value, struct uring_file);
} uring_files SEC(".maps");

/* The owner of a context, for operations that complete where no thread of the process runs. */
struct uring_owner { u32 recording; s32 tgid; };
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct uring_owner);
} uring_owners SEC(".maps");

__noinline int uring_owned(struct thread *t, u64 context)
{
	struct uring_owner is = { .tgid = bpf_get_current_pid_tgid() >> 32 }, *was = bpf_map_lookup_elem(&uring_owners, &context);

	if (!t)
		return 0;
	is.recording = t->recording;
	if (!was || was->recording != is.recording || was->tgid != is.tgid)
		bpf_map_update_elem(&uring_owners, &context, &is, BPF_ANY);
	return 0;
}

/* Workers and polling threads are threads of the process without a fork event. */
static __always_inline struct thread *thread_or_worker(struct task_struct *task)
{
	struct thread *t = thread_of(task), *leader;

	if (t)
		return t;
	leader = thread_of(task->group_leader);
	if (!leader)
		return 0;
	t = thread_create(task, leader->recording);
	if (t)
		join_process(t, leader, task->tgid);
	return t;
}

/* ---- properties of an operation ---- */

/* A separate function: the verifier would follow its caller once for each result. */
__noinline u32 uring_op(u32 opcode)
{
	switch (opcode) {
	case URING_READ: case URING_READV: case URING_READ_FIXED: case URING_READV_FIXED: case URING_READ_MULTISHOT:
	case URING_RECV: case URING_RECVMSG:
		return IOP_ASYNC_READ;
	case URING_WRITE: case URING_WRITEV: case URING_WRITE_FIXED: case URING_WRITEV_FIXED:
	case URING_SEND: case URING_SENDMSG: case URING_SEND_ZC: case URING_SENDMSG_ZC:
		return IOP_ASYNC_WRITE;
	case URING_FSYNC: case URING_SYNC_FILE_RANGE:
		return IOP_ASYNC_SYNC;
	case URING_OPENAT: case URING_OPENAT2:
		return IOP_ASYNC_OPEN;
	case URING_CLOSE:
		return IOP_ASYNC_CLOSE;
	default:
		return IOP_ASYNC_OTHER;
	}
}

static __always_inline bool uring_vectored(u8 opcode)
{
	return opcode == URING_READV || opcode == URING_WRITEV || opcode == URING_READV_FIXED || opcode == URING_WRITEV_FIXED;
}

static __always_inline bool uring_on_socket(u8 opcode)
{
	return opcode == URING_SEND || opcode == URING_RECV || opcode == URING_SENDMSG || opcode == URING_RECVMSG ||
	       opcode == URING_SEND_ZC || opcode == URING_SENDMSG_ZC;
}

/* The command's own part of the request, which the kernel has filled from the submission before this tracepoint. */
static __always_inline void uring_amounts(struct iop_rec_async *rec, u8 opcode, void *command, u32 flags)
{
	struct io_rw *rw = command;
	struct io_sr_msg *message = command;

	if (flags & URING_BUFFER_SELECT)
		return;         /* as much as the buffer that the kernel will choose can hold */
	if (opcode == URING_SENDMSG || opcode == URING_RECVMSG || opcode == URING_SENDMSG_ZC) {
		rec->bytes = message_bytes((u64)BPF_CORE_READ(message, buf));
	} else if (uring_on_socket(opcode)) {
		rec->bytes = (u32)BPF_CORE_READ(message, len);
	} else {
		rec->offset = BPF_CORE_READ(rw, kiocb.ki_pos);
		rec->bytes = BPF_CORE_READ(rw, len);
		if (uring_vectored(opcode))
			rec->bytes = iovec_bytes(BPF_CORE_READ(rw, addr), rec->bytes);
	}
}

/* ---- registered files ---- */

__noinline u64 uring_registered_file(u64 context, u32 index)
{
	struct io_ring_ctx *ctx = (void *)context;
	struct io_rsrc_node **nodes, *node = 0;
	unsigned long file = 0;

	if (bpf_core_type_exists(struct io_fixed_file) && bpf_core_field_exists(struct io_file_table___before_6_13, files)) {
		struct io_ring_ctx___before_6_13 *old = (void *)ctx;
		struct io_fixed_file *files = BPF_CORE_READ(old, file_table.files);

		if (index >= BPF_CORE_READ(old, nr_user_files))
			return 0;
		bpf_probe_read_kernel(&file, sizeof(file), (void *)files + index * bpf_core_type_size(struct io_fixed_file));
		return file & FILE_POINTER_MASK;
	}
	if (!bpf_core_field_exists(struct io_rsrc_data, nodes) || index >= BPF_CORE_READ(ctx, file_table.data.nr))
		return 0;
	nodes = BPF_CORE_READ(ctx, file_table.data.nodes);
	if (bpf_probe_read_kernel(&node, sizeof(node), nodes + index) || !node)
		return 0;
	return BPF_CORE_READ(node, file_ptr) & FILE_POINTER_MASK;
}

/* Returns whether the filter by file excludes it. */
__noinline int uring_describe_file(struct thread *t, u64 identity, u64 now)
{
	struct uring_file_key key = { .process = t ? process_number(t) : 0, .file = identity };
	struct file *file = (void *)identity;
	struct uring_file is = { .ino = LOAD(LOAD(file, f_inode), i_ino), .sb = (u64)LOAD(LOAD(file, f_inode), i_sb) };
	struct uring_file *was = bpf_map_lookup_elem(&uring_files, &key);

	if (was && was->ino == is.ino && was->sb == is.sb)
		return was->excluded;
	is.excluded = t && describe_file(t, identity, now) == FD_LEFT_OUT;
	bpf_map_update_elem(&uring_files, &key, &is, BPF_ANY);
	return is.excluded;
}

/* ---- submission ---- */

__noinline int uring_begins(struct thread *t, u64 request, u8 opcode)
{
	struct io_kiocb *req = (void *)request;
	void *command = (void *)req + bpf_core_field_offset(struct io_kiocb, cmd);
	struct io_close *closes = command;
	struct io_open *opens = command;
	u32 flags = BPF_CORE_READ(req, flags);
	u64 now = bpf_ktime_get_ns(), context = (u64)BPF_CORE_READ(req, ctx), file = 0;
	s32 fd = BPF_CORE_READ(req, cqe.fd);
	u8 op = uring_op(opcode);
	struct iop_rec_async *rec;
	bool unwanted = false;
	u32 slot = 0;

	if (!t)
		return 0;
	uring_owned(t, context);
	if (op == IOP_ASYNC_OPEN) {
		fd = -1;
		slot = BPF_CORE_READ(opens, file_slot);
	} else if (op == IOP_ASYNC_CLOSE) {
		fd = BPF_CORE_READ(closes, fd);
		slot = BPF_CORE_READ(closes, file_slot);
		if (slot)
			file = uring_registered_file(context, slot - 1);
	} else if (flags & URING_FIXED_FILE) {
		slot = 1;
		file = uring_registered_file(context, fd);
	}
	if (file)
		unwanted = uring_describe_file(t, file, now);
	else if (!slot && op != IOP_ASYNC_OTHER && op != IOP_ASYNC_OPEN)
		unwanted = descriptor_excluded(t, fd);
	if (op == IOP_ASYNC_CLOSE && !slot)
		forget_fd(t, fd);
	now = bpf_ktime_get_ns();
	announce_call(t, now);
	rec = async_begin(t, IOP_URING, now);
	rec->key = request;
	rec->context = context;
	rec->user_data = BPF_CORE_READ(req, cqe.user_data);
	rec->opcode = opcode;
	rec->op = op;
	rec->fd = fd;
	rec->file = file;
	if (slot)
		rec->flags |= IOP_ASYNC_REGISTERED;
	if (flags & URING_SKIP_SUCCESS)
		rec->flags |= IOP_ASYNC_SILENT;
	if (op == IOP_ASYNC_READ || op == IOP_ASYNC_WRITE)
		uring_amounts(rec, opcode, command, flags);
	if (unwanted)
		leave_out(t, rec);
	send_async(t, rec);
	return 0;
}

/* Arguments of tracepoints are read as numbers, since global functions take no kernel pointers. */
SEC("tp_btf/io_uring_submit_req")
int uring_submit(u64 *ctx)
{
	struct thread *t = thread_or_worker(bpf_get_current_task_btf());
	u64 request = 0;

	if (!t || bpf_probe_read_kernel(&request, sizeof(request), ctx))
		return 0;
	uring_begins(t, request, BPF_CORE_READ((struct io_kiocb *)request, opcode));
	return 0;
}

/* A submission that the kernel rejects while reading it: the request is not filled in; its completion is reported like others. */
__noinline int uring_refused(struct thread *t, u64 submission, u64 request)
{
	struct io_uring_sqe *sqe = (void *)submission;
	struct io_kiocb *req = (void *)request;
	u8 opcode = BPF_CORE_READ(sqe, opcode), op = uring_op(opcode);
	bool registered = BPF_CORE_READ(sqe, flags) & URING_FIXED_FILE;
	u64 now, context = (u64)BPF_CORE_READ(req, ctx), file = 0;
	s32 fd = BPF_CORE_READ(sqe, fd);
	struct iop_rec_async *rec;
	bool unwanted = false;

	if (!t || op == IOP_ASYNC_OTHER || op == IOP_ASYNC_OPEN || op == IOP_ASYNC_CLOSE)
		return 0;
	uring_owned(t, context);
	if (registered)
		file = uring_registered_file(context, fd);
	if (file)
		unwanted = uring_describe_file(t, file, bpf_ktime_get_ns());
	else if (!registered)
		unwanted = descriptor_excluded(t, fd);
	now = bpf_ktime_get_ns();
	announce_call(t, now);
	rec = async_begin(t, IOP_URING, now);
	rec->key = request;
	rec->context = context;
	rec->user_data = BPF_CORE_READ(sqe, user_data);
	rec->opcode = opcode;
	rec->op = op;
	rec->fd = fd;
	rec->file = file;
	if (registered)
		rec->flags |= IOP_ASYNC_REGISTERED;
	if (!uring_vectored(opcode) && !uring_on_socket(opcode) && op != IOP_ASYNC_SYNC) {
		rec->bytes = BPF_CORE_READ(sqe, len);
		rec->offset = BPF_CORE_READ(sqe, off);
	}
	if (unwanted)
		leave_out(t, rec);
	send_async(t, rec);
	return 0;
}

SEC("tp_btf/io_uring_req_failed")
int uring_failed(u64 *ctx)
{
	struct thread *t = thread_or_worker(bpf_get_current_task_btf());
	u64 args[2] = { 0 };

	if (t && !bpf_probe_read_kernel(args, sizeof(args), ctx))
		uring_refused(t, args[0], args[1]);
	return 0;
}

/* ---- completion ---- */

struct uring_result { u64 user_data; s32 res; u32 flags; };

static __always_inline void uring_end_members(struct iop_rec_async_end *rec, u64 context, u64 request,
					      const struct uring_result *result)
{
	rec->key = request;
	rec->context = context;
	rec->user_data = result->user_data;
	rec->res = result->res;
	rec->more = !!(result->flags & URING_CQE_MORE);
}

/* Completed in a kernel worker after the submitting thread has ended: recorded on behalf of that thread, if it is traced. */
__noinline int uring_ends_elsewhere(u64 context, u64 request, const struct uring_result *result)
{
	struct io_kiocb *req = (void *)request;
	struct task_struct *task;
	struct iop_rec_async_end rec = { .interface = IOP_URING };
	struct uring_owner *owner = bpf_map_lookup_elem(&uring_owners, &context);
	void *ring;

	if (!request || !result || !owner || !is_recording(owner->recording))
		return 0;
	if (bpf_core_field_exists(struct io_kiocb___before_6_13, task))
		task = BPF_CORE_READ((struct io_kiocb___before_6_13 *)req, task);
	else
		task = BPF_CORE_READ(req, tctx, task);
	if (!task || BPF_CORE_READ(task, tgid) != owner->tgid)
		return 0;
	rec.rec.len = sizeof(rec);
	rec.rec.type = IOP_REC_ASYNC_END;
	rec.rec.tid = BPF_CORE_READ(task, pid);
	rec.rec.tgid = BPF_CORE_READ(task, tgid);
	rec.rec.time_ns = bpf_ktime_get_ns();
	uring_end_members(&rec, context, request, result);
	ring = ring_here(owner->recording);
	if (!ring || bpf_ringbuf_output(ring, &rec, sizeof(rec), 0))
		COUNT(owner->recording, lost, 1);
	return 0;
}

/* Applies a completion's effects on the process' descriptors before the completion is recorded. Returns whether the filter excludes
 * a new descriptor. */
static __always_inline bool uring_descriptors(struct thread *t, struct io_kiocb *req, u8 op, s32 res, u64 now)
{
	void *command = (void *)req + bpf_core_field_offset(struct io_kiocb, cmd);
	struct io_close *closes = command;
	struct io_open *opens = command;

	if (res < 0)
		return false;
	if (op == IOP_ASYNC_OPEN && !BPF_CORE_READ(opens, file_slot))
		return describe_new_fd(t, res, now, false) == FD_LEFT_OUT;
	if (op == IOP_ASYNC_CLOSE && !BPF_CORE_READ(closes, file_slot))
		forget_fd(t, BPF_CORE_READ(closes, fd));
	return false;
}

__noinline int uring_ends(u64 context, u64 request, const struct uring_result *result)
{
	struct thread *t = thread_or_worker(bpf_get_current_task_btf());
	struct io_kiocb *req = (void *)request;
	struct iop_rec_async_end *rec;
	u8 op = IOP_ASYNC_OTHER;
	bool unwanted = false;
	u64 now;

	if (!result)
		return 0;
	if (request) {
		op = uring_op(BPF_CORE_READ(req, opcode));
		if (op == IOP_ASYNC_OTHER)
			return 0;
	}
	if (!t)
		return uring_ends_elsewhere(context, request, result);
	now = bpf_ktime_get_ns();
	if (request)
		unwanted = uring_descriptors(t, req, op, result->res, now);
	announce_call(t, now);
	rec = async_end(t, IOP_URING, now);
	uring_end_members(rec, context, request, result);
	rec->excluded = unwanted;
	if (request && op == IOP_ASYNC_WRITE)
		rec->more = 0;          /* the second completion of a zero-copy send only releases its buffer */
	send_async_end(t, rec);
	return 0;
}

SEC("tp_btf/io_uring_complete")
int uring_complete(u64 *ctx)
{
	u64 args[5] = { 0 };
	struct uring_result result;

	bpf_probe_read_kernel(args, uring_cqe_whole ? 24 : 40, ctx);
	if (uring_cqe_whole) {
		struct io_uring_cqe *cqe = (void *)args[2];

		result.user_data = BPF_CORE_READ(cqe, user_data);
		result.res = BPF_CORE_READ(cqe, res);
		result.flags = BPF_CORE_READ(cqe, flags);
	} else {
		result.user_data = args[2];
		result.res = args[3];
		result.flags = args[4];
	}
	return uring_ends(args[0], args[1], &result);
}

/* The completion ring is full: the kernel keeps this completion until there is room and does not trace it again. */
SEC("tp_btf/io_uring_cqe_overflow")
int uring_overflow(u64 *ctx)
{
	struct uring_result result;
	u64 args[4] = { 0 };

	bpf_probe_read_kernel(args, sizeof(args), ctx);
	result.user_data = args[1];
	result.res = args[2];
	result.flags = args[3];
	return uring_ends(args[0], 0, &result);
}

#endif
