/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The set of BPF programs that the service's recordings share: loaded by a separate process, kept here as descriptors, and passed
 * with a free slot to each recorder. See bpf/DESIGN.md.
 */
#ifndef IOPROBE_SHARED_H
#define IOPROBE_SHARED_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/programs.h"
#include "service/policy.h"

struct shared_set;

struct shared {
	struct shared_set *newest;      /* followed by those of older policies that still have recordings */
	uint32_t generation;            /* of the last id */
};

/* Loads a set for this policy in the background; recordings that use an older one keep it. If that fails recorders are told to load
 * programs of their own. */
void shared_load(struct shared *shared, const struct policy *policy);
void shared_deinit(struct shared *shared);      /* recorders keep their sets */

/* Starts a recorder (job_recorder_start), which gets the set and a slot, now or once it is loaded, or is told to load programs of
 * its own if no slot is free. Returns its pid and the socket to it, or -errno. */
pid_t shared_start_recorder(struct shared *shared, const struct policy *policy, int *fd);
/* A child ended: closes its slot, if it has one. */
void shared_ended(struct shared *shared, pid_t pid);

struct pollfd shared_poll(const struct shared *shared);
void shared_check(struct shared *shared);       /* receives the loader's answer */

#endif
