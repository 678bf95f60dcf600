/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Results of one pass over an archive: counts, bytes and times per file, location and layer, and per function and call site. They
 * are sums, minima and maxima per location, so they do not depend on the number of threads and processes. A pointer in a structure
 * that processes exchange (location_stat, io_stat, call_stat) needs lines in peers.c.
 */
#ifndef IOPROBE_ANALYSIS_FACTS_H
#define IOPROBE_ANALYSIS_FACTS_H

#include "analysis/extents.h"
#include "analysis/series.h"
#include "trace/trace.h"
#include "util/hash.h"

/* Purpose of a call. */
enum call_class {
	CLASS_READ, CLASS_WRITE, CLASS_OPEN, CLASS_CLOSE, CLASS_STAT, CLASS_SEEK, CLASS_SYNC, CLASS_LOCK, CLASS_RESIZE,
	CLASS_DEFINE, CLASS_REDEFINE, CLASS_ATTRIBUTE, CLASS_DELETE, CLASS_MAP, CLASS_INIT, CLASS_META, CLASS_NONE, CLASSES
};
const char *call_class_name(enum call_class class);

enum file_class { FILE_DATA, FILE_LOG, FILE_SYSTEM, FILE_PROGRAM, FILE_SCRATCH, FILE_EXCLUDED, FILE_NONE, FILE_CLASSES };
const char *file_class_name(enum file_class class);

enum { DIR_READ, DIR_WRITE, DIRS };

#define SMALL_BYTES (1024 * 1024)
#define LATE_NS 1000000 /* of a request below SMALL_BYTES: what is beyond may be the wait for a CPU or for write-back */
#define NEXT_CALL_NS 20000 /* a longer time between two calls is the program's own work, not the way from one to the next */
#define TINY_BYTES 4096
#define PIECES 64
#define NEAR_BYTES (1024 * 1024)        /* a forward jump up to this size does not count as random access */
#define BINS 256                /* per location's time line */
#define SIZE_BINS 32            /* powers of two */
#define TIME_BINS 128           /* quarters of powers of two, of nanoseconds */
#define SERIES_FROM 16
#define FS_KINDS 4              /* file system types that are told apart by the cost model */

/* Reads or writes of one location on one file at one layer. */
struct dir_stat {
	uint64_t n, bytes, asked, unknown, ns;
	uint64_t gap_ns; /* time between the call before and an outermost one, where it is at most NEXT_CALL_NS */
	uint64_t late_ns; /* beyond LATE_NS, of small ones */
	uint64_t small, small_bytes, small_ns, tiny, tiny_ns;
	uint64_t positioned, sequential, near, random, random_ns, unaligned;   /* of operations with known offset */
	uint64_t again, again_bytes, again_ns;  /* data that this location has already read or written */
	uint64_t collective, non_blocking, empty, empty_run, short_n;
	uint64_t unaligned_memory;      /* with a buffer that is not aligned in memory */
	uint64_t collective_ns, independent_ns;
	uint64_t below_collective, below_collective_bytes;      /* inside a collective call of MPI-IO */
	uint64_t nested, nested_bytes;  /* inside a call of an upper layer */
	uint64_t first_ns, last_ns, max_ns, min_offset, end;
	uint64_t last_end;              /* of the previous operation */
	bool doubtful;                  /* several threads share the position from which offsets were replayed */
	struct extents *extents;        /* NULL if not tracked */
};

struct io_stat {
	UT_hash_handle hh;
	struct { uint32_t file, location, layer; } key;
	struct dir_stat dir[DIRS];
	struct {
		uint64_t n, ns, gap_ns, late_ns, nested, failed, failed_ns;
	} meta[CLASSES]; /* nested: recorded calls inside; gap_ns: as in dir_stat; late_ns: beyond LATE_NS */
	/* frames of this layer whose handle is on the file; frames inside others of the layer are not counted again */
	uint64_t calls, ns;
	/* I/O of this layer that calls of upper layers did not request */
	uint64_t reads_in_write, reads_in_write_bytes, reads_in_write_ns;
	uint64_t writes_in_create, writes_in_create_bytes, writes_in_create_ns;
	/* operations inside calls that move all data of the file */
	uint64_t relocations, relocated_read, relocated_written, relocation_ns, relocation_frame_ns;
	uint64_t meta_writes, meta_writes_ns, meta_reads, meta_reads_ns;        /* small, inside calls that are no data calls */
	uint64_t syncs_after_write, since_sync;
	struct extents *filled;         /* extents written while space was created; NULL without offsets */
	uint64_t filled_again;          /* bytes of them that this location wrote later */
	uint64_t created;               /* opens that may create the file */
	/* independent operations of MPI-IO inside a collective data call of an upper layer */
	uint64_t degraded, degraded_bytes, degraded_ns;
	uint64_t collectives;           /* ordinal of the next collective data call */
};

/* Calls of one function from one site on one file by one location. */
struct call_stat {
	UT_hash_handle hh;
	struct { uint32_t region, file, site, location; } key;
	enum call_class class;
	/* frames: recorded calls inside, this one included */
	uint64_t n, failed, ns, max_ns, own_ns, system_ns, mpi_ns, frames;
	/* on chunked datasets of HDF5: calls with at least PIECES data calls of TINY_BYTES or less below; what was below them */
	uint64_t pieces, pieces_n, pieces_bytes, pieces_ns;
	uint64_t asked[DIRS], below_n[DIRS], below_bytes[DIRS], below_ns;
	/* maximum of data calls below one call; calls with many small data calls below that are alike */
	uint64_t most_below, uniform, uniform_ns;
	uint64_t outer_n, outer_ns, outer_gap_ns; /* of calls that are not inside another I/O call */
	uint64_t collective, first_ns, last_ns;
	struct series *series;          /* of outermost reads and writes, from the SERIES_FROMth on; NULL */
	int32_t error;
};

/* One rank's participation in a collective data call. */
struct instance {
	uint32_t file, ordinal, location, region, comm;
	bool of_data;                   /* for data of the program, not for a library's own records */
	uint64_t enter_ns, leave_ns, asked;
	/* system calls with data, also those of other threads for requests made in the call: */
	uint64_t system_ns, system_bytes, system_n;
	size_t first_request, end_request;      /* used while they are joined (carried.c) */
};

/* Outside of I/O calls, a collective call of MPI; or I/O calls that follow each other closely: then before is the collective call
 * before them, if no other I/O is between. */
struct span { uint32_t location, region, before; bool io; uint64_t begin_ns, end_ns; };

/* With --cpu-time. Outermost I/O calls, without those of initialisation: their number, and of those whose times are known how the
 * time is divided; the same of the time between outermost calls. sleeping_ns: in blocking writes and syncs of data files;
 * computing_ns: on a CPU between two of them. */
struct cpu_stat {
	uint64_t calls, unknown, cpu_ns, sleep_ns, io_sleep_ns, delay_ns;
	uint64_t between_cpu_ns, between_sleep_ns, between_delay_ns;
	uint64_t between_mpi_ns;        /* on a CPU in collective calls of MPI, at least; not part of between_cpu_ns */
	uint64_t writes, sleeping_ns, computing_ns, first_ns, last_ns;
};

struct location_stat {
	uint64_t first_ns, last_ns, frames[LAYERS], events;
	struct { uint64_t calls, failed, ns, system_ns, bytes[DIRS], unknown[DIRS]; } layer[LAYERS];
	uint64_t io_ns;                 /* outermost I/O calls */
	uint64_t class_ns[CLASSES], class_n[CLASSES], class_gap_ns[CLASSES]; /* calls of the lowest layer, by class */
	uint64_t mpi_ns, library_ns, init_ns;   /* inside outermost I/O calls */
	struct cpu_stat cpu;
	uint64_t abandoned, mismatched;
	uint64_t lookup_failed, lookups, lookup_failed_ns, lookup_failed_gap_ns; /* opens, stats, accesses by name */
	uint64_t missed_paths, missed_n; /* different paths of those that failed; how many failed in the directory with most: */
	char *missed_in;                        /* NULL: no path is known */
	/* Of look-ups by path that succeeded, opens not counted: how many, of how many different paths, and the most frequent one:
	 * its number, its path and the directory that this is relative to (strings of the archive). */
	uint64_t found, found_paths, found_most;
	uint32_t found_path, found_directory;
	float busy[3][BINS];            /* ns of outermost reads, writes, others */
	float data[BINS];               /* bytes of the lowest layer on data files */
};

/* Times of the lowest layer's data calls by size. */
struct size_times { uint32_t n[TIME_BINS]; uint64_t count, bytes, ns; };

/* Restricts what is judged; surrounding calls are still read. */
struct facts_filter {
	const char *file;               /* pattern of fnmatch(3) for data files, NULL: all */
	int64_t rank;                   /* -1: all */
	uint64_t from_ns, to_ns;        /* calls that begin in this interval, relative to the beginning of the trace */
};

struct facts {
	struct trace *trace;
	struct facts_filter filter;
	enum call_class *region_class;          /* by region: according to its name */
	enum file_class *file_class;            /* by file */
	uint8_t *file_fs;                       /* by file: index of its file system type, FS_KINDS if none */
	const char *fs_names[FS_KINDS];
	struct location_stat *locations;        /* by location */
	TRACE_ARRAY(struct io_stat *, io);      /* ordered by file, layer, location */
	TRACE_ARRAY(struct call_stat *, calls); /* ordered by region, file, site, location */
	TRACE_ARRAY(struct instance, instances); /* ordered by file, ordinal, location */
	TRACE_ARRAY(struct span, spans);        /* ordered by end */
	bool *chunked;                          /* by handle: a dataset of HDF5 that is known to be chunked; NULL: none is */
	bool *collective_region;                /* by region: a collective call of MPI; NULL: none was recorded */
	struct size_times (*sizes)[DIRS][SIZE_BINS];    /* FS_KINDS */
	uint64_t size_counts[LAYERS][DIRS][SIZE_BINS];
	uint64_t merged_files, dropped_instances;       /* beyond the memory limits */
	enum trace_layer lowest;                /* the lowest layer with operations in this trace */
	uint64_t offsets_known, offsets_unknown, unknown_sizes;
	uint64_t wall_ns, nranks, nnodes, damaged;      /* wall: of the whole trace */
	bool has_sites, has_errors, has_offsets, has_wall, has_cpu, has_buffers;
};

struct peers;

/* Reads the archive in the current directory. peers: other processes that read a part of it each, and call this as well (peers.h);
 * the first one has all facts then, the others none; NULL: none. Returns 0, or -errno with one line in err, which is empty if
 * another process has printed it. */
int facts_read(struct facts *facts, struct trace *trace, const struct facts_filter *filter, unsigned nworkers,
	       const struct peers *peers, char *err, size_t err_len);
void facts_free(struct facts *facts);

#endif
