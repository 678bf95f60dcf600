/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Programs that do nothing: what is measured with them is the price of the probe points themselves. And the least recorder that
 * there can be: one look-up of the task's state, the clock, and a record of the usual length through a ring.
 */
#include "kernel.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define OF_PROBES 335           /* uretprobe(2) and uprobe(2): a return probe is a system call, too */
#define RECORD_WORDS 9          /* of a call with three arguments */

struct state { u64 enter_ns, seq; u64 args[3]; };

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct state);
} states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} ring SEC(".maps");

const volatile int target;

SEC("uprobe")
int call(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("tp_btf/sys_enter")
int enter(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("tp_btf/sys_exit")
int leave(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("tracepoint")
int classic(void *ctx)
{
	(void)ctx;
	return 0;
}

static __always_inline struct state *state_of(struct task_struct *task)
{
	if (task->tgid != target)
		return 0;
	return bpf_task_storage_get(&states, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline void begin(u64 a, u64 b, u64 c)
{
	struct state *state = state_of(bpf_get_current_task_btf());

	if (!state)
		return;
	state->enter_ns = bpf_ktime_get_ns();
	state->args[0] = a;
	state->args[1] = b;
	state->args[2] = c;
}

static __always_inline void end(u64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct state *state = state_of(task);
	u64 *rec = state ? bpf_ringbuf_reserve(&ring, 8 * RECORD_WORDS, 0) : 0;

	if (!rec)
		return;
	rec[0] = task->pid;
	rec[1] = (u64)task->tgid << 32 | (u32)++state->seq;
	rec[2] = bpf_ktime_get_ns();
	rec[3] = state->enter_ns;
	rec[4] = 0;
	rec[5] = ret;
	rec[6] = state->args[0];
	rec[7] = state->args[1];
	rec[8] = state->args[2];
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

extern bool bpf_session_is_return(void) __ksym;

SEC("uprobe")
int least_call(struct pt_regs *ctx)
{
	if (bpf_session_is_return())
		end(ctx->ax);
	else
		begin(ctx->di, ctx->si, ctx->dx);
	return 0;
}

SEC("tp_btf/sys_enter")
int least_enter(u64 *ctx)
{
	struct pt_regs *user = (void *)ctx[0];

	if (ctx[1] >= OF_PROBES)
		return 0;
	begin(user->di, user->si, user->dx);
	return 0;
}

SEC("tp_btf/sys_exit")
int least_leave(u64 *ctx)
{
	if (((struct pt_regs *)ctx[0])->orig_ax < OF_PROBES)
		end(ctx[1]);
	return 0;
}
