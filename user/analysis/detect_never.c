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
