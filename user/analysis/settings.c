/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Which static facts bear on which findings, by the finding's topic.
 */
#include "analysis/settings.h"

#include <string.h>

#define MPIIO_HINTS "Implementation|Library|Library Version|Hint *|Hint in Use *"

/* Names of facts, separated by |; a name that ends with * stands for all that begin so. */
static const struct { const char *topic, *facts; } settings[] = {
	{ "aggregators", MPIIO_HINTS },
	{ "collective", MPIIO_HINTS },
	{ "collective_buffering", MPIIO_HINTS },
	{ "rmw", MPIIO_HINTS "|Chunk Shape" },
	{ "library", "Implementation|Library|Library Version" },
	{ "locks", "Implementation|Library|Library Version|Atomicity" },
	{ "chunk_cache", "Layout|Chunk Shape|Chunk Cache|Chunk Cache Slots|Filters|Deflate|Deflate Level" },
	{ "layout", "Layout|Chunk Shape|Filters" },
	{ "fill", "Fill Time|Fill Value|Fill Mode|Allocation Time" },
	{ "align", "Alignment|Alignment Threshold|Hint striping_unit" },
	{ "metadata_blocks", "Metadata Block" },
	{ "collective_metadata", "Collective Metadata Writes|Collective Metadata Reads" },
};

static const char *facts_of_topic(const char *topic)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!strcmp(settings[i].topic, topic))
			return settings[i].facts;
	return NULL;
}

/* name: "LAYER [OBJECT]: FACT". */
static bool settings_is_one_of(const char *name, const char *facts)
{
	const char *fact = NULL;

	for (const char *at = name; (at = strstr(at, ": ")); at += 2)
		fact = at + 2;
	for (; fact && *facts; facts += strcspn(facts, "|"), facts += *facts == '|') {
		size_t len = strcspn(facts, "|");

		if (facts[len - 1] == '*' ? !strncmp(fact, facts, len - 1) : strlen(fact) == len && !strncmp(fact, facts, len))
			return true;
	}
	return false;
}

size_t finding_settings(const struct analysis *a, const struct finding *f, const struct trace_fact **list, size_t max)
{
	const char *facts = f->detector->topic ? facts_of_topic(f->detector->topic) : NULL;
	size_t n = 0;

	for (size_t i = 0; facts && i < f->nfiles && i < FINDING_FILES; i++)
		for (size_t j = 0; j < a->trace->facts.n; j++) {
			const struct trace_fact *fact = &a->trace->facts.v[j];

			if (fact->file != f->files[i].file || !settings_is_one_of(fact->name, facts))
				continue;
			if (n < max)
				list[n] = fact;
			n++;
		}
	return n;
}
