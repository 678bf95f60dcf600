/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Threads with their stacks of open calls.
 */
#ifndef IOPROBE_REPLAY_THREAD_STATE_H
#define IOPROBE_REPLAY_THREAD_STATE_H

#include <ioprobe/record.h>
#include <stdbool.h>

#include "model/model.h"
#include "replay/frame_state.h"
#include "replay/process_state.h"
#include "util/hash.h"

/* Identifies an operation of libaio or io_uring (async.c). */
struct async_key { uint64_t key, context; uint32_t tgid, interface; };

/* With --cpu-time (cpu_time.c). next: the CPU record of the call with its enter_ns. lost: records of the thread were lost since the
 * end of its last outermost call. before_…: of calls that are not written to the trace, and between them. */
struct cpu_times {
	struct iop_rec_cpu next;
	bool lost, before_unknown;
	uint64_t before_off_ns, before_delay_ns;
	uint64_t end_ns;                /* of that call */
};

/* Who made a thread; MAKER_UNKNOWN: it existed before it was observed. */
enum thread_maker { MAKER_UNKNOWN, MAKER_PROGRAM, MAKER_LIBRARY };

struct thread {
	uint32_t tid, location;
	enum thread_maker maker;
	/* its last system call for a request (async/helpers.c); again: the next one may repeat it */
	struct { uint64_t matching_id, bytes; int32_t fd; uint32_t mode; bool again; } helping;
	struct process *process;
	struct fd_table *table;
	struct fd_epochs epochs;
	uint32_t last_seq;
	uint64_t begin_ns;              /* when it was created or first observed */
	uint64_t last_ns;               /* of the location's last event */
	uint64_t last_rec_ns;
	bool disturbed;                 /* a loss or an abandoned frame explains a timestamp that is too old */
	struct frame *frames;
	unsigned nframes, cap;
	MODEL_ARRAY(struct async_key, submitted);       /* by the running io_submit */
	struct request_states states;
	struct cpu_times cpu;
	UT_hash_handle hh;
};

#endif
