/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * libFuzzer's entry of one target, which FUZZ_TARGET names.
 */
#include "fuzz.h"

#define CONCAT(a, b) a##b
#define FUNCTION(name) CONCAT(fuzz_, name)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return FUNCTION(FUZZ_TARGET)(data, size);
}
