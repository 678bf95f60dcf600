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

#define MAX_STANDBY 16

struct standby {
	struct standby_recorder { pid_t pid; int fd; bool loaded; } v[MAX_STANDBY];
	size_t n;
	uint64_t ended_ns;      /* when a standby recorder last ended by itself */
};

/* Starts as many as the policy wants, but not within some seconds after one ended by itself. */
void standby_fill(struct standby *standby, const struct policy *policy, struct shared *shared);
/* Ends all of them. */
void standby_drop(struct standby *standby);
/* Takes the oldest one, which has had the longest time to load; if there is none a new one is started, which takes longer. Returns
 * its pid, or -errno; the caller owns the process and its socket. */
pid_t standby_take(struct standby *standby, const struct policy *policy, struct shared *shared, int *fd);

size_t standby_poll(const struct standby *standby, struct pollfd *fds); /* fills at most MAX_STANDBY entries; returns the number */
void standby_check(struct standby *standby);                               /* reads their messages */
void standby_ended(struct standby *standby, pid_t pid);                    /* a child ended that may be one of them */
size_t standby_loaded(const struct standby *standby);

#endif
