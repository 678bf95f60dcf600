/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Outputs beside the archive: each is a file in its directory, made by a sink. This list makes the registry. To add one: a file of
 * sink/ with a struct side_output named side_NAME, and its name here.
 */
#ifndef IOPROBE_SINK_SIDES_H
#define IOPROBE_SINK_SIDES_H

#include <stdio.h>

#include "model/model.h"

#define SIDE_OUTPUTS(X) \
	X(collectives)

struct side_output {
	const char *file;       /* its name, in the archive's directory */
	/* The sink writes to out (not owned) when the replay is done. Returns 0 or -ENOMEM. */
	int (*create)(struct sink **sink, FILE *out);
	void (*destroy)(struct sink *sink);     /* NULL is allowed */
};

#define SIDE_OUTPUT_DECLARE(name) extern const struct side_output side_##name;
SIDE_OUTPUTS(SIDE_OUTPUT_DECLARE)
#undef SIDE_OUTPUT_DECLARE

#endif
