/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The folder that a recording goes to.
 */
#ifndef IOPROBE_OUTPUT_H
#define IOPROBE_OUTPUT_H

#include <stddef.h>

/* Makes dir, or takes an empty one. Returns 0 or -errno with one line in err. */
int output_create(const char *dir, char *err, size_t err_len);
/* Removes it again if nothing was recorded (it is empty). */
void output_remove_empty(const char *dir);
/* Gives it and what is in it to the user who called sudo. */
void output_give_to_caller(const char *dir);
/* The default name: ioprobe-NAME-YYYYMMDD-HHMMSS. */
void output_default_name(char *dir, size_t len, const char *name);

#endif
