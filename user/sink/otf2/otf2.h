/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The OTF2 sink: one archive DIR/traces.otf2, one .evt per location, global definitions at the end.
 */
#ifndef IOPROBE_SINK_OTF2_H
#define IOPROBE_SINK_OTF2_H

#include "model/model.h"

/* dir exists; traces.otf2, traces.def and traces/ are created in it. Returns 0 or -errno with a line in err. There is no anchor
 * file until finish() succeeds; destroy without finish removes all files. */
int otf2_sink_create(struct sink **out, const char *dir, char *err, size_t err_len);
/* The same in the current directory; shown: its name for messages. */
int otf2_sink_create_here(struct sink **out, const char *shown, char *err, size_t err_len);
void otf2_sink_destroy(struct sink *sink);      /* NULL is allowed */
/* Matching ids need not be unique beyond this archive, which saves bytes. To be called before the first event. */
void otf2_sink_whole_job(struct sink *sink);
/* Events are written by a thread of their own, which ends with finish or destroy. To be called before the first event. Returns
 * false if none can be made, or there is one CPU only: then the caller's thread writes them. */
bool otf2_sink_start_thread(struct sink *sink);
const char *otf2_sink_error(const struct sink *sink);    /* the first error, one line; NULL if none */

#define OTF2_ARCHIVE_NAME "traces"

/* Returns whether the directory dir contains a complete archive: its anchor file, which is written last, can be read. */
bool otf2_archive_is_complete(int dir);
/* Removes the files of an archive, complete or not; symbolic links are not followed. Returns 0 or the -errno of the first file that
 * could not be removed. */
int otf2_archive_remove(int dir);

#endif
