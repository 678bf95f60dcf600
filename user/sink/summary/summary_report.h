/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the summary counts (summary.c), condensed to a report that summary_text.c and summary_json.c write.
 */
#ifndef IOPROBE_SINK_SUMMARY_REPORT_H
#define IOPROBE_SINK_SUMMARY_REPORT_H

#include "model/model.h"
#include "util/hash.h"

#include <errno.h>
#include <stdio.h>

#define REPORT_FILES 10
#define REPORT_OBJECTS 1000

struct summary_counts {
	uint64_t reads, writes;                 /* operations begun */
	uint64_t bytes_read, bytes_written;     /* moved, where known */
	uint64_t known_reads, known_writes;     /* operations whose bytes are known */
	uint64_t unknown_reads, unknown_writes; /* operations that moved data, nobody knows how much */
};

struct summary_layer {
	const char *name;
	uint64_t calls, failed;
	struct summary_counts counts;
	uint64_t time_ns;               /* sum over threads of the outermost calls of the layer */
	uint64_t system_ns;             /* of that, in system calls */
	bool system_known;              /* they were all recorded: else it is not known */
	bool os;                        /* these are the system calls */
};

struct summary_file {
	uint32_t file;                  /* ref, REF_NONE: operations on handles without a known file */
	uint32_t paradigm;              /* whose operations these are: the system calls', else the library's with the most */
	struct summary_counts counts;
};

/* A named thing inside a file: a dataset, a group, an attribute (by path, as it was opened), or a variable. */
struct summary_object {
	uint32_t file, paradigm;        /* refs; file REF_NONE if unknown */
	char *name;                     /* owned */
	struct summary_counts counts;
};

/* Operations on one variable through one handle; key: handle, variable. */
struct summary_variable { uint64_t key; struct summary_counts counts; UT_hash_handle hh; };

struct summary_report {
	const struct model *model;
	const struct summary_layer *layers;
	size_t nlayers;
	struct summary_file *files;     /* busiest first, at most REPORT_FILES */
	size_t nfiles, files_total;     /* of all that were read or written */
	struct summary_object *objects; /* busiest first, at most REPORT_OBJECTS */
	size_t nobjects, objects_total;
	struct summary_counts special;  /* of pipes, sockets and the like, which are no files */
	size_t nspecial;
	uint64_t ranks, processes, threads;
	uint64_t open_calls;            /* entered and not left */
	uint64_t open_operations;       /* non-blocking ones whose end was not seen; their bytes count as unknown */
	uint64_t unmatched;             /* events that end what never began */
};

/* Why writing to a stdio stream has just failed: what the system said, where it did. */
static inline int write_error(void)
{
	return errno ? -errno : -EIO;
}

uint64_t summary_activity(const struct summary_counts *counts);
void summary_add(struct summary_counts *to, const struct summary_counts *from);

/* Fills the report's files from the counts of n handles. Returns 0 or -ENOMEM; free(files) in any case. */
int summary_files(struct summary_report *report, const struct summary_counts *handles, size_t n);

/* Fills the report's objects from the counts of n handles and of variables. Returns 0 or -ENOMEM; free in any case. */
int summary_objects(struct summary_report *report, const struct summary_counts *handles, size_t n,
		    const struct summary_variable *variables);
void summary_objects_free(struct summary_report *report);

/* "shared", "node" or "unknown" for a scope. */
const char *summary_scope_name(enum model_scope scope);

/* The table of layers alone, an empty line behind it. */
void summary_text_layers(FILE *out, const struct summary_report *report);
int summary_text_write(FILE *out, const struct summary_report *report);
int summary_json_write(FILE *out, const struct summary_report *report);

#endif
