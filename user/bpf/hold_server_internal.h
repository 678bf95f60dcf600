/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Shared by the recorder and its hold server: two sockets, the memory of the BPF side, counters.
 */
#ifndef IOPROBE_HOLD_SERVER_INTERNAL_H
#define IOPROBE_HOLD_SERVER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "bpf/guard.h"
#include "bpf/hold_server.h"
#include "bpf/link_reapers.h"
#include "bpf/link_turns.h"

#define HEARTBEAT_MS 20         /* a fifth of the silence that a waiting thread tolerates */
#define HEARTBEAT_LIMIT_NS 100000000ull

struct hold_counters {
	atomic_ullong late, returns_failed;
	atomic_bool guarding;           /* the server stays after the recorder has let it go, for these calls */
	atomic_size_t in_flight, in_flight_unread;
};

struct hold_server {
	struct bpf_side *kernel;
	struct hold_counters *counters; /* mapped by both processes */
	pid_t pid;
	int hold_fd, link_fd, reap_fd;  /* this process' ends of the sockets */
	int mount_fd;                   /* -1: links cannot be pinned, the server keeps their descriptors */
	int last_pin;                   /* name of the newest pin */
	struct members *members;        /* perf events in recorded processes only; NULL: other links, or events in all processes */
	pthread_t heart;
	bool beating;
	atomic_bool stop;
	/* in the server: */
	atomic_bool ending;             /* the recorder has closed its sockets, and the guard has been made */
	struct guard_places places;
	struct link_turns turns;
	struct link_reapers reapers;
	struct guard *guard;            /* NULL: not yet made, or nothing to guard */
};

/* Threads of the server, beside those of link_reapers.h; all end with the recorder. */
void *holds_serve(void *server);
void *links_serve(void *server);

/* Raises the calling thread's priority above that of programs, which may spin on this CPU while they wait for it, or keep all CPUs
 * busy. Without the privilege it has no effect. */
void hold_server_prefer_thread(void);

/* Handles one request: writes the addresses if the thread still waits. Returns how many were not written. */
size_t holds_give_returns(struct iop_hold *holds, const struct iop_return_request *request);

/* Returns when no call of the recording is in flight any more; sets counters->guarding if it has to wait for that. */
void guard_stay(struct hold_server *server);

#endif
