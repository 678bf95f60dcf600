/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the records of call sites: nodes of chains, callers that the agent found, code mappings, symbols.
 */
#include "replay/sites_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MODULE (1u << 16)

/* ---- tables ---- */

struct site_node *call_sites_node(const struct call_sites *sites, uint32_t id)
{
	struct site_node *node;

	HASH_FIND(hh, sites->nodes, &id, sizeof(id), node);
	return node;
}

struct site_symbol *call_sites_symbol(const struct call_sites *sites, uint32_t module, uint64_t offset)
{
	struct symbol_key key = { offset, module, 0 };
	struct site_symbol *symbol;

	HASH_FIND(hh, sites->symbols, &key, sizeof(key), symbol);
	return symbol;
}

/* A parent's number is smaller than its children's: so chains end, even in a damaged spool. */
static int sites_add_node(struct call_sites *sites, const struct iop_rec_site *rec)
{
	struct site_node *node;

	if (!rec->id || rec->id > IOP_SITE_MAX_ID || rec->parent >= rec->id ||
	    ((rec->flags & IOP_SITE_PAIR) && rec->pc >= rec->id) || call_sites_node(sites, rec->id))
		return 0;
	node = calloc(1, sizeof(*node));
	if (!node)
		return -ENOMEM;
	*node = (struct site_node){ .id = rec->id, .parent = rec->parent, .pc = rec->pc, .image = rec->image, .site = REF_NONE,
				    .call = rec->flags & IOP_SITE_CALL, .python = rec->flags & IOP_SITE_PYTHON,
				    .entry = rec->flags & IOP_SITE_ENTRY, .pair = rec->flags & IOP_SITE_PAIR };
	node->end = rec->flags & IOP_SITE_TRUNCATED ? CALLERS_TRUNCATED
		    : rec->flags & IOP_SITE_WHOLE   ? CALLERS_WHOLE
						    : CALLERS_UNKNOWN;
	HASH_ADD(hh, sites->nodes, id, sizeof(node->id), node);
	if (hash_added(node))
		return 0;
	free(node);
	return -ENOMEM;
}

static bool sites_number(const struct iop_rec_text *rec, const char *key, int base, uint64_t *value)
{
	char text[32], *end;

	if (!text_value(rec, key, text, sizeof(text)))
		return false;
	*value = strtoull(text, &end, base);
	return end != text && !*end;
}

static enum model_callers end_of(const struct iop_rec_text *rec)
{
	char text[16] = "";

	text_value(rec, "end", text, sizeof(text));
	return !strcmp(text, "whole") ? CALLERS_WHOLE : !strcmp(text, "truncated") ? CALLERS_TRUNCATED : CALLERS_UNKNOWN;
}

/* The record may come before or after the record of its site. */
static int add_callers(struct call_sites *sites, const struct iop_rec_text *rec)
{
	struct site_callers *callers = calloc(1, sizeof(*callers));
	char text[IOP_SITE_MAX_FRAMES * 18 + 2] = "", *at = text, *end;
	uint64_t id = 0;

	if (!callers)
		return -ENOMEM;
	sites_number(rec, "site", 10, &id);
	text_value(rec, "callers", text, sizeof(text));
	callers->id = id;
	callers->end = end_of(rec);
	for (; callers->n < IOP_SITE_MAX_FRAMES && *at; at = *end == ',' ? end + 1 : end) {
		callers->pc[callers->n] = strtoull(at, &end, 16);
		if (end == at)
			break;
		callers->n++;
	}
	HASH_ADD(hh, sites->callers, id, sizeof(callers->id), callers);
	if (hash_added(callers))
		return 0;
	free(callers);
	return -ENOMEM;
}

/* ---- code ---- */

static char *sites_copy_text(const struct iop_rec_text *rec, const char *key)
{
	char text[4096];

	return text_value(rec, key, text, sizeof(text)) ? strdup(text) : NULL;
}

static void read_python_loop(const struct iop_rec_text *rec, struct site_module_info *module)
{
	unsigned long long begin, end;
	char text[64];

	if (!text_value(rec, "python_loop", text, sizeof(text)) || sscanf(text, "%llx-%llx", &begin, &end) != 2)
		return;
	module->python_loop = begin;
	module->python_loop_end = end;
}

static int set_module(struct call_sites *sites, uint32_t number, const struct iop_rec_text *rec)
{
	struct site_module_info *grown;
	char flag[4] = "";

	if (number >= sites->nmodules) {
		grown = reallocarray(sites->modules, number + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + sites->nmodules, 0, (number + 1 - sites->nmodules) * sizeof(*grown));
		sites->modules = grown;
		sites->nmodules = number + 1;
	}
	if (sites->modules[number].path)
		return 0;
	text_value(rec, "application", flag, sizeof(flag));
	sites->modules[number] = (struct site_module_info){ .path = sites_copy_text(rec, "path"),
							    .build_id = sites_copy_text(rec, "build_id"),
							    .application = flag[0] == '1' };
	read_python_loop(rec, &sites->modules[number]);
	return 0;
}

static int add_code(struct call_sites *sites, const struct iop_rec_text *rec)
{
	uint64_t image, module;
	struct site_code code, *grown;
	int err;

	if (!sites_number(rec, "image", 10, &image) || !sites_number(rec, "module", 10, &module) ||
	    !sites_number(rec, "start", 16, &code.start) || !sites_number(rec, "end", 16, &code.end) ||
	    !sites_number(rec, "offset", 16, &code.offset) || module >= MAX_MODULE)
		return 0;
	code.image = image;
	code.module = module;
	err = set_module(sites, module, rec);
	if (err)
		return err;
	if (sites->ncode == sites->cap_code) {
		size_t cap = sites->cap_code ? 2 * sites->cap_code : 64;

		grown = reallocarray(sites->code, cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		sites->code = grown;
		sites->cap_code = cap;
	}
	sites->code[sites->ncode++] = code;
	return 0;
}

/* ---- symbols ---- */

static char *numbered_text(const struct iop_rec_text *rec, const char *key, unsigned i)
{
	char name[32];
	char *text;

	snprintf(name, sizeof(name), "%s%u", key, i);
	text = sites_copy_text(rec, name);
	if (text && !*text) {
		free(text);
		text = NULL;
	}
	return text;
}

static bool read_frame(const struct iop_rec_text *rec, unsigned i, struct site_symbol_frame *frame)
{
	char name[32], flag[4] = "";
	uint64_t line = 0;

	snprintf(name, sizeof(name), "line%u", i);
	if (!sites_number(rec, name, 10, &line))
		return false;
	snprintf(name, sizeof(name), "symbol%u", i);
	text_value(rec, name, flag, sizeof(flag));
	*frame = (struct site_symbol_frame){ .function = numbered_text(rec, "function", i), .file = numbered_text(rec, "file", i),
					     .line = line, .symbol = flag[0] == '1' };
	return true;
}

static void replace_text(char **text, char *with)
{
	free(*text);
	*text = with;
}

/* Notes why a file's symbols or unwind tables could not be read. */
static void read_failure(struct site_module_info *module, const struct iop_rec_text *rec)
{
	char *no_symbols = sites_copy_text(rec, "unreadable"), *no_callers = sites_copy_text(rec, "no_callers");

	if (no_symbols)
		replace_text(&module->no_symbols, no_symbols);
	if (no_callers)
		replace_text(&module->no_callers, no_callers);
}

static int sites_add_symbol(struct call_sites *sites, const struct iop_rec_text *rec)
{
	struct site_symbol *symbol;
	uint64_t module, offset, address = 0;

	if (!sites_number(rec, "module", 10, &module) || module >= sites->nmodules)
		return 0;
	if (!sites_number(rec, "offset", 16, &offset)) {
		read_failure(&sites->modules[module], rec);
		return 0;
	}
	replace_text(&sites->modules[module].no_symbols, NULL);         /* ioprobe symbolize has read it since */
	if (call_sites_symbol(sites, module, offset))
		return 0;
	symbol = calloc(1, sizeof(*symbol));
	if (!symbol)
		return -ENOMEM;
	symbol->key = (struct symbol_key){ offset, module, 0 };
	sites_number(rec, "address", 16, &address);
	symbol->address = address;
	while (symbol->n < SITE_INLINED_MAX && read_frame(rec, symbol->n, &symbol->frames[symbol->n]))
		symbol->n++;
	HASH_ADD(hh, sites->symbols, key, sizeof(symbol->key), symbol);
	if (hash_added(symbol))
		return 0;
	free(symbol);
	return -ENOMEM;
}

/* ---- reading ---- */

static void read_counts(struct call_sites *sites, const struct iop_rec_text *rec)
{
	struct model_site_counts *counts = &sites->counts;

	sites_number(rec, "sites_full", 10, &counts->full);
	sites_number(rec, "sites_unasked", 10, &counts->unasked);
	sites_number(rec, "sites_unread", 10, &counts->unread);
	sites_number(rec, "sites_no_image", 10, &counts->no_image);
	sites_number(rec, "sites_no_python", 10, &counts->no_python);
	sites_number(rec, "sites_gone", 10, &counts->gone);
	sites_number(rec, "sites_no_file", 10, &counts->no_file);
	sites_number(rec, "sites_unreadable", 10, &counts->unreadable);
}

static int read_record(struct call_sites *sites, const struct iop_rec *rec)
{
	switch (rec->type) {
	case IOP_REC_SITE: return sites_add_node(sites, (const void *)rec);
	case IOP_REC_PYTHON_CODE: return call_sites_add_python_code(sites, (const void *)rec);
	case IOP_REC_CODE: return add_code(sites, (const void *)rec);
	case IOP_REC_CALLERS: return add_callers(sites, (const void *)rec);
	case IOP_REC_SYMBOL: return sites_add_symbol(sites, (const void *)rec);
	case IOP_REC_END: read_counts(sites, (const void *)rec); return 0;
	default: return 0;
	}
}

static void read_host(struct call_sites *sites, const struct iop_rec *rec)
{
	uint64_t frames = 0;

	sites_number((const void *)rec, "call_sites", 10, &frames);
	sites->frames = frames > IOP_SITE_MAX_FRAMES ? IOP_SITE_MAX_FRAMES : frames;
	sites->host_read = true;
}

struct call_sites *call_sites_create(void)
{
	return calloc(1, sizeof(struct call_sites));
}

static bool sites_not_recorded(const struct call_sites *sites)
{
	return sites->host_read && !sites->frames;
}

/* HOST is the first record that is written; records in the file's head may come before it. */
int call_sites_add(struct call_sites *sites, const struct iop_rec *rec)
{
	if (rec->type == IOP_REC_HOST)
		read_host(sites, rec);
	return sites_not_recorded(sites) ? 0 : read_record(sites, rec);
}

bool call_sites_were_recorded(const struct call_sites *sites)
{
	return sites->frames;
}

int call_sites_read(struct call_sites **out, struct spool_reader *spool)
{
	struct call_sites *sites = call_sites_create();
	const struct iop_rec *rec;
	int err = 0;
	size_t len;

	*out = NULL;
	if (!sites)
		return -ENOMEM;
	while (!err && !sites_not_recorded(sites) && spool_reader_next(spool, &rec, &len) == 1)
		err = call_sites_add(sites, rec);
	if (err || !sites->frames)
		call_sites_destroy(sites);
	else
		*out = sites;
	return err;
}

static void free_symbol(struct site_symbol *symbol)
{
	for (unsigned i = 0; i < symbol->n; i++) {
		free(symbol->frames[i].function);
		free(symbol->frames[i].file);
	}
	free(symbol);
}

static void forget_symbol(struct call_sites *sites, const struct iop_rec_text *rec)
{
	struct site_symbol *symbol;
	uint64_t module, offset;

	if (!sites_number(rec, "module", 10, &module) || !sites_number(rec, "offset", 16, &offset))
		return;
	symbol = call_sites_symbol(sites, module, offset);
	if (!symbol)
		return;
	HASH_DEL(sites->symbols, symbol);
	free_symbol(symbol);
}

int call_sites_read_symbols(struct call_sites *sites, struct spool_reader *symbols)
{
	const struct iop_rec *rec;
	int err = 0;
	size_t len;

	while (!err && spool_reader_next(symbols, &rec, &len) == 1) {
		if (rec->type != IOP_REC_SYMBOL)
			continue;
		forget_symbol(sites, (const void *)rec);
		err = sites_add_symbol(sites, (const void *)rec);
	}
	return err;
}

static int by_module(const void *a, const void *b)
{
	const struct call_site_place *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

struct call_site_place *call_sites_places(const struct call_sites *sites, size_t *n)
{
	struct call_site_place *places = calloc(HASH_COUNT(sites->symbols) + 1, sizeof(*places));

	*n = 0;
	for (const struct site_symbol *symbol = sites->symbols; symbol && places; symbol = symbol->hh.next) {
		const struct site_module_info *module =
			symbol->key.module < sites->nmodules ? &sites->modules[symbol->key.module] : NULL;

		if (!module || !module->path)
			continue;
		places[(*n)++] = (struct call_site_place){ module->path, module->build_id, symbol->key.module, symbol->key.offset,
							   symbol->address, symbol->n && symbol->frames[0].line };
	}
	if (places)
		qsort(places, *n, sizeof(*places), by_module);
	return places;
}

#define FREE_ALL(head, type, free_one) do { \
	struct type *element_, *next_; \
	HASH_ITER(hh, head, element_, next_) { \
		HASH_DEL(head, element_); \
		free_one(element_); \
	} \
} while (0)

void call_sites_destroy(struct call_sites *sites)
{
	if (!sites)
		return;
	FREE_ALL(sites->nodes, site_node, free);
	FREE_ALL(sites->callers, site_callers, free);
	FREE_ALL(sites->symbols, site_symbol, free_symbol);
	FREE_ALL(sites->python_codes, site_python_code, call_sites_free_python_code);
	for (size_t i = 0; i < sites->nmodules; i++) {
		free(sites->modules[i].path);
		free(sites->modules[i].build_id);
		free(sites->modules[i].no_symbols);
		free(sites->modules[i].no_callers);
	}
	free(sites->modules);
	free(sites->code);
	free(sites);
}

uint32_t call_sites_lookup(struct call_sites *sites, const struct iop_rec_call *rec)
{
	uint32_t id = rec->site[0] | rec->site[1] << 8 | rec->site[2] << 16, at = id % SITE_RECENT;
	const struct site_node *node;

	if (!sites || !id)
		return REF_NONE;
	if (sites->recent[at].id != id) {
		node = call_sites_node(sites, id);
		sites->recent[at].id = id;
		sites->recent[at].site = node ? node->site : REF_NONE;
	}
	return sites->recent[at].site;
}
