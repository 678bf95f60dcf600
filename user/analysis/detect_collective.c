/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Collective data calls: arrival times of the ranks, and the ranks that make the system calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/beside.h"
#include "analysis/detectors.h"
#include "analysis/instances.h"
#include "analysis/words.h"

#define LEAST_ALONE 5
#define SMALL_COLLECTIVE_BYTES 65536    /* of each rank; exchanging so little costs more than writing it */

/* ---- waiting for the last ---- */

/* Who is still in the call before this one is late because of that call, not of its own work. */
static uint64_t wait_in(const struct instance *x, const struct instance_sum *s, uint64_t before)
{
	uint64_t until = s->last_enter < x->leave_ns ? s->last_enter : x->leave_ns,
		from = x->enter_ns > before ? x->enter_ns : before;

	return until > from ? until - from : 0;
}

/* The rank that is last most often, of all counts in late. */
static uint32_t detect_collective_latest(const struct analysis *a, const uint32_t *late, uint64_t *calls)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < a->trace->locations.n; i++)
		most = late[i] > late[most] ? i : most;
	*calls = late[most];
	return most;
}

/* With --cpu-time: what the late rank does before it comes. */
static void add_reason(const struct analysis *a, uint32_t location, struct finding *f)
{
	const struct cpu_stat *s = &a->facts->locations[location].cpu;
	size_t used = strlen(f->evidence);
	char computes[24], sleeps[24], waits[24], mpi[24];

	if (!(s->between_cpu_ns + s->between_sleep_ns + s->between_delay_ns))
		return;
	words_seconds(computes, sizeof(computes), s->between_cpu_ns);
	words_seconds(sleeps, sizeof(sleeps), s->between_sleep_ns);
	words_seconds(waits, sizeof(waits), s->between_delay_ns);
	words_seconds(mpi, sizeof(mpi), s->between_mpi_ns);
	used += snprintf(f->evidence + used, sizeof(f->evidence) - used,
			 "; between its calls it computes %s, sleeps %s, waits for a CPU %s", computes, sleeps, waits);
	if (s->between_mpi_ns && used < sizeof(f->evidence))
		snprintf(f->evidence + used, sizeof(f->evidence) - used, ", is in collective calls of MPI %s", mpi);
}

/* Collective calls of MPI that wait while another rank does I/O, and that rank (late). */
static uint64_t add_waits_beside(struct analysis *a, struct builder *b, uint32_t *late)
{
	struct beside_waits waits;
	uint64_t n;

	if (!beside_find(a, TRACE_NONE, &waits)) {
		a->failed = true;
		return 0;
	}
	for (size_t i = 0; i < waits.n; i++) {
		const struct beside_wait *w = &waits.v[i];

		builder_add(b, TRACE_NONE, w->location, &(struct evidence){ 1, 0, w->ns, w->begin_ns, w->end_ns,
			saving_at_most(w->ns, "time until the last rank arrives; the work before may have to be balanced") });
		if (w->last != TRACE_NONE)
			late[w->last]++;
	}
	n = waits.n;
	free(waits.v);
	return n;
}

static void detect_wait(struct analysis *a, const struct detector *d)
{
	uint32_t *late = calloc(a->trace->locations.n + 1, sizeof(*late));
	struct builder *b = late ? builder_new(a, d) : NULL;
	uint64_t before = 0, calls = 0, beside = 0, most;
	uint32_t last;
	struct instance_sum s;
	struct finding *f;
	char name[128];

	for (size_t i = 0, j; b && i < a->facts->instances.n; i = j) {
		const struct instance *v = a->facts->instances.v;
		bool waits = false;

		j = instance_sum(a->facts, i, &s);
		before = i && v[i - 1].file == v[i].file ? before : 0;
		for (size_t k = i; k < j && s.members > 1; k++) {
			uint64_t wait = wait_in(&v[k], &s, before);

			waits |= wait > 0;
			if (wait)
				builder_add(b, v[k].file, v[k].location,
					    &(struct evidence){ 1, v[k].asked, wait, v[k].enter_ns, v[k].leave_ns,
					saving_at_most(wait,
						       "time until the last rank arrives; the work before may have to be "
						       "balanced") });
		}
		for (size_t k = i; k < j && waits; k++)
			late[v[k].location] += v[k].enter_ns == s.last_enter;
		calls += waits;
		before = s.last_leave;
	}
	if (b)
		beside = add_waits_beside(a, b, late);
	f = builder_finish(b, "%s", "");
	if (f) {
		last = detect_collective_latest(a, late, &most);
		location_name(a, last, name, sizeof(name));
		if (beside)
			snprintf(f->evidence, sizeof(f->evidence),
				 "%llu times a rank waits in a collective call of MPI%s for one that is in I/O or late: "
				 "%llu times for %.60s",
				 (unsigned long long)beside + calls, calls ? " or MPI-IO" : "", (unsigned long long)most, name);
		else
			snprintf(f->evidence, sizeof(f->evidence),
				 "in %llu collective calls ranks wait for one that comes later: in %llu of them it is %.60s",
				 (unsigned long long)calls, (unsigned long long)most, name);
		add_reason(a, last, f);
	}
	a->failed |= !late;
	free(late);
}

const struct detector detector_X10 = {
	.code = "X10", .title = "ranks wait for the last one in collective I/O", .on = "MPI-IO, and MPI beside I/O",
	.needs = NEED_RANKS,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "in collective data calls: time from a rank's arrival until the last member's; not the time in which a member is "
		"still in the call before. In collective calls of MPI outside of I/O (with --collectives): time in which another "
		"rank is in I/O",
	.why = "the call cannot go on without all ranks; the cause is before it",
	.topic = "balance", .names_payers = true, .test = "late", .detect = detect_wait,
};

/* ---- one process does the work of a collective ---- */

/* Small data: each rank could write its own. Large data: one writer per node. */
static struct saving one_writer_saving(const struct instance_sum *s, uint64_t took, uint64_t nodes)
{
	uint64_t share = s->longest_system / s->members;

	if (s->asked / s->members < SMALL_COLLECTIVE_BYTES)
		return saving_at_most(took > share ? took - share : 0,
				      "independent calls of each rank, if its share of the system calls is all they cost");
	return saving_at_most(s->longest_system - s->longest_system / nodes,
			      "one worker for each node; 0 on one node, unknown beyond");
}

static bool first_call_reads(const struct analysis *a, const struct finding *f)
{
	const char *name = f->ncalls ? a->trace->regions.v[f->calls[0].region].name : NULL;

	return name && (strstr(name, "read") || strstr(name, "_get_"));
}

/* Large data: only where the system calls are a part of the time that counts. Small data: the exchange costs more than they do. */
static bool by_one_writer(const struct instance_sum *s, uint64_t took)
{
	if (s->members < 2 || s->workers != 1 || s->system_bytes * 2 < s->asked)
		return false;
	return s->asked / s->members < SMALL_COLLECTIVE_BYTES ? s->of_data : s->longest_system * 20 >= took;
}

static void detect_one_writer(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	uint64_t alone = 0, bytes = 0, members = 0, nodes = a->facts->nnodes ? a->facts->nnodes : 1;
	uint32_t worker = TRACE_NONE;
	struct instance_sum s;
	struct finding *f;
	char text[24], name[128];

	for (size_t i = 0, j; b && i < a->facts->instances.n; i = j) {
		uint64_t took;

		j = instance_sum(a->facts, i, &s);
		took = s.last_leave > s.last_enter ? s.last_leave - s.last_enter : 0;
		if (!by_one_writer(&s, took))
			continue;
		alone++;
		bytes += s.system_bytes;
		members += s.members;
		for (size_t k = i; k < j; k++) {
			const struct instance *x = &a->facts->instances.v[k];
			uint64_t own = took < x->leave_ns - x->enter_ns ? took : x->leave_ns - x->enter_ns;

			if (x->system_bytes)
				worker = x->location;
			builder_add(b, x->file, x->location, &(struct evidence){ 1, x->system_bytes, own, x->enter_ns, x->leave_ns,
				one_writer_saving(&s, own, nodes) });
		}
	}
	if (alone < LEAST_ALONE || bytes < a->thresholds.serial_bytes / 64) {
		builder_drop(b);
		return;
	}
	f = builder_finish(b, "%s", "");
	if (!f)
		return;
	if (bytes / members < SMALL_COLLECTIVE_BYTES)
		f->topic = first_call_reads(a, f) ? "small_reads" : "small_writes";
	words_bytes(text, sizeof(text), bytes);
	location_name(a, worker, name, sizeof(name));
	snprintf(f->evidence, sizeof(f->evidence), "in %llu collective calls only %.60s makes system calls: %s; the others wait",
		 (unsigned long long)alone, name, text);
	if (nodes < 2 && f->severity == SEVERITY_NOTE && bytes >= a->thresholds.serial_bytes)
		f->severity = SEVERITY_WARN;
}

const struct detector detector_X02 = {
	.code = "X02", .title = "one process does the system calls of a collective", .on = "POSIX below MPI-IO",
	.needs = NEED_SYSTEM | NEED_MPIIO | NEED_RANKS, .classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "in collective data calls of several ranks one process alone reads or writes the file, half of the bytes asked or "
		"more. With less than 64 KiB of each rank: at least 5 such calls for data of the program; with more: its system "
		"calls take 5 % of the time after the last arrival. A warning from serial_bytes on",
	.why = "the data of all ranks goes through one process; the hint for aggregators says how many there may be, this is how "
	       "many there are",
	.topic = "aggregators", .explains = "X19 X10 P21 P18 P22 P06 P16", .test = "one_writer", .detect = detect_one_writer,
};

/* ---- a collective call that was executed as independent calls ---- */

static void detect_collective_detect_degraded(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	struct instance_sum s;
	struct finding *f;

	for (size_t i = 0, j; b && i < a->facts->instances.n; i = j) {
		j = instance_sum(a->facts, i, &s);
		if (s.members < 2 || s.workers * 4 < s.members * 3 || !s.system_n || s.system_bytes / s.system_n >= 65536 ||
		    s.system_n < 2 * s.members)
			continue;
		for (size_t k = i; k < j; k++) {
			const struct instance *x = &a->facts->instances.v[k];

			builder_add(
				b, x->file, x->location,
				&(struct evidence){ x->system_n, x->system_bytes, x->system_ns, x->enter_ns, x->leave_ns,
						    saving_at_most(saving_larger(a,
										 &(struct removed){ a->facts->lowest, x->system_n,
												    0, x->system_ns, 0, 0 },
										 x->file, DIR_WRITE, x->system_bytes)
									   .high_ns,
								   "large requests in this trace") });
		}
	}
	f = builder_finish(b, "%s", "");
	if (f)
		snprintf(f->evidence, sizeof(f->evidence), "inside collective calls most ranks make their own small requests: %llu",
			 (unsigned long long)f->n);
}

const struct detector detector_X34 = {
	.code = "X34", .title = "a collective call is served independently", .on = "POSIX below MPI-IO",
	.needs = NEED_SYSTEM | NEED_MPIIO | NEED_RANKS, .classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "in collective data calls three quarters of the members make requests of their own, of less than 64 KiB on "
		"average and more than one each",
	.why = "the library decided against joining the ranks' data: each rank's pieces go to the file system one by one",
	.topic = "collective_buffering", .explains = "X20 X01 X10 P05 P15 P06 P16 P12", .always_explains = true, .test = "degraded",
	.detect = detect_collective_detect_degraded,
};

/* ---- ranks that are slow with equal work ---- */

static int detect_collective_ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Medians of a file's bytes and time over its users. */
static bool detect_collective_medians(const struct file_layer *f, uint64_t *bytes, uint64_t *ns)
{
	uint64_t *v = calloc(2 * f->n, sizeof(*v));

	if (!v)
		return false;
	for (size_t i = 0; i < f->n; i++) {
		v[i] = f->v[i]->dir[0].bytes + f->v[i]->dir[1].bytes;
		v[f->n + i] = f->v[i]->dir[0].ns + f->v[i]->dir[1].ns;
	}
	qsort(v, f->n, sizeof(*v), detect_collective_ascending);
	qsort(v + f->n, f->n, sizeof(*v), detect_collective_ascending);
	*bytes = v[f->n / 2];
	*ns = v[f->n + f->n / 2];
	free(v);
	return true;
}

static void detect_slow(struct analysis *a, const struct detector *d)
{
	struct builder *b = builder_new(a, d);
	struct finding *f;

	for (size_t i = 0; b && i < a->files.n; i++) {
		const struct file_layer *x = &a->files.v[i];
		uint64_t bytes, ns;

		if (x->layer != a->facts->lowest || a->facts->file_class[x->file] != FILE_DATA || x->n < 4 ||
		    !detect_collective_medians(x, &bytes, &ns) || bytes < a->thresholds.imbalance_bytes)
			continue;
		for (size_t j = 0; j < x->n; j++) {
			const struct dir_stat *r = &x->v[j]->dir[0], *w = &x->v[j]->dir[1];
			uint64_t mine = r->bytes + w->bytes, took = r->ns + w->ns;

			if (mine <= bytes + bytes / 10 && mine + bytes / 10 >= bytes && took >= 2 * ns)
				builder_add(b, x->file, x->v[j]->key.location, &(struct evidence){ r->n + w->n, mine, took,
					r->first_ns < w->first_ns ? r->first_ns : w->first_ns,
					r->last_ns > w->last_ns ? r->last_ns : w->last_ns,
					saving_at_most(took - ns, "this rank's time against the median") });
		}
	}
	f = builder_finish(b, "%s", "");
	if (f) {
		f->inferred = true;
		if (a->facts->nnodes < 2 && f->severity == SEVERITY_HIGH)
			f->severity = SEVERITY_WARN;    /* other work of the node's CPUs looks the same */
		snprintf(f->evidence, sizeof(f->evidence), "%u of the ranks of a file take twice the median time for as many bytes",
			 f->nlocations);
	}
}

const struct detector detector_X25 = {
	.code = "X25", .title = "a rank is slow with equal work", .on = "POSIX", .needs = NEED_SYSTEM | NEED_RANKS,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE),
	.when = "of at least 4 users of a data file one moves as many bytes as the median, within 10 %, in at least twice the "
		"median time; at most a warning on one node",
	.why = "its node, its path to the server, or the part of the file that it has is slower",
	.topic = "slow_rank", .test = "synthetic_slow_rank", .detect = detect_slow,
};
