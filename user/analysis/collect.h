/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * State of one thread that reads events: the call stack of the current location, and the results of all its locations. Shared by
 * nest.c (the stack), patterns.c (operations on files), carried.c (operations for other threads), compute.c (computing and waiting)
 * and facts.c (lifetime).
 */
#ifndef IOPROBE_ANALYSIS_COLLECT_H
#define IOPROBE_ANALYSIS_COLLECT_H

#include <stdatomic.h>

#include "analysis/facts.h"
#include "trace/read.h"

#define MAX_DEPTH 256
#define MAX_IO_STATS 400000     /* over all threads: further files are combined in one entry, "other files" */
#define MAX_CALL_STATS 1500000
#define MAX_INSTANCES 2000000
#define MAX_SPANS 500000

/* Data calls below one call, as long as they have the same size and stride. */
struct run { uint64_t n, size, same_size, last, stride, same_stride; };

struct frame {
	uint64_t begin_ns, gap_ns, child_ns, system_ns, mpi_ns, frames;
	uint32_t region, site, handle, file, comm;
	enum trace_layer layer;
	enum call_class event;          /* what its events say, CLASS_NONE */
	bool io, outer, in_init, collective, non_blocking, positioned, replayed, failed, creates, unaligned;
	enum trace_op_kind kind;
	uint32_t ops;
	/* assumed: asked, without a request */
	uint64_t op_id, op_bytes, asked, moved, assumed, offset, unknown;
	uint64_t below_n[DIRS], below_bytes[DIRS], below_ns, below_tiny, data_ns;
	uint64_t request;               /* that it carries out, TRACE_UNKNOWN */
	size_t first_request;           /* requests made before it */
	struct run run;
};

/* An operation that a thread carried out for a request. */
struct carried { uint64_t id, ns, bytes; };

struct position { uint32_t epoch, root; uint64_t at; };

/* What the threads of one pass have in common. */
struct pass {
	struct facts *facts;
	TRACE_ARRAY(struct collector *, collectors);    /* one per thread, and those of other processes */
	struct shared_counts { atomic_uint io, calls, instances, spans; atomic_ullong merged, dropped; } shared;
	_Atomic uint32_t *handle_user;  /* by handle: 1 + the location that moved its position, UINT32_MAX for several */
	const unsigned *owner;          /* by location: which process reads it; NULL: this one reads all */
	unsigned index;                 /* of this process */
};

struct collector {
	struct pass *pass;
	struct facts *facts;
	struct trace *trace;
	uint32_t location, epoch;
	uint64_t outermost_end_ns;      /* of the current location's last outermost call, TRACE_UNKNOWN */
	uint64_t last_io_end_ns; /* of its last outermost I/O call, TRACE_UNKNOWN */
	uint64_t waited_ns;             /* in collective calls of MPI that have no CPU times, since its last outermost call */
	uint64_t computed_ns;           /* on a CPU since its last blocking write or sync, if it made one before */
	struct location_stat *stat;
	struct frame stack[MAX_DEPTH];
	unsigned depth, skipped;        /* skipped: frames deeper than the stack */
	struct position *positions;     /* by handle */
	struct io_stat *io;             /* hash tables of the current location, and of all before it */
	struct call_stat *calls;
	TRACE_ARRAY(struct instance, instances);
	TRACE_ARRAY(struct span, spans);
	bool span_open;                 /* the last one is of I/O, and may go on */
	uint32_t collective_before;     /* since the last I/O call, TRACE_NONE */
	TRACE_ARRAY(uint64_t, made);    /* ids of requests made in collective calls, in order */
	TRACE_ARRAY(struct carried, carried);
	struct lookup *lookups;         /* lookups.c */
	struct size_times (*sizes)[DIRS][SIZE_BINS];
	uint64_t size_counts[LAYERS][DIRS][SIZE_BINS];
	uint64_t bin_ns;
	bool wanted;                    /* the location passes the filter */
	bool failed;                    /* out of memory */
};

extern const struct trace_visitor collect_visitor;

/* Adds a collector to the pass; NULL without memory. */
struct collector *collector_new(struct pass *pass);
void collector_free(struct collector *collector);       /* the elements of the hash tables belong to the facts */

struct io_stat *collect_io(struct collector *c, uint32_t file, enum trace_layer layer);

/* compute.c: an outermost call ends. CPU_IO: of file I/O; CPU_OUTPUT: a blocking write or sync of a data file. */
enum cpu_kind { CPU_OTHER, CPU_IO, CPU_OUTPUT };
void collect_cpu(struct collector *c, const struct frame *f, const struct trace_cpu *cpu, uint64_t ns, enum cpu_kind kind);

/* beside.c: an outermost call ends, of I/O or not; whether a function is a collective call of MPI; the order of spans. */
void collect_beside(struct collector *c, const struct frame *f, uint64_t ns, bool io);
bool beside_is_collective(const char *name);
int beside_span_order(const void *a, const void *b);

/* lookups.c. A look-up by path; after the pass: the paths of each location, the most frequent directory of those that failed and
 * the most frequent path of the others. Returns 0 or -ENOMEM. */
void collect_lookup(struct collector *c, const struct trace_leave *leave);
int lookups_take(struct collector *c);
void lookups_free(struct collector *c);

/* carried.c. A request that a call has made; an operation that carries one out, at its end; after the pass: adds these operations
 * to the instances of the calls that made their requests. Returns 0 or -ENOMEM. */
void collect_request_made(struct collector *c, uint64_t id);
void collect_request_carried_out(struct collector *c, const struct frame *f, uint64_t ns);
int carried_join(struct collector *const *collectors, size_t n);

/* patterns.c: handles a data operation at the end of its frame. */
void collect_operation(struct collector *c, struct frame *f, uint64_t ns);
/* An outermost call that ends definitions or closes a file. */
void collect_relocation(struct collector *c, const struct frame *f, uint64_t ns);
/* Where an operation without an offset begins, from the position that its handle has. */
void collect_position(struct collector *c, struct frame *f);
void collect_handle(void *worker, uint64_t ns, enum trace_handle_event event, uint32_t handle, uint32_t other, uint64_t position);

#endif
