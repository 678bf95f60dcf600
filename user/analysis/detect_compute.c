/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Findings from what threads do in I/O calls and between them (--cpu-time): computing, asleep, or waiting for a CPU.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/detectors.h"
#include "analysis/words.h"

/* ---- output behind computing ---- */

static void detect_overlap(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	char asleep[24], computing[24];
	struct finding *f;

	for (uint32_t i = 0; b && i < a->trace->locations.n; i++) {
		const struct cpu_stat *s = &a->facts->locations[i].cpu;
		uint64_t ns = s->sleeping_ns < s->computing_ns ? s->sleeping_ns : s->computing_ns;

		if (ns && s->writes >= a->thresholds.overlap_count)
			builder_add(b, TRACE_NONE, i, &(struct evidence){ s->writes, 0, ns, s->first_ns, s->last_ns,
				saving_at_most(ns, "the sleep in writes, or the computing between them, whichever is shorter") });
	}
	f = builder_finish(b, "%s", "");
	if (!f)
		return;
	words_seconds(asleep, sizeof(asleep), a->facts->locations[f->location].cpu.sleeping_ns);
	words_seconds(computing, sizeof(computing), a->facts->locations[f->location].cpu.computing_ns);
	snprintf(f->evidence, sizeof(f->evidence),
		 "the thread that pays most sleeps %s in %" PRIu64 " writes and syncs, and computes %s between them", asleep,
		 a->facts->locations[f->location].cpu.writes, computing);
}

const struct detector detector_X24 = {
	.code = "X24", .title = "computing and output do not overlap", .on = "all layers", .needs = NEED_COMPUTE,
	.classes = CLASS_BIT(CLASS_WRITE) | CLASS_BIT(CLASS_SYNC),
	.when = "a thread makes at least overlap_count blocking writes and syncs of data files, sleeps in them, and computes "
		"between them; not where it sleeps between them, or is in collective calls of MPI (with --collectives)",
	.why = "output by another thread, or by non-blocking calls, could go on while the thread computes", .topic = "overlap",
	.test = "synthetic_overlap", .detect = detect_overlap,
};

/* ---- too few CPUs ---- */

static void detect_delay(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	const struct cpu_stat *s;
	struct finding *f;

	for (uint32_t i = 0; b && i < a->trace->locations.n; i++) {
		const struct location_stat *l = &a->facts->locations[i];

		s = &l->cpu;
		if (s->delay_ns && s->delay_ns >= a->thresholds.delay_share * l->io_ns)
			builder_add(b, TRACE_NONE, i, &(struct evidence){ s->calls, 0, s->delay_ns, l->first_ns, l->last_ns,
				saving_at_most(s->delay_ns, "a CPU for each thread that is ready to run") });
	}
	f = builder_finish(b, "%s", "");
	if (!f)
		return;
	s = &a->facts->locations[f->location].cpu;
	snprintf(f->evidence, sizeof(f->evidence),
		 "in %.0f %% of its I/O time the thread that pays most is ready to run and has no CPU; it sleeps in %.0f %%",
		 100.0 * s->delay_ns / a->facts->locations[f->location].io_ns,
		 100.0 * s->sleep_ns / a->facts->locations[f->location].io_ns);
}

const struct detector detector_X36 = {
	.code = "X36", .title = "I/O calls wait for a CPU, not for the file system", .on = "all layers", .needs = NEED_COMPUTE,
	.when = "in at least delay_share of its I/O time a thread is ready to run and waits for a CPU",
	.why = "more threads are ready than there are CPUs: threads of the job itself (helper threads, busy waiting) or other "
	       "programs on the node",
	.names_payers = true, .test = "synthetic_busy_node", .detect = detect_delay,
};
