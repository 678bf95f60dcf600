/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Findings of other tools that need facts which no archive has today: they are named as open, not passed over.
 */
#include "analysis/detectors.h"

static void nothing(struct analysis *a, const struct detector *d)
{
	(void)a, (void)d;
}

const struct detector detector_P07 = {
	.code = "P07", .title = "buffers not aligned in memory", .on = "POSIX", .needs = NEED_MEMORY, .when = "never: needs the addresses of buffers",
	.why = "direct I/O needs aligned buffers", .topic = "align", .test = "", .detect = nothing,
};

const struct detector detector_M08 = {
	.code = "M08", .title = "fewer, more or as many collective buffering nodes as nodes (M08 to M10)", .on = "MPI-IO", .needs = NEED_HINTS | NEED_MPIIO,
	.when = "never: needs the hints in use; X02 says who really does the system calls", .why = "each node's link should carry its share",
	.topic = "aggregators", .test = "", .detect = nothing,
};

const struct detector detector_X24 = {
	.code = "X24", .title = "computing and output do not overlap", .on = "all layers", .needs = NEED_COMPUTE,
	.when = "never: needs the CPU time of threads between I/O calls", .why = "asynchronous output could hide behind computing", .topic = "overlap",
	.test = "", .detect = nothing,
};
