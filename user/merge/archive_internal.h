/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The parts that write a merged archive.
 */
#ifndef IOPROBE_MERGE_ARCHIVE_INTERNAL_H
#define IOPROBE_MERGE_ARCHIVE_INTERNAL_H

#include <otf2/otf2.h>

#include "merge/merge.h"

/* archive_properties.c. Returns the first failure of the library, or OTF2_ERROR_ENOMEM. */
OTF2_ErrorCode archive_write_properties(const struct merge *m, OTF2_Archive *archive);

#endif
