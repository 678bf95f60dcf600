/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Requests of asynchronous I/O of each process, by their control blocks and by what they ask for.
 */
#include "replay/async/helpers.h"
#include "replay/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* One request. In the list of its work until a system call is joined to it. */
struct helper_wait {
	uint64_t block, matching_id, begin_ns;
	struct helper_queue *queue;     /* NULL: joined */
	struct helper_wait *prev, *next;
	UT_hash_handle hh;
};

/* Requests for the same work, oldest first. Exists while it is not empty. */
struct helper_queue {
	struct helper_work work;
	struct helper_wait *waits;
	UT_hash_handle hh;
};

static struct helper_wait *helpers_find(const struct process *process, uint64_t block)
{
	struct helper_wait *wait;

	HASH_FIND(hh, process->helper_waits, &block, sizeof(block), wait);
	return wait;
}

static struct helper_queue *queue_find(const struct process *process, const struct helper_work *work)
{
	struct helper_queue *queue;

	HASH_FIND(hh, process->helper_queues, work, sizeof(*work), queue);
	return queue;
}

static struct helper_queue *queue_get(struct process *process, const struct helper_work *work)
{
	struct helper_queue *queue = queue_find(process, work);

	if (queue)
		return queue;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	queue->work = *work;
	HASH_ADD(hh, process->helper_queues, work, sizeof(queue->work), queue);
	if (hash_added(queue))
		return queue;
	free(queue);
	return NULL;
}

static void queue_leave(struct process *process, struct helper_wait *wait)
{
	struct helper_queue *queue = wait->queue;

	if (!queue)
		return;
	wait->queue = NULL;
	DL_DELETE(queue->waits, wait);
	if (queue->waits)
		return;
	HASH_DEL(process->helper_queues, queue);
	free(queue);
}

static void helpers_forget(struct process *process, struct helper_wait *wait)
{
	queue_leave(process, wait);
	HASH_DEL(process->helper_waits, wait);
	free(wait);
}

/* ---- requests ---- */

static int helpers_enqueue(struct process *process, struct helper_wait *wait, const struct helper_work *work)
{
	wait->queue = queue_get(process, work);
	if (!wait->queue)
		return -ENOMEM;
	DL_APPEND(wait->queue->waits, wait);
	return 0;
}

int helper_expect(struct replay *r, struct process *process, uint64_t block, const struct helper_work *work, uint64_t begin_ns)
{
	struct helper_wait *wait = helpers_find(process, block);

	if (wait)       /* the program reuses the block: the result of the earlier request was never read */
		helpers_forget(process, wait);
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		return -ENOMEM;
	wait->block = block;
	wait->begin_ns = begin_ns;
	wait->matching_id = ++r->matching_id;
	HASH_ADD(hh, process->helper_waits, block, sizeof(wait->block), wait);
	if (!hash_added(wait)) {
		free(wait);
		return -ENOMEM;
	}
	return helpers_enqueue(process, wait, work);    /* owned by the process */
}

uint64_t helper_matching_id(const struct process *process, uint64_t block, bool *joined)
{
	const struct helper_wait *wait = helpers_find(process, block);

	*joined = wait && !wait->queue;
	return wait ? wait->matching_id : 0;
}

void helper_request_ended(struct replay *r, struct process *process, uint64_t block, bool done)
{
	struct helper_wait *wait = helpers_find(process, block);

	if (!wait)
		return;
	r->requests_not_joined += done && wait->queue;
	helpers_forget(process, wait);
}

void helper_forget_all(struct process *process)
{
	struct helper_wait *wait, *next;

	HASH_ITER(hh, process->helper_waits, wait, next)
		helpers_forget(process, wait);
}

/* ---- system calls ---- */

/* glibc repeats an interrupted call, and a call with an offset on a pipe or socket without the offset. */
static bool is_repetition(const struct thread *thread, const struct helper_work *work)
{
	return thread->helping.again && thread->helping.fd == work->fd && thread->helping.mode == work->mode &&
	       thread->helping.bytes == work->bytes;
}

static uint64_t helpers_join(struct process *process, const struct helper_work *work, uint64_t enter_ns)
{
	struct helper_queue *queue = queue_find(process, work);
	struct helper_wait *wait = queue ? queue->waits : NULL;

	if (!wait || wait->begin_ns > enter_ns)
		return 0;
	queue_leave(process, wait);
	return wait->matching_id;
}

uint64_t helper_request(struct replay *r, struct thread *thread, const struct frame *f, const struct helper_work *work)
{
	uint64_t id;

	if (thread->maker == MAKER_PROGRAM || thread->tid == thread->process->tgid || f != thread->frames)
		return 0;
	id = is_repetition(thread, work) ? thread->helping.matching_id : helpers_join(thread->process, work, f->enter_ns);
	r->helper_calls_not_joined += !id && thread->maker == MAKER_LIBRARY;
	thread->helping.matching_id = id;
	thread->helping.bytes = work->bytes;
	thread->helping.fd = work->fd;
	thread->helping.mode = work->mode;
	thread->helping.again = id && f->failed && (f->ret == -ESPIPE || f->ret == -EINTR);
	return id;
}

void helper_thread_made(const struct replay *r, const struct thread *maker, struct thread *thread)
{
	const struct frame *top = maker->nframes ? &maker->frames[maker->nframes - 1] : NULL;

	if (maker->maker == MAKER_LIBRARY || (top && frame_info(r, top)->on_fd))
		thread->maker = MAKER_LIBRARY;
	else
		thread->maker = MAKER_PROGRAM;
}

/* ---- the end of the replay ---- */

int helpers_finish(struct replay *r)
{
	int ret = 0;

	if (r->requests_not_joined && r->fd_paradigm != REF_NONE)
		ret = model_note(r->model,
				 "%llu requests of asynchronous I/O ended without a recorded system call of a helper thread",
				 (unsigned long long)r->requests_not_joined);
	if (!ret && r->helper_calls_not_joined)
		ret = model_note(r->model,
				 "%llu operations of threads that a library of asynchronous I/O made belong to no recorded request",
				 (unsigned long long)r->helper_calls_not_joined);
	return ret;
}
