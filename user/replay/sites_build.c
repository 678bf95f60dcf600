/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Converts chains of addresses to chains of functions and lines, without duplicates: ranks that run the same program share them.
 */
#include "replay/sites_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/build.h"
#include "symbol/demangle.h"

#define LOOKED_THROUGH_SOURCE "/usr/include/"   /* functions inlined from library headers do not belong to the application */
#define FAILURES_SHOWN 8

struct known_text { const char *text; UT_hash_handle hh; };
struct line_key { const char *file; uint64_t line; };
struct known_line { struct line_key key; uint32_t ref; UT_hash_handle hh; };
struct context_key { const char *function, *module; uint64_t offset; uint32_t parent, line; };
struct known_context { struct context_key key; uint32_t ref; UT_hash_handle hh; };
struct site_key { uint32_t context, callers; };
struct known_site { struct site_key key; uint32_t ref; UT_hash_handle hh; };

/* Strings are interned in the model, so that their addresses can be compared. */
struct build {
	struct model *model;
	struct call_sites *sites;
	struct known_text *texts;
	struct known_line *lines;
	struct known_context *contexts;
	struct known_site *known_sites;
	bool failed;                    /* out of memory */
};

/* ---- interning ---- */

static const char *text_once(struct build *b, const char *text)
{
	size_t len = strlen(text);
	struct known_text *known;

	HASH_FIND(hh, b->texts, text, len, known);
	if (known)
		return known->text;
	known = calloc(1, sizeof(*known));
	if (known)
		known->text = model_string(b->model, text, len);
	if (!known || !known->text) {
		free(known);
		b->failed = true;
		return NULL;
	}
	HASH_ADD_KEYPTR(hh, b->texts, known->text, len, known);
	b->failed |= !hash_added(known);
	return known->text;
}

static uint32_t line_once(struct build *b, const char *file, uint32_t number)
{
	struct line_key key = { file, number };
	struct model_code_line *line;
	struct known_line *known;

	if (!file || !number)
		return REF_NONE;
	HASH_FIND(hh, b->lines, &key, sizeof(key), known);
	if (known)
		return known->ref;
	known = calloc(1, sizeof(*known));
	line = known ? MODEL_ADD(b->model->code_lines) : NULL;
	if (!line) {
		free(known);
		b->failed = true;
		return REF_NONE;
	}
	*line = (struct model_code_line){ file, number };
	known->key = key;
	known->ref = b->model->code_lines.n - 1;
	HASH_ADD(hh, b->lines, key, sizeof(known->key), known);
	b->failed |= !hash_added(known);
	return known->ref;
}

static uint32_t context_once(struct build *b, const struct model_context *wanted)
{
	struct context_key key;
	struct model_context *context;
	struct known_context *known;

	memset(&key, 0, sizeof(key));
	key = (struct context_key){ wanted->function, wanted->module, wanted->offset, wanted->parent, wanted->line };
	HASH_FIND(hh, b->contexts, &key, sizeof(key), known);
	if (known)
		return known->ref;
	known = calloc(1, sizeof(*known));
	context = known ? MODEL_ADD(b->model->contexts) : NULL;
	if (!context) {
		free(known);
		b->failed = true;
		return REF_NONE;
	}
	*context = *wanted;
	known->key = key;
	known->ref = b->model->contexts.n - 1;
	HASH_ADD(hh, b->contexts, key, sizeof(known->key), known);
	b->failed |= !hash_added(known);
	return known->ref;
}

/* ---- one address ---- */

static const char *sites_build_function_name(struct build *b, const struct site_symbol_frame *frame)
{
	char *name = frame->function && frame->symbol ? symbol_demangle(frame->function) : NULL;
	const char *text = frame->function ? text_once(b, name ? name : frame->function) : NULL;

	free(name);
	return text;
}

/* Adds the frames at one address below their caller: inlined functions come last. */
static uint32_t sites_build_add_symbol(struct build *b, uint32_t parent, const struct site_symbol *symbol,
				       const struct site_module_info *module, uint64_t offset)
{
	for (unsigned i = symbol->n; i-- > 0;) {
		const struct site_symbol_frame *frame = &symbol->frames[i];
		struct model_context context = { .parent = parent,
						 .function = sites_build_function_name(b, frame),
						 .offset = offset };

		context.module = module->path ? text_once(b, module->path) : NULL;
		context.line = line_once(b, frame->file ? text_once(b, frame->file) : NULL, frame->line);
		context.application = module->application &&
				      !(frame->file && !strncmp(frame->file, LOOKED_THROUGH_SOURCE, strlen(LOOKED_THROUGH_SOURCE)));
		if (context.function && context.line != REF_NONE)
			context.offset = 0;     /* several addresses of one line are one context */
		parent = context_once(b, &context);
	}
	return parent;
}

static uint32_t add_address(struct build *b, uint32_t parent, uint32_t image, uint64_t pc)
{
	struct model_context context = { .parent = parent, .line = REF_NONE, .offset = pc };
	const struct site_code *code = call_sites_code(b->sites, image, pc);
	const struct site_module_info *module;
	const struct site_symbol *symbol;
	uint64_t offset;

	if (!pc)
		return parent;          /* the bottom of a coroutine's stack */
	if (!code)
		return context_once(b, &context);
	module = &b->sites->modules[code->module];
	offset = code->offset + (pc - code->start);
	symbol = call_sites_symbol(b->sites, code->module, offset);
	if (symbol && symbol->n)
		return sites_build_add_symbol(b, parent, symbol, module, offset);
	context.module = module->path ? text_once(b, module->path) : NULL;
	context.offset = offset;
	context.application = module->application;
	return context_once(b, &context);
}

/* ---- one site ---- */

static uint32_t innermost_of_application(const struct model *model, uint32_t context)
{
	while (context != REF_NONE && !model->contexts.v[context].application)
		context = model->contexts.v[context].parent;
	return context;
}

static uint32_t site_once(struct build *b, uint32_t context, enum model_callers callers)
{
	struct site_key key = { context, callers };
	struct known_site *known;
	struct model_site *site;

	HASH_FIND(hh, b->known_sites, &key, sizeof(key), known);
	if (known)
		return known->ref;
	known = calloc(1, sizeof(*known));
	site = known ? MODEL_ADD(b->model->sites) : NULL;
	if (!site) {
		free(known);
		b->failed = true;
		return REF_NONE;
	}
	*site = (struct model_site){ context, innermost_of_application(b->model, context), callers };
	known->key = key;
	known->ref = b->model->sites.n - 1;
	HASH_ADD(hh, b->known_sites, key, sizeof(known->key), known);
	b->failed |= !hash_added(known);
	return known->ref;
}

/* A line of Python code; the code object may have been lost. */
static uint32_t add_python(struct build *b, uint32_t parent, const struct site_frame *frame)
{
	struct model_context context = { .parent = parent,
					 .line = REF_NONE,
					 .application = call_sites_python_is_application(frame->python) };
	char *file = call_sites_python_text(&frame->python->file), *name = call_sites_python_text(&frame->python->name);
	uint32_t number = call_sites_python_line(frame->python, frame->pc);

	context.function = name ? text_once(b, name) : NULL;
	context.module = file ? text_once(b, file) : NULL;
	context.line = line_once(b, context.module, number);
	context.offset = number ? 0 : frame->pc;
	free(file);
	free(name);
	return context_once(b, &context);
}

/* From the outermost function inwards: a context's parent is the frame that called it. */
static void build_site(struct build *b, struct site_node *node)
{
	static _Thread_local struct site_chain chain;
	uint32_t context = REF_NONE;

	call_sites_chain(b->sites, node, &chain);
	for (unsigned i = chain.n; i-- > 0;)
		context = chain.v[i].python ? add_python(b, context, &chain.v[i]) :
					      add_address(b, context, chain.v[i].image, chain.v[i].pc);
	if (context != REF_NONE)
		node->site = site_once(b, context, chain.callers);
}

/* The agent's answer shows where a chain ends, for all calls from there. */
static void mark_ends(struct call_sites *sites)
{
	for (const struct site_callers *callers = sites->callers; callers; callers = callers->hh.next) {
		const struct site_node *call = callers->n ? NULL : call_sites_node(sites, callers->id);
		struct site_node *node = call ? call_sites_node(sites, call->parent) : NULL;

		if (node && node->end == CALLERS_UNKNOWN)
			node->end = callers->end;
	}
}

/* Reports why files could not be read, for the first FAILURES_SHOWN of them: without a parser process all fail. */
static int digest_failures(const struct call_sites *sites, struct model *model)
{
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < sites->nmodules && !err; i++) {
		const struct site_module_info *module = &sites->modules[i];

		if (!module->path || (!module->no_callers && !module->no_symbols) || ++n > FAILURES_SHOWN)
			continue;
		if (module->no_callers)
			err = model_digest(model, "call sites: the callers of functions of %s are not all known: %s", module->path,
					   module->no_callers);
		if (module->no_symbols && !err)
			err = model_digest(model, "call sites: functions and lines of %s are not all known: %s", module->path,
					   module->no_symbols);
	}
	if (n > FAILURES_SHOWN && !err)
		err = model_digest(model, "call sites: %zu more files could not be read", n - FAILURES_SHOWN);
	return err;
}

#define FREE_ALL(head, type) do { \
	struct type *element_, *next_; \
	HASH_ITER(hh, head, element_, next_) { \
		HASH_DEL(head, element_); \
		free(element_); \
	} \
} while (0)

int call_sites_build(struct call_sites *sites, struct model *model)
{
	struct build build = { .model = model, .sites = sites };

	model->call_sites = sites->frames;
	model->site_counts = sites->counts;
	mark_ends(sites);
	call_sites_sort_code(sites);
	for (struct site_node *node = sites->nodes; node && !build.failed; node = node->hh.next)
		build_site(&build, node);
	model->site_string_bytes = model->string_bytes;
	build.failed |= !!digest_failures(sites, model);
	FREE_ALL(build.texts, known_text);
	FREE_ALL(build.lines, known_line);
	FREE_ALL(build.contexts, known_context);
	FREE_ALL(build.known_sites, known_site);
	return build.failed ? -ENOMEM : 0;
}
