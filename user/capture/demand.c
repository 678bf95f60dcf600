/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One entry per process whose probes on demand are in place. The BPF programs count its outstanding requests and the probed calls
 * without a tracked request.
 */
#include "capture/demand.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/notes.h"
#include "bpf/rings.h"

#define PERIOD_NS 250000000ull
#define IDLE_LIMIT 250          /* probed calls without a tracked request per period: at 1 µs each, 0.1 % of the time */
#define PERIODS 3               /* consecutive ones: one burst between two operations must not make the second one unobserved */

struct demand {
	pid_t pid;
	uint64_t idle;          /* at the beginning of the period */
	unsigned busy;          /* consecutive periods with many such calls */
	UT_hash_handle hh;
};

struct demands {
	struct demand *all;     /* uthash by pid */
	struct bpf_side *kernel;
	struct targets *targets;
	const struct table_set *set;
	struct spool_writer *spool;
	uint64_t period_ns;     /* beginning of the current period */
	size_t no_memory;       /* processes whose probes on demand stay in place for want of memory */
};

int demands_create(struct demands **out, struct bpf_side *kernel, struct targets *targets, const struct table_set *set,
		   struct spool_writer *spool)
{
	struct demands *demands = calloc(1, sizeof(*demands));

	if (!demands)
		return -ENOMEM;
	*demands = (struct demands){ .kernel = kernel, .targets = targets, .set = set, .spool = spool };
	*out = demands;
	return 0;
}

static void demand_destroy(struct demands *demands, struct demand *demand)
{
	HASH_DEL(demands->all, demand);
	free(demand);
}

void demands_destroy(struct demands *demands)
{
	if (!demands)
		return;
	while (demands->all)
		demand_destroy(demands, demands->all);
	free(demands);
}

static struct demand *demand_find(struct demands *demands, pid_t pid)
{
	struct demand *demand;

	HASH_FIND_INT(demands->all, &pid, demand);
	return demand;
}

/* Notes operations whose completion will not be recorded. */
static void note_missed(struct demands *demands, pid_t pid, uint64_t from_ns, uint64_t to_ns, const char *reason)
{
	for (size_t i = 0; i < demands->set->nlayers; i++)
		if (demands->set->layers[i].on_demand)
			note_gap(demands->spool, pid, demands->set->layers[i].name, from_ns, to_ns, reason);
}

/* The same for operations that the BPF programs had no room for while the probes were in place. */
static void note_last(struct demands *demands, pid_t pid, const struct iop_demand *last)
{
	if (last->missed && last->since_ns)
		note_missed(demands, pid, last->since_ns, monotonic_ns(),
			    "too many non-blocking operations were outstanding: completions of some are not recorded");
}

void demands_placed(struct demands *demands, pid_t pid, uint64_t wanted_ns)
{
	struct iop_demand before = { 0 }, placed = { 0 };
	struct demand *demand;

	if (demand_find(demands, pid))
		return;
	demand = calloc(1, sizeof(*demand));
	if (demand) {
		demand->pid = pid;
		HASH_ADD_INT(demands->all, pid, demand);
	}
	if (!demand || !hash_added(demand)) {
		demands->no_memory++;
		free(demand);
		return;
	}
	bpf_side_demand(demands->kernel, pid, &before);
	placed.since_ns = monotonic_ns();
	bpf_side_set_demand(demands->kernel, pid, &placed);
	if (before.missed)
		note_missed(demands, pid, wanted_ns ?: placed.since_ns, placed.since_ns,
			    "completions of non-blocking operations that began before the probes on waits were in place are not "
				"recorded");
}

void demands_place(struct demands *demands, pid_t pid, uint64_t wanted_ns)
{
	if (!demand_find(demands, pid) && targets_demand(demands->targets, pid, true))
		demands_placed(demands, pid, wanted_ns);
}

void demands_forget(struct demands *demands, pid_t pid)
{
	struct demand *demand = demand_find(demands, pid);
	struct iop_demand last;

	if (demand)
		demand_destroy(demands, demand);
	targets_demand(demands->targets, pid, false);
	if (bpf_side_end_demand(demands->kernel, pid, &last))
		note_last(demands, pid, &last);
}

/* Closes the BPF programs' counters first: if requests are still outstanding then, the probes stay. */
static void take_away(struct demands *demands, struct demand *demand)
{
	struct iop_demand last = { 0 };

	if (bpf_side_end_demand(demands->kernel, demand->pid, &last) && last.outstanding > 0) {
		bpf_side_set_demand(demands->kernel, demand->pid, &last);
		return;
	}
	note_last(demands, demand->pid, &last);
	targets_demand(demands->targets, demand->pid, false);
	demand_destroy(demands, demand);
}

void demands_step(struct demands *demands, uint64_t now_ns)
{
	struct demand *demand, *next;

	if (now_ns - demands->period_ns < PERIOD_NS)
		return;
	demands->period_ns = now_ns;
	HASH_ITER(hh, demands->all, demand, next) {
		struct iop_demand now = { 0 };
		uint64_t idle;

		bpf_side_demand(demands->kernel, demand->pid, &now);
		idle = now.idle - demand->idle;
		demand->idle = now.idle;
		demand->busy = idle > IDLE_LIMIT && now.outstanding <= 0 ? demand->busy + 1 : 0;
		if (demand->busy >= PERIODS)
			take_away(demands, demand);
	}
}

size_t demands_no_memory(const struct demands *demands)
{
	return demands->no_memory;
}
