/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Whether a thread still removes probes is read from /proc/self/task/TID/wchan, which names the kernel function that it sleeps in.
 */
#include "bpf/link_turns.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_WAIT_NS 5000000ull
#define MAX_MAKER_WAIT_NS 200000ull
#define LOOK_NS 30000ull                /* between two looks at a thread that is detaching */
#define FIRST_POINT_NS 4000             /* until links have been made */
#define MAX_POINT_NS 50000
#define MAX_TURN_NS 1000000ull          /* beyond what making the link would take */

static uint64_t turns_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

void link_turns_init(struct link_turns *turns)
{
	pthread_condattr_t attr;

	*turns = (struct link_turns){ .point_ns = FIRST_POINT_NS };
	pthread_mutex_init(&turns->queue, NULL);
	pthread_mutex_init(&turns->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&turns->changed, &attr);
	pthread_condattr_destroy(&attr);
}

/* ---- called under the lock ---- */

/* Gives up the lock meanwhile. */
static void turns_sleep_until(struct link_turns *turns, uint64_t ns)
{
	const struct timespec until = { ns / 1000000000, ns % 1000000000 };

	pthread_cond_timedwait(&turns->changed, &turns->lock, &until);
}

/* A name like __wait_rcu_gp or synchronize_srcu. Without a name the thread is running, or the kernel does not tell. */
static bool waits_for_grace_period(pid_t tid)
{
	char text[64] = "";
	ssize_t n = -1;
	int fd;

	snprintf(text, sizeof(text), "/proc/self/task/%d/wchan", tid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, "rcu");
}

static bool is_detaching(struct link_turns *turns, uint64_t now_ns)
{
	if (turns->detaching && (now_ns >= turns->over_ns || waits_for_grace_period(turns->detaching)))
		turns->detaching = 0;
	return turns->detaching;
}

/* ---- the thread that makes links ---- */

void link_turns_begin_making(struct link_turns *turns)
{
	uint64_t now_ns = turns_now_ns(), end_ns = now_ns + MAX_MAKER_WAIT_NS;

	pthread_mutex_lock(&turns->lock);
	turns->making = true;
	while (now_ns < end_ns && is_detaching(turns, now_ns)) {
		turns_sleep_until(turns, now_ns + LOOK_NS);
		now_ns = turns_now_ns();
	}
	turns->making_ns = now_ns;
	pthread_mutex_unlock(&turns->lock);
}

void link_turns_end_making(struct link_turns *turns, size_t npoints)
{
	uint64_t point_ns;

	pthread_mutex_lock(&turns->lock);
	turns->making = false;
	if (npoints) {
		point_ns = (turns_now_ns() - turns->making_ns) / npoints;
		turns->point_ns = point_ns < MAX_POINT_NS ? point_ns : MAX_POINT_NS;
	}
	pthread_cond_broadcast(&turns->changed);
	pthread_mutex_unlock(&turns->lock);
}

/* ---- threads that detach ---- */

void link_turns_begin_detaching(struct link_turns *turns, size_t npoints)
{
	uint64_t now_ns = turns_now_ns(), end_ns = now_ns + MAX_WAIT_NS;

	pthread_mutex_lock(&turns->queue);
	pthread_mutex_lock(&turns->lock);
	while (now_ns < end_ns && (turns->making || is_detaching(turns, now_ns))) {
		turns_sleep_until(turns, turns->making ? end_ns : now_ns + LOOK_NS);
		now_ns = turns_now_ns();
	}
	turns->detaching = gettid();
	turns->over_ns = now_ns + npoints * turns->point_ns + MAX_TURN_NS;
	pthread_mutex_unlock(&turns->lock);
	pthread_mutex_unlock(&turns->queue);
}

void link_turns_end_detaching(struct link_turns *turns)
{
	pthread_mutex_lock(&turns->lock);
	if (turns->detaching == gettid()) {
		turns->detaching = 0;
		pthread_cond_broadcast(&turns->changed);
	}
	pthread_mutex_unlock(&turns->lock);
}
