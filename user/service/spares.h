/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Standby recorders: loaded and waiting for a job.
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
	uint64_t ended_ns;      /* when a standby recorder last ended by itself */
};

/* Starts as many as the policy wants, but not within some seconds after one ended by itself. */
void spares_fill(struct spares *spares, const struct policy *policy, struct shared *shared);
/* Ends all of them. */
void spares_drop(struct spares *spares);
/* Takes the oldest one, which has had the longest time to load; if there is none a new one is started, which takes longer. Returns
 * its pid, or -errno; the caller owns the process and its socket. */
pid_t spares_take(struct spares *spares, const struct policy *policy, struct shared *shared, int *fd);

size_t spares_poll(const struct spares *spares, struct pollfd *fds);    /* fills at most MAX_SPARES entries; returns the number */
void spares_check(struct spares *spares);                               /* reads their messages */
void spares_ended(struct spares *spares, pid_t pid);                    /* a child ended that may be one of them */
size_t spares_loaded(const struct spares *spares);

#endif
