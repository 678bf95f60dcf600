/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Findings of other tools that need facts which no archive contains today: reported as undetermined instead of being omitted.
 */
#include "analysis/detectors.h"

static void detect_never_nothing(struct analysis *a, const struct detector *d)
{
	(void)a, (void)d;
}

const struct detector detector_P07 = {
	.code = "P07", .title = "buffers not aligned in memory", .on = "POSIX", .needs = NEED_MEMORY,
	.when = "never: needs the addresses of buffers", .why = "direct I/O needs aligned buffers", .topic = "align", .test = "",
	.detect = detect_never_nothing,
};

const struct detector detector_X21 = {
	.code = "X21", .title = "HDF5 reads a chunk in many small pieces", .on = "POSIX below HDF5",
	.needs = NEED_CHUNKS | NEED_UPPER, .when =
	"never: needs the shapes of chunks and the size of their cache; X20 and X06 say what it costs",
	.why = "a chunk larger than the cache is not kept: each piece is read by itself", .topic = "chunk_cache", .test = "",
	.detect = detect_never_nothing,
};
