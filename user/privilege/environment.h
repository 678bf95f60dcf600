/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The environment of a launched program: the same as if its user had started it directly.
 */
#ifndef IOPROBE_ENVIRONMENT_H
#define IOPROBE_ENVIRONMENT_H

#include <stddef.h>
#include <sys/types.h>

#include "privilege/identity.h"

/* from: the process of the user whose whole initial environment is copied (0: the own one). Under sudo the own one gets HOME, USER,
 * LOGNAME, SHELL and MAIL of who instead of root's, and no SUDO_*. *environment is NULL-terminated and freed by environment_free.
 * Returns 0, or -errno with one line in err. */
int environment_create(char ***environment, const struct identity *who, pid_t from, char *err, size_t err_len);
void environment_free(char **environment);              /* NULL is allowed */

/* Returns the value of name, NULL if absent. */
const char *environment_value(char *const *environment, const char *name);

#endif
