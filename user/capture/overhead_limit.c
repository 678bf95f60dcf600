/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Overhead limit: a token bucket per process. When it runs dry, the most expensive optional probe group is detached; it is
 * re-attached on probation when the bucket has recovered and a back-off time is over, which grows while the load lasts. Probes on
 * system calls are never detached: they carry most of the information.
 *
 * Each new process has a full bucket, which the many short processes of a build or a script never empty. So the cost of ended
 * programs is summed, too: while it is too high, new programs begin without the groups.
 */
#include "capture/overhead_limit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/notes.h"
#include "bpf/rings.h"

#define CREDIT_NS 200000000ll           /* bucket size: shorter bursts are not limited */
#define TRY_NS (CREDIT_NS / 10)         /* tokens for a probation period: enough to find out whether the load persists */
#define DEFICIT_NS 1000000000ll            /* the deficit is capped: system calls alone may exceed the limit permanently */
#define DETACH_NS 100000000ull          /* grace periods of the kernel, in which the probes of a detached group still trap */
#define FIRST_PAUSE_NS 1000000000ull
#define LONGEST_PAUSE_NS 60000000000ull
#define ENDED_FREE_NS CREDIT_NS         /* what ended programs may have cost in any case: one burst */
#define ENDED_SPAN_NS 1000000000000ull  /* running time of ended programs that is remembered, roughly */
#define SYSCALL_NS 500                  /* enter and exit with one record; from the benchmark */
#define PROGRAM_NS 300                  /* what the BPF programs add to the two traps of a library call */

/* Groups in the order in which they are detached. */
static const enum point_group groups[] = { POINTS_STREAM_BYTES, POINTS_STREAM_DATA };
static const char *const group_names[] = { "stream calls that move one byte", "reads and writes of streams" };
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

struct account {
	pid_t tgid;
	uint64_t begun_ns, cost_ns;     /* of its program: when it began, at the first record; what its probes cost */
	int64_t credit_ns;
	uint64_t filled_ns;             /* when tokens were last added */
	uint64_t spent_ns[GROUPS];      /* since then, by group */
	uint64_t calm_ns;               /* until then, hits may come from a group that is being detached */
	struct { bool off; uint64_t since_ns, until_ns, pause_ns; } group[GROUPS];
	UT_hash_handle hh;
};

struct overhead_limit {
	double share;
	struct account *accounts, *last;
	struct targets *targets;
	struct spool_writer *spool;
	uint64_t row_ns[IOP_MAX_PROBES];
	int8_t row_group[IOP_MAX_PROBES];       /* index in groups, -1: not in a group */
	const struct table_set *set;
	struct probe_cost cost;
	double ended_cost_ns, ended_span_ns;    /* sums of the programs that have ended, older ones halved again and again */
	size_t no_memory;               /* records of processes that have no bucket for want of memory */
};

static int8_t group_index(const struct table_set *set, const struct table_row *row)
{
	switch (table_row_stream_flag(set, row)) {
	case IOP_D_STREAM_BYTES: return 0;
	case IOP_D_STREAM_DATA: return 1;
	default: return -1;
	}
}

int overhead_limit_create(struct overhead_limit **out, double percent, const struct table_set *set, struct targets *targets,
		   const struct probe_cost *cost, struct spool_writer *spool)
{
	struct overhead_limit *overhead = calloc(1, sizeof(*overhead));

	if (!overhead)
		return -ENOMEM;
	overhead->share = percent / 100;
	overhead->targets = targets;
	overhead->spool = spool;
	overhead->set = set;
	overhead->cost = *cost;
	for (size_t i = 0; i < set->nrows; i++)
		overhead->row_group[i] = group_index(set, &set->rows[i]);
	*out = overhead;
	return 0;
}

/* ---- detaching and re-attaching ---- */

/* Returns the layer of the group's functions. */
static const char *overhead_limit_layer_of(const struct overhead_limit *overhead, size_t g)
{
	for (size_t i = 0; i < overhead->set->nrows; i++)
		if (overhead->row_group[i] == (int8_t)g)
			return overhead->set->layers[overhead->set->rows[i].layer].name;
	return "";
}

static void note_off(const struct overhead_limit *overhead, const struct account *account, size_t g, uint64_t now_ns)
{
	char reason[160];

	snprintf(reason, sizeof(reason), "%s were turned off to keep the overhead limit of %g %%", group_names[g],
		 overhead->share * 100);
	note_gap(overhead->spool, account->tgid, overhead_limit_layer_of(overhead, g), account->group[g].since_ns, now_ns, reason);
}

static void turn_off(struct overhead_limit *overhead, struct account *account, size_t g, uint64_t now_ns)
{
	uint64_t pause = account->group[g].pause_ns * 2;

	if (!pause || now_ns - account->group[g].until_ns > LONGEST_PAUSE_NS)
		pause = FIRST_PAUSE_NS;         /* a new burst */
	account->group[g].pause_ns = pause < LONGEST_PAUSE_NS ? pause : LONGEST_PAUSE_NS;
	account->group[g].off = true;
	account->group[g].since_ns = now_ns;
	account->group[g].until_ns = now_ns + account->group[g].pause_ns;
	account->calm_ns = now_ns + DETACH_NS;
	targets_switch(overhead->targets, account->tgid, groups[g], false);
}

static void overhead_limit_turn_on(struct overhead_limit *overhead, struct account *account, size_t g)
{
	targets_switch(overhead->targets, account->tgid, groups[g], true);
	account->group[g].off = false;
	note_off(overhead, account, g, monotonic_ns());
	if (account->credit_ns > TRY_NS)
		account->credit_ns = TRY_NS;
}

/* Returns the most expensive group that is attached, -1 if none has cost anything. */
static int overhead_limit_costliest(const struct account *account)
{
	int worst = -1;

	for (size_t g = 0; g < GROUPS; g++)
		if (!account->group[g].off && account->spent_ns[g] &&
		    (worst < 0 || account->spent_ns[g] > account->spent_ns[worst]))
			worst = g;
	return worst;
}

/* Until the kernel has removed the probes, the process keeps trapping at its current rate. The cost is summed over threads, as
 * their hits are. */
static int64_t detach_cost(uint64_t spent_ns, uint64_t interval_ns)
{
	return interval_ns ? (int64_t)((double)DETACH_NS * spent_ns / interval_ns) : 0;
}

static void overhead_limit_settle(struct overhead_limit *overhead, struct account *account, uint64_t now_ns)
{
	int worst = overhead_limit_costliest(account);
	uint64_t interval = now_ns > account->filled_ns ? now_ns - account->filled_ns : 0, income = interval * overhead->share;

	account->credit_ns += (int64_t)income;
	account->filled_ns = now_ns;
	if (account->credit_ns > CREDIT_NS)
		account->credit_ns = CREDIT_NS;
	/* a deficit alone is not enough: the group itself must exceed the income */
	if (account->credit_ns < 0 && worst >= 0 && now_ns >= account->calm_ns && account->spent_ns[worst] > income) {
		turn_off(overhead, account, worst, now_ns);
		account->credit_ns -= detach_cost(account->spent_ns[worst], interval);
	}
	if (account->credit_ns < -DEFICIT_NS)
		account->credit_ns = -DEFICIT_NS;
	for (size_t g = 0; g < GROUPS; g++) {
		account->spent_ns[g] = 0;
		if (account->group[g].off && now_ns >= account->group[g].until_ns && account->credit_ns >= TRY_NS)
			overhead_limit_turn_on(overhead, account, g);
	}
}

void overhead_limit_step(struct overhead_limit *overhead, uint64_t now_ns)
{
	for (struct account *account = overhead->accounts; account; account = account->hh.next)
		overhead_limit_settle(overhead, account, now_ns);
}

/* ---- counting ---- */

static struct account *account_create(struct overhead_limit *overhead, pid_t tgid, int64_t credit_ns, uint64_t time_ns)
{
	struct account *account = calloc(1, sizeof(*account));

	if (account) {
		*account = (struct account){ .tgid = tgid, .credit_ns = credit_ns, .begun_ns = time_ns, .filled_ns = time_ns };
		HASH_ADD_INT(overhead->accounts, tgid, account);
	}
	if (account && hash_added(account))
		return account;
	overhead->no_memory++;
	free(account);
	return NULL;
}

static struct account *account_of(struct overhead_limit *overhead, const struct iop_rec *rec)
{
	pid_t tgid = rec->tgid;
	struct account *account = overhead->last;

	if (account && account->tgid == tgid)
		return account;
	HASH_FIND_INT(overhead->accounts, &tgid, account);
	if (!account)
		account = account_create(overhead, tgid, CREDIT_NS, rec->time_ns);
	return overhead->last = account;
}

static uint64_t row_cost(struct overhead_limit *overhead, uint16_t row)
{
	const struct probe_cost *cost = &overhead->cost;

	if (overhead->row_ns[row])
		return overhead->row_ns[row];
	if (overhead->set->rows[row].syscall_nr >= 0)
		return overhead->row_ns[row] = SYSCALL_NS;
	return overhead->row_ns[row] = PROGRAM_NS + cost->emulated_ns +
		(targets_row_single_stepped(overhead->targets, row) ? cost->single_stepped_ns : cost->emulated_ns);
}

static void add_ended(struct overhead_limit *overhead, const struct account *account, uint64_t now_ns)
{
	overhead->ended_cost_ns += account->cost_ns;
	overhead->ended_span_ns += now_ns > account->begun_ns ? now_ns - account->begun_ns : 0;
	while (overhead->ended_span_ns > ENDED_SPAN_NS) {
		overhead->ended_cost_ns /= 2;
		overhead->ended_span_ns /= 2;
	}
}

/* Twice the share: a long program may end with its bucket empty. */
static bool ended_cost_too_much(const struct overhead_limit *overhead)
{
	return overhead->ended_cost_ns > ENDED_FREE_NS + 2 * overhead->share * overhead->ended_span_ns;
}

static void overhead_limit_forget(struct overhead_limit *overhead, struct account *account, uint64_t now_ns)
{
	add_ended(overhead, account, now_ns);
	for (size_t g = 0; g < GROUPS; g++)
		if (account->group[g].off)
			note_off(overhead, account, g, now_ns);
	HASH_DEL(overhead->accounts, account);
	overhead->last = NULL;
	free(account);
}

unsigned overhead_limit_begin_program(struct overhead_limit *overhead, pid_t pid, uint64_t time_ns)
{
	struct account *account;
	unsigned off = 0;

	HASH_FIND_INT(overhead->accounts, &pid, account);
	if (account && account->begun_ns < time_ns) {   /* of the program before; a later one is of this program's first records */
		overhead_limit_forget(overhead, account, time_ns);
		account = NULL;
	}
	if (!ended_cost_too_much(overhead))
		return 0;
	if (!account)
		account = account_create(overhead, pid, 0, time_ns);
	for (size_t g = 0; account && g < GROUPS; g++) {
		account->group[g].off = true;
		account->group[g].since_ns = time_ns;
		account->group[g].until_ns = time_ns + FIRST_PAUSE_NS;
		off |= 1u << groups[g];
	}
	return off;
}

void overhead_limit_count(struct overhead_limit *overhead, const struct iop_rec *rec)
{
	const struct iop_rec_call *call = (const void *)rec;
	struct account *account;
	uint64_t ns;

	if (rec->type != IOP_REC_CALL && rec->type != IOP_REC_EXIT && rec->type != IOP_REC_TASK_EXIT && rec->type != IOP_REC_EXEC)
		return;
	account = account_of(overhead, rec);
	if (!account)
		return;
	if (rec->type == IOP_REC_EXEC || (rec->type == IOP_REC_TASK_EXIT && ((const struct iop_rec_task_exit *)rec)->group_dead)) {
		overhead_limit_forget(overhead, account, rec->time_ns); /* a new program starts with all its probes */
	} else if (rec->type != IOP_REC_TASK_EXIT && call->probe < overhead->set->nrows) {
		ns = row_cost(overhead, call->probe);
		account->credit_ns -= ns;
		account->cost_ns += ns;
		if (overhead->row_group[call->probe] >= 0)
			account->spent_ns[overhead->row_group[call->probe]] += ns;
	}
}

void overhead_limit_finish(struct overhead_limit *overhead)
{
	while (overhead->accounts)
		overhead_limit_forget(overhead, overhead->accounts, monotonic_ns());
}

size_t overhead_limit_no_memory(const struct overhead_limit *overhead)
{
	return overhead->no_memory;
}

void overhead_limit_destroy(struct overhead_limit *overhead)
{
	if (!overhead)
		return;
	overhead_limit_finish(overhead);
	free(overhead);
}
