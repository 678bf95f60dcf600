/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The lifetime of a model: strings, arrays, notes.
 */
#include "model/build.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRINGS_CHUNK 65536

struct model_strings {
	struct model_strings *next;
	size_t used, size;
	char text[];
};

static struct model_strings *strings_room(struct model *model, size_t len)
{
	size_t size = len > STRINGS_CHUNK ? len : STRINGS_CHUNK;
	struct model_strings *chunk = model->strings;

	if (chunk && chunk->size - chunk->used >= len)
		return chunk;
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	*chunk = (struct model_strings){ .next = model->strings, .size = size };
	model->strings = chunk;
	return chunk;
}

const char *model_string(struct model *model, const char *text, size_t len)
{
	struct model_strings *chunk = strings_room(model, len + 1);
	char *copy;

	if (!chunk)
		return NULL;
	copy = chunk->text + chunk->used;
	memcpy(copy, text, len);
	copy[len] = 0;
	model->string_bytes += len + 1;
	chunk->used += len + 1;
	return copy;
}

static const char *string_va(struct model *model, const char *format, va_list args)
{
	const char *copy;
	char *text;
	int len = vasprintf(&text, format, args);

	if (len < 0)
		return NULL;
	copy = model_string(model, text, len);
	free(text);
	return copy;
}

const char *model_stringf(struct model *model, const char *format, ...)
{
	const char *copy;
	va_list args;

	va_start(args, format);
	copy = string_va(model, format, args);
	va_end(args);
	return copy;
}

char *model_fact_text(const struct model_fact *fact)
{
	size_t len = sizeof(" | …");
	char *text;

	for (unsigned i = 0; i < fact->nvalues; i++)
		len += strlen(fact->values[i]) + 3;
	text = calloc(1, len);
	for (unsigned i = 0; text && i < fact->nvalues; i++)
		sprintf(text + strlen(text), "%s%s", i ? " | " : "", fact->values[i]);
	if (text && fact->more)
		strcat(text, " | …");
	return text;
}

void *model_grow(void **v, size_t *n, size_t *cap, size_t size)
{
	size_t wanted = *cap ? 2 * *cap : 16;
	char *grown = *v;

	if (*n == *cap) {
		grown = reallocarray(*v, wanted, size);
		if (!grown)
			return NULL;
		*v = grown;
		*cap = wanted;
	}
	memset(grown + *n * size, 0, size);
	return grown + (*n)++ * size;
}

/* There may be one line for every process: capacity is doubled whenever the number is a power of two. */
static int model_line_add(const char ***lines, size_t *n, const char *line)
{
	const char **grown = *lines;

	if (!line)
		return -ENOMEM;
	if (!(*n & (*n - 1))) {
		grown = reallocarray(*lines, *n ? 2 * *n : 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		*lines = grown;
	}
	grown[(*n)++] = line;
	return 0;
}

int model_note(struct model *model, const char *format, ...)
{
	const char *line;
	va_list args;

	va_start(args, format);
	line = string_va(model, format, args);
	va_end(args);
	return model_line_add(&model->notes, &model->nnotes, line) || model_line_add(&model->digest, &model->ndigest, line)
		       ? -ENOMEM
		       : 0;
}

int model_note_exact(struct model *model, const char *format, ...)
{
	va_list args;
	int ret;

	va_start(args, format);
	ret = model_line_add(&model->notes, &model->nnotes, string_va(model, format, args));
	va_end(args);
	return ret;
}

int model_digest(struct model *model, const char *format, ...)
{
	va_list args;
	int ret;

	va_start(args, format);
	ret = model_line_add(&model->digest, &model->ndigest, string_va(model, format, args));
	va_end(args);
	return ret;
}

void model_deinit(struct model *model)
{
	struct model_strings *next;

	for (size_t i = 0; i < model->comms.n; i++)
		free(model->comms.v[i].members);
	free(model->paradigms.v);
	free(model->groups.v);
	free(model->locations.v);
	free(model->regions.v);
	free(model->files.v);
	free(model->handles.v);
	free(model->comms.v);
	free(model->facts.v);
	free(model->shared_mounts.v);
	free(model->excluded.v);
	free(model->excluded_parts.v);
	free(model->gaps.v);
	free(model->clock_steps.v);
	free(model->processes.v);
	free(model->lifetimes.v);
	free(model->programs.v);
	free(model->code_files.v);
	free(model->mappings.v);
	free(model->contexts.v);
	free(model->code_lines.v);
	free(model->sites.v);
	free(model->names.v);
	free(model->costs.v);
	free(model->notes);
	free(model->digest);
	for (; model->strings; model->strings = next) {
		next = model->strings->next;
		free(model->strings);
	}
	memset(model, 0, sizeof(*model));
}

uint64_t model_realtime_ns(const struct model *model, uint64_t monotonic_ns)
{
	const struct model_clock *clock = &model->clock_start;

	for (size_t i = model->clock_steps.n; i > 0; i--)
		if (monotonic_ns >= model->clock_steps.v[i - 1].at.monotonic_ns) {
			clock = &model->clock_steps.v[i - 1].at;
			break;
		}
	return clock->realtime_ns + monotonic_ns - clock->monotonic_ns;
}
