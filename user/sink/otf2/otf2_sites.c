/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Call sites: two attributes on the Enter of an outermost call, which refer to definitions of lines and calling contexts.
 * CallingContextEnter events exclude Enter events in a trace (OTF2_Events.h), so those are not used.
 */
#include "sink/otf2/otf2_definitions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

/* Refs are assigned in the order of first use, like those of regions. */
static int refs_init(struct otf2_refs *refs, size_t n)
{
	if (refs->ref || !n)
		return 0;
	refs->ref = malloc(n * sizeof(*refs->ref));
	refs->v = malloc(n * sizeof(*refs->v));
	if (!refs->ref || !refs->v)
		return -ENOMEM;
	memset(refs->ref, 0xff, n * sizeof(*refs->ref));
	return 0;
}

static uint32_t ref_of(struct otf2_refs *refs, uint32_t index)
{
	if (refs->ref[index] == REF_NONE) {
		refs->v[refs->n] = index;
		refs->ref[index] = refs->n++;
	}
	return refs->ref[index];
}

/* A parent's ref is smaller than its child's. */
static uint32_t context_ref(struct otf2_sink *s, const struct model *model, uint32_t context)
{
	uint32_t outer[OTF2_MAX_CONTEXTS], n = 0;

	for (uint32_t c = context; c != REF_NONE && n < OTF2_MAX_CONTEXTS && s->contexts.ref[c] == REF_NONE;
	     c = model->contexts.v[c].parent)
		outer[n++] = c;
	while (n-- > 0) {
		uint32_t line = model->contexts.v[outer[n]].line;

		ref_of(&s->contexts, outer[n]);
		if (line != REF_NONE)
			ref_of(&s->lines, line);
	}
	return s->contexts.ref[context];
}

int otf2_sites_add(struct otf2_sink *s, const struct model *model, uint32_t site)
{
	const struct model_site *where;
	uint32_t line, context;

	if (!site || site > model->sites.n)
		return 0;
	where = &model->sites.v[site - 1];
	if (refs_init(&s->contexts, model->contexts.n) || refs_init(&s->lines, model->code_lines.n))
		return -ENOMEM;
	context = context_ref(s, model, where->context);
	line = where->application == REF_NONE ? REF_NONE : model->contexts.v[where->application].line;
	otf2_writer_site(s->writer, context, line == REF_NONE ? REF_NONE : ref_of(&s->lines, line));
	return 0;
}

/* ---- definitions ---- */

struct function_key { const char *function, *file; uint64_t offset; };
struct function_entry { struct function_key key; uint32_t ref; UT_hash_handle hh; };

static OTF2_StringRef otf2_sites_function_name(struct definitions *d, const struct model_context *c)
{
	const char *slash = c->module ? strrchr(c->module, '/') : NULL;
	char place[512];

	if (c->function)
		return otf2_string_ref(d, c->function);
	snprintf(place, sizeof(place), "%s%s0x%llx", c->module ? slash ? slash + 1 : c->module : "", c->module ? "+" : "",
		 (unsigned long long)c->offset);
	return otf2_string_ref(d, place);
}

/* Functions of the program are regions to which no event refers; their refs follow those of regions with events. Functions with the
 * same name in different files are distinct. If the name is unknown the address is used as name. */
static uint32_t define_function(struct definitions *d, struct function_entry **known, const struct model_context *c)
{
	const char *file = c->line == REF_NONE ? c->module : d->model->code_lines.v[c->line].file;
	struct function_key key = { c->function, file, c->function ? 0 : c->offset };
	OTF2_StringRef name = otf2_sites_function_name(d, c), path = otf2_string_ref(d, file ? file : ""),
		       empty = otf2_string_ref(d, "");
	struct function_entry *entry;

	HASH_FIND(hh, *known, &key, sizeof(key), entry);
	if (entry)
		return entry->ref;
	entry = calloc(1, sizeof(*entry));
	if (entry) {
		entry->key = key;
		entry->ref = d->sink->nregions + HASH_COUNT(*known);
		HASH_ADD(hh, *known, key, sizeof(entry->key), entry);
	}
	if (!entry || !hash_added(entry)) {
		free(entry);
		d->code = OTF2_ERROR_ENOMEM;
		return REF_NONE;
	}
	DEFINE(d, Region, entry->ref, name, name, empty, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER, OTF2_REGION_FLAG_NONE,
	       path, 0, 0);
	return entry->ref;
}

/* Regions are written before the definitions that refer to them. */
void otf2_define_contexts(struct definitions *d)
{
	const struct otf2_sink *s = d->sink;
	struct function_entry *known = NULL, *entry, *next;
	uint32_t *regions = calloc(s->contexts.n + 1, sizeof(*regions));

	if (!regions)
		d->code = OTF2_ERROR_ENOMEM;
	for (uint32_t i = 0; i < s->contexts.n && d->code == OTF2_SUCCESS; i++)
		regions[i] = define_function(d, &known, &d->model->contexts.v[s->contexts.v[i]]);
	for (uint32_t i = 0; i < s->lines.n; i++) {
		const struct model_code_line *line = &d->model->code_lines.v[s->lines.v[i]];
		OTF2_StringRef file = otf2_string_ref(d, line->file);

		DEFINE(d, SourceCodeLocation, i, file, line->line);
	}
	for (uint32_t i = 0; i < s->contexts.n && d->code == OTF2_SUCCESS; i++) {
		const struct model_context *c = &d->model->contexts.v[s->contexts.v[i]];

		DEFINE(d, CallingContext, i, regions[i],
		       c->line == REF_NONE ? OTF2_UNDEFINED_SOURCE_CODE_LOCATION : s->lines.ref[c->line],
		       c->parent == REF_NONE ? OTF2_UNDEFINED_CALLING_CONTEXT : s->contexts.ref[c->parent]);
	}
	free(regions);
	HASH_ITER(hh, known, entry, next) {
		HASH_DEL(known, entry);
		free(entry);
	}
}

void otf2_sites_deinit(struct otf2_sink *s)
{
	free(s->contexts.ref);
	free(s->contexts.v);
	free(s->lines.ref);
	free(s->lines.v);
}
