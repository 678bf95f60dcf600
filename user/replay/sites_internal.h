/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Call sites as read by sites.c; sites_build.c converts them to contexts.
 */
#ifndef IOPROBE_REPLAY_SITES_INTERNAL_H
#define IOPROBE_REPLAY_SITES_INTERNAL_H

#include <ioprobe/sites.h>

#include "replay/sites.h"
#include "util/hash.h"

#define SITE_INLINED_MAX 16     /* frames at one address */

#define SITE_MAX_CHAIN (2 * IOP_SITE_MAX_FRAMES + IOP_PYTHON_MAX_FRAMES)

/* call: of one call, whose frames are the parent's and whose callers are in site_callers. python: image is a code object's number
 * and pc an offset in it. pair: a call's frames of machine code are the parent's, of Python code those of node pc. site: its index
 * in the model. */
struct site_node {
	uint32_t id, parent, image;
	uint64_t pc;
	enum model_callers end;
	bool call, python, entry, pair;
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
struct site_module_info {
	char *path, *build_id;
	char *no_symbols, *no_callers;  /* why not; NULL: they were read as far as needed */
	bool application;
	uint64_t python_loop, python_loop_end;
};
struct site_bytes { uint8_t *v; size_t n; uint8_t kind; };      /* kind: bytes of a character */
struct site_python_code { uint32_t id; int32_t first_line; struct site_bytes file, name, lines; UT_hash_handle hh; };
struct symbol_key { uint64_t offset; uint32_t module, pad; };
struct site_symbol_frame { char *function, *file; uint32_t line; bool symbol; };
struct site_symbol {
	struct symbol_key key;
	uint64_t address;       /* link-time, 0: not known */
	unsigned n;
	struct site_symbol_frame frames[SITE_INLINED_MAX];
	UT_hash_handle hh;
};

#define SITE_RECENT 64

struct call_sites {
	unsigned frames;        /* frames of the application; 0: none were recorded, or not known yet */
	bool host_read;
	struct site_node *nodes;
	struct site_callers *callers;
	struct site_symbol *symbols;
	struct site_python_code *python_codes;
	size_t python_bytes;
	struct site_code *code;
	size_t ncode, cap_code;
	struct site_module_info *modules;
	size_t nmodules;
	struct model_site_counts counts;
	struct { uint32_t id, site; } recent[SITE_RECENT];      /* that were looked up, by the low bits of the id; id 0: none */
};

struct site_node *call_sites_node(const struct call_sites *sites, uint32_t id);
/* ---- sites_chain.c ---- */

/* python: NULL for machine code, else pc is an offset in this code. */
struct site_frame { uint64_t pc; uint32_t image; bool entry; const struct site_python_code *python; };
struct site_chain { struct site_frame v[SITE_MAX_CHAIN]; unsigned n; enum model_callers callers; };

/* The frames of a call, innermost first. */
void call_sites_chain(const struct call_sites *sites, const struct site_node *node, struct site_chain *chain);
void call_sites_sort_code(struct call_sites *sites);    /* before these: */
/* Where a return address lies, NULL: in no file. It may lie behind the last byte. */
const struct site_code *call_sites_code(const struct call_sites *sites, uint32_t image, uint64_t pc);

/* ---- sites_python.c ---- */

struct site_python_code *call_sites_python_code(const struct call_sites *sites, uint32_t id);
int call_sites_add_python_code(struct call_sites *sites, const struct iop_rec_python_code *rec);
void call_sites_free_python_code(struct site_python_code *code);
char *call_sites_python_text(const struct site_bytes *text);    /* in UTF-8; free(). NULL: it is not known */
uint32_t call_sites_python_line(const struct site_python_code *code, uint32_t offset); /* 0: not known */
bool call_sites_python_is_application(const struct site_python_code *code);

/* ---- sites.c ---- */

struct site_symbol *call_sites_symbol(const struct call_sites *sites, uint32_t module, uint64_t offset);

#endif
