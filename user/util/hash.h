/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Hash tables: uthash, told not to end the process when memory is short. An element that cannot be added is not in the table then:
 * hash_added says so after each HASH_ADD…, and the caller frees the element and fails with -ENOMEM.
 */
#ifndef IOPROBE_HASH_H
#define IOPROBE_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define hash_added(element) ((element)->hh.tbl != NULL)

#endif
