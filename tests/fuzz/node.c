/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A node's archive as merge reads it: anchor file and global definitions. Two bytes say how long the anchor file is. libotf2 is
 * part of what runs, but is not instrumented.
 */
#include "fuzz.h"

#include <string.h>

#include "merge/node.h"

int fuzz_node(const uint8_t *data, size_t size)
{
	size_t anchor = size >= 2 ? data[0] | data[1] << 8 : 0;
	struct node node;
	char err[512];

	if (size < 2 || anchor > size - 2)
		return 0;
	fuzz_file("traces.otf2", data + 2, anchor);
	fuzz_file("traces.def", data + 2 + anchor, size - 2 - anchor);
	if (!node_read(&node, fuzz_directory(), err, sizeof(err)))
		node_deinit(&node);
	return 0;
}
