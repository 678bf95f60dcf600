/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The counters of the summary (summary.c), condensed to a report that summary_text.c and summary_json.c write.
 */
#ifndef IOPROBE_SINK_SUMMARY_REPORT_H
#define IOPROBE_SINK_SUMMARY_REPORT_H

#include "model/model.h"
#include "sink/summary/summary_counts.h"
#include "sink/summary/summary_names.h"
#include "sink/summary/summary_sites.h"
#include "util/hash.h"

#include <errno.h>
#include <stdio.h>

#define REPORT_LINES 10         /* in the text's table of files */
#define REPORT_OBJECTS 1000

/* With --cpu-time: outermost calls. time_ns is the sum of cpu_ns, sleep_ns, delay_ns, undivided_ns (asleep or waiting for a CPU)
 * and unknown_ns. */
struct summary_cpu {
	uint64_t calls, calls_unknown, time_ns;
	uint64_t cpu_ns, sleep_ns, delay_ns, undivided_ns, unknown_ns;
	uint64_t io_sleep_ns;           /* of sleep_ns */
	uint64_t user_ns, system_ns;    /* of cpu_ns, by the kernel's clock tick */
	uint64_t sleeps;
};
/* The same between the outermost calls of each thread. */
struct summary_between { uint64_t cpu_ns, sleep_ns, delay_ns, unknown_ns; };

struct summary_layer {
	const char *name;
	uint32_t index;                 /* of the layer in summary_process.layers */
	uint64_t calls, failed;
	struct summary_counts counts;
	uint64_t time_ns;               /* sum over threads of the outermost calls of the layer */
	uint64_t system_ns;             /* of that, in system calls */
	uint64_t longest_ns;            /* of a call */
	struct summary_sizes sizes;
	struct summary_class classes[MODEL_CLASSES];
	bool system_known;              /* they were all recorded: else it is not known */
	bool os;                        /* these are the system calls */
	bool recorder_known;            /* what recorded calls cost was measured: */
	uint64_t recorder_ns;           /* of time_ns, about, is ioprobe's own */
	uint64_t recording_ns;          /* what recording all its calls cost, about: what was saved without this layer */
	struct summary_cpu cpu;         /* of calls of this layer that are in no other call */
};

/* What one process did through one layer with one file; parts of a file stand together, ordered by layer and process. */
struct summary_part {
	uint32_t file, paradigm, group;
	struct summary_counts counts;
	uint64_t longest_ns;
	struct summary_classes *classes; /* of a handle: those of the others with it are added to them */
};

struct summary_file {
	uint32_t file;                  /* ref, REF_NONE: operations on handles without a known file */
	uint32_t paradigm;              /* the layer of these operations: system calls, else the library with the most operations */
	struct summary_counts counts;
	uint64_t time_ns;               /* in the layer that took longest, over all processes */
	size_t first, nparts;           /* index in summary_report.parts */
};

/* A location group. The model has more information at the same index. */
struct summary_process {
	const struct summary_layer *layers;     /* indexed by summary_layer.index */
	size_t nlayers;                         /* the layers beyond were not called */
	uint64_t threads, calls;                /* threads: those with calls */
	uint64_t begin_ns, end_ns;              /* within the recording */
	uint64_t io_ns;                         /* of the thread that spent most time in I/O calls */
	bool recorder_known;
	uint64_t recorder_ns;                   /* what its recorded calls cost it, about */
	struct summary_between between;
	bool seen;
};

/* A named object in a file: a dataset, a group, an attribute (by path, as it was opened), or a variable. */
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
	struct summary_file *files;     /* all files with operations or calls, in descending order of time */
	size_t nfiles;
	struct summary_part *parts;     /* of all files, without pipes and the like */
	size_t nparts;
	struct summary_process *processes;      /* index as model.groups */
	bool all_files;                 /* the text includes system files and libraries */
	struct summary_object *objects; /* busiest first, at most REPORT_OBJECTS */
	size_t nobjects, objects_total;
	struct summary_counts special;  /* of pipes, sockets and the like, which are not files */
	size_t nspecial;
	struct summary_sites *sites;    /* NULL: call sites were not recorded */
	struct summary_names *names;    /* NULL: there was no system call on a name */
	uint64_t ranks, nprocesses, threads;
	uint64_t open_calls;            /* entered and not left */
	uint64_t open_operations; /* non-blocking operations whose completion was not observed; their bytes count as unknown */
	uint64_t unmatched;             /* events that end something without a recorded begin */
};

/* The time span of the recording, as far as it is known. */
static inline uint64_t summary_begin_ns(const struct model *model)
{
	return model->recording_begin_ns && model->recording_begin_ns < model->clock_begin_ns ? model->recording_begin_ns
											      : model->clock_begin_ns;
}

#define SUMMARY_SCHEMA "ioprobe summary 1"      /* the format of summary.json, see summary.schema.json */

static inline bool summary_written(const struct summary_counts *counts)
{
	return counts->writes || counts->bytes_written;
}

/* Returns why writing to a stdio stream has just failed: errno if it was set. */
static inline int write_error(void)
{
	return errno ? -errno : -EIO;
}

uint64_t summary_activity(const struct summary_counts *counts);
void summary_add(struct summary_counts *to, const struct summary_counts *from);

/* Fills the report's files from report->parts, which it sorts and adds up. Returns 0 or -ENOMEM; the caller frees files in any
 * case. */
int summary_files(struct summary_report *report);

/* Fills the report's objects from the counts of n handles and of variables. Returns 0 or -ENOMEM; the caller frees them in any
 * case. */
int summary_objects(struct summary_report *report, const struct summary_counts *handles, size_t n,
		    const struct summary_variable *variables);
void summary_objects_free(struct summary_report *report);


/* The text's table of files (summary_groups.c): sorted by time, many files of a directory in one line. Returns 0 or -ENOMEM. */
int summary_text_files(FILE *out, const struct summary_report *report);

/* "12.3 MiB" */
struct summary_cell { char text[64]; };
struct summary_cell summary_read_cell(const struct summary_counts *counts);
struct summary_cell summary_written_cell(const struct summary_counts *counts);
void summary_print_text(FILE *out, const char *text);           /* bytes that are not UTF-8 are escaped */

void summary_cpu_add(struct summary_cpu *to, const struct summary_cpu *from);
void summary_cpu_text(FILE *out, const struct summary_report *report);          /* nothing without --cpu-time */
/* Writes the table of layers only, followed by an empty line. */
void summary_text_layers(FILE *out, const struct summary_report *report);
int summary_text_write(FILE *out, const struct summary_report *report);
int summary_json_write(FILE *out, const struct summary_report *report);

#endif
