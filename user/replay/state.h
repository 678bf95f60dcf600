/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of a replay; its parts have headers of their own (*_state.h). All are private to user/replay. The functions of each
 * file have a header of their own. They return 0 or a negative errno; the first error ends the replay.
 */
#ifndef IOPROBE_STATE_H
#define IOPROBE_STATE_H

#include "model/build.h"
#include "model/model.h"
#include "replay/file_state.h"
#include "replay/row_state.h"
#include "replay/thread_state.h"
#include "spool/spool.h"
#include "table/table.h"

#define NEVER UINT64_MAX
#define LOSS_NOTES_MAX 200      /* at most so many losses are listed with their place */

struct replay {
	struct model *model;
	struct call_sites *sites;               /* NULL: none were recorded */
	struct sink **sinks;
	size_t nsinks;
	char *err;
	size_t err_len;
	bool failed;                    /* err was set */
	bool cut;                       /* a sink has reached its limit: the trace has ended */
	bool bounded;                   /* a sink may have a limit */
	bool bound_reached;
	uint64_t bound_ns;              /* time of the oldest record that the recorder refused at a limit; 0: none */

	struct table_set set;
	struct row_info *rows;          /* of set.rows */
	uint32_t layer_paradigm[MAX_LAYERS], fd_paradigm, socket_paradigm;      /* REF_NONE */
	uint32_t abi_layer[MAX_LAYERS]; /* the layer whose library ABI defines the layer's arguments: itself or another one */
	struct process *processes, *all_processes;
	struct thread *threads, *cached_thread;
	struct { struct group_info *v; size_t n, cap; } infos;
	struct { struct file_info *v; size_t n, cap; } files;
	struct path_entry *paths;
	struct { struct mount_table *v; size_t n, cap; } mounts;
	MODEL_ARRAY(struct described_mount, described_mounts);
	MODEL_ARRAY(struct inode_stripes, stripes);     /* by inode, after file_stripes_finish */
	struct {
		const char *mount_point, *mount_source, *fs_type;
		enum model_scope scope;
		size_t nshared; /* of model.shared_mounts then */
	} last_mount; /* of the last file, in the model's strings */
	bool followed; /* a sink reports while the recording runs: mounts are needed before the end */
	struct unified *unified;
	MODEL_ARRAY(struct job, jobs);
	uint32_t self;                  /* model comm, REF_NONE */
	bool many_batch_jobs;
	uint64_t location_base;
	MODEL_ARRAY(struct location_use, location_uses);        /* index as in model.locations */
	uint64_t last_ns;               /* newest record */
	uint64_t matching_id;
	uint64_t overlapped;            /* calls on descriptors that were closed or replaced during the call */
	uint64_t gap_records, lost_records, late, orphans, backwards, unknown_locks, unknown_unlocks, undescribed;
	uint64_t unnamed_faults;        /* on mapped files without a name */
	uint32_t unnamed_mapped;
	bool counted;                   /* a STATUS or END record was present, with these values: */
	uint64_t written_records, counted_lost, dropped_records;
	uint64_t read_records;          /* BPF records in the spool */
	uint64_t requests_open, requests_left, requests_freed, requests_beyond, requests_refused;
	uint64_t requests_not_joined, helper_calls_not_joined;  /* async/helpers.c */
	struct async_op *async;
	/* regions for operations taken by the kernel's polling thread, and for their completion on handles; REF_NONE */
	uint32_t polled_row, ended_row;
	uint64_t async_unseen, async_unknown, async_nameless, async_other;
	size_t loss_notes;
	struct event_name *names;
	/* paths of calls on names: distinct ones; unknown ones, by reason */
	uint64_t path_bytes, names_unread, names_beyond;
	MODEL_ARRAY(struct gap_sum, gaps);
	MODEL_ARRAY(struct missing_sum, missing);
	struct gap_process *gap_processes;
	struct fact_entry *facts;       /* facts/facts.c */
	struct derived_comms *derived_comms;
	struct code_file_entry *code_files;
	uint64_t unknown_creations;     /* calls that created a communicator that could not be identified */
};

#endif
