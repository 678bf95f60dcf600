/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * An OTF2 archive as text, for tests that compare what is in it.
 */
#ifndef IOPROBE_TESTS_OTF2_LOG_BUILDER_H
#define IOPROBE_TESTS_OTF2_LOG_BUILDER_H

#include <otf2/otf2.h>
#include <stddef.h>
#include <stdint.h>

#define OTF2_LOG_LEN 32768
extern char otf2_log[OTF2_LOG_LEN];     /* what the functions below wrote; longer logs are cut off */

extern uint32_t otf2_log_tag;           /* of the recording: must be in every matching id */

/* Clears the log and writes the global definitions to it; the clock and later events are relative to time_zero. */
void otf2_log_definitions(OTF2_Reader *reader, uint64_t time_zero);

/* Appends the events of the locations in the order of time; returns their number. */
uint64_t otf2_log_events(OTF2_Reader *reader, const uint64_t *locations, size_t nlocations);

#endif
