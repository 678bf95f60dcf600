/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From a folder's spool to its OTF2 archive and the summary.
 */
#ifndef IOPROBE_ARCHIVE_H
#define IOPROBE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Replays DIR/spool into DIR/traces.otf2 and writes the summary. The spool stays. Returns 0 or -errno with one line in err; then
 * there is no archive. */
int archive_write(const char *dir, FILE *summary_out, bool json, char *err, size_t err_len);

#endif
