/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Notes on what was not observed. The archive has one note per gap and per missing probe; in the text for users those of one kind
 * are summed up in one line at the end.
 */
#include "replay/notes.h"
#include "replay/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_SHOWN 20

/* ---- gaps ---- */

static struct gap_sum *gap_sum_get(struct replay *r, const char *layer, const char *reason)
{
	struct gap_sum *sum;

	for (size_t i = 0; i < r->gaps.n; i++)
		if (!strcmp(r->gaps.v[i].layer, layer) && !strcmp(r->gaps.v[i].reason, reason))
			return &r->gaps.v[i];
	sum = MODEL_ADD(r->gaps);
	if (!sum)
		return NULL;
	sum->layer = model_string(r->model, layer, strlen(layer));
	sum->reason = model_string(r->model, reason, strlen(reason));
	if (sum->layer && sum->reason)
		return sum;
	r->gaps.n--;
	return NULL;
}

/* A process may have several gaps of one kind. */
static int gap_process(struct replay *r, struct gap_sum *sum, uint32_t pid)
{
	uint64_t key = (uint64_t)(sum - r->gaps.v) << 32 | pid;
	struct gap_process *known;

	HASH_FIND(hh, r->gap_processes, &key, sizeof(key), known);
	if (known)
		return 0;
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->key = key;
	HASH_ADD(hh, r->gap_processes, key, sizeof(known->key), known);
	if (!hash_added(known)) {
		free(known);
		return -ENOMEM;
	}
	sum->processes++;
	return 0;
}

int note_gap_found(struct replay *r, const char *layer, uint32_t pid, uint64_t from_ns, uint64_t to_ns, const char *reason)
{
	struct gap_sum *sum = gap_sum_get(r, layer, reason);
	struct model_gap *gap;

	if (!sum || gap_process(r, sum, pid))
		return -ENOMEM;
	sum->total_ns += to_ns > from_ns ? to_ns - from_ns : 0;
	gap = MODEL_ADD(r->model->gaps);
	if (!gap)
		return -ENOMEM;
	*gap = (struct model_gap){ pid, sum->layer, sum->reason, from_ns, to_ns };
	return model_note_exact(r->model, "%s of process %u was not observed between %llu and %llu ns: %s", layer, pid,
				(unsigned long long)from_ns, (unsigned long long)to_ns, reason);
}

static int gap_digest(struct replay *r, const struct gap_sum *sum)
{
	static const struct { double ns; const char *unit; } units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } };
	size_t u = 0;

	while (u < 2 && sum->total_ns < units[u].ns)
		u++;
	return model_digest(r->model, "%s: %zu process%s, %.1f %s in all: %s", sum->layer, sum->processes,
			    sum->processes == 1 ? "" : "es", sum->total_ns / units[u].ns, units[u].unit, sum->reason);
}

/* ---- probes that are missing ---- */

static struct missing_sum *missing_sum_get(struct replay *r, const char *layer, const char *library, const char *reason)
{
	struct missing_sum *sum;

	for (size_t i = 0; i < r->missing.n; i++) {
		sum = &r->missing.v[i];
		if (!strcmp(sum->layer, layer) && !strcmp(sum->library, library) && !strcmp(sum->reason, reason))
			return sum;
	}
	sum = MODEL_ADD(r->missing);
	if (!sum)
		return NULL;
	sum->layer = model_string(r->model, layer, strlen(layer));
	sum->library = model_string(r->model, library, strlen(library));
	sum->reason = model_string(r->model, reason, strlen(reason));
	if (sum->layer && sum->library && sum->reason)
		return sum;
	r->missing.n--;
	return NULL;
}

int note_missing_found(struct replay *r, const char *layer, const char *library, const char *function, const char *reason)
{
	struct missing_sum *sum = missing_sum_get(r, layer, library, reason);
	const char **name;

	if (!sum)
		return -ENOMEM;
	for (size_t i = 0; i < sum->functions.n; i++)
		if (!strcmp(sum->functions.v[i], function))
			return 0;
	name = MODEL_ADD(sum->functions);
	if (!name)
		return -ENOMEM;
	*name = model_string(r->model, function, strlen(function));
	if (!*name) {
		sum->functions.n--;
		return -ENOMEM;
	}
	return model_note_exact(r->model, "%s: %s of %s was not probed: %s", layer, function, library, reason);
}

static char *list_functions(const struct missing_sum *sum)
{
	size_t n = sum->functions.n < FUNCTIONS_SHOWN ? sum->functions.n : FUNCTIONS_SHOWN, len;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? ", " : "", sum->functions.v[i]);
	if (n < sum->functions.n)
		fprintf(out, " and %zu more", sum->functions.n - n);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* Layer and function "*" mean all functions of the library. */
static int missing_digest(struct replay *r, const struct missing_sum *sum)
{
	const char *library = path_last(sum->library), *layer = sum->layer;
	bool any = !strcmp(layer, "*");
	char *functions;
	int ret;

	if (sum->functions.n == 1 && !strcmp(sum->functions.v[0], "*"))
		return model_digest(r->model, "%s%s%s was not probed: %s", any ? "" : layer, any ? "" : ": ", library, sum->reason);
	functions = list_functions(sum);
	if (!functions)
		return -ENOMEM;
	ret = model_digest(r->model, "%s%s%zu function%s of %s %s not probed: %s: %s", any ? "" : layer, any ? "" : ": ",
			   sum->functions.n, sum->functions.n == 1 ? "" : "s", library, sum->functions.n == 1 ? "was" : "were",
			   sum->reason, functions);
	free(functions);
	return ret;
}

/* ---- the end ---- */

int notes_finish(struct replay *r)
{
	int ret = 0;

	for (size_t i = 0; i < r->missing.n && !ret; i++)
		ret = missing_digest(r, &r->missing.v[i]);
	for (size_t i = 0; i < r->gaps.n && !ret; i++)
		ret = gap_digest(r, &r->gaps.v[i]);
	return ret;
}

void notes_free(struct replay *r)
{
	struct gap_process *known, *next;

	HASH_ITER(hh, r->gap_processes, known, next) {
		HASH_DEL(r->gap_processes, known);
		free(known);
	}
	for (size_t i = 0; i < r->missing.n; i++)
		free(r->missing.v[i].functions.v);
	free(r->missing.v);
	free(r->gaps.v);
}
