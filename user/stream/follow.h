/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the records of a recording that is still being made, and reports them interval by interval.
 */
#ifndef IOPROBE_STREAM_FOLLOW_H
#define IOPROBE_STREAM_FOLLOW_H

#include "stream/live.h"

/* Follows the spool in the directory dir until its recorder has ended and all of it was read. The recorder never waits for it.
 * name: for messages. Returns 0, or -errno with one line in err. The calling process has the rights of the spool's owner: what
 * it reads is his. */
int follow_recording(int dir, const char *name, struct live_output **outputs, size_t noutputs, uint64_t interval_ns, char *err,
		     size_t err_len);

#endif
