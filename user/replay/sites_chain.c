/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One call's frames: those of machine code, and those of Python code in the places of the interpreter's loop, which ran them.
 */
#include "replay/sites_internal.h"

#include <stdlib.h>

/* ---- where an address is ---- */

static int sites_chain_by_address(const void *a, const void *b)
{
	const struct site_code *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

void call_sites_sort_code(struct call_sites *sites)
{
	if (sites->ncode)
		qsort(sites->code, sites->ncode, sizeof(*sites->code), sites_chain_by_address);
}

const struct site_code *call_sites_code(const struct call_sites *sites, uint32_t image, uint64_t pc)
{
	size_t low = 0, high = sites->ncode;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct site_code *code = &sites->code[middle];

		if (code->image < image || (code->image == image && code->end < pc))
			low = middle + 1;
		else
			high = middle;
	}
	return low < sites->ncode && sites->code[low].image == image && sites->code[low].start < pc ? &sites->code[low] : NULL;
}

static const struct site_module_info *sites_chain_module_of(const struct call_sites *sites, const struct site_frame *frame,
							    uint64_t *offset)
{
	const struct site_code *code = call_sites_code(sites, frame->image, frame->pc);

	if (!code)
		return NULL;
	*offset = code->offset + (frame->pc - code->start);
	return &sites->modules[code->module];
}

static bool runs_python(const struct call_sites *sites, const struct site_frame *frame)
{
	uint64_t offset;
	const struct site_module_info *module = sites_chain_module_of(sites, frame, &offset);

	return module && offset > module->python_loop && offset <= module->python_loop_end;
}

static bool is_application(const struct call_sites *sites, const struct site_frame *frame)
{
	uint64_t offset;
	const struct site_module_info *module;

	if (frame->python)
		return call_sites_python_is_application(frame->python);
	module = sites_chain_module_of(sites, frame, &offset);
	return module && module->application;
}

/* ---- both chains by themselves ---- */

/* A part of a chain, innermost frame first. */
struct part { struct site_frame v[SITE_MAX_CHAIN]; unsigned n; enum model_callers end; };

static void sites_chain_append(struct part *part, struct site_frame frame)
{
	if (part->n < SITE_MAX_CHAIN)
		part->v[part->n++] = frame;
}

static void sites_chain_reverse(struct part *part)
{
	for (unsigned i = 0; i < part->n / 2; i++) {
		struct site_frame other = part->v[i];

		part->v[i] = part->v[part->n - 1 - i];
		part->v[part->n - 1 - i] = other;
	}
}

/* A node's parent is the frame that called it. */
static void read_python(const struct call_sites *sites, const struct site_node *node, struct part *part)
{
	static const struct site_python_code lost;      /* its records */
	const struct site_python_code *code;

	part->end = CALLERS_UNKNOWN;
	for (; node && node->python; node = call_sites_node(sites, node->parent)) {
		code = call_sites_python_code(sites, node->image);
		sites_chain_append(part,
				   (struct site_frame){ .pc = node->pc, .entry = node->entry, .python = code ? code : &lost });
		part->end = node->end;
	}
}

/* A node's parent is the frame that it called. */
static void read_machine_code(const struct call_sites *sites, const struct site_node *node, struct part *part)
{
	const struct site_node *leaf = node && node->call ? call_sites_node(sites, node->parent) : node;
	const struct site_callers *callers = NULL;

	part->end = leaf ? leaf->end : CALLERS_UNKNOWN;
	if (node && node->call) {
		HASH_FIND(hh, sites->callers, &node->id, sizeof(node->id), callers);
		part->end = callers ? callers->end : CALLERS_UNKNOWN;
	}
	for (; leaf; leaf = call_sites_node(sites, leaf->parent))
		sites_chain_append(part, (struct site_frame){ .pc = leaf->pc, .image = leaf->image });
	sites_chain_reverse(part);
	for (unsigned i = 0; callers && i < callers->n; i++)
		sites_chain_append(part, (struct site_frame){ .pc = callers->pc[i], .image = node->image });
}

/* ---- together ---- */

static enum model_callers sites_chain_worse(enum model_callers a, enum model_callers b)
{
	if (a == CALLERS_UNKNOWN || b == CALLERS_UNKNOWN)
		return CALLERS_UNKNOWN;
	return a == CALLERS_TRUNCATED ? a : b;
}

/* Returns false when the chain has as many frames of the application as are wanted. */
static bool sites_chain_add(const struct call_sites *sites, struct site_chain *chain, const struct site_frame *frame,
			    unsigned *application)
{
	if (chain->n == SITE_MAX_CHAIN) {
		chain->callers = CALLERS_TRUNCATED;
		return false;
	}
	chain->v[chain->n++] = *frame;
	*application += is_application(sites, frame);
	if (*application < sites->frames)
		return true;
	chain->callers = CALLERS_WHOLE;
	return false;
}

/* Those that one run of the interpreter's loop has run. */
static bool add_run(const struct call_sites *sites, struct site_chain *chain, const struct part *python, unsigned *at,
		    unsigned *application)
{
	bool entry = false;

	while (*at < python->n && !entry) {
		entry = python->v[*at].entry;
		if (!sites_chain_add(sites, chain, &python->v[(*at)++], application))
			return false;
	}
	return true;
}

/* Where the frames of machine code are not known to their end, those of Python that are left follow: their order is right. */
static void put_together(const struct call_sites *sites, const struct part *machine, const struct part *python,
			 struct site_chain *chain)
{
	unsigned application = 0, at = 0;
	bool more = true;

	chain->callers = sites_chain_worse(machine->end, python->end);
	for (unsigned i = 0; i < machine->n && more; i++) {
		bool loop = runs_python(sites, &machine->v[i]);

		if (loop && at == python->n && python->end == CALLERS_WHOLE)
			chain->callers = CALLERS_UNKNOWN;       /* the frames that it ran were not found */
		more = loop && at < python->n ? add_run(sites, chain, python, &at, &application) :
						sites_chain_add(sites, chain, &machine->v[i], &application);
	}
	while (more && at < python->n)
		more = add_run(sites, chain, python, &at, &application);
}

void call_sites_chain(const struct call_sites *sites, const struct site_node *node, struct site_chain *chain)
{
	static _Thread_local struct part machine, python;

	machine.n = python.n = chain->n = 0;
	python.end = CALLERS_WHOLE;
	if (node->pair) {
		read_python(sites, call_sites_node(sites, node->pc), &python);
		node = call_sites_node(sites, node->parent);
	}
	read_machine_code(sites, node, &machine);
	put_together(sites, &machine, &python, chain);
}
