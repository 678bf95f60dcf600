/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * An OTF2 archive in the form that the analysis needs: definitions in arrays, names resolved, properties of the recording. Reads
 * archives of ioprobe and of other recorders: a value that the archive does not contain is TRACE_NONE, TRACE_UNKNOWN or NULL, never
 * a guess.
 */
#ifndef IOPROBE_TRACE_TRACE_H
#define IOPROBE_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NONE UINT32_MAX           /* no such reference */
#define TRACE_UNKNOWN UINT64_MAX        /* bytes, offsets, times that the archive does not contain */

#define TRACE_ARRAY(type, name) struct { type *v; size_t n, cap; } name
/* Appends a zeroed element and returns it; NULL without memory. */
#define TRACE_ADD(array) ((typeof((array).v))trace_grow((void **)&(array).v, &(array).n, &(array).cap, sizeof(*(array).v)))
void *trace_grow(void **v, size_t *n, size_t *cap, size_t size);

/* Layers of the I/O stack, from the program down. */
enum trace_layer { LAYER_ADIOS, LAYER_NETCDF, LAYER_PNETCDF, LAYER_HDF5, LAYER_MPIIO, LAYER_ISOC, LAYER_AIO, LAYER_POSIX, LAYER_MPI,
	LAYER_OTHER, LAYER_NONE, LAYERS };
const char *trace_layer_name(enum trace_layer layer);

struct trace_region { const char *name; enum trace_layer layer; bool io, metadata; };
struct trace_paradigm { const char *name, *version; enum trace_layer layer; };
/* Where files are: what they have in common is kept once, as there may be millions of them. NULL, 0: unknown. */
struct trace_mount { const char *point, *source, *fs_type; uint64_t stripe_bytes, stripe_count, block_bytes; };
struct trace_file {
	const char *name;               /* NULL if unknown */
	const struct trace_mount *mount;        /* NULL if nothing is known: see trace_mount_of */
	uint32_t scope;                 /* system tree node, TRACE_NONE */
	bool directory;
};
/* A static fact: "HDF5 g/temperature: Chunk Shape" is "4,8"; several values are separated by " | ". */
struct trace_fact { uint32_t file; const char *name, *value; };
struct trace_handle { const char *name; uint32_t file, paradigm, comm, parent; };
/* rank -1: none; times: TRACE_UNKNOWN, wall 0 */
struct trace_group { const char *name; uint32_t node; int64_t rank; uint64_t begin_ns, end_ns, wall_ns; };
struct trace_location { uint64_t id, events; const char *name; uint32_t group; bool damaged, read; };
struct trace_node { const char *name, *class; uint32_t parent; };
struct trace_comm { const char *name; uint32_t group, members; };      /* members: TRACE_NONE if unknown */
struct trace_members { uint32_t n; bool locations; };
struct trace_attribute { const char *name; uint8_t type; };
struct trace_site { const char *file, *function; uint32_t line; };      /* file may be a library's name if the source is unknown */
struct trace_context { uint32_t region, site, parent; };

struct trace {
	char dir[4096];                 /* as the user named the archive */
	const char *anchor;             /* name of the anchor file in the current directory */
	TRACE_ARRAY(const char *, strings);
	TRACE_ARRAY(char *, texts);     /* blocks that they are in */
	char *text_end;                 /* of the last block's texts; */
	size_t text_room;               /* left behind it */
	TRACE_ARRAY(struct trace_mount *, mounts);
	TRACE_ARRAY(struct trace_region, regions);
	TRACE_ARRAY(struct trace_paradigm, paradigms);
	TRACE_ARRAY(struct trace_file, files);
	TRACE_ARRAY(struct trace_fact, facts);
	TRACE_ARRAY(struct trace_handle, handles);
	TRACE_ARRAY(struct trace_group, groups);
	TRACE_ARRAY(struct trace_location, locations);
	TRACE_ARRAY(struct trace_node, nodes);
	TRACE_ARRAY(struct trace_comm, comms);
	TRACE_ARRAY(struct trace_members, members);
	TRACE_ARRAY(struct trace_attribute, attributes);
	TRACE_ARRAY(struct trace_site, sites);
	TRACE_ARRAY(struct trace_context, contexts);
	TRACE_ARRAY(const char *, notes);               /* of the recorder, one line each */
	uint64_t begin, length, resolution;             /* clock: ticks; ticks per second */
	uint64_t realtime_ns;                           /* CLOCK_REALTIME at begin, TRACE_UNKNOWN */
	const char *creator, *command, *version, *kernel;
	bool ours;                      /* recorded by ioprobe */
	bool complete;                  /* the recording ended in order, according to the recorder */
	uint64_t lost, abandoned, filtered;
	uint64_t facts_unknown;         /* handles and files of which static facts are missing */
	const char *missing_ranks;      /* as listed by merge; NULL if none is known to be missing */
	/* Cost of a recorded call, measured by the recorder: all of it, the part between the call's own times, and in addition of a
	 * call with recorded calls inside. 0: not in the archive. */
	uint64_t probe_ns[LAYERS], probe_inside_ns[LAYERS], probe_nested_ns;
	char losses[512];               /* losses in one line for users, "" if nothing is missing */
};

/* Returns a copy that lives as long as the trace; NULL without memory. */
const char *trace_copy_text(struct trace *trace, const char *text);

/* Attributes that the analysis reads, by their refs in the archive; TRACE_NONE. */
struct trace_attributes { uint32_t offset, error, failed, abandoned, mapped_handle, mapped_bytes, variable, request, path,
	directory, cpu, sleep, sleep_io, delay, before, before_delay, unaligned; };
void trace_find_attributes(const struct trace *trace, struct trace_attributes *found);

/* Reads the global definitions and properties of the anchor in the current directory. dir: for messages. Returns 0, or -errno with
 * one line in err. */
int trace_open(struct trace *trace, const char *dir, const char *anchor, char *err, size_t err_len);
void trace_close(struct trace *trace);

static inline const char *trace_string(const struct trace *trace, uint32_t ref)
{
	return ref < trace->strings.n && trace->strings.v[ref] ? trace->strings.v[ref] : NULL;
}

static inline const struct trace_mount *trace_mount_of(const struct trace_file *file)
{
	static const struct trace_mount none;

	return file->mount ? file->mount : &none;
}

/* Ticks to nanoseconds since the beginning of the trace. */
static inline uint64_t trace_ns(const struct trace *trace, uint64_t ticks)
{
	uint64_t since = ticks > trace->begin ? ticks - trace->begin : 0;

	return trace->resolution == 1000000000 ? since : (uint64_t)((double)since * 1e9 / (double)trace->resolution);
}

#endif
