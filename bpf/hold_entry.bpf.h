/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A thread's wait for an answer of the agent: its entry of `holds`, and the loop that it spins in. In sleepable programs, which the
 * scheduler may interrupt. The file that includes it defines agent_lives(), whether an answer can still come. See DESIGN.md.
 */
#ifndef IOPROBE_BPF_HOLD_ENTRY_H
#define IOPROBE_BPF_HOLD_ENTRY_H

#include <ioprobe/request.h>

#define BREATH_NS 100000        /* interval between points at which the scheduler may run */
#define CLAIM_TRIES 64
#define WAIT_STEPS (1 << 23)    /* of bpf_loop: the most that it accepts. A few rounds, because the verifier follows each of them */
#define WAIT_ROUNDS 8

struct iop_hold holds[IOP_MAX_HOLDS];
__u32 hold_cursor;

struct wait_state { struct iop_hold_id id; u64 stack, breath_ns, recording; };

static __always_inline bool agent_lives(u32 recording, u64 now);

static __always_inline struct iop_hold *hold_at(u32 slot)
{
	return &holds[slot & (IOP_MAX_HOLDS - 1)];
}

static __always_inline u64 hold_word(u64 word, u32 hold_state)
{
	return (word & ~(u64)IOP_HOLD_STATE) | hold_state;
}

__noinline int hold_claim_slot(struct iop_hold_id *id, u32 slot)
{
	struct iop_hold *hold = hold_at(slot);
	u64 word = *(volatile u64 *)&hold->word, next = hold_word(word + IOP_HOLD_STATE + 1, IOP_HOLD_WAITING);

	if (!id || (word & IOP_HOLD_STATE) != IOP_HOLD_FREE || __sync_val_compare_and_swap(&hold->word, word, next) != word)
		return 0;
	hold->gave_up_ns = 0;
	id->word = next;
	id->slot = slot & (IOP_MAX_HOLDS - 1);
	return 0;
}

static long hold_claim_step(u32 i, void *data)
{
	struct iop_hold_id *id = data;

	(void)i;
	hold_claim_slot(id, __sync_fetch_and_add(&hold_cursor, 1));
	return id->word ? 1 : 0;
}

/* Claims a free entry. Returns false if there is none, or no live hold server to answer. */
static __always_inline bool hold_claim(u32 recording, struct iop_hold_id *id, u64 limit_ns)
{
	u64 now = bpf_ktime_get_ns();

	id->pid_tgid = bpf_get_current_pid_tgid();
	id->deadline_ns = now + limit_ns;
	id->reason = IOP_HOLD_NEW_CODE;
	id->word = 0;
	if (!agent_lives(recording, now))
		return false;
	bpf_loop(CLAIM_TRIES, hold_claim_step, id, 0);
	return id->word;
}

static __always_inline void hold_free(const struct iop_hold_id *id)
{
	*(volatile u64 *)&hold_at(id->slot)->word = hold_word(id->word, IOP_HOLD_FREE);
}

/* The agent may just have begun to write: then the thread keeps waiting. */
static __always_inline bool give_up(const struct iop_hold_id *id, u64 now)
{
	struct iop_hold *hold = hold_at(id->slot);

	if (__sync_val_compare_and_swap(&hold->word, id->word, hold_word(id->word, IOP_HOLD_FREE)) != id->word)
		return false;
	hold->gave_up_ns = now;
	return true;
}

static long wait_step(u32 index, void *data)
{
	struct wait_state *state = data;
	u64 word = *(volatile u64 *)&hold_at(state->id.slot)->word, now;
	u8 byte;

	if (word != state->id.word && word != hold_word(state->id.word, IOP_HOLD_WRITING))
		return 1;
	now = bpf_ktime_get_ns();
	/* Reading through the page tables of a task is a scheduling point, also on non-preemptible kernels: the agent may be
	 * waiting for this very CPU. Done rarely, because it takes the lock that the kernel needs to place probes in this
	 * process. */
	if (now - state->breath_ns > BREATH_NS) {
		bpf_copy_from_user_task(&byte, 1, (void *)state->stack, bpf_get_current_task_btf(), 0);
		state->breath_ns = now;
	}
	return (now > state->id.deadline_ns || !agent_lives(state->recording, now)) && give_up(&state->id, now);
}

/* Returns whether the agent answered in time. Ends the claim. */
static __always_inline bool wait_for_agent(u32 recording, struct wait_state *state)
{
	bool answered;
	u64 word;

	state->breath_ns = bpf_ktime_get_ns();
	state->recording = recording;
	for (int i = 0; i < WAIT_ROUNDS; i++)   /* one round takes some 400 ms of processor time: the final bound */
		if (bpf_loop(WAIT_STEPS, wait_step, state, 0) < WAIT_STEPS)
			break;
	word = *(volatile u64 *)&hold_at(state->id.slot)->word;
	answered = word == hold_word(state->id.word, IOP_HOLD_ANSWERED);
	if (hold_word(word, 0) == hold_word(state->id.word, 0))
		hold_free(&state->id);
	return answered;
}

#endif
