/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What Darshan would know of a file while a program runs: the counters that its connector to LDMS publishes with each event.
 */
#ifndef IOPROBE_STREAM_DARSHAN_H
#define IOPROBE_STREAM_DARSHAN_H

#include "stream/live.h"

/* Darshan's hash of a record's name: the key on which its logs and these lines can be joined. */
uint64_t darshan_record_id(const char *name);

struct darshan_records;

struct darshan_records *darshan_records_create(void); /* NULL without memory */
void darshan_records_destroy(struct darshan_records *records);

/* Counts the event and fills event->darshan. module stays NULL of what Darshan does not publish: failed calls, those that are none
 * of open, read, write, close and flush, other layers, files of the system. Returns 0 or -ENOMEM. */
int darshan_count(struct darshan_records *records, struct live_event *event);

#endif
