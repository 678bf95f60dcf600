/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The estimate is what libotf2 3.0 writes for a call with large values (offsets beyond 4 GiB, a job of several nodes), and what the
 * archiver assumes for definitions and the summary (sink/otf2/archive_size.c); a write was measured at 46 to 59 bytes. It is an
 * upper bound, so that the archive has all that a stream has counted. The archiver decides in the end: it knows the true size and
 * ends the archive earlier if necessary.
 */
#include "capture/budget.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BLOCK 4096                         /* file sizes are rounded up to whole blocks */
#define LOCATION_BYTES (2 * FILE_BLOCK + 128)   /* .evt, .def, definition */
#define SITE_REF_BYTES 20         /* two attributes of an outermost call and the head of their list */
#define UNALIGNED_BYTES 9         /* an attribute, and the head of its list */
#define FAILED_BYTES 24           /* the same, of the call and of its operation */
#define CPU_TIME_BYTES 26         /* two attributes and the head of their list */
#define PROCESS_BYTES 3400
#define PROGRAM_BYTES 512
#define FILE_BYTES 1080                         /* definition, entry of the summary */
#define HANDLE_BYTES 414                        /* the same */
#define AGENT_FACTOR 4                          /* mappings, notes: definitions, properties, entries of the summary */
#define FILES_MAX (1u << 20)                    /* that are known again */
#define SMALLEST_GAIN 4096                      /* if a flush frees less than this, the limit is reached */
#define FREE_INTERVAL_NS 100000000ull
#define RATE_INTERVAL_NS 1000000000ull

struct budget {
	const struct bounds *bounds;
	const struct table_set *set;
	const struct spool_writer *spool;
	uint64_t limit;                 /* for spool and archive together, less the reserve; UINT64_MAX: none */
	struct site_sizes sites;
	uint64_t archive_bytes;         /* estimate for the drained records */
	uint64_t drained_bytes;         /* size of the drained records in the spool, uncompressed */
	uint64_t begin_bytes;           /* spool size when the budget was created: tables, which are not in the archive */
	uint64_t free_bytes;            /* at the last check */
	uint64_t free_seen_ns, rate_since_ns, calls, calls_before, refused, refused_since_ns;
	const char *reached;
	char reason[160];
};

/* ---- the archive's size ---- */

static uint64_t call_bytes(const struct table_row *row)
{
	switch (row ? row->op : OP_READ) {
	case OP_COPY: return 132;
	case OP_READ: case OP_WRITE: case OP_SYNC: case OP_SEEK: case OP_LOCK: case OP_UNLOCK: case OP_TRYLOCK: case OP_MAP:
	case OP_WAIT: case OP_TEST: case OP_CANCEL: case OP_CONTROL: return 64;
	case OP_COMM: return 240;
	default: return 48;
	}
}

/* Offsets and sizes are stored without their leading zero bytes. */
static unsigned value_bytes(const struct iop_rec_call *rec)
{
	unsigned bytes = 0;

	for (unsigned i = 0; i < rec->nargs && i < IOP_MAX_ARGS; i++)
		bytes += rec->args[i] ? 1 + (63 - __builtin_clzll(rec->args[i])) / 8 : 0;
	return bytes;
}

/* A handle that the call makes. That of a descriptor has a record of its own; a name may be that of a new file. */
static uint64_t made_bytes(const struct table_row *row)
{
	switch (row ? row->op : OP_READ) {
	case OP_DUP: return HANDLE_BYTES;
	case OP_OPEN:
	case OP_CREATE: return row->syscall_nr >= 0 ? 0 : FILE_BYTES + HANDLE_BYTES;
	default: return 0;
	}
}

/* Attributes that only some calls have. A library's result does not show whether the call failed: call_bytes() has room for
 * that. */
static uint64_t budget_attribute_bytes(const struct iop_rec_call *rec, const struct table_row *row)
{
	bool failed = row && row->syscall_nr >= 0 && rec->ret < 0;
	bool site = rec->site[0] || rec->site[1] || rec->site[2];

	return (site ? SITE_REF_BYTES : 0) + (rec->rec.flags & IOP_F_UNALIGNED ? UNALIGNED_BYTES : 0) + (failed ? FAILED_BYTES : 0);
}

static uint64_t record_bytes(const struct iop_rec *rec, const struct table_row *row)
{
	const struct iop_rec_call *call = (const struct iop_rec_call *)rec;
	uint64_t strings = rec->flags & IOP_F_STRINGS ? 2 * rec->len : 0;

	switch (rec->type) {
	case IOP_REC_CALL:
		return call_bytes(row) + value_bytes(call) + budget_attribute_bytes(call, row) + strings + made_bytes(row);
	case IOP_REC_ENTER: return 16 + value_bytes(call) + budget_attribute_bytes(call, NULL) + strings;
	case IOP_REC_EXIT: return call_bytes(row) - 16 + budget_attribute_bytes(call, row) + strings + made_bytes(row);
	case IOP_REC_FD:
	case IOP_REC_MOUNT:
	case IOP_REC_FILE: return 128 + HANDLE_BYTES + FILE_BYTES + 2 * ((const struct iop_rec_fd *)rec)->path_len;
	case IOP_REC_ASYNC: return 80;
	case IOP_REC_ASYNC_END: return 48;
	case IOP_REC_SOCKET: return 200 + HANDLE_BYTES + FILE_BYTES;
	case IOP_REC_DEVICE: return 32;
	case IOP_REC_CPU: return 64;
	case IOP_REC_COLLECTIVE: return 120 + SITE_REF_BYTES;
	case IOP_REC_EXEC: return PROGRAM_BYTES + 2 * rec->len;
	case IOP_REC_REQUESTS:
	case IOP_REC_SUBMITTED: return 80 * ((const struct iop_rec_requests *)rec)->n;
	/* these have no part in the archive by themselves, or a small one in definitions */
	case IOP_REC_CWD: case IOP_REC_FORK: case IOP_REC_TASK_EXIT: case IOP_REC_MAP_EXEC: case IOP_REC_CONSTANTS:
	case IOP_REC_CONTENTS:
	case IOP_REC_SITE: case IOP_REC_PYTHON_CODE:    /* site_sizes.h */
	case IOP_REC_OWN_FILES: case IOP_REC_FD_EPOCH: case IOP_REC_DEMAND:
		return 0;
	default: return rec->type >= IOP_REC_AGENT ? AGENT_FACTOR * (uint64_t)rec->len : rec->len;
	}
}

uint64_t budget_archive_bytes(struct site_sizes *sites, const struct iop_rec *rec, const struct table_row *row)
{
	uint64_t bytes = record_bytes(rec, row) + site_sizes_add(sites, rec);

	if (rec->seq == 1)      /* first record of a thread */
		bytes += LOCATION_BYTES + (rec->tid == rec->tgid ? PROCESS_BYTES : 0);
	return bytes;
}

static const struct table_row *budget_row_of(const struct budget *b, const struct iop_rec *rec)
{
	uint16_t probe;

	if (rec->type != IOP_REC_CALL && rec->type != IOP_REC_ENTER && rec->type != IOP_REC_EXIT)
		return NULL;
	probe = ((const struct iop_rec_call *)rec)->probe;
	return probe < b->set->nrows ? &b->set->rows[probe] : NULL;
}

/* Of records that the agent writes itself: processes, libraries, descriptors found at attach. */
static uint64_t agent_bytes(const struct budget *b)
{
	return AGENT_FACTOR * (spool_writer_raw_bytes(b->spool) - b->begin_bytes - b->drained_bytes);
}

static uint64_t archive_bytes(const struct budget *b)
{
	return b->archive_bytes + agent_bytes(b);
}

/* Records that are not yet written are counted as incompressible. */
static uint64_t used_bytes(const struct budget *b)
{
	return spool_writer_bytes(b->spool) + spool_writer_pending(b->spool) + archive_bytes(b);
}

/* ---- limits ---- */

__attribute__((format(printf, 3, 4)))
static void budget_reach(struct budget *b, const char *bound, const char *format, ...)
{
	va_list args;

	if (b->reached)
		return;
	b->reached = bound;
	va_start(args, format);
	vsnprintf(b->reason, sizeof(b->reason), format, args);
	va_end(args);
}

static uint64_t budget_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Spool and archive may use the free space, of which the spool has already used some. */
static int set_limit(struct budget *b)
{
	uint64_t size = b->bounds->max_bytes ? b->bounds->max_bytes : UINT64_MAX, space = UINT64_MAX;
	int err = 0;

	if (b->bounds->min_free_bytes) {
		err = spool_writer_free_bytes(b->spool, &b->free_bytes);
		space = err ? UINT64_MAX : spool_writer_bytes(b->spool) + budget_less(b->free_bytes, b->bounds->min_free_bytes);
	}
	if (size > space)
		size = space;
	b->limit = size == UINT64_MAX ? size : budget_less(size, BUDGET_RESERVE_BYTES);
	return err;
}

static void limit_reached(struct budget *b)
{
	if (b->bounds->max_bytes && b->limit == b->bounds->max_bytes - BUDGET_RESERVE_BYTES)
		budget_reach(b, "max-size", "--max-size %s was reached", b->bounds->max_size_text);
	else
		budget_reach(b, "min-free", "--min-free %s was reached: %llu MiB are free, some of which the archive will take",
			     b->bounds->min_free_text, (unsigned long long)(b->free_bytes >> 20));
}

static bool budget_fits(struct budget *b, struct spool_writer *spool, uint64_t more)
{
	if (used_bytes(b) + more <= b->limit)
		return true;
	if (spool_writer_pending(spool))
		spool_writer_flush(spool);
	return used_bytes(b) + more + SMALLEST_GAIN <= b->limit;
}

static void check_rate(struct budget *b, uint64_t now_ns)
{
	double rate = (b->calls - b->calls_before) * 1e9 / (now_ns - b->rate_since_ns);

	if (rate > b->bounds->max_rate)
		budget_reach(b, "max-rate", "--max-rate %.15g was exceeded: %.0f calls per second", b->bounds->max_rate, rate);
	b->calls_before = b->calls;
	b->rate_since_ns = now_ns;
}

/* ---- public ---- */

int budget_create(struct budget **out, const struct bounds *bounds, const struct table_set *set, const struct spool_writer *spool,
		  char *err_text, size_t err_len)
{
	struct budget *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	*b = (struct budget){ .bounds = bounds, .set = set, .spool = spool, .begin_bytes = spool_writer_raw_bytes(spool),
			      .refused_since_ns = UINT64_MAX };
	err = set_limit(b);
	if (err) {
		snprintf(err_text, err_len, "--min-free: cannot ask for the output's free space: %s", strerror(-err));
	} else if (used_bytes(b) > b->limit) {
		err = -ENOSPC;
		snprintf(err_text, err_len,
			 "cannot record: %llu MiB are free, --min-free %s leaves no room: choose another directory",
			 (unsigned long long)(b->free_bytes >> 20), bounds->min_free_text);
	}
	if (err)
		free(b);
	else
		*out = b;
	return err;
}

void budget_destroy(struct budget *budget)
{
	if (!budget)
		return;
	site_sizes_deinit(&budget->sites);
	free(budget);
}

/* With --cpu-time each call's end has attributes, also of calls without a CPU record. */
static uint64_t cpu_time_bytes(const struct budget *b, const struct iop_rec *rec)
{
	return b->bounds->cpu_time && (rec->type == IOP_REC_CALL || rec->type == IOP_REC_EXIT) ? CPU_TIME_BYTES : 0;
}

bool budget_admits(struct budget *b, struct spool_writer *spool, const struct iop_rec *rec)
{
	if (!b->reached) {
		uint64_t archive = budget_archive_bytes(&b->sites, rec, budget_row_of(b, rec)) + cpu_time_bytes(b, rec);

		b->calls += rec->type == IOP_REC_CALL || rec->type == IOP_REC_EXIT;
		if (b->limit == UINT64_MAX || budget_fits(b, spool, archive + rec->len)) {
			b->archive_bytes += archive;
			b->drained_bytes += rec->len;
			return true;
		}
		limit_reached(b);
	}
	b->refused++;
	if (rec->time_ns < b->refused_since_ns)
		b->refused_since_ns = rec->time_ns;
	return false;
}

void budget_step(struct budget *b, uint64_t now_ns)
{
	if (b->bounds->min_free_bytes && now_ns - b->free_seen_ns >= FREE_INTERVAL_NS) {
		set_limit(b);
		b->free_seen_ns = now_ns;
		if (b->limit != UINT64_MAX && used_bytes(b) > b->limit)
			limit_reached(b);
	}
	if (!b->rate_since_ns)
		b->rate_since_ns = now_ns;
	if (b->bounds->max_rate > 0 && now_ns - b->rate_since_ns >= RATE_INTERVAL_NS)
		check_rate(b, now_ns);
}

const char *budget_reached(const struct budget *b, const char **reason)
{
	*reason = b->reason;
	return b->reached;
}

uint64_t budget_refused(const struct budget *b)
{
	return b->refused;
}

uint64_t budget_refused_since(const struct budget *b)
{
	return b->refused_since_ns;
}
