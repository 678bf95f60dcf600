/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Detaching a link takes some 0.3 ms, in which the kernel removes its probes one by one, and then 10 to 200 ms, in which it waits
 * for grace periods. Until the probes are removed, the kernel checks the link at each of them whenever a program maps the file. So
 * each link is detached by a thread of its own, and none waits for another's grace periods.
 */
#include "bpf/link_reapers.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bpf/hold_server_internal.h"
#include "bpf/link_request.h"

#define PIN_GRACE_NS 50000000
#define UNKNOWN_POINTS 32
#define TIMER_SLACK_NS 1000ul
#define STACK_BYTES 65536

/* Returns a descriptor of the link, whose pin is removed, or -1. */
static int take_pinned(const struct hold_server *server, int number)
{
	char path[LINK_PIN_PATH];
	struct { uint64_t pathname; uint32_t bpf_fd, file_flags; } attr = { (uintptr_t)path, 0, 0 };
	int fd;

	if (server->mount_fd < 0)
		return number;
	link_pin_path(server->mount_fd, number, path, sizeof(path));
	fd = server->ending ? -1 : syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr));
	unlink(path);
	return fd;
}

/* The beginning of struct bpf_link_info, with its uprobe_multi part, which older headers do not have (include/uapi/linux/bpf.h);
 * older kernels leave the latter as it is. */
struct pinned_link_info {
	uint32_t type, id, prog_id, pad;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t path_size, count, flags, pid;
};

/* All 0 if it is not known. */
static struct pinned_link_info pinned_link_info(int fd)
{
	struct pinned_link_info info = { 0 };
	struct { uint32_t fd, len; uint64_t info; } attr = { fd, sizeof(info), (uintptr_t)&info };

	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)))
		info = (struct pinned_link_info){ 0 };
	return info;
}

static bool link_exists(uint32_t id)
{
	struct { uint32_t id, next_id, open_flags; } attr = { .id = id };
	int fd = syscall(SYS_bpf, BPF_LINK_GET_FD_BY_ID, &attr, sizeof(attr));

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The next link to detach. */
struct ended_link {
	int fd;                 /* -1: it is gone */
	uint32_t id;            /* 0: not known */
	size_t npoints;
	bool slow_pin;
};

/* Returns false at the end of the recording. */
static bool reaper_receive(struct hold_server *server)
{
	struct link_reapers *reapers = &server->reapers;
	ssize_t len = 0;

	if (!reapers->npending)
		len = recv(server->reap_fd, reapers->pending, sizeof(reapers->pending), 0);
	if (len > 0)
		reapers->npending = len / sizeof(reapers->pending[0]);
	return reapers->npending;
}

static void take_turn(struct hold_server *server, const struct ended_link *link)
{
	if (!server->ending)
		link_turns_begin_detaching(&server->turns, link->npoints);
}

/* One thread at a time waits for a link and for its turn: if all were woken together they would be in each other's way. */
static bool reaper_next(struct hold_server *server, struct ended_link *link)
{
	struct link_reapers *reapers = &server->reapers;
	bool any;

	pthread_mutex_lock(&reapers->next);
	any = reaper_receive(server);
	if (any) {
		struct pinned_link_info info = { 0 };

		*link = (struct ended_link){ .fd = take_pinned(server, reapers->pending[--reapers->npending]),
					     .slow_pin = reapers->slow_pins };
		if (link->fd >= 0)
			info = pinned_link_info(link->fd);
		link->id = info.id;
		link->npoints = info.count ? info.count : UNKNOWN_POINTS;
		if (link->fd >= 0 && !link->slow_pin)
			take_turn(server, link);
	}
	pthread_mutex_unlock(&reapers->next);
	return any;
}

/* The process that drops the last reference detaches. That is this thread, unless the kernel drops that of the pin later, after a
 * grace period of RCU: then a worker of the kernel detaches, which may lose its CPU while it has the lock that each new link
 * needs. */
static void reap_link(struct hold_server *server, const struct ended_link *link)
{
	const struct timespec grace = { 0, PIN_GRACE_NS };

	if (link->fd < 0)
		return;
	if (link->slow_pin && !server->ending) {
		nanosleep(&grace, NULL);
		take_turn(server, link);
	}
	close(link->fd);
	link_turns_end_detaching(&server->turns);
	if (!link->slow_pin && link->id && link_exists(link->id))
		server->reapers.slow_pins = true;
}

static void *reaper_thread(void *arg);

/* Called under the lock. */
static void reapers_add(struct hold_server *server)
{
	struct link_reapers *reapers = &server->reapers;
	pthread_attr_t attr;

	if (reapers->n == MAX_LINK_REAPERS || pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (!pthread_create(&reapers->threads[reapers->n], &attr, reaper_thread, server)) {
		reapers->n++;
		reapers->idle++;
	}
	pthread_attr_destroy(&attr);
}

/* The last idle thread makes another one before it gets busy. */
static void set_reaper_busy(struct hold_server *server, bool busy)
{
	pthread_mutex_lock(&server->reapers.lock);
	server->reapers.idle += busy ? -1 : 1;
	if (busy && !server->reapers.idle)
		reapers_add(server);
	pthread_mutex_unlock(&server->reapers.lock);
}

static void *reaper_thread(void *arg)
{
	struct hold_server *server = arg;
	struct ended_link link;

	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);       /* turns are short */
	while (reaper_next(server, &link)) {
		set_reaper_busy(server, true);
		reap_link(server, &link);
		set_reaper_busy(server, false);
	}
	return NULL;
}

void link_reapers_begin(struct hold_server *server)
{
	pthread_mutex_init(&server->reapers.lock, NULL);
	pthread_mutex_init(&server->reapers.next, NULL);
	pthread_mutex_lock(&server->reapers.lock);
	reapers_add(server);
	pthread_mutex_unlock(&server->reapers.lock);
}

void link_reapers_join(struct hold_server *server)
{
	struct link_reapers *reapers = &server->reapers;

	for (size_t i = 0;; i++) {
		pthread_t thread = 0;
		bool done;

		pthread_mutex_lock(&reapers->lock);
		done = i >= reapers->n;         /* a thread that still runs may have added one */
		if (!done)
			thread = reapers->threads[i];
		pthread_mutex_unlock(&reapers->lock);
		if (done)
			return;
		pthread_join(thread, NULL);
	}
}
