/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Spans in which layers of a process were not observed: collected until it is known whether the process was held, then noted.
 */
#include "capture/targets_internal.h"

#include "bpf/rings.h"
#include "capture/notes.h"

void target_add_unread_gap(struct targets *targets, struct target *target, uint64_t since_ns, const char *reason)
{
	gaps_add(&target->unsettled, targets->spool, target->pid, (struct gap){ ANY_LAYER, reason, since_ns, monotonic_ns() });
}

void target_add_gaps(struct targets *targets, struct gaps *gaps, pid_t pid, const struct library *library, struct gap gap)
{
	for (size_t i = 0; i < library->plan.nlayers && gap.from_ns < gap.to_ns; i++) {
		const struct table_layer *table = &targets->set->layers[library->plan.layers[i].layer];

		gap.layer = table->name;
		if (!table->off && table->paradigm[0])
			gaps_add(gaps, targets->spool, pid, gap);
	}
}

static const char postponed[] = "probes on streams are placed when a process has lived 10 ms (--lazy-streams)";

void target_end_postponed(struct targets *targets, struct target *target, bool placed, uint64_t to_ns)
{
	struct gaps gaps = { 0 };

	for (size_t i = 0; i < target->links.n; i++) {
		struct process_library *entry = target->links.v[i];
		uint64_t all_ns = library_everywhere_ns(entry->library, target->links.withheld);

		if (!entry->postponed || (placed && !entry->found))
			continue;
		if (target->postponed_ns)
			target_add_gaps(targets, &gaps, target->pid, entry->library,
				 (struct gap){ NULL, postponed, target->postponed_ns, all_ns && all_ns < to_ns ? all_ns : to_ns });
		entry->postponed = !placed;
	}
	gaps_write(&gaps, targets->spool, target->pid, 0);
	target->postponed_ns = 0;
}

void target_note_gaps(struct targets *targets, struct target *target, const struct library *library, uint64_t since_ns,
		      const char *reason)
{
	uint64_t now_ns = monotonic_ns();

	if (since_ns)
		target_add_gaps(targets, &target->unsettled, target->pid, library,
			 (struct gap){ NULL, reason, since_ns,
				       library_everywhere_ns(library, target->links.withheld) ?: now_ns });
	if (target->unsettled.n && !target->unsettled_ns)
		target->unsettled_ns = now_ns;
}

void target_write_direct_gap(struct targets *targets, struct target *target, uint64_t since_ns, uint64_t to_ns)
{
	struct gaps gaps = { 0 };

	for (size_t i = 0; i < target->links.n; i++)
		if (target->links.v[i]->library->points[POINTS_DIRECT].n)
			target_add_gaps(targets, &gaps, target->pid, target->links.v[i]->library,
					(struct gap){ NULL, UNPROBED_LIBRARY, since_ns, to_ns });
	gaps_write(&gaps, targets->spool, target->pid, 0);
	target->late_since_ns = since_ns;
}

void target_end_withholding(struct targets *targets, struct target *target, uint64_t since_ns, uint64_t to_ns)
{
	uint64_t failed_ns = bpf_side_end_withholding(targets->kernel, target->pid);

	target->links.withheld = false;
	target->direct_ns = to_ns;
	if (failed_ns && (!since_ns || failed_ns < since_ns))
		since_ns = failed_ns;
	if (since_ns)
		target_write_direct_gap(targets, target, since_ns, to_ns);
}

void target_settle_gaps(struct targets *targets, struct target *target, uint64_t ran_ns)
{
	gaps_write(&target->unsettled, targets->spool, target->pid, ran_ns);
	target->unsettled_ns = 0;
}
