/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Functions and lines of call sites, looked up after the recording: from what the spool keeps of each place (build-id, path, offset
 * and link-time address of its file), without the process.
 */
#ifndef IOPROBE_SYMBOLIZE_H
#define IOPROBE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "privilege/output.h"

#define SYMBOLIZE_FILE "symbols"        /* beside the spool, in its format: SYMBOL records that replace the spool's */

struct symbolize_options {
	const char *debug_dir;          /* where separate debug files are looked for first; NULL: only below /usr/lib/debug and
					 * beside the files */
	bool debuginfod;                /* ask servers for what is not found */
	const char *debuginfod_urls;    /* these, separated by blanks; NULL: those of DEBUGINFOD_URLS */
};

/* Writes SYMBOLIZE_FILE anew, in a process that has the rights of out's owner and no others. Files are used by their build-id only.
 * What a module lacks is one line of *report, which is to be freed. Returns 0, or -errno with one line in err. */
int archive_symbolize(const struct output *out, const struct symbolize_options *options, char **report, char *err, size_t err_len);

#endif
