/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Capabilities of the calling thread: queries the ones that ioprobe uses, and drops them. See capabilities(7).
 */
#ifndef IOPROBE_CAPABILITIES_H
#define IOPROBE_CAPABILITIES_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>

/* A capability that ioprobe uses. */
struct capability_use {
	int number;             /* CAP_… */
	const char *name;
	bool required;          /* without it nothing can be recorded */
	const char *purpose;    /* completes "is needed to …" */
};

extern const struct capability_use capability_uses[];
extern const size_t ncapability_uses;

/* Returns whether it is effective. */
bool capability_has(int number);

/* Writes the required ones that are missing, as "CAP_BPF, CAP_PERFMON"; returns false if none is. */
bool capability_missing(char *names, size_t len);

/* Capability sets of the calling thread. Return 0 or -errno. */
int capabilities_get(struct __user_cap_data_struct *caps);
int capabilities_set(const struct __user_cap_data_struct *caps);
/* Clears from the effective set those that override file permissions and ownership; they stay permitted. */
int capabilities_drop_file_overrides(void);
/* Clears the effective, permitted, inheritable and ambient sets: none can be got back. */
int capabilities_drop_all(void);

#endif
