/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Finds the iteration that passed an id of unknown origin. The end of an iteration is not recorded (its function has no return
 * probe), but HDF5 numbers the ids of a kind in the order in which they are made, and an iteration makes its id before it calls the
 * program's function. So that id lies between the last id made before the iteration and the first one made after it began.
 * Iterations between the same two ids cannot be told apart.
 */
#include "replay/sizes/iterations.h"

#include "replay/library/handles.h"
#include "replay/sizes/hdf5_id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KINDS 2
#define SPANS_MAX 256           /* of a kind; older ones are forgotten: their ids are of unknown origin then */

/* The iterations that began between two consecutive ids of recorded calls. */
struct span {
	uint64_t after, before;         /* these ids; 0: none was made since */
	uint64_t number;                /* number of the only iteration; 0: several */
	bool taken;                     /* the only iteration has passed its id already */
	struct iterated of;
};

struct iterations {
	uint32_t tid;                   /* the only thread that made ids and iterated, 0 none yet */
	bool unordered;                 /* several threads, or an id smaller than an earlier one: the order says nothing */
	uint64_t number;                /* iterations so far */
	uint64_t last[KINDS];
	size_t n[KINDS];
	struct span *spans[KINDS];
};

static int kind_index(uint64_t id)
{
	switch (hdf5_id_kind(id)) {
	case HDF5_KIND_GROUP:
		return 0;
	case HDF5_KIND_DATASET:
		return 1;
	default:
		return -1;
	}
}

bool iterations_pass(uint64_t id)
{
	return kind_index(id) >= 0;
}

static struct iterations *iterations_of(struct thread *thread)
{
	struct iterations *all = thread->process->iterations;

	if (!all)
		all = thread->process->iterations = calloc(1, sizeof(*all));
	if (!all)
		return NULL;
	all->unordered |= all->tid && all->tid != thread->tid;
	all->tid = thread->tid;
	return all;
}

static void span_clear(struct span *span)
{
	object_release(span->of.file);
	free(span->of.inner);
	span->of = (struct iterated){ 0 };
}

static struct span *span_last(struct iterations *all, int kind)
{
	return all->n[kind] ? &all->spans[kind][all->n[kind] - 1] : NULL;
}

int iterations_made(struct thread *thread, uint64_t id)
{
	int kind = kind_index(id);
	struct iterations *all = kind < 0 ? NULL : iterations_of(thread);
	struct span *span;

	if (!all)
		return kind < 0 ? 0 : -ENOMEM;
	all->unordered |= id <= all->last[kind];
	all->last[kind] = id;
	span = span_last(all, kind);
	if (span && !span->before)
		span->before = id;
	return 0;
}

static struct span *span_add(struct iterations *all, int kind)
{
	struct span *spans = all->spans[kind];

	if (!spans)
		spans = all->spans[kind] = calloc(SPANS_MAX, sizeof(*spans));
	if (!spans)
		return NULL;
	if (all->n[kind] == SPANS_MAX) {
		for (size_t i = 0; i < SPANS_MAX / 2; i++)
			span_clear(&spans[i]);
		all->n[kind] -= SPANS_MAX / 2;
		memmove(spans, spans + SPANS_MAX / 2, all->n[kind] * sizeof(*spans));
	}
	spans[all->n[kind]] = (struct span){ .after = all->last[kind] };
	return &spans[all->n[kind]++];
}

static int span_set(struct span *span, uint64_t number, struct object *file, const char *inner)
{
	span_clear(span);
	span->number = number;
	span->taken = false;
	span->of.file = file;
	if (file)
		file->holders++;
	span->of.inner = inner ? strdup(inner) : NULL;
	return inner && !span->of.inner ? -ENOMEM : 0;
}

/* Another iteration begins in the span: keeps what both have in common. */
static void span_join(struct span *span, const struct object *file, const char *inner)
{
	span->number = 0;
	if (span->of.file != file) {
		span_clear(span);
	} else if (!inner || !span->of.inner || strcmp(inner, span->of.inner)) {
		free(span->of.inner);
		span->of.inner = NULL;
	}
}

static int begun_of_kind(struct iterations *all, int kind, struct object *file, const char *inner)
{
	struct span *span = span_last(all, kind);

	if (!span || span->after != all->last[kind])
		span = span_add(all, kind);
	else if (!span->taken) {
		span_join(span, file, inner);
		return 0;
	}
	return span ? span_set(span, all->number, file, inner) : -ENOMEM;
}

int iterations_begun(struct thread *thread, struct object *file, char *inner)
{
	struct iterations *all = iterations_of(thread);
	int ret = all ? 0 : -ENOMEM;

	if (all)
		all->number++;
	for (int kind = 0; !ret && kind < KINDS; kind++)
		ret = begun_of_kind(all, kind, file, inner);
	free(inner);
	return ret;
}

static struct span *span_find(struct iterations *all, int kind, uint64_t id)
{
	struct span *span = NULL;

	for (size_t i = all->n[kind]; i && !span; i--)
		if (all->spans[kind][i - 1].after < id)
			span = &all->spans[kind][i - 1];
	return span && (!span->before || id < span->before) ? span : NULL;
}

/* An iteration passes one id only: marks it as found, so that it gets no other. */
static void iteration_take(struct iterations *all, uint64_t number)
{
	for (int kind = 0; number && kind < KINDS; kind++)
		for (size_t i = all->n[kind]; i; i--)
			all->spans[kind][i - 1].taken |= all->spans[kind][i - 1].number == number;
}

const struct iterated *iterations_find(struct thread *thread, uint64_t id, bool *known)
{
	int kind = kind_index(id);
	struct iterations *all = kind < 0 ? NULL : thread->process->iterations;
	struct span *span;

	*known = all && !all->unordered && all->tid == thread->tid;
	span = *known ? span_find(all, kind, id) : NULL;
	if (!span || span->taken)
		return NULL;
	iteration_take(all, span->number);
	return &span->of;
}

void iterations_free(struct process *process)
{
	struct iterations *all = process->iterations;

	for (int kind = 0; all && kind < KINDS; kind++) {
		for (size_t i = 0; i < all->n[kind]; i++)
			span_clear(&all->spans[kind][i]);
		free(all->spans[kind]);
	}
	free(all);
	process->iterations = NULL;
}
