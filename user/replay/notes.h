/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Notes on what was not observed. The archive has one note per gap and per missing probe; in the text for users those of one kind
 * are summed up in one line at the end.
 */
#ifndef IOPROBE_REPLAY_NOTES_H
#define IOPROBE_REPLAY_NOTES_H

#include "replay/state.h"

int note_gap_found(struct replay *r, const char *layer, uint32_t pid, uint64_t from_ns, uint64_t to_ns, const char *reason);
int note_missing_found(struct replay *r, const char *layer, const char *library, const char *function, const char *reason);
int notes_finish(struct replay *r);
void notes_free(struct replay *r);

#endif
