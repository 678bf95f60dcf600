/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From a directory's spool to its OTF2 archive and the summary.
 */
#ifndef IOPROBE_ARCHIVE_H
#define IOPROBE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "privilege/output.h"

struct archive_options {
	FILE *text, *json;              /* where the summary is written as text and as JSON, NULL: nowhere; see ferror() */
	const char *summary_file;       /* a file below the directory that the text is written to instead, NULL: none */
	bool all_files;                 /* the text lists files of the system and libraries, too */
	bool keep_spool;
	bool replace;                   /* also a complete archive, where the files beside it may not be */
	unsigned limit_s;               /* given up after this time, 0: never */
	bool progress;                  /* show on a terminal how far it is */
};

/* Replays the spool of out into traces.otf2 beside it and writes the summary, in a process that has its owner's rights and no
 * others. What an interrupted attempt left is replaced; a complete archive is not (-EEXIST), unless wanted. While another process does
 * the same in that directory it waits for some seconds (-EBUSY). Returns 0, or -errno with one line in
 * err; then there is no archive of this attempt, and the spool stays. */
int archive_write(const struct output *out, const struct archive_options *options, char *err, size_t err_len);

#endif
