/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The operations of a process on a file by class, as one text of JSON and no rows of their own: there may be 100000 files in an
 * interval.
 */
#ifndef IOPROBE_STREAM_CLASS_TEXT_H
#define IOPROBE_STREAM_CLASS_TEXT_H

#include "sink/summary/summary.h"

/* "CLASS":[…] with at most 4 + SUMMARY_SIZES numbers each. */
struct class_text {
	char v[MODEL_CLASSES * 336];
	size_t len;
};

/* {"CLASS":[calls, failed, time_ns, longest_call_ns, operations of each size…], …}: classes with calls, time or sizes; without the
 * zeros at the end of the sizes. */
const char *class_text_format(const struct summary_operations *operations, struct class_text *text);

#endif
