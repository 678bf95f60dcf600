/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Combines evidence of many files and locations to one finding: its cost is that of the location with the highest cost, never a sum
 * over ranks.
 */
#include "analysis/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LITTLE_PART 10          /* names_payers: who pays less than a tenth of what the first one pays is not named */

struct builder {
	struct analysis *a;
	const struct detector *detector;
	struct evidence *locations;     /* a saving is unknown */
	TRACE_ARRAY(struct finding_file, files);
	TRACE_ARRAY(const struct call_stat *,
		    calls); /* those that the evidence is of; none: those of the detector's classes on the files */
	uint64_t n, bytes, begin_ns, end_ns;
	bool unknown;                   /* a saving is not known */
};

const char *severity_name(enum severity severity)
{
	static const char *const names[] = { "note", "warn", "high" };

	return names[severity];
}

/* ---- collecting evidence ---- */

struct builder *builder_new(struct analysis *a, const struct detector *d)
{
	struct builder *b = calloc(1, sizeof(*b));

	if (b)
		b->locations = calloc(a->trace->locations.n + 1, sizeof(*b->locations));
	if (!b || !b->locations) {
		a->failed = true;
		free(b);
		return NULL;
	}
	b->a = a;
	b->detector = d;
	b->begin_ns = UINT64_MAX;
	return b;
}

void builder_drop(struct builder *b)
{
	if (!b)
		return;
	free(b->locations);
	free(b->files.v);
	free(b->calls.v);
	free(b);
}

static void finding_add_file(struct builder *b, uint32_t file, const struct evidence *e)
{
	struct finding_file *f =
		b->files.n && b->files.v[b->files.n - 1].file == file ? &b->files.v[b->files.n - 1] : TRACE_ADD(b->files);

	if (!f) {
		b->a->failed = true;
		return;
	}
	f->file = file;
	f->n += e->n;
	f->bytes += e->bytes;
	f->ns += e->ns;
}

void builder_add(struct builder *b, uint32_t file, uint32_t location, const struct evidence *e)
{
	struct evidence *at = &b->locations[location];

	if (!e->n)
		return;
	b->n += e->n;
	b->bytes += e->bytes;
	b->unknown |= !e->saving.known;
	if (e->end_ns && e->begin_ns < b->begin_ns)
		b->begin_ns = e->begin_ns;
	if (e->end_ns > b->end_ns)
		b->end_ns = e->end_ns;
	at->n += e->n;
	at->bytes += e->bytes;
	at->ns += e->ns;
	at->saving.low_ns += e->saving.known ? e->saving.low_ns : 0;
	at->saving.high_ns += e->saving.known ? e->saving.high_ns : e->ns;
	at->saving.basis = e->saving.basis;
	if (file != TRACE_NONE)
		finding_add_file(b, file, e);
}

void builder_add_call(struct builder *b, const struct call_stat *c)
{
	const struct call_stat **slot = TRACE_ADD(b->calls);

	b->a->failed |= !slot;
	if (slot)
		*slot = c;
}

/* ---- the finding ---- */

static uint64_t finding_middle(const struct saving *s)
{
	return s->low_ns / 2 + s->high_ns / 2;
}

/* By the saving, not by the cost: time that cannot be saved is no reason to act. */
static enum severity finding_judge(const struct analysis *a, const struct finding *f)
{
	const struct thresholds *t = &a->thresholds;
	double wall = location_wall_ns(a, f->location) / 1e9, saved = finding_middle(&f->saving) / 1e9;

	if (saved < t->least_seconds)
		return SEVERITY_NOTE;
	if (saved >= t->high_seconds || (wall > 0 && saved >= t->high_share * wall))
		return SEVERITY_HIGH;
	return saved >= t->warn_seconds || (wall > 0 && saved >= t->warn_share * wall) ? SEVERITY_WARN : SEVERITY_NOTE;
}

static int finding_more_time(const void *a, const void *b)
{
	const struct finding_file *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static void take_files(struct builder *b, struct finding *f)
{
	if (b->files.n)
		qsort(b->files.v, b->files.n, sizeof(*b->files.v), finding_more_time);
	f->nfiles = b->files.n;
	for (size_t i = 0; i < b->files.n && i < FINDING_FILES; i++)
		f->files[i] = b->files.v[i];
}

static void take_locations(struct builder *b, struct finding *f)
{
	uint64_t most = 0;

	f->location = TRACE_NONE;
	f->locations = calloc(b->a->trace->locations.n + 1, sizeof(*f->locations));
	for (uint32_t i = 0; f->locations && i < b->a->trace->locations.n; i++) {
		const struct evidence *e = &b->locations[i];

		if (!e->n)
			continue;
		if (f->location == TRACE_NONE || e->ns > most) {
			most = e->ns;
			f->location = i;
			f->saving = e->saving;
		}
	}
	b->a->failed |= !f->locations;
	for (uint32_t i = 0; f->locations && i < b->a->trace->locations.n; i++)
		if (b->locations[i].n && (!b->detector->names_payers || b->locations[i].ns >= most / LITTLE_PART))
			f->locations[f->nlocations++] = i;
	f->cost_ns = most;
	f->saving.known = !b->unknown;
	if (f->saving.low_ns > f->saving.high_ns)
		f->saving.low_ns = f->saving.high_ns;
}

static bool finding_names_file(const struct finding *f, uint32_t file)
{
	for (size_t i = 0; i < f->nfiles && i < FINDING_FILES; i++)
		if (f->files[i].file == file)
			return true;
	return !f->nfiles;
}

static void finding_add_call(struct finding *f, const struct call_stat *c)
{
	struct finding_call new = { c->key.region, c->key.site, c->outer_n, c->outer_ns };
	unsigned at = 0;

	for (unsigned i = 0; i < f->ncalls; i++)
		if (f->calls[i].region == new.region && f->calls[i].site == new.site) {
			new.n += f->calls[i].n;
			new.ns += f->calls[i].ns;
			memmove(&f->calls[i], &f->calls[i + 1], (f->ncalls - i - 1) * sizeof(*f->calls));
			f->ncalls--;
			break;
		}
	while (at < f->ncalls && f->calls[at].ns >= new.ns)
		at++;
	if (at == FINDING_CALLS)
		return;
	if (f->ncalls == FINDING_CALLS)
		f->ncalls--;
	memmove(&f->calls[at + 1], &f->calls[at], (f->ncalls - at) * sizeof(*f->calls));
	f->calls[at] = new;
	f->ncalls++;
}

/* Collects the program's own calls on those files, on the rank with the highest cost. */
static void finding_take_calls(struct builder *b, struct finding *f)
{
	const struct facts *facts = b->a->facts;

	for (size_t i = 0; i < b->calls.n; i++)
		if (b->calls.v[i]->key.location == f->location)
			finding_add_call(f, b->calls.v[i]);
	for (size_t i = 0; i < facts->calls.n && !b->calls.n; i++) {
		const struct call_stat *c = facts->calls.v[i];

		if (c->outer_n && c->key.location == f->location && CLASS_BIT(c->class) & b->detector->classes &&
		    finding_names_file(f, c->key.file) && c->key.region != TRACE_NONE)
			finding_add_call(f, c);
	}
}

struct finding *builder_finish(struct builder *b, const char *format, ...)
{
	struct finding *f, **slot;
	va_list ap;

	if (!b)
		return NULL;
	f = b->n ? calloc(1, sizeof(*f)) : NULL;
	slot = f ? TRACE_ADD(b->a->findings) : NULL;
	if (b->n && !slot) {
		b->a->failed = true;
		free(f);
		f = NULL;
	}
	if (f) {
		*slot = f;
		f->detector = b->detector;
		f->topic = b->detector->topic;
		f->n = b->n;
		f->bytes = b->bytes;
		f->begin_ns = b->begin_ns == UINT64_MAX ? 0 : b->begin_ns;
		f->end_ns = b->end_ns;
		take_files(b, f);
		take_locations(b, f);
		finding_take_calls(b, f);
		f->severity = finding_judge(b->a, f);
		va_start(ap, format);
		vsnprintf(f->evidence, sizeof(f->evidence), format, ap);
		va_end(ap);
	}
	builder_drop(b);
	return f;
}

/* ---- order ---- */

static bool finding_lists(const char *codes, const char *code)
{
	size_t len = strlen(code);

	for (const char *at = codes; at && *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (!strncmp(at, code, len) && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

static bool share_file(const struct finding *x, const struct finding *y)
{
	for (size_t i = 0; i < x->nfiles && i < FINDING_FILES; i++)
		if (y->nfiles && finding_names_file(y, x->files[i].file))
			return true;
	return !x->nfiles || !y->nfiles;
}

/* A cheap cause does not explain an expensive effect, unless both concern the same bytes. */
static bool finding_explains(const struct finding *cause, const struct finding *effect)
{
	const struct detector *d = cause->detector;

	return d->explains && finding_lists(d->explains, effect->detector->code) && share_file(cause, effect) &&
	       (cause->severity >= effect->severity ||
		(d->always_explains && (cause->severity > SEVERITY_NOTE || cause->bytes * 2 >= effect->bytes)));
}

static void set_causes(struct analysis *a)
{
	for (size_t i = 0; i < a->findings.n; i++)
		for (size_t j = 0; j < a->findings.n; j++) {
			struct finding *cause = a->findings.v[i], *effect = a->findings.v[j];

			if (i != j && !effect->cause && cause->cause != effect && finding_explains(cause, effect))
				effect->cause = cause;
		}
}

static int finding_worse(const void *a, const void *b)
{
	const struct finding *x = *(struct finding *const *)a, *y = *(struct finding *const *)b;

	if (!x->cause != !y->cause)
		return x->cause ? 1 : -1;
	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	if (x->detector->info != y->detector->info)
		return x->detector->info ? 1 : -1;
	if (x->cost_ns != y->cost_ns)
		return x->cost_ns > y->cost_ns ? -1 : 1;
	return strcmp(x->detector->code, y->detector->code);
}

void findings_rank(struct analysis *a)
{
	set_causes(a);
	if (a->findings.n)
		qsort(a->findings.v, a->findings.n, sizeof(*a->findings.v), finding_worse);
}

static int finding_by_rank(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The ranks in ascending order, which need not be that of the archive's locations; to be freed. */
static int64_t *finding_ranks_of(const struct analysis *a, const struct finding *f, size_t *n)
{
	int64_t *ranks = calloc(f->nlocations + 1, sizeof(*ranks));

	*n = 0;
	for (uint32_t i = 0; ranks && i < f->nlocations; i++) {
		int64_t rank = location_rank(a, f->locations[i]);

		if (rank >= 0)
			ranks[(*n)++] = rank;
	}
	if (*n)
		qsort(ranks, *n, sizeof(*ranks), finding_by_rank);
	return ranks;
}

void finding_ranks(const struct analysis *a, const struct finding *f, char *text, size_t len)
{
	size_t used = 0, n, next;
	int64_t *ranks = finding_ranks_of(a, f, &n);

	text[0] = 0;
	for (size_t i = 0; i < n && used + 32 < len; i = next) {
		int64_t last = ranks[i];

		for (next = i + 1; next < n && ranks[next] <= last + 1; next++)
			last = ranks[next];
		used += snprintf(text + used, len - used, last > ranks[i] ? "%s%lld-%lld" : "%s%lld", used ? "," : "",
				 (long long)ranks[i], (long long)last);
	}
	if (used + 32 >= len)
		snprintf(text + used, len - used, ",...");
	free(ranks);
	if (!text[0] && f->location != TRACE_NONE)
		location_name(a, f->location, text, len);
}
