/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The tables of an interval are emptied with it, so memory does not grow with the recording.
 */
#include "stream/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

static size_t limit_of(const struct sums *sums)
{
	return sums->limit ? sums->limit : SUMS_NAMES;
}

static void add_counts(struct summary_counts *to, const struct summary_counts *from)
{
	for (size_t i = 0; i < SUMMARY_NCOUNTS; i++)
		((uint64_t *)to)[i] += ((const uint64_t *)from)[i];
}

/* ---- layers ---- */

static int grow_others(struct sums *s)
{
	uint64_t *ns = reallocarray(s->other_process_ns, s->nlayers + 1, sizeof(*ns));
	struct summary_counts *counts;

	if (!ns)
		return -ENOMEM;
	s->other_process_ns = ns;
	counts = reallocarray(s->other_files_by_layer, s->nlayers + 1, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	s->other_files_by_layer = counts;
	ns[s->nlayers] = 0;
	counts[s->nlayers] = (struct summary_counts){ 0 };
	return 0;
}

/* Returns the layer's index; UINT32_MAX without memory. There are few: those of the probe tables. */
static uint32_t sums_layer_of(struct sums *s, const char *name)
{
	struct sums_layer *grown;

	for (size_t i = 0; i < s->nlayers; i++)
		if (!strncmp(s->layers[i].name, name, sizeof(s->layers[i].name) - 1))
			return i;
	grown = reallocarray(s->layers, s->nlayers + 1, sizeof(*grown));
	if (!grown)
		return UINT32_MAX;
	s->layers = grown;
	if (grow_others(s))
		return UINT32_MAX;
	grown[s->nlayers] = (struct sums_layer){ 0 };
	snprintf(grown[s->nlayers].name, sizeof(grown->name), "%s", name);
	return s->nlayers++;
}

static int sums_add_earlier(struct sums *s, uint64_t interval, uint32_t layer, uint64_t time_ns)
{
	for (size_t i = 0; i < s->nearlier; i++)
		if (s->earlier[i].interval == interval && s->earlier[i].layer == layer) {
			s->earlier[i].time_ns += time_ns;
			return 0;
		}
	if (s->nearlier == s->cap_earlier) {
		size_t cap = s->cap_earlier ? 2 * s->cap_earlier : 16;
		struct sums_earlier *grown = reallocarray(s->earlier, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->earlier = grown;
		s->cap_earlier = cap;
	}
	s->earlier[s->nearlier++] = (struct sums_earlier){ interval, layer, time_ns };
	return 0;
}

/* ---- names ---- */

/* *process NULL: beyond the limit on names. */
static int sums_process_of(struct sums *s, const struct live_process *p, struct sums_process **process)
{
	struct sums_process *known;

	HASH_FIND(hh, s->processes, &p->id, sizeof(p->id), known);
	*process = known;
	if (known || HASH_COUNT(s->processes) >= limit_of(s))
		return 0;
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->id = p->id;
	known->rank = p->rank;
	known->name = utf8_printable(p->name ? p->name : "(unknown)");
	if (known->name) {
		HASH_ADD(hh, s->processes, id, sizeof(known->id), known);
		if (hash_added(known)) {
			*process = known;
			return 0;
		}
	}
	free(known->name);
	free(known);
	return -ENOMEM;
}

/* *file NULL: beyond the limit on names. */
static int sums_file_of(struct sums *s, const struct live_file *f, struct sums_file **file)
{
	struct sums_file *known;

	HASH_FIND(hh, s->files, &f->id, sizeof(f->id), known);
	*file = known;
	if (known || HASH_COUNT(s->files) >= limit_of(s))
		return 0;
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->id = f->id;
	known->path = utf8_printable(f->path ? f->path : "(unknown)");
	if (known->path) {
		HASH_ADD(hh, s->files, id, sizeof(known->id), known);
		if (hash_added(known)) {
			*file = known;
			return 0;
		}
	}
	free(known->path);
	free(known);
	return -ENOMEM;
}

/* Returns the counts for this layer; NULL without memory. */
static struct summary_counts *counts_of(struct summary_counts **by_layer, size_t *n, uint32_t layer)
{
	struct summary_counts *grown;

	if (layer < *n)
		return &(*by_layer)[layer];
	grown = reallocarray(*by_layer, layer + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + *n, 0, (layer + 1 - *n) * sizeof(*grown));
	*by_layer = grown;
	*n = layer + 1;
	return &grown[layer];
}

/* Returns NULL without memory. */
static struct sums_mount *sums_mount_of(struct sums *s, const struct live_file *f)
{
	const char *mount = f->special ? "pipes and sockets" : f->mount_point ? f->mount_point : "(unknown)";
	char *name = utf8_printable(mount);
	struct sums_mount *grown;

	for (size_t i = 0; i < s->nmounts && name; i++)
		if (!strcmp(s->mounts[i].name, name)) {
			free(name);
			return &s->mounts[i];
		}
	if (name && s->nmounts >= SUMS_MOUNTS && strcmp(name, "others")) {
		free(name);
		return sums_mount_of(s, &(struct live_file){ .mount_point = "others" });
	}
	grown = name ? reallocarray(s->mounts, s->nmounts + 1, sizeof(*grown)) : NULL;
	if (!grown) {
		free(name);
		return NULL;
	}
	s->mounts = grown;
	grown[s->nmounts] = (struct sums_mount){ .name = name };
	return &grown[s->nmounts++];
}

static int add_to_mount(struct sums *s, const struct live_operations *o, uint32_t layer)
{
	struct sums_mount *mount = sums_mount_of(s, o->file);
	size_t before = mount ? mount->nlayers : 0;
	struct summary_counts *counts = mount ? counts_of(&mount->by_layer, &mount->nlayers, layer) : NULL;
	uint64_t *calls;

	if (!counts)
		return -ENOMEM;
	if (mount->nlayers > before) {
		calls = reallocarray(mount->metadata_calls, mount->nlayers, sizeof(*calls));
		if (!calls)
			return -ENOMEM;
		memset(calls + before, 0, (mount->nlayers - before) * sizeof(*calls));
		mount->metadata_calls = calls;
	}
	add_counts(counts, &o->added->counts);
	mount->metadata_calls[layer] += o->added->classes[MODEL_CLASS_METADATA].calls;
	return 0;
}

/* ---- rows ---- */

int sums_add_calls(struct sums *s, const struct live_interval *interval, const struct live_calls *c)
{
	uint32_t layer = sums_layer_of(s, c->layer);
	struct sums_process *process;

	if (layer == UINT32_MAX)
		return -ENOMEM;
	if (c->interval != interval->number)
		return sums_add_earlier(s, c->interval, layer, c->added->time_ns);
	summary_calls_add(&s->layers[layer].calls, c->added);
	if (sums_process_of(s, c->process, &process))
		return -ENOMEM;
	if (!process) {
		s->other_processes++;
		s->other_process_ns[layer] += c->added->time_ns;
		return 0;
	}
	process->calls += c->added->calls;
	if (c->added->time_ns > process->time_ns)
		process->time_ns = c->added->time_ns;
	return 0;
}

int sums_add_operations(struct sums *s, const struct live_interval *interval, const struct live_operations *o)
{
	uint32_t layer = sums_layer_of(s, o->layer);
	struct summary_counts *counts;
	struct sums_file *file;

	if (layer == UINT32_MAX)
		return -ENOMEM;
	if (o->interval != interval->number)
		return 0; /* only time, which is also in the rows of calls */
	add_counts(&s->layers[layer].counts, &o->added->counts);
	if (add_to_mount(s, o, layer))
		return -ENOMEM;
	if (o->file->special)
		return 0;
	if (sums_file_of(s, o->file, &file))
		return -ENOMEM;
	s->other_files += !file;
	counts = file ? counts_of(&file->by_layer, &file->nlayers, layer) : &s->other_files_by_layer[layer];
	if (!counts)
		return -ENOMEM;
	add_counts(counts, &o->added->counts);
	return 0;
}

void sums_add_gap(struct sums *s, const struct live_gap *gap)
{
	s->gaps++;
	s->gap_ns += gap->end_ns > gap->begin_ns ? gap->end_ns - gap->begin_ns : 0;
}

void sums_add_skipped(struct sums *s, const struct live_skipped *skipped)
{
	s->skipped += skipped->calls;
}

void sums_add_clock_step(struct sums *s)
{
	s->clock_steps++;
}

/* ---- the interval ---- */

static uint32_t sums_busiest(const struct summary_counts *counts, size_t n)
{
	uint32_t best = UINT32_MAX;

	for (size_t i = 0; i < n; i++)
		if ((counts[i].time_ns || counts[i].reads || counts[i].writes) &&
		    (best == UINT32_MAX || counts[i].time_ns > counts[best].time_ns))
			best = i;
	return best;
}

uint32_t sums_mount_layer(const struct sums_mount *mount)
{
	return sums_busiest(mount->by_layer, mount->nlayers);
}

uint32_t sums_file_layer(const struct sums_file *file)
{
	return sums_busiest(file->by_layer, file->nlayers);
}

uint32_t sums_other_files_layer(const struct sums *s)
{
	return sums_busiest(s->other_files_by_layer, s->other_files ? s->nlayers : 0);
}

uint64_t sums_other_process_ns(const struct sums *s)
{
	uint64_t most = 0;

	for (size_t i = 0; i < s->nlayers; i++)
		most = s->other_process_ns[i] > most ? s->other_process_ns[i] : most;
	return most;
}

static int processes_by_time(const void *a, const void *b)
{
	const struct sums_process *x = *(void *const *)a, *y = *(void *const *)b;

	return x->time_ns != y->time_ns ? x->time_ns < y->time_ns ? 1 : -1 : x->id < y->id ? -1 : x->id > y->id;
}

static uint64_t file_ns(const struct sums_file *file)
{
	uint32_t layer = sums_file_layer(file);

	return layer == UINT32_MAX ? 0 : file->by_layer[layer].time_ns;
}

static int files_by_time(const void *a, const void *b)
{
	const struct sums_file *x = *(void *const *)a, *y = *(void *const *)b;
	uint64_t x_ns = file_ns(x), y_ns = file_ns(y);

	return x_ns != y_ns ? x_ns < y_ns ? 1 : -1 : x->id < y->id ? -1 : x->id > y->id;
}

const struct sums_process **sums_processes(const struct sums *s, size_t n, size_t *found)
{
	const struct sums_process **v = calloc(HASH_COUNT(s->processes) + 1, sizeof(*v));

	*found = 0;
	for (const struct sums_process *p = s->processes; p && v; p = p->hh.next)
		v[(*found)++] = p;
	if (v)
		qsort(v, *found, sizeof(*v), processes_by_time);
	*found = *found < n ? *found : n;
	return v;
}

const struct sums_file **sums_files(const struct sums *s, size_t n, size_t *found)
{
	const struct sums_file **v = calloc(HASH_COUNT(s->files) + 1, sizeof(*v));

	*found = 0;
	for (const struct sums_file *f = s->files; f && v; f = f->hh.next)
		if (sums_file_layer(f) != UINT32_MAX)
			v[(*found)++] = f;
	if (v)
		qsort(v, *found, sizeof(*v), files_by_time);
	*found = *found < n ? *found : n;
	return v;
}

void sums_clear(struct sums *s)
{
	struct sums_process *p, *next_process;
	struct sums_file *f, *next_file;

	HASH_ITER(hh, s->processes, p, next_process) {
		HASH_DEL(s->processes, p);
		free(p->name);
		free(p);
	}
	HASH_ITER(hh, s->files, f, next_file) {
		HASH_DEL(s->files, f);
		free(f->path);
		free(f->by_layer);
		free(f);
	}
	for (size_t i = 0; i < s->nlayers; i++) {
		s->layers[i].calls = (struct summary_calls){ 0 };
		s->layers[i].counts = (struct summary_counts){ 0 };
		s->other_process_ns[i] = 0;
		s->other_files_by_layer[i] = (struct summary_counts){ 0 };
	}
	for (size_t i = 0; i < s->nmounts; i++)
		for (size_t k = 0; k < s->mounts[i].nlayers; k++) {
			s->mounts[i].by_layer[k] = (struct summary_counts){ 0 };
			s->mounts[i].metadata_calls[k] = 0;
		}
	s->other_processes = s->other_files = 0;
	s->gaps = s->gap_ns = s->skipped = s->clock_steps = 0;
	s->nearlier = 0;
}

void sums_deinit(struct sums *s)
{
	sums_clear(s);
	for (size_t i = 0; i < s->nmounts; i++) {
		free(s->mounts[i].name);
		free(s->mounts[i].by_layer);
		free(s->mounts[i].metadata_calls);
	}
	free(s->mounts);
	free(s->layers);
	free(s->other_process_ns);
	free(s->other_files_by_layer);
	free(s->earlier);
	*s = (struct sums){ 0 };
}
