/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From the archives of a job's nodes to one archive of the job. Definitions are unified here; events stay as they are: each
 * location's .evt is linked into the new archive, beside a .def that maps its refs and its clock.
 */
#ifndef IOPROBE_MERGE_MERGE_H
#define IOPROBE_MERGE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "merge/index.h"
#include "merge/node.h"

/* From a node's refs to those of the merged archive. Where the merged archive has no such thing yet, the ref is the next free
 * one: a walk over the nodes in their order defines what is new and skips the rest. */
struct node_map {
	uint32_t *strings, *regions, *lines, *contexts, *attributes, *groups, *comms, *files, *handles;
	bool *fileless;                 /* of handles: opened together, but on files of several nodes */
	int64_t offset_start_ns, offset_end_ns;         /* to add to the node's times when its recording began and ended */
};

/* A launch of ranks (mpirun, srun). name: string; REF_NONE: unknown, there is one of these at most. */
struct launch { uint32_t name; int64_t size; uint64_t ranks; };
/* name: without what depends on the node. members: merged groups, all of them ranks; world: in the order of the launch. */
struct merged_comm { uint32_t name, launch, nodes, *members, nmembers; bool self, world, partial; };
struct merged_group { uint32_t node, group; };
struct location_counts { uint64_t linked, cloned, copied, bytes_copied; };

/* What the clocks are worth. */
struct clock_report {
	int64_t offset_min_ns, offset_max_ns;   /* relative to the first node's */
	int64_t change_max_ns;                  /* of a node's offset, from start to end */
	uint32_t change_node;
	uint32_t stepped; /* nodes whose recordings have seen that the clock was set */
	bool error_known;
	uint64_t error_ns;                      /* of times between two nodes */
	uint32_t unsynchronized, without_end;   /* nodes */
	uint64_t meetings, violated;            /* collective operations over several nodes; of them impossible */
	int64_t slack_ns;                       /* the least; negative: a rank left so long before another one entered */
	uint32_t early, late;                   /* the nodes of the least slack */
	uint32_t without_meetings;              /* nodes whose archive does not contain when its ranks met */
};

struct merge {
	const char *out;
	struct node *nodes;
	size_t nnodes;
	struct node_map *maps;                  /* one per node */
	struct texts strings;
	struct job_summary *summary;
	MODEL_ARRAY(struct launch, launches);
	MODEL_ARRAY(struct merged_comm, comms);
	MODEL_ARRAY(struct merged_group, groups);       /* by ref: ranks by launch and rank, then the others */
	uint32_t nranks;
	uint32_t unordered_comms;               /* over several nodes, not a world: whose order is not known */
	uint32_t nregions, nlines, ncontexts, nattributes, nfiles, nhandles;
	uint32_t shared_files, node_files, unknown_files;       /* definitions by scope */
	uint64_t joined_files;                  /* definitions of nodes that became one with another node's */
	uint32_t joined_handles;                /* collective handles of several nodes */
	uint32_t unmatched_handles;             /* collective, but the nodes disagree on how often the file was opened */
	uint32_t split_handles;                 /* opened together, on files that are local to nodes */
	struct clock_report clocks;
	uint64_t begin_ns, end_ns;              /* of the events, on the common time line (CLOCK_REALTIME) */
	struct location_counts locations;
	char *err;
	size_t err_len;
};

/* Stores the line of the error message, and returns error. */
int merge_fail(struct merge *m, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *merge_host(const struct merge *m, size_t node);

/* job.c: are these archives of one job, each of another node? same_job: the caller knows that they are. */
int job_check(struct merge *m, bool same_job);
const char *merge_job_name(const struct merge *m);      /* for people */
const char *merge_batch_job(const struct merge *m);     /* the batch system's name of the job, NULL if there is none */
/* "2-3, 7 of 8", to be freed; NULL if none is known to be missing (or without memory). */
char *merge_missing_ranks(const struct merge *m);

/* unify.c */
int merge_unify(struct merge *m);

/* handles.c: refs of handles; part of unify. */
int unify_handles(struct merge *m);

/* clocks.c: the offsets, before handles are unified; afterwards, whether collective operations agree with them. */
void clocks_relate(struct merge *m);
int clocks_check(struct merge *m);
int64_t clocks_global(const struct merge *m, size_t node, uint64_t time_ns);     /* on the common time line */

#endif
