/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A waiting thread spins, so it is answered at once. Who waits for probes, which takes longer, is stopped meanwhile by ptrace(2):
 * unlike SIGSTOP that is invisible to its parent, and ends by itself if we die.
 */
#include "capture/responder.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* A thread on its way from request to release. */
struct held {
	uint64_t pid_tgid;
	bool stopped;           /* by ptrace; else it still spins and is released by an answer */
	int signal;             /* that was about to be delivered when it stopped */
	bool told, released;
	struct held *next;
};

struct responder {
	struct kernel_side *kernel;
	struct ring_buffer *ring;
	pthread_t thread;
	pthread_mutex_t lock;   /* of held */
	struct held *held;
	int probes_fd, wake_fd; /* eventfds: to the main loop, and from it */
	atomic_bool stop;
	atomic_ullong failed;
};

/* ---- unwinders ---- */

/* The thread stands inside the unwinder's first instruction: its stack does not change meanwhile. */
static int on_returns(void *arg, void *data, size_t size)
{
	struct responder *responder = arg;
	const struct iop_request *request = data;

	if (size < sizeof(*request))
		return 0;
	for (uint64_t i = 0; i < request->n && i < IOP_MAX_RETURNS; i++) {
		uint64_t value = request->slot[i].value;
		struct iovec local = { &value, sizeof(value) };
		struct iovec remote = { (void *)(uintptr_t)request->slot[i].address, sizeof(value) };

		if (process_vm_writev(request->pid_tgid >> 32, &local, 1, &remote, 1, 0) != sizeof(value))
			responder->failed++;
	}
	kernel_side_answer(responder->kernel, request->pid_tgid);
	return 0;
}

/* ---- launched programs ---- */

/* False if it cannot be stopped, as when a debugger has it: then it goes on spinning, for a bounded time. */
static bool stop_thread(struct responder *responder, struct held *held)
{
	pid_t tid = (uint32_t)held->pid_tgid;
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return false;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	kernel_side_answer(responder->kernel, held->pid_tgid);
	if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return true;    /* it was killed: nothing to release */
	held->signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
	return true;
}

static int on_probes(void *arg, void *data, size_t size)
{
	struct responder *responder = arg;
	const struct iop_request *request = data;
	struct held *held = size < sizeof(*request) ? NULL : calloc(1, sizeof(*held));

	if (!held)
		return 0;       /* it goes on after the limit, and is counted */
	held->pid_tgid = request->pid_tgid;
	held->stopped = stop_thread(responder, held);
	pthread_mutex_lock(&responder->lock);
	held->next = responder->held;
	responder->held = held;
	pthread_mutex_unlock(&responder->lock);
	eventfd_write(responder->probes_fd, 1);
	return 0;
}

static void let_go(struct responder *responder, struct held *held)
{
	if (held->stopped)
		ptrace(PTRACE_DETACH, (pid_t)(uint32_t)held->pid_tgid, NULL, held->signal);
	else
		kernel_side_answer(responder->kernel, held->pid_tgid);
	free(held);
}

/* Only the thread that stopped another one may let it go. */
static void release_held(struct responder *responder, bool all)
{
	pthread_mutex_lock(&responder->lock);
	for (struct held **at = &responder->held; *at;) {
		struct held *held = *at;

		if (!held->released && !all) {
			at = &held->next;
			continue;
		}
		*at = held->next;
		let_go(responder, held);
	}
	pthread_mutex_unlock(&responder->lock);
}

/* ---- the thread ---- */

static int on_wake(struct responder *responder)
{
	eventfd_t count;

	eventfd_read(responder->wake_fd, &count);
	release_held(responder, false);
	return 0;
}

static void *run(void *arg)
{
	struct responder *responder = arg;
	struct sched_param first = { .sched_priority = 1 };

	/* Ahead of the waiting thread, which may spin on this very CPU. Without the privilege it takes a scheduler tick longer. */
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	while (!responder->stop) {
		ring_buffer__poll(responder->ring, 100);
		on_wake(responder);
	}
	release_held(responder, true);
	return NULL;
}

static void responder_free(struct responder *responder)
{
	ring_buffer__free(responder->ring);
	if (responder->probes_fd >= 0)
		close(responder->probes_fd);
	if (responder->wake_fd >= 0)
		close(responder->wake_fd);
	free(responder);
}

static int open_rings(struct responder *responder)
{
	struct epoll_event event = { .events = EPOLLIN };

	responder->ring = ring_buffer__new(kernel_side_return_requests_fd(responder->kernel), on_returns, responder, NULL);
	if (!responder->ring)
		return -errno;
	if (ring_buffer__add(responder->ring, kernel_side_probe_requests_fd(responder->kernel), on_probes, responder))
		return -errno;
	/* The wake-up of the main loop ends the poll like a record would. */
	event.data.fd = 0;
	return epoll_ctl(ring_buffer__epoll_fd(responder->ring), EPOLL_CTL_ADD, responder->wake_fd, &event) ? -errno : 0;
}

int responder_create(struct responder **out, struct kernel_side *kernel)
{
	struct responder *responder = calloc(1, sizeof(*responder));
	int err;

	if (!responder)
		return -ENOMEM;
	responder->kernel = kernel;
	pthread_mutex_init(&responder->lock, NULL);
	responder->probes_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	responder->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = responder->probes_fd < 0 || responder->wake_fd < 0 ? -errno : open_rings(responder);
	if (!err)
		err = -pthread_create(&responder->thread, NULL, run, responder);
	if (err) {
		responder_free(responder);
		return err;
	}
	*out = responder;
	return 0;
}

void responder_destroy(struct responder *responder)
{
	if (!responder)
		return;
	responder->stop = true;
	eventfd_write(responder->wake_fd, 1);
	pthread_join(responder->thread, NULL);
	responder_free(responder);
}

/* ---- the main loop's side ---- */

int responder_probes_fd(const struct responder *responder)
{
	return responder->probes_fd;
}

uint64_t responder_next(struct responder *responder)
{
	uint64_t pid_tgid = 0;
	eventfd_t count;

	eventfd_read(responder->probes_fd, &count);
	pthread_mutex_lock(&responder->lock);
	for (struct held *held = responder->held; held && !pid_tgid; held = held->next) {
		if (held->told)
			continue;
		held->told = true;
		pid_tgid = held->pid_tgid;
	}
	pthread_mutex_unlock(&responder->lock);
	return pid_tgid;
}

void responder_release(struct responder *responder, uint64_t pid_tgid)
{
	pthread_mutex_lock(&responder->lock);
	for (struct held *held = responder->held; held; held = held->next)
		if (held->told && held->pid_tgid == pid_tgid)
			held->released = true;
	pthread_mutex_unlock(&responder->lock);
	eventfd_write(responder->wake_fd, 1);
}

uint64_t responder_failed(const struct responder *responder)
{
	return responder->failed;
}
