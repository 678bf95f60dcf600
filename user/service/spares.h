/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Recorders that are loaded already and wait for a job.
 */
#ifndef IOPROBE_SPARES_H
#define IOPROBE_SPARES_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "service/policy.h"
#include "service/shared.h"

#define MAX_SPARES 16

struct spares {
	struct spare { pid_t pid; int fd; bool loaded; } v[MAX_SPARES];
	size_t n;
	uint64_t ended_ns;      /* when one last ended by itself */
};

/* Starts as many as the policy wants; not for some seconds after one ended by itself. */
void spares_fill(struct spares *spares, const struct policy *policy, struct shared *shared);
/* They end. */
void spares_drop(struct spares *spares);
/* The oldest, which has had the longest time to load; a new one, which takes longer, if there is none. The process and its socket, the caller's now; or
 * -errno. */
pid_t spares_take(struct spares *spares, const struct policy *policy, struct shared *shared, int *fd);

size_t spares_poll(const struct spares *spares, struct pollfd *fds);    /* MAX_SPARES at most; the number */
void spares_check(struct spares *spares);                               /* takes in what they say */
void spares_ended(struct spares *spares, pid_t pid);                    /* a child ended that may be one of them */
size_t spares_loaded(const struct spares *spares);

#endif
