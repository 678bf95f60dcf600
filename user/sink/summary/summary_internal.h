/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of the summary: what passing events add to (summary_count.c), and what becomes the report (summary.c).
 */
#ifndef IOPROBE_SINK_SUMMARY_INTERNAL_H
#define IOPROBE_SINK_SUMMARY_INTERNAL_H

#include "sink/summary/summary.h"
#include "sink/summary/summary_report.h"
#include "sink/summary/summary_sites.h"

/* What one process did with one handle; key: handle, group. */
struct use {
	uint64_t key;
	struct summary_counts counts, *reported;        /* reported: to summary_sink_changes, NULL: nothing */
	UT_hash_handle hh;
};

/* system_ns: of the calls inside that have ended; use: of the handle that the call is on, NULL if none is known */
struct frame { uint32_t region; uint64_t enter_ns, system_ns; struct use *use; };

/* A blocking operation ends in the call that began it: those are kept by location, the others in a table. */
struct operation { uint64_t id; struct use *use; uint32_t handle, variable; uint8_t mode; };
struct blocking { struct operation op; uint32_t depth; };
struct pending { struct operation op; UT_hash_handle hh; };

struct location_state {
	struct frame *frames;
	struct blocking *blocking;
	uint32_t nframes, cap_frames, nblocking, cap_blocking;
	uint32_t io_frames;             /* open calls of I/O */
	uint64_t io_since_ns, io_ns;    /* io_ns: time in such calls */
	bool seen;
};

struct group_state {
	struct summary_layer *layers, *reported;        /* reported: to summary_sink_changes */
	uint32_t nlayers, nreported;
};

struct summary_sink {
	struct sink sink;               /* first: the public face */
	FILE *out, *also_json;          /* also_json: NULL if not wanted */
	bool json, all_files;
	struct summary_layer *layers;
	uint32_t nlayers, cap_layers;
	uint32_t *region_layer;         /* model region -> layer, REF_NONE if not looked up yet */
	size_t nregions;
	struct location_state *locations;
	size_t nlocations;
	struct group_state *groups;
	size_t ngroups;
	struct use *uses;
	struct use **last_use;          /* by handle: handles are seldom used by several processes */
	size_t nlast_use;
	struct summary_variable *variables;
	struct summary_counts no_variable;
	struct pending *pending;
	struct summary_sites *sites;    /* NULL: call sites were not recorded */
	uint64_t unmatched;             /* leaves without their enter, ends of operations without a begin */
};

/* The layer of this name, made if it is new; REF_NONE if out of memory. */
uint32_t summary_layer_by_name(struct summary_sink *s, const char *name);
/* The counts of a layer in one process; NULL without memory. */
struct summary_layer *summary_layer_in_group(struct summary_sink *s, uint32_t group, uint32_t layer);
/* The sink's event(). */
int summary_event(struct sink *sink, const struct model *model, const struct model_event *e);
/* Operations that began and were not seen to end: their bytes are unknown. Returns 0 or -ENOMEM. */
int summary_count_open(struct summary_sink *s, struct summary_report *report);

#endif
