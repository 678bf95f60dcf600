/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads a store that a follower has written.
 */
#ifndef IOPROBE_STREAM_STORE_READ_H
#define IOPROBE_STREAM_STORE_READ_H

#include <stddef.h>

#include "stream/live.h"

/* Reports what the store has to the outputs, as if its recording were followed: at most so many intervals, longer ones if it has
 * more. Of definitions only those that come with rows. Returns 0, or -errno with one line in err. */
int store_read(const char *file, const char *name, size_t most, struct live_output **outputs, size_t noutputs, char *err,
	       size_t err_len);

#endif
