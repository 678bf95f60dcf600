/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The side files of a node's archive that merge reads: the first byte says which one it is.
 */
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

#include "merge/node.h"

int fuzz_sides(const uint8_t *data, size_t size)
{
	struct node node = { .dir = fuzz_directory() };
	const char *name = size && data[0] & 1 ? "summary.json" : "collectives.json";
	char err[512];

	if (!size)
		return 0;
	for (int i = 0; i < 10; i++)
		if (!MODEL_ADD(node.handles))
			return 0;
	fuzz_file(name, data + 1, size - 1);
	node_read_side_files(&node, err, sizeof(err));
	node_deinit(&node);
	unlink(fuzz_file(name, "", 0));
	return 0;
}
