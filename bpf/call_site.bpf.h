/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The site of a call that begins: its machine code and its Python code. And images: what addresses of code mean in a process, which
 * changes where it maps other code.
 */
#ifndef IOPROBE_BPF_CALL_SITE_H
#define IOPROBE_BPF_CALL_SITE_H

#include "python.bpf.h"

/* now: the time of the records that this may send, 0: theirs. */
static __always_inline void set_site_of_call(struct thread *t, u32 probe, u64 pc, u64 sp, u64 bp, u64 now)
{
	struct process *p;

	if (!call_sites || t->depth != 1)
		return;
	t->site = 0;
	p = process_of(t);
	t->up.image = p ? p->image : 0;
	t->up.now = now;
	t->up.chain = pc ^ sp >> 4 ^ probe;
	if (!t->up.image) {
		if (bpf_get_current_pid_tgid() >> 32 != recording_by(t->recording)->measuring_tgid)
			COUNT_SITE(no_image);
		return;
	}
	t->site = find_site(t, pc, sp, bp);
	if (t->up.python && python_images)
		t->site = add_python_frames(t, t->site);
}

/* ---- code that is mapped and unmapped ---- */

static __always_inline u32 new_image(void)
{
	return __sync_fetch_and_add(&last_image, 1) + 1;
}

struct unmapped { u64 at; bool code; };

static long look_at_area(struct task_struct *task, struct vm_area_struct *vma, struct unmapped *range)
{
	u64 flags = 0;

	bpf_probe_read_kernel(&flags, sizeof(flags), &vma->vm_flags);
	bpf_probe_read_kernel(&range->at, sizeof(range->at), &vma->vm_end);
	range->code |= !!(flags & 4);   /* VM_EXEC */
	return 0;
}

/* Whether the range contains code: also true where the kernel cannot tell at this moment. */
__noinline bool unmaps_code(u64 start, u64 len)
{
	struct unmapped range = { start, false };

	for (u32 i = 0; i < 8 && range.at < start + len && !range.code; i++) {
		long found = bpf_find_vma(bpf_get_current_task_btf(), range.at, look_at_area, &range, 0);

		if (found == -ENOENT)
			range.at += 4096;
		else if (found)
			return true;
	}
	return range.code;
}

static __always_inline bool changes_code(u64 nr)
{
	return call_sites && (nr == munmap_nr || nr == execve_nr || nr == execveat_nr);
}

/* At the entry of a system call: from here to its exit no address of code can be trusted. */
static __always_inline void before_code_changes(struct pt_regs *user, struct thread *t, u64 nr)
{
	struct process *p = process_of(t);

	if (!p || (nr == munmap_nr && !unmaps_code(user->di, user->si)))
		return;
	p->image = 0;
	t->up.renews = true;
}

static __always_inline void after_code_changed(void)
{
	struct thread *t = thread_of(bpf_get_current_task_btf());
	struct process *p;

	if (!t || !t->up.renews)
		return;
	t->up.renews = false;
	p = process_of(t);
	if (p)
		p->image = new_image();
}

/* A forked process has its parent's code, where its parent has it. */
static __always_inline void inherit_image(struct thread *child, struct thread *parent)
{
	struct process *from = process_of(parent), *to = process_of(child);

	if (call_sites && from && to)
		to->image = from->image;
}

#endif
