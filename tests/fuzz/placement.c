/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Where to put a probe in machine code. The first byte selects which argument registers must be intact, and whether the
 * function's size is known.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "elf/placement.h"

int fuzz_placement(const uint8_t *data, size_t size)
{
	struct placement placement;
	uint8_t *code;

	if (size < 2 || !(code = malloc(size - 1)))
		return 0;
	memcpy(code, data + 1, size - 1);
	placement = placement_decide(code, size - 1, 0x401000, data[0] & 0x40, data[0] & 0x3f);
	if (placement.kind != PLACED_IMPOSSIBLE && placement.offset >= size - 1)
		abort();
	if (placement.kind == PLACED_INSIDE && placement.exit_offset >= size - 1)
		abort();
	free(code);
	return 0;
}
