/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary's counts of system calls on names (open, stat, access, unlink, …), by the directory of the name: where a program
 * looks for files, and how often in vain. What is only looked up is no file with I/O, and stands nowhere else.
 */
#ifndef IOPROBE_SINK_SUMMARY_NAMES_H
#define IOPROBE_SINK_SUMMARY_NAMES_H

#include <jansson.h>
#include <stdio.h>

#include "model/model.h"

struct summary_names;

/* A system call on a name has ended. *names is made with the first one. Returns 0 or -ENOMEM. */
int summary_names_add(struct summary_names **names, const struct model *model, const struct model_names *call, bool failed);
void summary_names_destroy(struct summary_names *names);        /* NULL is fine */

/* One line, if a call failed; nothing if names is NULL. */
void summary_names_text(FILE *out, struct summary_names *names);
/* The value of "names"; NULL without memory. */
json_t *summary_names_json(struct summary_names *names, const struct model *model);

#endif
