/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Records wait in chunks of memory, their keys in an array that is sorted by merging its natural runs: each ring is already in
 * order. A chunk is reused when its last record has been released, so memory is bounded by the records of a quarter of a second.
 */
#include "replay/order.h"
#include "util/hash.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (256 << 10)

struct chunk {
	struct chunk *next_free;
	size_t used, size, live;
	char room[] __attribute__((aligned(8)));
};

struct entry {
	uint64_t time_ns;
	uint32_t tid, seq;
	const struct iop_rec *rec;
	struct chunk *chunk;
};

/* The newest key of a thread. */
struct newest {
	uint32_t tid, seq;
	uint64_t time_ns;
	UT_hash_handle hh;
};

struct order {
	order_fn fn;
	void *arg;
	struct entry *v, *spare;
	size_t n, cap;
	struct chunk *chunk, *free_chunks;
	struct newest *threads, *cached;
	uint64_t released_ns, late;
};

struct order *order_create(order_fn fn, void *arg)
{
	struct order *order = calloc(1, sizeof(*order));

	if (order) {
		order->fn = fn;
		order->arg = arg;
	}
	return order;
}

static void free_threads(struct order *order)
{
	struct newest *thread, *next;

	HASH_ITER(hh, order->threads, thread, next) {
		HASH_DEL(order->threads, thread);
		free(thread);
	}
	order->cached = NULL;
}

/* A chunk is freed with the last entry that refers to it. */
static void order_release(struct order *order, struct chunk *chunk)
{
	if (--chunk->live || chunk == order->chunk)
		return;
	if (chunk->size > CHUNK_BYTES) {
		free(chunk);
		return;
	}
	chunk->used = 0;
	chunk->next_free = order->free_chunks;
	order->free_chunks = chunk;
}

void order_destroy(struct order *order)
{
	struct chunk *chunk;

	if (!order)
		return;
	for (size_t i = 0; i < order->n; i++)
		order_release(order, order->v[i].chunk);
	free(order->chunk);
	while ((chunk = order->free_chunks)) {
		order->free_chunks = chunk->next_free;
		free(chunk);
	}
	free_threads(order);
	free(order->v);
	free(order->spare);
	free(order);
}

uint64_t order_late(const struct order *order)
{
	return order->late;
}

/* ---- adding records ---- */

static struct chunk *chunk_for(struct order *order, size_t len)
{
	struct chunk *chunk = order->chunk;
	size_t size = len > CHUNK_BYTES ? len : CHUNK_BYTES;

	if (chunk && chunk->size - chunk->used >= len)
		return chunk;
	order->chunk = NULL;
	if (chunk && !chunk->live) {
		chunk->live = 1;
		order_release(order, chunk);
	}
	chunk = size == CHUNK_BYTES ? order->free_chunks : NULL;
	if (chunk)
		order->free_chunks = chunk->next_free;
	else
		chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	chunk->size = size;
	chunk->used = chunk->live = 0;
	order->chunk = chunk;
	return chunk;
}

static struct newest *newest_of(struct order *order, uint32_t tid)
{
	struct newest *thread = order->cached;

	if (thread && thread->tid == tid)
		return thread;
	HASH_FIND(hh, order->threads, &tid, sizeof(tid), thread);
	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread)
			return NULL;
		thread->tid = tid;
		HASH_ADD(hh, order->threads, tid, sizeof(tid), thread);
		if (!hash_added(thread)) {
			free(thread);
			return NULL;
		}
	}
	return order->cached = thread;
}

/* Some BPF programs read the clock first and send other records before the record with that time. */
static int key_time(struct order *order, const struct iop_rec *rec, uint64_t *time_ns)
{
	struct newest *thread;

	*time_ns = rec->time_ns;
	if (!rec->seq)
		return 0;
	thread = newest_of(order, rec->tid);
	if (!thread)
		return -ENOMEM;
	if (rec->seq == thread->seq + 1 && rec->time_ns < thread->time_ns)
		*time_ns = thread->time_ns;
	thread->seq = rec->seq;
	thread->time_ns = *time_ns;
	if (rec->type == IOP_REC_TASK_EXIT) {
		HASH_DEL(order->threads, thread);
		free(thread);
		order->cached = NULL;
	}
	return 0;
}

static int entries_room(struct order *order)
{
	size_t cap = order->cap ? 2 * order->cap : 4096;
	struct entry *v;

	if (order->n < order->cap)
		return 0;
	v = reallocarray(order->v, cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	order->v = v;
	v = reallocarray(order->spare, cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	order->spare = v;
	order->cap = cap;
	return 0;
}

int order_add(struct order *order, const struct iop_rec *rec, size_t len)
{
	size_t room = (len + 7) & ~(size_t)7;
	struct entry entry = { .tid = rec->tid, .seq = rec->seq };
	struct chunk *chunk;

	if (key_time(order, rec, &entry.time_ns) || entries_room(order))
		return -ENOMEM;
	chunk = chunk_for(order, room);
	if (!chunk)
		return -ENOMEM;
	entry.rec = memcpy(chunk->room + chunk->used, rec, len);
	entry.chunk = chunk;
	chunk->used += room;
	chunk->live++;
	order->late += entry.time_ns < order->released_ns && rec->seq;
	order->v[order->n++] = entry;
	return 0;
}

/* ---- sorting ---- */

static bool order_before(const struct entry *a, const struct entry *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	if (a->tid != b->tid)
		return a->tid < b->tid;
	return a->seq < b->seq;
}

static size_t run_end(const struct entry *v, size_t n, size_t start)
{
	size_t i = start + 1;

	while (i < n && !order_before(&v[i], &v[i - 1]))
		i++;
	return i < n ? i : n;
}

static void order_merge(struct entry *out, const struct entry *a, size_t na, const struct entry *b, size_t nb)
{
	while (na && nb) {
		if (order_before(b, a)) {
			*out++ = *b++;
			nb--;
		} else {
			*out++ = *a++;
			na--;
		}
	}
	memcpy(out, a, na * sizeof(*a));
	memcpy(out + na, b, nb * sizeof(*b));
}

/* Merges neighbouring runs into the second array. Returns the number of runs before the pass. */
static size_t merge_pass(struct order *order)
{
	size_t runs = 0, start = 0;
	struct entry *swap;

	while (start < order->n) {
		size_t middle = run_end(order->v, order->n, start);
		size_t end = middle < order->n ? run_end(order->v, order->n, middle) : middle;

		if (!start && middle == order->n)
			return 1;
		order_merge(order->spare + start, order->v + start, middle - start, order->v + middle, end - middle);
		runs += 1 + (end > middle);
		start = end;
	}
	swap = order->v;
	order->v = order->spare;
	order->spare = swap;
	return runs;
}

static int leave_until(struct order *order, uint64_t limit_ns)
{
	size_t i = 0;
	int ret = 0;

	if (!order->n)
		return 0;
	while (merge_pass(order) > 2)
		;
	for (; i < order->n && order->v[i].time_ns <= limit_ns && !ret; i++) {
		ret = order->fn(order->arg, order->v[i].rec);
		order_release(order, order->v[i].chunk);
	}
	order->n -= i;
	memmove(order->v, order->v + i, order->n * sizeof(*order->v));
	return ret;
}

int order_round(struct order *order, uint64_t time_ns)
{
	uint64_t limit_ns = time_ns > ORDER_SLACK_NS ? time_ns - ORDER_SLACK_NS : 0;

	/* Several rounds at a time: records that are kept are merged with the new ones each time. */
	if (limit_ns < order->released_ns + ORDER_SLACK_NS / 4)
		return 0;
	order->released_ns = limit_ns;
	return leave_until(order, limit_ns);
}

uint64_t order_released_ns(const struct order *order)
{
	return order->released_ns;
}

int order_finish(struct order *order)
{
	return leave_until(order, UINT64_MAX);
}
