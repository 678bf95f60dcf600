/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Drops the privileges and resources that a parser process inherits from the agent.
 */
#ifndef IOPROBE_CONFINE_H
#define IOPROBE_CONFINE_H

#include <sys/types.h>

#define NOBODY 65534

/* Irrevocably drops: descriptors above last_fd, the user (changed to uid; to nobody instead of root), groups, capabilities, new
 * privileges, core dumps, new processes, address space beyond memory_bytes, and every system call that opens something. Without the
 * right to change users the caller's uid is kept. Returns 0 or -errno; on error the process must exit. */
int parse_confine(uid_t uid, int last_fd, unsigned long long memory_bytes);

/* Limits the CPU time from now on, in seconds; SIGXCPU then ends the process. */
void confine_cpu(unsigned seconds);

#endif
