/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The table of detectors.
 */
#include "analysis/detectors.h"

#include <string.h>

const struct detector *const detectors[] = {
#define X(code) &detector_##code,
	DETECTORS(X)
#undef X
};
const size_t ndetectors = sizeof(detectors) / sizeof(*detectors);

const struct detector *detector_by_code(const char *code)
{
	for (size_t i = 0; i < ndetectors; i++)
		if (!strcasecmp(detectors[i]->code, code))
			return detectors[i];
	return NULL;
}
