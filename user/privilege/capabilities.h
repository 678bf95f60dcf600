/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Capabilities of the calling thread: which of those that ioprobe uses it has, and giving them up. See capabilities(7).
 */
#ifndef IOPROBE_CAPABILITIES_H
#define IOPROBE_CAPABILITIES_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>

/* One that ioprobe uses. */
struct capability_use {
	int number;             /* CAP_… */
	const char *name;
	bool required;          /* nothing can be recorded without it */
	const char *purpose;    /* completes "is needed to …" */
};

extern const struct capability_use capability_uses[];
extern const size_t ncapability_uses;

/* Whether it is effective. */
bool capability_has(int number);

/* The required ones that are missing, as "CAP_BPF, CAP_PERFMON"; false if none is. */
bool capability_missing(char *names, size_t len);

/* Sets of the calling thread. Return 0 or -errno. */
int capabilities_get(struct __user_cap_data_struct *caps);
int capabilities_set(const struct __user_cap_data_struct *caps);
/* No longer effective: those that override permissions and ownership of files; they stay permitted. */
int capabilities_drop_file_overrides(void);
/* For good: effective, permitted, inheritable and ambient. */
int capabilities_drop_all(void);

#endif
