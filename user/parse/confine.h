/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Gives up what a parser process has from its agent.
 */
#ifndef IOPROBE_CONFINE_H
#define IOPROBE_CONFINE_H

#include <sys/types.h>

#define NOBODY 65534

/* For good: descriptors above last_fd, the user (to uid; to nobody instead of root), groups, capabilities, new privileges, core
 * files, new processes, address space beyond memory_bytes, and every system call that opens something. Without the right to change
 * users the caller's is kept. Returns 0 or -errno; then the process must end. */
int confine(uid_t uid, int last_fd, unsigned long long memory_bytes);

/* The CPU time from now on after which SIGXCPU ends the process, in seconds. */
void confine_cpu(unsigned seconds);

#endif
