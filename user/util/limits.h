/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The limits that a process was started with (ulimit): what ioprobe needs of them.
 */
#ifndef IOPROBE_LIMITS_H
#define IOPROBE_LIMITS_H

#include <stddef.h>

/* Returns 0, or -ENOMEM with a line in err: the stack is smaller than the deepest calls need. */
int limits_check_stack(char *err, size_t err_len);

/* A recording has some ten descriptors open for each library of a process. Raises the limit as far as it may be raised. Returns 0,
 * or -EMFILE with a line in err: not even a small recording fits. */
int limits_raise_files(char *err, size_t err_len);

#endif
