/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the records of a running recording, and reports them per interval.
 */
#ifndef IOPROBE_STREAM_FOLLOW_H
#define IOPROBE_STREAM_FOLLOW_H

#include "stream/live.h"

/* Follows the spool in the directory dir until its recorder has ended and all of it was read. The recorder never waits for it.
 * name: for messages. Returns 0, or -errno with one line in err; also if an output failed and others have all. The calling process
 * has the rights of the spool's owner: what it reads is his. */
int follow_recording(int dir, const char *name, struct live_output **outputs, size_t noutputs, const struct live_options *options,
		     char *err, size_t err_len);

#endif
