/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What merge knows of one node's archive: its definitions, its properties and its side files, no event. Names are refs of the
 * node's own strings; REF_NONE where there is none.
 */
#ifndef IOPROBE_MERGE_NODE_H
#define IOPROBE_MERGE_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/build.h"
#include "model/model.h"

struct node_paradigm { uint32_t identification, name, version; bool parallel, os; };
/* rank and size -1: no rank, unknown. master: the location that represents a rank in communicators. */
struct node_group { uint32_t name, launch, master; int64_t rank, launch_size; };
/* Of a process; text REF_NONE: a number. */
struct node_property { uint32_t group, name, text; uint64_t number; };
struct node_moment { uint32_t location, name; uint64_t time_ns; };      /* of a thread: property of a location, by its index */
struct node_location { uint64_t id, events; uint32_t name, group; };
/* What a recorded call costs there: the name of an archive property without IOPROBE::, and its value. */
struct node_cost { uint32_t name; uint64_t ns; };
struct node_region { uint32_t name, canonical, description, role, paradigm, file; };
struct node_line { uint32_t file, line; };              /* of source code */
struct node_context { uint32_t region, line, parent; }; /* line and parent: REF_NONE; parent: always a smaller ref */
struct node_attribute { uint32_t name, description, type; };
struct node_file { uint32_t name, mount_point, mount_source, fs_type; enum model_scope scope; bool directory; uint64_t inodes,
	block_bytes, stripe_bytes, stripe_count; };
struct node_file_fact { uint32_t file, name, value; };    /* a property of a file that the members of node_file do not have */
struct node_handle { uint32_t name, file, paradigm, comm, parent; bool precreated; uint8_t pre_mode; uint32_t pre_status_flags; };
struct node_comm { uint32_t name, first_member, nmembers; bool self; };          /* its groups stand in node.members */

/* When the ranks of this node were in a collective open or close: none may leave before the last one of the job has entered. */
struct node_meeting { uint32_t ranks; uint64_t last_enter_ns, first_leave_ns; };
struct node_collective { uint32_t handle; struct node_meeting opened, closed; };

/* Numbers that are added up over the nodes, archive properties IOPROBE::… of these names. */
enum node_total {
	TOTAL_CALLS, TOTAL_LOST, TOTAL_LATE, TOTAL_ABANDONED, TOTAL_FAILED, TOTAL_UNKNOWN_SIZES, TOTAL_RETURNS_WITHOUT_FRAME,
	TOTAL_FRAMES_TOO_DEEP, TOTAL_FACTS_UNKNOWN, TOTAL_FACTS_BEYOND, NODE_TOTALS
};
extern const char *const node_total_names[NODE_TOTALS];

/* Everything that is not an array. */
struct node_head {
	uint32_t host, version, batch_job, machine;     /* strings */
	uint64_t recording_tag;
	uint64_t event_chunk_bytes, definition_chunk_bytes;
	uint64_t clock_begin_ns, clock_length_ns;       /* span of the events, on the node's CLOCK_MONOTONIC */
	struct model_clock start, end;
	uint64_t clock_steps; /* recorded ones: so often the node's wall clock was set */
	struct model_clock last_step; /* the clocks after the last of them, if it was read */
	bool complete;                                  /* the recording ended in order */
	bool local_ids;                                 /* its matching ids are unique in its archive only */
	bool uses_mpi;
	bool has_collectives;                           /* collectives.json is there */
	uint64_t totals[NODE_TOTALS], nnotes, nexcluded; /* lines that the archive has, not all may be in notes and excluded */
	uint64_t threads, processes, ranks;
};

#define NODE_ARRAYS(X) \
	X(char, text) X(uint32_t, strings) X(struct node_paradigm, paradigms) X(struct node_group, groups) \
	X(struct node_location, locations) X(struct node_region, regions) X(struct node_attribute, attributes) \
	X(struct node_line, lines) X(struct node_context, contexts) \
	X(struct node_file, files) X(struct node_handle, handles) X(struct node_comm, comms) X(uint32_t, members) \
	X(struct node_collective, collectives) X(uint32_t, notes) X(uint32_t, excluded) X(uint32_t, shared_mounts) \
	X(struct node_property, properties) X(struct node_moment, moments) X(struct node_cost, costs) \
	X(struct node_file_fact, file_facts)

struct node {
	const char *dir;                /* as the user named it; not owned */
	struct node_head head;
#define X(type, name) MODEL_ARRAY(type, name);
	NODE_ARRAYS(X)                  /* members: groups */
#undef X
};

/* Reads DIR/traces.otf2 and what stands beside it. 0, or -errno with one line in err; then nothing is kept. */
int node_read(struct node *node, const char *dir, char *err, size_t err_len);
void node_deinit(struct node *node);

/* One more string; its ref, REF_NONE without memory. */
uint32_t node_string_add(struct node *node, const char *text);
static inline const char *node_string(const struct node *node, uint32_t ref)
{
	return ref < node->strings.n ? node->text.v + node->strings.v[ref] : "";
}

/* node_side.c: collectives.json, if it is there. Returns 0, or -errno with a line in err. */
int node_read_collectives(struct node *node, char *err, size_t err_len);

#endif
