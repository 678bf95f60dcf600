/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads probes/known.layers, which is a part of the program, once.
 */
#include "table/known_layers.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "known_layers_text.h"

#define MOST 32                 /* lines; a unit test reads all of them */

struct known_line { char property[16], layer[32]; const char *values; size_t len; };

static struct known_line known_lines[MOST];
static size_t known_n;
static pthread_once_t known_once = PTHREAD_ONCE_INIT;

static void known_lines_read(void)
{
	for (const char *at = known_layers_text, *end; (end = strchr(at, '\n')); at = end + 1) {
		struct known_line *line = &known_lines[known_n];
		int begin = 0;

		if (*at == '#' || at == end || known_n == MOST ||
		    sscanf(at, "%15s %31s%n", line->property, line->layer, &begin) < 2)
			continue;
		line->values = at + begin;
		line->len = end - line->values;
		known_n++;
	}
}

/* Returns the line of this property whose pattern is the layer's name, or else fits it; NULL: none. */
static const struct known_line *known_line_find(const char *property, const char *layer)
{
	const struct known_line *fits = NULL;

	pthread_once(&known_once, known_lines_read);
	for (size_t i = 0; i < known_n; i++) {
		const struct known_line *line = &known_lines[i];

		if (strcmp(line->property, property))
			continue;
		if (!strcmp(line->layer, layer))
			return line;
		if (!fits && strchr(line->layer, '*') && !fnmatch(line->layer, layer, 0))
			fits = line;
	}
	return fits;
}

int known_layer_place(const char *layer)
{
	const struct known_line *line = known_line_find("place", layer);

	return line ? atoi(line->values) : 0;
}

bool known_layer_is_mpi(const char *layer)
{
	return known_line_find("mpi", layer);
}

bool known_layer_has_addresses(const char *layer)
{
	return known_line_find("addresses", layer);
}

size_t known_layer_driver(const char *layer, const char *name, size_t len)
{
	const struct known_line *line = known_line_find("drivers", layer);
	const char *colon = line ? memchr(name, ':', len) : NULL;
	size_t n = colon ? (size_t)(colon - name) : 0;

	if (n && memchr(name, ' ', n))
		return 0;
	for (size_t i = 0; n && i + n < line->len; i++)
		if (line->values[i] == ' ' && !memcmp(line->values + i + 1, name, n) &&
		    (i + 1 + n == line->len || line->values[i + 1 + n] == ' '))
			return n + 1 < len ? n + 1 : 0;
	return 0;
}
