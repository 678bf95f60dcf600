/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Chunks in a list, and a list of the elements that were given back.
 */
#include "util/pool.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_ELEMENTS 64

struct pool_chunk {
	struct pool_chunk *next;
	_Alignas(max_align_t) char elements[];
};
struct pool_free {
	struct pool_free *next;
};

static size_t pool_stride(const struct pool *pool)
{
	size_t least = pool->size < sizeof(struct pool_free) ? sizeof(struct pool_free) : pool->size;

	return (least + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
}

static void *pool_take_new(struct pool *pool)
{
	struct pool_chunk *chunk = pool->chunks;

	if (!pool->left) {
		chunk = malloc(sizeof(*chunk) + CHUNK_ELEMENTS * pool_stride(pool));
		if (!chunk)
			return NULL;
		chunk->next = pool->chunks;
		pool->chunks = chunk;
		pool->left = CHUNK_ELEMENTS;
	}
	return chunk->elements + pool_stride(pool) * --pool->left;
}

void *pool_take(struct pool *pool)
{
	struct pool_free *element = pool->free;

	if (element)
		pool->free = element->next;
	else
		element = pool_take_new(pool);
	return element ? memset(element, 0, pool->size) : NULL;
}

void pool_give_back(struct pool *pool, void *element)
{
	struct pool_free *given = element;

	if (!given)
		return;
	given->next = pool->free;
	pool->free = given;
}

void pool_deinit(struct pool *pool)
{
	struct pool_chunk *chunk = pool->chunks, *next;

	for (; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	*pool = (struct pool){ .size = pool->size };
}
