/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * An archive named on the command line: its location, and the identity with which it is read.
 */
#ifndef IOPROBE_CMD_TRACE_ARGUMENT_H
#define IOPROBE_CMD_TRACE_ARGUMENT_H

#include <stddef.h>

#include "privilege/identity.h"

#define TRACE_ANCHOR "traces.otf2"     /* if the archive is named by its directory */

struct trace_argument {
	const char *name;               /* as given by the user: a directory, or the anchor file */
	char dir[4096], anchor[256];    /* absolute directory, and the file in it */
};

/* Fills in dir and anchor. Returns 0, or -errno with one line in err. */
int trace_argument_locate(struct trace_argument *argument, char *err, size_t err_len);

/* Opens the directory. *who: the user who called sudo; for root the archive's owner; else the caller. Returns 0, or -errno with one
 * line in err; *dir is then -1. */
int trace_argument_open(const struct trace_argument *argument, int *dir, struct identity *who, char *err, size_t err_len);

unsigned trace_argument_workers(void);  /* number of threads to read with: the cores that this process may use */

#endif
