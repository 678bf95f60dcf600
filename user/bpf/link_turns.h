/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Who may place or remove probes next. For each probe the kernel takes one lock of the whole node (dup_mmap_sem). Threads that do
 * so at the same time pass it on at each probe, with a switch of tasks each time: a link that takes 0.3 ms to make takes five times
 * as long beside four that are detached. So links are detached one after the other, and not while links are made, for which
 * programs wait.
 */
#ifndef IOPROBE_LINK_TURNS_H
#define IOPROBE_LINK_TURNS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct link_turns {
	pthread_mutex_t queue;          /* of the threads that detach: the others wait for the first */
	pthread_mutex_t lock;           /* of all that follows */
	pthread_cond_t changed;
	bool making;
	uint64_t making_ns;             /* since when, CLOCK_MONOTONIC */
	uint64_t point_ns;              /* what a probe took when links were made last */
	pid_t detaching;                /* thread that has the turn, 0: none */
	uint64_t over_ns;               /* when it ends at the latest */
};

void link_turns_init(struct link_turns *turns);

/* Around the making of links, by one thread. The first waits for a thread that is detaching, 0.2 ms at most. */
void link_turns_begin_making(struct link_turns *turns);
void link_turns_end_making(struct link_turns *turns, size_t npoints);

/* Around detaching a link with this number of probes. The first waits for the turn, some milliseconds at most: links of ended
 * programs make those of others dearer. The turn ends earlier, when the probes have been removed: then the thread waits for grace
 * periods of the kernel. */
void link_turns_begin_detaching(struct link_turns *turns, size_t npoints);
void link_turns_end_detaching(struct link_turns *turns);

#endif
