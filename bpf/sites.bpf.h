/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Where an outermost call comes from: a walk up the stack by unwind rules that the agent has given for each return address, through
 * a tree whose nodes are numbered here. DESIGN.md, "Call sites", says why it is exact.
 */
#ifndef IOPROBE_BPF_SITES_H
#define IOPROBE_BPF_SITES_H

#include <ioprobe/sites.h>

#include "emit.bpf.h"
#include "returns.bpf.h"

/* The sizes of a recording without call sites; the agent sets the others before it loads the programs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_site_rule_key);
	__type(value, struct iop_site_rule);
} site_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_site_node_key);
	__type(value, u32);
} site_nodes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} site_asks SEC(".maps");

const volatile __u32 site_application_frames = 4;       /* a chain ends after so many */
const volatile __u32 munmap_nr = 11, execve_nr = 59, execveat_nr = 322;
__u32 last_site;
struct iop_site_counts site_counts;

#define COUNT_SITE(member) __sync_fetch_and_add(&site_counts.member, 1)

/* ---- the chain of words that a walk has met ---- */

static __always_inline struct site_chain *chain_of(struct thread *t)
{
	u32 i = t->up.chain;

	asm volatile("" : "+r"(i));
	return &t->chains[i & (SITE_CHAINS - 1)];
}

/* A word of the stack on which the walk depends. */
static __always_inline void keep_word(struct thread *t, u64 at, u64 value)
{
	struct site_chain *chain = chain_of(t);
	u64 offset = at - t->up.sp;
	u32 n = chain->words;

	if (n >= SITE_CHAIN_WORDS || offset > SITE_CHAIN_BYTES - 8) {
		t->up.cacheable = false;
		return;
	}
	asm volatile("" : "+r"(n));
	chain->offset[n] = offset;
	chain->value[n] = value;
	chain->words = n + 1;
	if (chain->need < offset + 8)
		chain->need = offset + 8;
}

/* The site that the same words led to before, 0 if they are not the same. */
static __always_inline u32 repeated_site(struct thread *t)
{
	struct site_chain *chain = chain_of(t);
	u64 need = chain->need;

	if (!chain->node || chain->image != t->up.image || chain->pc != t->up.pc)
		return 0;
	if (chain->absolute && (chain->sp != t->up.sp || chain->bp != t->up.bp))
		return 0;
	asm volatile("" : "+r"(need));
	if (!need || need > SITE_CHAIN_BYTES)
		return 0;
	if (bpf_probe_read_user(t->scratch, need, (void *)t->up.sp))
		return 0;
	if (!chain->pc)
		t->up.top = *(u64 *)t->scratch;
	for (u32 i = 0; i < SITE_CHAIN_WORDS; i++) {
		u64 offset = chain->offset[i];

		if (i >= chain->words)
			break;
		asm volatile("" : "+r"(offset));
		if (offset > SITE_CHAIN_BYTES - 8 || *(u64 *)(t->scratch + offset) != chain->value[i])
			return 0;
	}
	return chain->node;
}

/* ---- nodes ---- */

static __always_inline u32 new_site_id(void)
{
	u32 id = last_site < IOP_SITE_MAX_ID ? __sync_fetch_and_add(&last_site, 1) + 1 : 0;

	return id <= IOP_SITE_MAX_ID ? id : 0;
}

__noinline int send_site(struct thread *t, u32 id, u32 flags)
{
	struct iop_rec_site rec;

	if (!t)
		return 0;
	__builtin_memset(&rec, 0, sizeof(rec));
	rec.id = id;
	rec.parent = t->up.node;
	rec.pc = flags & IOP_SITE_PYTHON ? t->up.pc & IOP_PYTHON_OFFSET : t->up.pc;
	rec.image = flags & IOP_SITE_PAIR ? 0 : t->up.image & ~IOP_PYTHON_IMAGE;
	rec.flags = flags;
	rec_header(&rec.rec, t, IOP_REC_SITE, 0, sizeof(rec), t->up.now ? t->up.now : bpf_ktime_get_ns());
	send_record(t, &rec, sizeof(rec), false);
	return 0;
}

static __always_inline u32 site_flags(struct thread *t, const struct iop_site_rule *rule)
{
	if (rule->flags & IOP_RULE_TRUNCATED)
		return IOP_SITE_TRUNCATED;
	if (rule->kind == IOP_RULE_END || t->up.application >= site_application_frames)
		return IOP_SITE_WHOLE;
	return t->up.frames >= IOP_SITE_MAX_FRAMES ? IOP_SITE_TRUNCATED : 0;
}

/* The node of the return address at hand below the one where the walk is; made if there is none. Returns 0 where there is no
 * room. */
__noinline u32 site_node(struct thread *t, u32 flags)
{
	struct iop_site_node_key key;
	u32 *known, id;

	if (!t)
		return 0;
	key.pc = t->up.pc;
	key.parent = t->up.node;
	key.image = t->up.image;
	known = bpf_map_lookup_elem(&site_nodes, &key);
	if (known)
		return *known;
	id = new_site_id();
	if (!id)
		return 0;
	if (bpf_map_update_elem(&site_nodes, &key, &id, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&site_nodes, &key); /* another thread was faster */
		return known ? *known : 0;
	}
	send_site(t, id, flags);
	return id;
}

/* ---- addresses without a rule ---- */

/* What rbp was in the frame whose rule is at hand. False if its saved value cannot be read. */
static __always_inline bool restore_bp(struct thread *t)
{
	u64 at = t->up.bp_at;

	if (!at)
		return true;
	if (bpf_probe_read_user(&t->up.bp, sizeof(t->up.bp), (void *)at))
		return false;
	keep_word(t, at, t->up.bp);
	t->up.bp_at = 0;
	return true;
}

/* To the end of the page, then whole pages until one is not there. */
static __always_inline void copy_stack(struct iop_site_ask *ask)
{
	u64 at = ask->cfa - 8, n = 4096 - (at & 4095);

	ask->len = 0;
	if (n > 4096 || bpf_probe_read_user(ask->stack, n, (void *)at))
		return;
	ask->len = n;
	for (u32 i = 0; i < IOP_SITE_WINDOW / 4096 - 1; i++) {
		u64 len = ask->len;

		asm volatile("" : "+r"(len));
		if (len > IOP_SITE_WINDOW - 4096 || bpf_probe_read_user(ask->stack + len, 4096, (void *)(at + len)))
			break;
		ask->len = len + 4096;
	}
}

/* The same of a request that comes with each call: in most cases one read. */
static __always_inline void copy_less_stack(struct iop_site_ask *ask)
{
	u64 at = ask->cfa - 8, n = 4096 - (at & 4095);

	ask->len = IOP_SITE_WINDOW_AGAIN;
	if (!bpf_probe_read_user(ask->stack, IOP_SITE_WINDOW_AGAIN, (void *)at))
		return;
	ask->len = 0;
	if (n > 4096 || bpf_probe_read_user(ask->stack, n, (void *)at))
		return;
	ask->len = n;
	if (!bpf_probe_read_user(ask->stack + n, 4096, (void *)(at + n)))
		ask->len = n + 4096;
}

static __always_inline void fill_ask(struct thread *t, struct iop_site_ask *ask, u32 call)
{
	u64 ids = bpf_get_current_pid_tgid();

	restore_bp(t);          /* it was saved below what is copied of the stack */
	ask->time_ns = bpf_ktime_get_ns();
	ask->tid = ids;
	ask->tgid = ids >> 32;
	ask->image = t->up.image;
	ask->process = t->process;
	ask->node = t->up.node;
	ask->call = call;
	ask->application = t->up.application;
	ask->frames = t->up.frames;
	ask->pc = t->up.pc;
	ask->cfa = t->up.cfa;
	ask->bp = t->up.bp;
	ask->bp_at = t->up.bp_at;
	ask->trampoline = trampoline_page((void *)bpf_get_current_task());
}

/* The walk is at the node of the address. Returns whether the agent was asked for its rule and for the callers. */
__noinline bool ask_for_rule(struct thread *t)
{
	struct iop_site_ask *ask;

	if (!t)
		return false;
	ask = bpf_ringbuf_reserve(&site_asks, sizeof(*ask) + IOP_SITE_WINDOW, 0);
	if (!ask)
		return false;
	t->up.call = new_site_id();
	fill_ask(t, ask, t->up.call);
	ask->again = 0;
	copy_stack(ask);
	bpf_ringbuf_submit(ask, BPF_RB_FORCE_WAKEUP);
	if (t->up.call)
		send_site(t, t->up.call, IOP_SITE_CALL);
	return true;
}

/* The rest of the ring is for addresses without a rule. */
static __always_inline bool has_room_for_callers(void)
{
	u64 size = bpf_ringbuf_query(&site_asks, BPF_RB_RING_SIZE);

	return bpf_ringbuf_query(&site_asks, BPF_RB_AVAIL_DATA) < size - size / 4;
}

/* The rule was requested before and has not come yet: the agent finds the callers of this call too. */
__noinline int ask_for_callers(struct thread *t)
{
	struct iop_site_ask *ask;

	if (!t || bpf_get_current_pid_tgid() >> 32 == recording_by(t->recording)->measuring_tgid)
		return 0;
	ask = has_room_for_callers() ? bpf_ringbuf_reserve(&site_asks, sizeof(*ask) + IOP_SITE_WINDOW_AGAIN, 0) : 0;
	if (!ask) {
		COUNT_SITE(unasked);
		return 0;
	}
	t->up.call = new_site_id();
	fill_ask(t, ask, t->up.call);
	ask->again = 1;
	copy_less_stack(ask);
	bpf_ringbuf_submit(ask, 0);
	if (t->up.call)
		send_site(t, t->up.call, IOP_SITE_CALL);
	return 0;
}

/* No rule yet. A return probe may have put the kernel's trampoline there, for which there is never a rule: then the walk goes on at
 * the real address, and 0 is returned, as it is if another thread was faster. Else the agent is asked, and the walk ends: 1. */
__noinline int site_without_rule(struct thread *t)
{
	struct iop_site_rule pending = { .kind = IOP_RULE_PENDING };
	struct iop_site_rule_key key;

	if (!t)
		return 1;
	if (is_trampoline(t, (void *)bpf_get_current_task(), t->up.pc)) {
		t->up.pc = replaced_return(t->up.cfa - 8);
		t->up.cacheable = false;
		if (!t->up.pc)
			COUNT_SITE(unread);
		return !t->up.pc;
	}
	key.pc = t->up.pc;
	key.image = t->up.image;
	key.pad = 0;
	if (bpf_map_update_elem(&site_rules, &key, &pending, BPF_NOEXIST)) {
		if (bpf_map_lookup_elem(&site_rules, &key))
			return 0;
		t->up.node = 0;
		COUNT_SITE(full);
		return 1;
	}
	t->up.node = site_node(t, site_flags(t, &pending));
	if (!t->up.node) {
		COUNT_SITE(full);
	} else if (ask_for_rule(t)) {
		return 1;
	} else {
		COUNT_SITE(unasked);
	}
	bpf_map_delete_elem(&site_rules, &key);         /* the next call asks */
	return 1;
}

/* The rule is requested. */
__noinline int site_is_pending(struct thread *t)
{
	struct iop_site_rule pending = { .kind = IOP_RULE_PENDING };

	if (!t)
		return 1;
	t->up.node = site_node(t, site_flags(t, &pending));
	if (t->up.node)
		ask_for_callers(t);
	else
		COUNT_SITE(full);
	return 1;
}

/* ---- the walk ---- */

/* The CFA of the frame whose rule is at hand; 0 if it cannot be read. */
static __always_inline u64 frame_cfa(struct thread *t, const struct iop_site_rule *rule)
{
	u64 base = t->up.cfa, at;

	if (rule->kind != IOP_RULE_SP) {
		if (!restore_bp(t))
			return 0;
		chain_of(t)->absolute = true;
		base = t->up.bp;
	}
	if (rule->kind == IOP_RULE_BP_DEREF) {
		at = base + rule->deref;
		if (bpf_probe_read_user(&base, sizeof(base), (void *)at))
			return 0;
		keep_word(t, at, base);
	}
	return base + rule->cfa;
}

/* One frame up. Returns 1 when the walk has ended. */
__noinline int site_step(struct thread *t)
{
	struct iop_site_rule_key key;
	struct iop_site_rule *rule;
	u64 cfa, pc = 0;

	if (!t)
		return 1;
	key.pc = t->up.pc;
	key.image = t->up.image;
	key.pad = 0;
	rule = bpf_map_lookup_elem(&site_rules, &key);
	if (!rule)
		return site_without_rule(t);
	if (rule->kind == IOP_RULE_PENDING)
		return site_is_pending(t);
	t->up.frames++;
	t->up.application += rule->flags & IOP_RULE_APPLICATION;
	t->up.node = site_node(t, site_flags(t, rule));
	t->up.python |= !!(rule->flags & IOP_RULE_PYTHON);
	if (!t->up.node) {
		COUNT_SITE(full);
		return 1;
	}
	if (site_flags(t, rule)) {
		t->up.whole = true;
		return 1;
	}
	cfa = frame_cfa(t, rule);
	if (!cfa || cfa <= t->up.cfa || bpf_probe_read_user(&pc, sizeof(pc), (void *)(cfa - 8))) {
		COUNT_SITE(unread);
		return 1;
	}
	if (rule->bp_saved == IOP_BP_AT_CFA)
		t->up.bp_at = cfa + rule->bp;
	else if (rule->bp_saved == IOP_BP_AT_BP && restore_bp(t))
		t->up.bp_at = t->up.bp + rule->bp;
	keep_word(t, cfa - 8, pc);
	t->up.cfa = cfa;
	t->up.pc = pc;
	return 0;
}

/* sp and, if pc is not 0, the instruction behind the call are those of the call at hand; with pc 0 the return address is at sp. */
__noinline u32 find_site(struct thread *t, u64 pc, u64 sp, u64 bp)
{
	struct site_chain *chain;
	u32 site;

	if (!t)
		return 0;
	t->up.sp = sp;
	t->up.bp = bp;
	t->up.bp_at = 0;
	t->up.pc = pc;
	t->up.call = 0;
	site = repeated_site(t);
	chain = chain_of(t);
	if (site) {
		t->up.python = chain->python;
		return site;
	}
	chain->node = chain->words = chain->need = 0;
	chain->absolute = false;
	chain->image = t->up.image;
	chain->pc = pc;
	chain->sp = sp;
	chain->bp = bp;
	t->up.cacheable = true;
	t->up.whole = t->up.python = false;
	t->up.node = t->up.frames = t->up.application = 0;
	t->up.cfa = sp;
	if (!pc) {
		if (bpf_probe_read_user(&t->up.pc, sizeof(t->up.pc), (void *)sp)) {
			COUNT_SITE(unread);
			return 0;
		}
		t->up.top = t->up.pc;
		keep_word(t, sp, t->up.pc);
		t->up.cfa = sp + 8;
	}
	for (u32 i = 0; i < IOP_SITE_MAX_FRAMES + 2; i++)       /* two trampolines more */
		if (site_step(t))
			break;
	t->up.python |= !t->up.whole;
	if (t->up.whole && t->up.cacheable) {
		chain_of(t)->node = t->up.node;
		chain_of(t)->python = t->up.python;
	}
	return t->up.call ? t->up.call : t->up.node;
}

#endif
