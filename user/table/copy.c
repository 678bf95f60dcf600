/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Copies of a set of tables, on which the parser works.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table/parser.h"

static void *copy_array(const void *array, size_t n, size_t size, int *ret)
{
	void *copy = n ? malloc(parser_room(n) * size) : NULL;

	if (n && !copy)
		*ret = -ENOMEM;
	else if (n)
		memcpy(copy, array, n * size);
	return copy;
}

static int copy_layer(struct table_layer *dst, const struct table_layer *src)
{
	int ret = 0;

	*dst = *src;
	dst->libraries = copy_array(src->libraries, src->nlibraries, sizeof(*src->libraries), &ret);
	dst->flags = copy_array(src->flags, src->nflags, sizeof(*src->flags), &ret);
	dst->comms = copy_array(src->comms, src->ncomms, sizeof(*src->comms), &ret);
	dst->streams = copy_array(src->streams, src->nstreams, sizeof(*src->streams), &ret);
	dst->abi = copy_array(src->abi, src->nabi, sizeof(*src->abi), &ret);
	dst->types = copy_array(src->types, src->ntypes, sizeof(*src->types), &ret);
	dst->facts = copy_array(src->facts, src->nfacts, sizeof(*src->facts), &ret);
	dst->items = copy_array(src->items, src->nitems, sizeof(*src->items), &ret);
	return ret;
}

static int copy_layers(struct table_set *dst, const struct table_set *src)
{
	int ret = 0;

	dst->layers = src->nlayers ? calloc(parser_room(src->nlayers), sizeof(*src->layers)) : NULL;
	if (src->nlayers && !dst->layers)
		return -ENOMEM;
	dst->nlayers = src->nlayers;
	for (size_t i = 0; i < src->nlayers; i++)
		if (copy_layer(&dst->layers[i], &src->layers[i]))
			ret = -ENOMEM;
	return ret;
}

int parser_begin_copy(struct table_set *copy, struct table_set *set)
{
	table_set_init(copy);
	copy->rows = set->rows;
	copy->nrows = set->nrows;
	set->rows = NULL;
	return copy_layers(copy, set);
}

void parser_undo_copy(struct table_set *copy, struct table_set *set)
{
	set->rows = copy->rows;
	copy->rows = NULL;
	table_set_deinit(copy);
}

int parser_copy_set(struct table_set *dst, const struct table_set *src)
{
	int ret = 0;

	table_set_init(dst);
	dst->rows = copy_array(src->rows, src->nrows, sizeof(*src->rows), &ret);
	dst->nrows = src->nrows;
	return copy_layers(dst, src) ?: ret;
}
