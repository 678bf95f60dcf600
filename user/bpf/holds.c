/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The thread of the hold server that serves waiting threads. A thread that waits for probes is stopped by ptrace(2), because it
 * must sleep: the kernel takes hundreds of milliseconds to place a probe in a program that spins. Unlike SIGSTOP, ptrace is
 * invisible to the thread's parent, and ends by itself if the server dies.
 */
#include "bpf/hold_server_internal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/hold_entry.h"
#include "bpf/rings.h"

#define RETRY_MS 1              /* while a thread is about to stop */

/* A thread between its request and its release. */
struct held {
	struct iop_hold_id id;
	uint64_t since_ns;
	bool seized;            /* else it still spins and is released by an answer */
	bool stopped, release;
	bool ended;             /* killed while it was held */
	int signal;             /* signal that was about to be delivered when it stopped */
	struct held *next;
};

struct holds {
	struct hold_server *server;
	struct ring_buffer *ring;
	struct held *held;
	bool over;              /* the recorder has ended */
};

/* ---- unwinders ---- */

static bool write_return(const struct iop_return_request *request, size_t i)
{
	uint64_t value = request->slot[i].value;
	struct iovec local = { &value, sizeof(value) };
	struct iovec remote = { (void *)(uintptr_t)request->slot[i].address, sizeof(value) };

	return process_vm_writev(request->id.pid_tgid >> 32, &local, 1, &remote, 1, 0) == sizeof(value);
}

/* The thread is inside the unwinder's first instruction: its stack does not change while it waits. In WRITING it may not give
 * up. */
size_t holds_give_returns(struct iop_hold *holds, const struct iop_return_request *request)
{
	size_t n = request->n < IOP_MAX_RETURNS ? request->n : IOP_MAX_RETURNS, failed = 0;

	if (monotonic_ns() >= request->id.deadline_ns ||
	    !hold_entry_change(holds, &request->id, IOP_HOLD_WAITING, IOP_HOLD_WRITING))
		return n;
	for (size_t i = 0; i < n; i++)
		failed += !write_return(request, i);
	hold_entry_change(holds, &request->id, IOP_HOLD_WRITING, IOP_HOLD_ANSWERED);
	return failed;
}

static int on_returns(void *arg, void *data, size_t size)
{
	struct holds *holds = arg;

	if (size >= sizeof(struct iop_return_request))
		holds->server->counters->returns_failed += holds_give_returns(bpf_side_holds(holds->server->kernel), data);
	return 0;
}

/* ---- new programs ---- */

static void holds_notify(struct holds *holds, enum hold_notice_type type, const struct held *held, uint64_t gave_up_ns)
{
	struct hold_notice notice = { type, held->id, held->since_ns, gave_up_ns };

	/* a stopped recorder does not read notices: those of its longest silence are lost, together with the holds */
	send(holds->server->hold_fd, &notice, sizeof(notice), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Stops the thread before it runs any code of its own: it is returning from the kernel, or will be when it is answered. */
static int on_probes(void *arg, void *data, size_t size)
{
	const struct iop_probe_request *request = data;
	struct holds *holds = arg;
	struct held *held = size < sizeof(*request) ? NULL : calloc(1, sizeof(*held));
	pid_t tid = (uint32_t)request->id.pid_tgid;

	if (!held)
		return 0;       /* it continues after the time limit, and is counted */
	held->id = request->id;
	held->since_ns = request->since_ns;
	held->seized = !ptrace(PTRACE_SEIZE, tid, NULL, NULL);
	if (held->seized) {
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
		bpf_side_answer(holds->server->kernel, &held->id);
	}
	held->next = holds->held;
	holds->held = held;
	holds_notify(holds, HOLD_BEGAN, held, 0);
	return 0;
}

/* Checks whether it has stopped, or been killed. A killed tracee can be reaped by its parent only after its tracer has done so. */
static void look_at(struct held *held)
{
	pid_t tid = (uint32_t)held->id.pid_tgid, found;
	int status;

	if (!held->seized || held->ended)
		return;
	found = waitpid(tid, &status, __WALL | WNOHANG);
	if (!found)
		return;
	held->stopped = found == tid && WIFSTOPPED(status);
	held->ended = !held->stopped;
	if (held->stopped)
		held->signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
}

/* Returns false if it cannot be detached yet. A tracee that was just killed cannot be detached, but will have ended soon. */
static bool holds_detach(struct held *held)
{
	look_at(held);
	if (held->ended)
		return true;
	return held->stopped && !ptrace(PTRACE_DETACH, (pid_t)(uint32_t)held->id.pid_tgid, NULL, held->signal);
}

/* Returns false if it cannot be released yet. */
static bool let_go(struct holds *holds, struct held *held, bool late, uint64_t now_ns)
{
	uint64_t late_ns = late ? now_ns : 0;

	if (held->seized && !holds_detach(held))
		return false;
	if (!held->seized && !bpf_side_answer(holds->server->kernel, &held->id))
		late_ns = bpf_side_gave_up(holds->server->kernel, &held->id) ?: now_ns;
	holds->server->counters->late += late && held->seized;
	holds_notify(holds, HOLD_ENDED, held, late_ns);
	return true;
}

/* Releases threads whose probes are in place, and those that have waited too long. Returns whether any has not stopped yet. */
static bool let_go_all(struct holds *holds, bool all, uint64_t now_ns)
{
	bool pending = false;

	for (struct held **at = &holds->held; *at;) {
		struct held *held = *at;
		bool late = !held->release && (all || now_ns > held->id.deadline_ns);

		look_at(held);
		if ((late || held->release || held->ended) && let_go(holds, held, late, now_ns)) {
			*at = held->next;
			free(held);
			continue;
		}
		pending |= late || held->release;
		at = &held->next;
	}
	return pending;
}

static void read_releases(struct holds *holds)
{
	struct iop_hold_id id;
	ssize_t n;

	while ((n = recv(holds->server->hold_fd, &id, sizeof(id), MSG_DONTWAIT)) == sizeof(id))
		for (struct held *held = holds->held; held; held = held->next)
			if (held->id.word == id.word && held->id.slot == id.slot)
				held->release = true;
	holds->over |= !n;
}

/* ---- the thread ---- */

static int open_rings(struct holds *holds)
{
	struct bpf_side *kernel = holds->server->kernel;

	holds->ring = ring_buffer__new(bpf_side_return_requests_fd(kernel), on_returns, holds, NULL);
	if (!holds->ring)
		return -errno;
	return ring_buffer__add(holds->ring, bpf_side_probe_requests_fd(kernel), on_probes, holds);
}

void *holds_serve(void *arg)
{
	struct holds holds = { .server = arg };
	struct bpf_side *kernel = holds.server->kernel;
	bool pending = false;

	hold_server_prefer_thread();
	if (open_rings(&holds))
		return NULL;
	/* after a recorder that died, until the guard has replaced this process */
	while (!holds.over || holds.held || !holds.server->ending) {
		struct pollfd fds[] = { { ring_buffer__epoll_fd(holds.ring), POLLIN, 0 }, { holds.server->hold_fd, POLLIN, 0 } };
		uint64_t now_ns = monotonic_ns();
		bool stale;

		bpf_side_beat(kernel, KERNEL_BEAT_SERVER, holds.over ? 0 : now_ns);
		poll(fds, holds.over ? 1 : 2, pending ? RETRY_MS : HEARTBEAT_MS);
		ring_buffer__consume(holds.ring);
		if (!holds.over)
			read_releases(&holds);
		now_ns = monotonic_ns();
		stale = now_ns > bpf_side_last_beat(kernel, KERNEL_BEAT_RECORDER) + HEARTBEAT_LIMIT_NS;
		pending = let_go_all(&holds, holds.over || stale, now_ns);
	}
	bpf_side_beat(kernel, KERNEL_BEAT_SERVER, 0);
	ring_buffer__consume(holds.ring);
	ring_buffer__free(holds.ring);
	return NULL;
}
