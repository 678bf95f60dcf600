/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Texts of Python's code objects are known, those of machine code are not: for them there is a lump sum. Records of other rings
 * may come late: a frame whose caller, or whose code object, is not known yet has the lump sum, too. While the agent finds the
 * callers of a place, each call from there has a number of its own; nearly all of them have the same callers, so that only the
 * first counts. The others count with what the agent notes of them.
 */
#include "capture/site_sizes.h"

#include <ioprobe/sites.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NODE_BYTES 250          /* definitions: up to three functions at an address, with their lines */
#define ROW_BYTES 700           /* of the summary: numbers, a process, a path */
#define FRAME_BYTES 200         /* besides its texts: function, file, module */
#define TEXT_BYTES 200
#define CALLERS 8               /* of a call whose callers the agent will find, on average */
#define COUNTED 0x80000000u
#define HAS_CALLS 0x40000000u   /* whose callers the agent finds */
#define CHAIN_MAX 0x3fffffffu

/* Returns the element, valid until the next call for these, or NULL without memory or if the number is out of range. */
static uint32_t *site_sizes_at(uint32_t **v, size_t *n, uint32_t number, size_t max)
{
	size_t wanted = number < 2 * *n ? 2 * *n : (size_t)number + 1024;
	uint32_t *grown;

	if (number > max)
		return NULL;
	if (number < *n)
		return &(*v)[number];
	grown = realloc(*v, wanted * sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + *n, 0, (wanted - *n) * sizeof(*grown));
	*v = grown;
	*n = wanted;
	return &grown[number];
}

static uint64_t site_sizes_chain(const struct site_sizes *s, uint64_t number)
{
	return number && number < s->nchains ? s->chains[number] & CHAIN_MAX : 0;
}

static uint64_t site_sizes_frame(const struct site_sizes *s, const struct iop_rec_site *rec)
{
	uint64_t texts = rec->flags & IOP_SITE_PYTHON && rec->image < s->ncodes ? s->codes[rec->image] : 0;

	if (rec->flags & IOP_SITE_PAIR)
		return site_sizes_chain(s, rec->pc);
	return (rec->flags & IOP_SITE_CALL ? CALLERS : 1) * (FRAME_BYTES + (texts ? texts : TEXT_BYTES));
}

/* Returns whether it is not the first call from its place whose callers the agent finds. */
static bool site_sizes_is_repeated(struct site_sizes *s, const struct iop_rec_site *rec)
{
	bool repeated;

	if (!(rec->flags & IOP_SITE_CALL) || rec->parent >= s->nchains)
		return false;
	repeated = s->chains[rec->parent] & HAS_CALLS;
	s->chains[rec->parent] |= HAS_CALLS;
	return repeated;
}

static uint64_t site_sizes_node(struct site_sizes *s, const struct iop_rec_site *rec)
{
	uint64_t bytes = site_sizes_chain(s, rec->parent) + site_sizes_frame(s, rec);
	uint32_t *chain = site_sizes_at(&s->chains, &s->nchains, rec->id, IOP_SITE_MAX_ID);
	bool repeated = site_sizes_is_repeated(s, rec);

	if (chain)
		*chain |= (bytes < CHAIN_MAX ? bytes : CHAIN_MAX) | (repeated ? COUNTED : 0);
	return rec->flags & (IOP_SITE_CALL | IOP_SITE_PAIR) ? 0 : NODE_BYTES;
}

/* A call refers to the site. */
static uint64_t site_sizes_row(struct site_sizes *s, const uint8_t site[3])
{
	uint32_t number = site[0] | site[1] << 8 | (uint32_t)site[2] << 16;
	uint32_t *chain = number ? site_sizes_at(&s->chains, &s->nchains, number, IOP_SITE_MAX_ID) : NULL;

	if (!chain || *chain & COUNTED)
		return 0;
	*chain |= COUNTED;
	return ROW_BYTES + (*chain & CHAIN_MAX);
}

/* The summary has the file twice, as file and module. */
static uint64_t site_sizes_code(struct site_sizes *s, const struct iop_rec_python_code *rec)
{
	uint32_t *texts = site_sizes_at(&s->codes, &s->ncodes, rec->id, IOP_SITE_MAX_CODE_ID);

	if (rec->piece == IOP_PYTHON_LINES)
		return 0;
	if (texts)
		*texts += (rec->piece == IOP_PYTHON_FILE ? 2 : 1) * rec->len;
	return rec->rec.len;
}

uint64_t site_sizes_add(struct site_sizes *s, const struct iop_rec *rec)
{
	switch (rec->type) {
	case IOP_REC_SITE: return site_sizes_node(s, (const void *)rec);
	case IOP_REC_PYTHON_CODE: return site_sizes_code(s, (const void *)rec);
	case IOP_REC_CALL:
	case IOP_REC_ENTER: return site_sizes_row(s, ((const struct iop_rec_call *)rec)->site);
	case IOP_REC_COLLECTIVE: return site_sizes_row(s, ((const struct iop_rec_collective *)rec)->site);
	default: return 0;
	}
}

void site_sizes_deinit(struct site_sizes *s)
{
	free(s->chains);
	free(s->codes);
	*s = (struct site_sizes){ 0 };
}
