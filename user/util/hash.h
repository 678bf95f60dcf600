/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Hash tables: uthash, configured not to abort the process when memory runs out. An element that could not be added is not in the
 * table: check hash_added after each HASH_ADD…; if it is false, free the element and fail with -ENOMEM.
 */
#ifndef IOPROBE_HASH_H
#define IOPROBE_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define hash_added(element) ((element)->hh.tbl != NULL)

#endif
