/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Sums of one interval for display: by layer, by process, by file. Memory is bounded: names beyond a limit are summed up as others.
 */
#ifndef IOPROBE_STREAM_SUMS_H
#define IOPROBE_STREAM_SUMS_H

#include "stream/live.h"
#include "util/hash.h"

#define SUMS_NAMES 4096 /* processes, and files, that are distinguished in one interval */
#define SUMS_MOUNTS 64 /* mount points */

struct sums_layer {
	char name[32];
	struct summary_calls calls;
	struct summary_counts counts;
};

/* Layers are nested: these are the values of the layer with the most time. */
struct sums_process {
	uint32_t id;
	int64_t rank; /* -1: not an MPI rank */
	char *name; /* printable */
	uint64_t calls, time_ns; /* calls: of all layers */
	UT_hash_handle hh;
};

/* by_layer: as sums.layers, over all processes. */
struct sums_file {
	uint32_t id;
	char *path; /* printable */
	struct summary_counts *by_layer;
	size_t nlayers;
	UT_hash_handle hh;
};

/* Of a mount point; "others" beyond the limit, "pipes and sockets". by_layer: as sums.layers. */
struct sums_mount {
	char *name; /* printable */
	struct summary_counts *by_layer;
	size_t nlayers;
	uint64_t *metadata_calls; /* the same */
};

/* Time of calls before the interval that was not known then. */
struct sums_earlier {
	uint64_t interval;
	uint32_t layer;
	uint64_t time_ns;
};

struct sums {
	size_t limit; /* SUMS_NAMES; 0: the same */
	struct sums_layer *layers; /* layers of earlier intervals remain, with zeros */
	size_t nlayers;
	struct sums_process *processes;
	struct sums_file *files; /* without pipes and the like */
	struct sums_mount *mounts; /* those of earlier intervals remain, with zeros */
	size_t nmounts;
	/* What was not observed: gaps that ended, calls that filters skipped, steps of the clock. */
	uint64_t gaps, gap_ns, skipped, clock_steps;
	/* Sums of the rows beyond the limit. Layers are nested: time, and bytes of files, are those of the layer with the most
	 * time. */
	uint64_t other_processes, other_files;
	uint64_t *other_process_ns; /* by layer */
	struct summary_counts *other_files_by_layer;
	struct sums_earlier *earlier;
	size_t nearlier, cap_earlier;
};

/* For live_output.calls and .operations. Return 0 or -ENOMEM. */
int sums_add_calls(struct sums *sums, const struct live_interval *interval, const struct live_calls *calls);
int sums_add_operations(struct sums *sums, const struct live_interval *interval, const struct live_operations *operations);

/* For live_output.gap, .skipped and .clock_step. */
void sums_add_gap(struct sums *sums, const struct live_gap *gap);
void sums_add_skipped(struct sums *sums, const struct live_skipped *skipped);
void sums_add_clock_step(struct sums *sums);

/* The same of a mount point. */
uint32_t sums_mount_layer(const struct sums_mount *mount);
/* Returns the layer in which a file's operations took the most time; UINT32_MAX: there are none. */
uint32_t sums_file_layer(const struct sums_file *file);
uint32_t sums_other_files_layer(const struct sums *sums);
uint64_t sums_other_process_ns(const struct sums *sums);

/* Returns at most n, in descending order of time; the caller frees the array, *found is its length. NULL without memory. */
const struct sums_process **sums_processes(const struct sums *sums, size_t n, size_t *found);
const struct sums_file **sums_files(const struct sums *sums, size_t n, size_t *found);

/* Starts the next interval. */
void sums_clear(struct sums *sums);
void sums_deinit(struct sums *sums);

#endif
