/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A second, partial pass for the report's figures: the handles of one thread over time, and the call stacks of two ranks during one
 * collective call. Reads at most two threads again; memory is bounded by the limits below and by the number of handles.
 */
#ifndef IOPROBE_ANALYSIS_DETAIL_H
#define IOPROBE_ANALYSIS_DETAIL_H

#include "analysis/analysis.h"

#define DETAIL_BINS 200 /* of the time between the thread's first and last event */
#define DETAIL_ROWS 4096 /* file and chain of layers */
#define DETAIL_FRAMES 600 /* per stack */
#define DETAIL_PATHS 256 /* different chains of functions */

enum detail_kind { DETAIL_OPEN, DETAIL_READ, DETAIL_WRITE, DETAIL_CLOSE, DETAIL_OTHER, DETAIL_KINDS };
extern const char *const detail_kind_names[DETAIL_KINDS];

/* Handles of one file that have the same layer and whose parents are in one row. */
struct detail_row {
	UT_hash_handle hh;
	struct {
		uint32_t parent, layer, file;
	} key; /* parent: index of a row, TRACE_NONE */
	uint32_t index;
	uint64_t n[DETAIL_KINDS], ns, bytes[DIRS], unknown; /* unknown: operations whose size is not known */
	uint64_t first_ns, last_ns;
	float busy[DETAIL_KINDS][DETAIL_BINS];
};

struct detail_frame {
	uint64_t begin_ns, end_ns;
	uint32_t region;
	unsigned depth;
};

/* One thread during the collective call; frames in the order of their ends, cut to the span. */
struct detail_stack {
	uint32_t location;
	TRACE_ARRAY(struct detail_frame, frames);
	uint64_t dropped; /* frames beyond DETAIL_FRAMES: they are in the paths, but not in the frames */
};

/* A chain of functions: a node of the tree of both stacks. */
struct detail_path {
	uint32_t parent, region;
	unsigned depth;
	struct {
		uint64_t n, ns;
	} of[2];
};

struct detail {
	uint32_t location; /* whose handles are shown, TRACE_NONE */
	uint64_t first_ns, last_ns; /* of its events */
	TRACE_ARRAY(struct detail_row *, rows);
	uint64_t dropped_rows; /* calls whose handle is in no row */
	bool has_collective;
	uint32_t file, region;
	uint64_t begin_ns, end_ns, members, workers; /* workers: members whose system calls moved data */
	struct detail_stack stacks[2]; /* of the rank that moves most data in system calls, and of the one that moves least */
	TRACE_ARRAY(struct detail_path, paths); /* parents before children */
	uint64_t dropped_paths; /* frames in no path */
};

/* Selects what is shown and reads it. The archive is in the current directory. Returns 0, or -errno with one line in err. */
int detail_read(struct detail *d, const struct analysis *a, char *err, size_t err_len);

#endif
