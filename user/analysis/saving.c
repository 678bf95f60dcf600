/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Estimates the saving of a change from the same trace. Times in a trace are those of the recorded run: the recorder's own time is
 * subtracted, as measured, or as a range if the archive does not contain it.
 */
#include "analysis/analysis.h"

#define LARGE_BYTES (4 * 1024 * 1024)

/* Nanoseconds per recorded call if the archive contains no measurement: the range in the README's table, with a margin for slower
 * machines. */
static const struct { uint64_t low, high; } system_call = { 300, 1500 }, library_call = { 1000, 5000 };

uint64_t probe_cost_low(const struct analysis *a, enum trace_layer layer, uint64_t n)
{
	uint64_t measured = a->trace->probe_ns[layer];

	if (!a->trace->ours)
		return 0;
	return n * (measured ? measured - measured / 5 : layer == LAYER_POSIX ? system_call.low : library_call.low);
}

uint64_t probe_cost_high(const struct analysis *a, enum trace_layer layer, uint64_t n)
{
	uint64_t measured = a->trace->probe_ns[layer];

	if (!a->trace->ours)
		return 0;
	return n * (measured ? measured + measured / 5 : layer == LAYER_POSIX ? system_call.high : library_call.high);
}

static uint64_t less(uint64_t from, double what)
{
	return what >= (double)from ? 0 : from - (uint64_t)what;
}

struct saving saving_remove(const struct analysis *a, enum trace_layer layer, uint64_t n, uint64_t ns, const char *basis)
{
	return (struct saving){ true, less(ns, probe_cost_high(a, layer, n)), less(ns, probe_cost_low(a, layer, n)), basis };
}

struct saving saving_larger(const struct analysis *a, uint32_t file, int dir, uint64_t n, uint64_t bytes, uint64_t ns)
{
	unsigned fs = file < a->trace->files.n ? a->facts->file_fs[file] : FS_KINDS;
	const struct cost_model *m = fs < FS_KINDS ? &a->models[fs][dir] : NULL;
	uint64_t requests = bytes / LARGE_BYTES + 1;
	double rest;

	if (!m || !m->known)
		return (struct saving){ false, 0, less(ns, probe_cost_low(a, a->facts->lowest, n)),
					"no large requests in this trace: a ceiling" };
	rest = requests * m->latency_ns + bytes * m->ns_per_byte;
	return (struct saving){ true, less(ns, probe_cost_high(a, a->facts->lowest, n) + 2 * rest),
				less(ns, probe_cost_low(a, a->facts->lowest, n) + rest / 2), "large requests in this trace" };
}

struct saving saving_at_most(uint64_t ns, const char *basis)
{
	return (struct saving){ true, 0, ns, basis };
}
