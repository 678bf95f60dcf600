/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Selects the layers of a recording.
 */
#include "table/table.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Ignores case and hyphens: "MPI-IO" equals "mpiio". */
static bool select_same_name(const char *a, const char *b, size_t b_len)
{
	const char *end = b + b_len;

	for (;;) {
		while (*a && !isalnum((unsigned char)*a))
			a++;
		while (b < end && !isalnum((unsigned char)*b))
			b++;
		if (!*a || b == end)
			return !*a && b == end;
		if (tolower((unsigned char)*a++) != tolower((unsigned char)*b++))
			return false;
	}
}

/* Never recorded, but needed by all layers. */
bool table_layer_is_internal(const struct table_set *set, size_t layer)
{
	for (size_t i = 0; i < set->nrows; i++)
		if (set->rows[i].layer == layer && table_row_is_internal(&set->rows[i]))
			return true;
	return false;
}

/* Parts are selected with their layer, and not by themselves. */
static void turn_on_parts(struct table_set *set, const char *layer)
{
	for (size_t i = 0; i < set->nlayers; i++)
		if (!strcmp(set->layers[i].part_of, layer))
			set->layers[i].off = false;
}

static int unknown_layer(const struct table_set *set, const char *name, size_t len, char *err, size_t err_len)
{
	size_t at = snprintf(err, err_len, "--layers: no layer '%.*s'; the layers are", (int)len, name);

	for (size_t i = 0; i < set->nlayers && at < err_len; i++)
		if (!table_layer_is_internal(set, i) && !set->layers[i].part_of[0])
			at += snprintf(err + at, err_len - at, " %s", set->layers[i].name);
	return -EINVAL;
}

static int select_turn_on(struct table_set *set, const char *name, size_t len, char *err, size_t err_len)
{
	for (size_t i = 0; i < set->nlayers; i++) {
		if (table_layer_is_internal(set, i) || set->layers[i].part_of[0] ||
		    !select_same_name(set->layers[i].name, name, len))
			continue;
		set->layers[i].off = false;
		turn_on_parts(set, set->layers[i].name);
		return 0;
	}
	return unknown_layer(set, name, len, err, err_len);
}

/* If a layer is off, parallel handles still need its calls that create and free communicators. If only system calls are recorded,
 * no frame can be left without a return. */
static void choose_rows(struct table_set *set)
{
	bool parallel = false, libraries = false;

	for (size_t i = 0; i < set->nlayers; i++) {
		parallel |= !set->layers[i].off && set->layers[i].paradigm[0] && !set->layers[i].syscalls &&
			    !set->layers[i].per_process;
		libraries |= !set->layers[i].off && !set->layers[i].syscalls && !table_layer_is_internal(set, i);
	}
	for (size_t i = 0; i < set->nrows; i++) {
		const struct table_layer *layer = &set->layers[set->rows[i].layer];

		set->rows[i].off = table_row_is_internal(&set->rows[i]) ? !libraries :
				   layer->off && !(parallel && layer->ncomms && set->rows[i].op != OP_REGION);
	}
}

int table_set_select(struct table_set *set, const char *names, char *err, size_t err_len)
{
	int ret = 0;

	for (size_t i = 0; i < set->nlayers; i++)
		set->layers[i].off = !table_layer_is_internal(set, i);
	while (*names && !ret) {
		size_t len = strcspn(names, ",");

		ret = select_turn_on(set, names, len, err, err_len);
		names += len + (names[len] == ',');
	}
	choose_rows(set);
	return ret;
}
