/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Makes an OTF2 archive and the summary from a directory's spool.
 */
#ifndef IOPROBE_ARCHIVE_H
#define IOPROBE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "privilege/output.h"

struct archive_options {
	FILE *text, *json;              /* destinations of the summary as text and as JSON, NULL: none; see ferror() */
	const char *summary_file;       /* write the text to this file below the directory instead, NULL: no */
	bool all_files;                 /* the text includes system files and libraries */
	bool keep_spool;
	bool replace;                   /* replace even a complete archive, whose side files may be incomplete */
	unsigned limit_s;               /* time limit, 0: none */
	bool progress;                  /* show progress on a terminal */
};

/* Replays the spool of out into traces.otf2 in the same directory and writes the summary, in a process with only the rights of its
 * owner. Files of an interrupted attempt are replaced; a complete archive is not (-EEXIST), unless requested. If another process
 * does the same in that directory, waits for some seconds (-EBUSY). Returns 0, or -errno with one line in err; then there is no
 * archive of this attempt, and the spool is kept. */
int archive_write(const struct output *out, const struct archive_options *options, char *err, size_t err_len);

#endif
