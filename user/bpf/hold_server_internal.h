/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the recorder and its hold server share: two sockets, the kernel side's memory, counters.
 */
#ifndef IOPROBE_HOLD_SERVER_INTERNAL_H
#define IOPROBE_HOLD_SERVER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "bpf/hold_server.h"

#define HEARTBEAT_MS 20         /* a fifth of what a waiting thread allows for */
#define HEARTBEAT_LIMIT_NS 100000000ull

struct hold_counters { atomic_ullong late, returns_failed; };

struct hold_server {
	struct kernel_side *kernel;
	struct hold_counters *counters; /* mapped by both processes */
	pid_t pid;
	int hold_fd, link_fd;           /* of the sockets, this process' ends */
	int mount_fd;                   /* -1: links cannot be pinned, the server keeps their descriptors */
	int last_pin;                   /* name of the newest pin */
	pthread_t heart;
	bool beating;
	atomic_bool stop;
};

/* The two threads of the server; both end when the recorder does. */
void *holds_serve(void *server);
void *links_serve(void *server);

/* The calling thread runs ahead of programs, which may spin on this very CPU while they wait for it, or keep all of them busy. Without
 * the privilege it is one of them. */
void hold_server_prefer_thread(void);

/* One request: writes what it asks for if the thread still waits. Returns how many addresses were not written. */
size_t holds_give_returns(struct kernel_side *kernel, const struct iop_return_request *request);

int links_mount(void);          /* a BPF file system that is mounted nowhere; -errno */

#endif
