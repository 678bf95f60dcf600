/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The OTF2 sink: one archive DIR/traces.otf2, one .evt per location, global definitions at the end.
 */
#ifndef IOPROBE_SINK_OTF2_H
#define IOPROBE_SINK_OTF2_H

#include "model/model.h"

/* dir exists; traces.otf2, traces.def and traces/ are made in it. Returns 0 or -errno with a line in err.
 * Until finish() succeeds there is no anchor file; destroy without finish removes what was written. */
int otf2_sink_create(struct sink **out, const char *dir, char *err, size_t err_len);
/* The same in the current directory; shown: its name in messages. */
int otf2_sink_create_here(struct sink **out, const char *shown, char *err, size_t err_len);
void otf2_sink_destroy(struct sink *sink);      /* NULL is fine */
/* Its matching ids need not be unique beyond this archive, which saves bytes. Before the first event. */
void otf2_sink_whole_job(struct sink *sink);
const char *otf2_sink_error(const struct sink *sink);    /* the first error's one line, NULL if none */

#define OTF2_ARCHIVE_NAME "traces"

/* Whether the directory dir holds a complete archive: its anchor file, which is written last, can be read. */
bool otf2_archive_is_complete(int dir);
/* Removes an archive's files from it, complete or not; of links, the links themselves. Returns 0 or -errno of the first that
 * stays. */
int otf2_archive_remove(int dir);

#endif
