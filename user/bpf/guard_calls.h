/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Which of the calls that the guard's iterator reports are in flight: the others were left by an unwinder or longjmp. What one look
 * costs is bounded, however many calls, threads and mappings a program has.
 */
#ifndef IOPROBE_GUARD_CALLS_H
#define IOPROBE_GUARD_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <ioprobe/request.h>

#define GUARD_MAPS_READS 64             /* processes whose mappings one look reads */
#define GUARD_MAPS_LINES 100000         /* mappings of one process that are read */

struct guard_calls { struct iop_replaced_return *v; size_t n, cap; };

/* Returns false without memory. */
bool guard_calls_add(struct guard_calls *calls, const struct iop_replaced_return *call);
/* The order that the functions below need. */
void guard_calls_sort(struct guard_calls *calls);
bool guard_calls_contain(const struct guard_calls *calls, const struct iop_replaced_return *call);
bool guard_calls_contain_process(const struct guard_calls *calls, pid_t pid);

struct guard_area { uint64_t low, high; };
/* How processes are read; a test has its own. */
struct guard_access {
	/* Returns 0, or -errno: -ESRCH and -EFAULT if the word no longer exists. */
	int (*read_word)(pid_t pid, uint64_t address, uint64_t *word);
	/* Reads the process' mappings, ascending; the caller frees *areas. Returns their number or -errno. */
	ssize_t (*read_areas)(pid_t pid, struct guard_area **areas);
};
extern const struct guard_access guard_access_proc;

/* Sorts the calls and removes each that has ended. In doubt a call stays, because it would be harmed without the guard.
 * turn: number of the look; if more than GUARD_MAPS_READS processes must be read, each look reads others. Returns the number of
 * calls that stay because their process was not read. */
size_t guard_calls_keep_in_flight(struct guard_calls *calls, const struct guard_access *access, size_t turn);

/* Returns how long to sleep after a look that took so much CPU time: pause_ms, or more to stay below 1 % of one CPU. */
unsigned guard_calls_pause(unsigned pause_ms, uint64_t cpu_ns);

#endif
