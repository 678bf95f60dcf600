/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A job's processes, recognised at their exec: before the first instruction of the program, whoever started it. Runs before
 * process_exec, which finds them traced.
 */
#ifndef IOPROBE_BPF_RECOGNISE_H
#define IOPROBE_BPF_RECOGNISE_H

#include "tasks.h"
#include <ioprobe/awaited.h>

#define MAX_PIECES (1 << 16)    /* the environment may have 2 MiB at most, mostly of short strings */

struct iop_awaited awaited;

/* A walk over the strings of an environment; long ones come in several pieces, of which only the first can be an entry. */
struct search {
	u64 at, end;
	u32 found;              /* bit per entry */
	u32 inside;             /* a string: its beginning is passed */
	u64 piece[IOP_ENTRY_ROOM / 8];
};

/* Without branches, of which the verifier would follow every combination. */
static __always_inline u32 is_entry(const struct search *search, u32 index)
{
	u64 differs = 0;

	for (u32 i = 0; i < IOP_ENTRY_ROOM / 8; i++)
		differs |= (search->piece[i] ^ awaited.entry[index].text[i]) & awaited.entry[index].mask[i];
	return (u32)!differs << index;
}

static long search_step(u32 index, void *data)
{
	struct search *search = data;
	long n;

	if (search->at >= search->end)
		return 1;
	n = bpf_probe_read_user_str(search->piece, sizeof(search->piece), (void *)search->at);
	if (n <= 0)
		return 1;
	for (u32 i = 0; i < IOP_MAX_AWAITED && !search->inside; i++)
		search->found |= is_entry(search, i);
	search->inside = n == sizeof(search->piece);
	search->at += search->inside ? n - 1 : n;       /* its terminator is not the string's own, perhaps */
	return 0;
}

SEC("tp_btf/sched_process_exec")
int recognise(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct linux_binprm *bprm = (void *)ctx[2];
	struct search search = { 0 };
	struct thread *t;

	if (!awaited.on || (u32)task->cred->uid.val != awaited.uid || thread_of(task))
		return 0;
	search.at = task->mm->env_start;
	search.end = task->mm->env_end;
	bpf_loop(MAX_PIECES, search_step, &search, 0);
	if (search.found != (1u << IOP_MAX_AWAITED) - 1) {
		if (search.at < search.end)
			COUNT(unread_environments, 1);
		return 0;
	}
	if (is_privileged(bprm)) {
		COUNT(privileged, 1);
		return 0;
	}
	t = thread_create(task);
	if (t)
		t->process = process_allocate(task->tgid);
	return 0;
}

#endif
