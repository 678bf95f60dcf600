/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes the archive's event files, if possible on a thread of its own: what it is given is passed on as copies (util/relay.h). Its
 * first error is known to the caller some events later; the rest is then ignored.
 */
#ifndef IOPROBE_SINK_OTF2_WRITER_H
#define IOPROBE_SINK_OTF2_WRITER_H

#include <otf2/otf2.h>

#include "model/model.h"

struct otf2_writer;

/* Of all events, known with the first location. tag: of the recording, in every matching id unless it holds a whole job.
 * unaligned_ref: of ATTRIBUTE_UNALIGNED. */
struct otf2_writer_settings { uint32_t tag, unaligned_ref; bool whole_job; };

/* archive, whose event files are open, and dir, its name in messages, are the caller's. Returns NULL without memory. */
struct otf2_writer *otf2_writer_create(OTF2_Archive *archive, const char *dir);
/* Makes the thread, before the first event. Until otf2_writer_finish only the writer may use the archive. Returns false if none can
 * be made (relay_start): then the caller's is used, as without this call. */
bool otf2_writer_start(struct otf2_writer *writer);

void otf2_writer_open(struct otf2_writer *writer, uint32_t location, uint64_t id, const struct otf2_writer_settings *settings);
void otf2_writer_close(struct otf2_writer *writer, uint32_t location);
/* The place of the call whose Enter is the next event: refs of its calling context, and of its line (REF_NONE: unknown). */
void otf2_writer_site(struct otf2_writer *writer, uint32_t context, uint32_t line);
/* region: its ref in the archive, of ENTER and LEAVE. The location is open. */
void otf2_writer_event(struct otf2_writer *writer, const struct model_event *event, uint32_t region);

/* Waits until all is written and ends the thread. */
void otf2_writer_finish(struct otf2_writer *writer);
/* Returns the first error so far, a negative errno, with its message, which lives as long as the writer; 0: none. */
int otf2_writer_error(const struct otf2_writer *writer, const char **message);
/* Of a closed location, after otf2_writer_finish. */
uint64_t otf2_writer_events(const struct otf2_writer *writer, uint32_t location);
void otf2_writer_destroy(struct otf2_writer *writer);   /* NULL is allowed */

#endif
