/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Processes: what their threads share.
 */
#ifndef IOPROBE_REPLAY_PROCESS_STATE_H
#define IOPROBE_REPLAY_PROCESS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "replay/fd/descriptor_state.h"
#include "replay/library/handle_state.h"
#include "util/hash.h"

#define MAX_LAYERS 64

struct process {
	uint32_t tgid, group;
	bool dead;
	char *cwd;                      /* NULL unknown */
	struct fd_table *table;         /* the table of its threads, unless they have their own */
	struct object *objects;
	struct object *iterated;        /* the first file over whose contents HDF5 iterated with a function of the program, … */
	bool iterated_many;             /* … and whether it iterated over others, too */
	struct iterations *iterations;  /* sizes/iterations.c */
	bool from_start;                /* observed since its exec, without a gap */
	struct comm_value *comms;
	struct sized *sized, *passing;  /* HDF5's datasets, attributes, predefined types; and dataspaces, types: by id (spaces.c) */
	struct fact_list *fact_lists;   /* property lists and sets of hints (facts/lists.c); oldest first */
	bool fact_lists_dropped;        /* some were forgotten: an unknown one need not be untouched */
	struct comm_count *comm_counts;
	bool counts_comms;              /* every creation of a communicator was recorded so far */
	bool narrow_comms;              /* communicators are 32-bit numbers */
	bool knows_null;                /* the value of MPI_COMM_NULL is known */
	struct open_count *opens;       /* number of opens of unified handles, per paradigm and path */
	struct held_lock *locks;
	struct request *requests;
	struct helper_wait *helper_waits;       /* requests that helper threads carry out (async/helpers.c), … */
	struct helper_queue *helper_queues;     /* … and those not yet joined to a system call, by what they ask for */
	MODEL_ARRAY(uint32_t, mappings);        /* of its current program: indexes in model.mappings */
	struct library libraries[MAX_LAYERS];
	unsigned nthreads;              /* in the table of threads */
	bool replaced;                  /* another process had its number before */
	bool threaded;                  /* it has had several */
	uint32_t master_location;       /* REF_NONE */
	uint64_t master_last_ns;
	struct process *next;           /* list of all processes, including ended ones */
	UT_hash_handle hh;
};

/* Properties of a process that become known late, for the definitions at the end; index = group. parent: the group that forked it,
 * REF_NONE if unknown; job: the launcher's name of the launch, NULL if unknown. */
struct group_info { const char *comm, *mntns, *job; int64_t rank, size; uint32_t parent, ppid; bool mpi; };

/* number: as shown to readers, REF_NONE until ranks_finish. world: model comm. size: of the world according to the launcher, 0 if
 * unknown. */
struct job { const char *id; uint32_t world, number; uint64_t size; };

#endif
