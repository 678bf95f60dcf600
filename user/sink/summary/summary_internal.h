/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of the summary: counters that are updated by events (summary_count.c), from which the report is made (summary.c).
 */
#ifndef IOPROBE_SINK_SUMMARY_INTERNAL_H
#define IOPROBE_SINK_SUMMARY_INTERNAL_H

#include "sink/summary/summary.h"
#include "sink/summary/summary_report.h"
#include "sink/summary/summary_sites.h"
#include "util/pool.h"

/* Operations of one process on one handle; key: handle, group. */
struct use {
	uint64_t key;
	struct summary_counts counts;
	uint64_t longest_ns;            /* of a call */
	struct summary_classes classes;
	struct use_changes *changes;    /* for summary_sink_changes; NULL: unchanged yet, or changes are not collected */
	UT_hash_handle hh;
};

/* system_ns: of the calls inside that have ended; use: of the handle that the call is on, NULL if none is known. outermost: of its
 * layer. shared, use_shared: the time up to the current interval was reported, for the layer and for the use. */
struct frame {
	uint32_t region;
	uint8_t class; /* enum model_class */
	bool outermost, shared, use_shared;
	uint64_t enter_ns, system_ns;
	struct use *use;
};

/* A blocking operation completes in the call that began it: those are kept by location, the others in a table. */
struct operation { uint64_t id; struct use *use; uint32_t handle, variable; uint8_t mode; };
struct blocking { struct operation op; uint32_t depth; };
struct pending { struct operation op; UT_hash_handle hh; };

struct location_state {
	struct frame *frames;
	struct blocking *blocking;
	uint32_t nframes, cap_frames, nblocking, cap_blocking;
	uint32_t io_frames;             /* number of open I/O calls */
	uint64_t io_since_ns, io_ns;    /* io_ns: time in such calls */
	uint64_t outermost_end_ns;      /* of its last call that was in no other call; 0: there was none */
	bool seen;
};

struct group_state {
	struct summary_layer *layers;
	struct layer_changes *changes;  /* for summary_sink_changes */
	uint32_t nlayers, nchanges;
	struct summary_between between;
};

#define COST_LAYERS 32

struct summary_sink {
	struct sink sink;               /* first member: the public interface */
	FILE *out, *also_json;          /* also_json: NULL if not requested */
	bool json, all_files;
	struct summary_layer *layers;
	uint32_t nlayers, cap_layers;
	uint32_t *region_layer;         /* model region -> layer, REF_NONE if not looked up yet */
	size_t nregions;
	uint32_t *paradigm_layer;       /* model paradigm -> layer, the same */
	size_t nparadigms;
	struct location_state *locations;
	size_t nlocations;
	struct group_state *groups;
	size_t ngroups;
	struct use *uses;
	struct pool use_pool, changes_pool; /* of struct use and struct use_changes */
	struct use **last_use;          /* by handle: handles are seldom used by several processes */
	size_t nlast_use;
	struct summary_variable *variables;
	struct summary_counts no_variable;
	struct pending *pending;
	struct summary_sites *sites;    /* NULL: call sites were not recorded */
	struct changes *changes;        /* NULL: changes are not collected */
	struct summary_names *names;    /* NULL: there was no system call on a name */
	uint64_t outermost_calls[COST_LAYERS];  /* by layer, in order of appearance */
	uint64_t calls_inside[COST_LAYERS][COST_LAYERS];        /* of the first layer's outermost calls: of the second's */
	uint64_t unmatched;             /* leaves without their enter, ends of operations without a begin */
};

void summary_use_free(struct summary_sink *s, struct use *use);
/* Returns the layer of this name, created if needed; REF_NONE if out of memory. */
uint32_t summary_layer_by_name(struct summary_sink *s, const char *name);
/* Returns the counts of a layer in one process; NULL without memory. */
struct summary_layer *summary_layer_in_group(struct summary_sink *s, uint32_t group, uint32_t layer);
/* None of the frames before this one is of the layer; and, for the use, known to be on a handle: calls inside must not count
 * again. */
bool summary_is_outermost(const struct summary_sink *s, const struct location_state *l, uint32_t frame, uint32_t layer);
bool summary_is_outermost_use(const struct summary_sink *s, const struct location_state *l, uint32_t frame, uint32_t layer);
/* A call has been pushed on the location's frames. */
void summary_costs_enter(struct summary_sink *s, const struct location_state *l, uint32_t layer);
/* What of the times is ioprobe's own: of all layers, before they are sorted; of a process, whose layers are known. */
void summary_costs_layers(struct summary_sink *s, const struct model *model);
void summary_costs_process(const struct summary_sink *s, const struct model *model, struct summary_process *p);
/* A call of the layer that was in no other call has ended (summary_cpu.c). */
void summary_cpu_count(struct location_state *l, struct summary_cpu *calls, struct summary_between *between,
		       const struct model_event *e, uint64_t enter_ns);
/* The sink's event(). */
int summary_event(struct sink *sink, const struct model *model, const struct model_event *e);
/* Operations that began and were not seen to end: their bytes are unknown. Returns 0 or -ENOMEM. */
int summary_count_open(struct summary_sink *s, const struct model *model, struct summary_report *report);

/* ---- what was added (summary_changes.c), all without effect if changes are not collected ---- */

/* The use will be looked at. Returns 0 or -ENOMEM. */
int summary_use_changed(struct summary_sink *s, struct use *use);
/* An operation of known size has ended. */
void summary_use_sized(struct use *use, bool write, unsigned size_class);
/* The call in frames[nframes] of the location has just been left. Returns 0 or -ENOMEM. */
int summary_call_ended(struct summary_sink *s, const struct model *model, uint32_t location, uint64_t time_ns);
void summary_changes_free(struct summary_sink *s);

#endif
