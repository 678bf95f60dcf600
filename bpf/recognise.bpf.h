/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Processes that join a recording at their exec, before the first instruction of the program: the launched one, and those of a job,
 * whichever process started them. If several recordings wait for the same process, the one in the lowest slot gets it.
 */
#ifndef IOPROBE_BPF_RECOGNISE_H
#define IOPROBE_BPF_RECOGNISE_H

#include "state.bpf.h"

#define MAX_PIECES (1 << 16)    /* an environment has at most 2 MiB, mostly short strings */

const volatile bool recognises = false;         /* some recording may wait for a job's processes */

/* State of a walk over the strings of an environment; long strings are read in several pieces, of which only the first can match an
 * entry. */
struct search {
	u64 at, end;
	u32 found;              /* bit per entry */
	u32 inside;             /* inside a string, beyond its first piece */
	u32 slot, pad;          /* slot of the recording that waits */
	u64 piece[IOP_ENTRY_ROOM / 8];
};

/* Without branches: the verifier would follow every combination of them. */
static __always_inline u32 is_entry(const struct search *search, u32 index)
{
	struct iop_job_matcher *job_matcher = &recording_by(search->slot)->job_matcher;
	u64 differs = 0;

	for (u32 i = 0; i < IOP_ENTRY_ROOM / 8; i++)
		differs |= (search->piece[i] ^ job_matcher->entry[index].text[i]) & job_matcher->entry[index].mask[i];
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
	search->at += search->inside ? n - 1 : n;       /* a full piece may have been cut: its terminator is not the string's */
	return 0;
}

/* Returns whether the new program's environment has the entries that this recording waits for. A separate function, so that the
 * verifier checks it once and not for every slot. */
__noinline int has_entries(u32 slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct search search = { .slot = slot };

	search.at = task->mm->env_start;
	search.end = task->mm->env_end;
	bpf_loop(MAX_PIECES, search_step, &search, 0);
	if (search.found == (1u << IOP_MAX_AWAITED) - 1)
		return 1;
	if (search.at < search.end)
		COUNT(slot, unread_environments, 1);
	return 0;
}

__noinline int is_job_matcher(u32 slot, u32 uid)
{
	struct iop_recording *recording = recording_by(slot);

	return recording->id && recording->job_matcher.on && recording->job_matcher.uid == uid && has_entries(slot);
}

/* Returns the id of the recording that waits for a job process like this one, 0 if none does. */
static __always_inline u32 recording_awaiting(u32 uid)
{
	for (u32 slot = 0; slot < IOP_MAX_RECORDINGS && recognises; slot++) {
		if (slot >= recording_slots)
			break;
		if (is_job_matcher(slot, uid))
			return recordings[slot].id;
	}
	return 0;
}

/* The same for a program that a recorder launches: that recorder has a set of BPF programs of its own, and is in its first slot. */
static __always_inline u32 recording_launching(u32 tgid)
{
	return recordings[0].launch_tgid == tgid ? recordings[0].id : 0;
}

#endif
