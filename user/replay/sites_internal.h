/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Call sites as they were read (sites.c), from which contexts are made (sites_build.c).
 */
#ifndef IOPROBE_REPLAY_SITES_INTERNAL_H
#define IOPROBE_REPLAY_SITES_INTERNAL_H

#include <ioprobe/sites.h>

#include "replay/sites.h"
#include "util/hash.h"

#define SITE_INLINED_MAX 16     /* frames at one place */

/* call: of one call, whose frames are the parent's and whose callers are in site_callers. site: its index in the model. */
struct site_node {
	uint32_t id, parent, image;
	uint64_t pc;
	enum model_callers end;
	bool call;
	uint32_t site;
	UT_hash_handle hh;
};
struct site_callers {
	uint32_t id;
	enum model_callers end;
	unsigned n;
	uint64_t pc[IOP_SITE_MAX_FRAMES];
	UT_hash_handle hh;
};
struct site_code { uint32_t image, module; uint64_t start, end, offset; };
struct site_module_info { char *path; bool application; };
struct symbol_key { uint64_t offset; uint32_t module, pad; };
struct site_symbol_frame { char *function, *file; uint32_t line; bool symbol; };
struct site_symbol {
	struct symbol_key key;
	unsigned n;
	struct site_symbol_frame frames[SITE_INLINED_MAX];
	UT_hash_handle hh;
};

struct call_sites {
	unsigned frames;        /* of the application */
	struct site_node *nodes;
	struct site_callers *callers;
	struct site_symbol *symbols;
	struct site_code *code;
	size_t ncode, cap_code;
	struct site_module_info *modules;
	size_t nmodules;
	struct model_site_counts counts;
};

struct site_node *call_sites_node(const struct call_sites *sites, uint32_t id);
struct site_symbol *call_sites_symbol(const struct call_sites *sites, uint32_t module, uint64_t offset);

#endif
