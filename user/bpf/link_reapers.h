/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Threads of the hold server that detach the links of ended processes.
 */
#ifndef IOPROBE_LINK_REAPERS_H
#define IOPROBE_LINK_REAPERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define MAX_LINK_REAPERS 160    /* nearly always asleep, in a grace period of the kernel */

#define LINKS_PER_REAP 64       /* in one message to the threads */

struct hold_server;

struct link_reapers {
	pthread_mutex_t lock;           /* of the next three */
	pthread_t threads[MAX_LINK_REAPERS];
	size_t n, idle;
	pthread_mutex_t next;           /* of the next two */
	int pending[LINKS_PER_REAP];    /* numbers of links to detach, the last one first */
	size_t npending;
	atomic_bool slow_pins;          /* the kernel drops the reference of a pin some time after its unlink */
};

/* Begins with one thread; there are more when they are needed. They end when the recorder closes its end of server->reap_fd.
 * Without any, links are detached when the file system of their pins goes. */
void link_reapers_begin(struct hold_server *server);

/* Waits for the end of all threads. */
void link_reapers_join(struct hold_server *server);

#endif
