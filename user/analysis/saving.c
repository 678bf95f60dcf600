/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Estimates the saving of a change from the same trace. Times in a trace are those of the recorded run: the recorder's own time is
 * subtracted, as measured, or as a range if the archive does not contain it. A run without the calls is another run: its times
 * vary, and the way from call to call goes with the calls.
 */
#include "analysis/analysis.h"

#define LARGE_BYTES (4 * 1024 * 1024)
#define VARIES 0.3 /* of the time of the same calls in two runs: caches, write-back, other work on the machine */
#define FAST_NS 100000 /* mean of calls that are not late */
#define INEXACT 0.2 /* of a measured cost of the recorder */

struct range {
	double low, high;
};

/* Nanoseconds of a recorded call if the archive contains no measurement, and the part of it between the call's own times: the range
 * in tests/bench/README.md, with a margin for slower machines. */
static const struct {
	struct range all, inside;
} system_call = { { 300, 1500 }, { 100, 700 } }, library_call = { { 1000, 5000 }, { 300, 2500 } };

static struct range saving_measured(double ns)
{
	return (struct range){ ns * (1 - INEXACT), ns * (1 + INEXACT) };
}

static struct range cost_all(const struct analysis *a, enum trace_layer layer)
{
	if (!a->trace->ours)
		return (struct range){ 0, 0 };
	if (a->trace->probe_ns[layer])
		return saving_measured(a->trace->probe_ns[layer]);
	return layer == LAYER_POSIX ? system_call.all : library_call.all;
}

static struct range cost_inside(const struct analysis *a, enum trace_layer layer)
{
	if (!a->trace->ours)
		return (struct range){ 0, 0 };
	if (a->trace->probe_ns[layer])
		return saving_measured(a->trace->probe_inside_ns[layer]);
	return layer == LAYER_POSIX ? system_call.inside : library_call.inside;
}

static double saving_positive(double ns)
{
	return ns > 0 ? ns : 0;
}

/* Time of the calls in a run that is not recorded. Calls inside them are taken for ones of the lowest layer, the cheapest. */
static struct range saving_bare(const struct analysis *a, const struct removed *r)
{
	struct range own = cost_inside(a, r->layer), below = cost_all(a, a->facts->lowest);
	double nested_ns = r->nested ? (double)a->trace->probe_nested_ns * r->n : 0;

	return (struct range){ saving_positive(r->ns - own.high * r->n - (below.high * r->nested + nested_ns)),
			       saving_positive(r->ns - own.low * r->n - (below.low * r->nested + nested_ns)) };
}

/* The way from call to call in a run that is not recorded, at most. */
static double saving_between(const struct analysis *a, const struct removed *r)
{
	struct range all = cost_all(a, r->layer), inside = cost_inside(a, r->layer);

	return saving_positive(r->gap_ns - saving_positive(all.low - inside.high) * r->n);
}

/* A few of many fast calls that took long waited for a CPU, for the file system's journal, or for write-back that the bytes
 * need in any size of request. */
static struct removed without_late(const struct removed *r)
{
	struct removed rest = *r;
	uint64_t late = r->late_ns < r->ns ? r->late_ns : r->ns;

	if (r->n && (r->ns - late) / r->n < FAST_NS)
		rest.ns -= late;
	return rest;
}

struct saving saving_remove(const struct analysis *a, const struct removed *r, const char *basis)
{
	struct removed usual = without_late(r);
	struct range ns = saving_bare(a, r);

	return (struct saving){ true, saving_bare(a, &usual).low * (1 - VARIES), ns.high * (1 + VARIES) + saving_between(a, r),
				basis };
}

struct saving saving_larger(const struct analysis *a, const struct removed *r, uint32_t file, int dir, uint64_t bytes)
{
	unsigned fs = file < a->trace->files.n ? a->facts->file_fs[file] : FS_KINDS;
	const struct cost_model *m = fs < FS_KINDS ? &a->models[fs][dir] : NULL;
	struct removed usual = without_late(r);
	struct range ns = saving_bare(a, &usual);
	uint64_t requests = bytes / LARGE_BYTES + 1;
	double rest;

	if (!m || !m->known)
		return (struct saving){ false, 0, ns.high + saving_between(a, r), "no large requests in this trace: a ceiling" };
	rest = requests * m->latency_ns + bytes * m->ns_per_byte;
	return (struct saving){ true, saving_positive(ns.low * (1 - VARIES) - 2 * rest),
				saving_positive(ns.high * (1 + VARIES) + saving_between(a, r) - rest / 2),
				"large requests in this trace" };
}

struct saving saving_at_most(uint64_t ns, const char *basis)
{
	return (struct saving){ true, 0, ns, basis };
}
