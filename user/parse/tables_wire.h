/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The tables of a recording as bytes: the sources' names and texts, parsed again on the other side, and which rows are off.
 */
#ifndef IOPROBE_TABLES_WIRE_H
#define IOPROBE_TABLES_WIRE_H

#include "table/table.h"

#define TABLES_WIRE_MAX_BYTES (64ull << 20)

/* Writes the tables to fd, from its beginning. Returns 0 or -errno. */
int tables_wire_write(const struct table_set *set, int fd);

/* Reads them into set, which is initialized and empty. Returns 0 or -errno (-EBADMSG: the bytes are not those of a set). */
int tables_wire_read(struct table_set *set, int fd);

#endif
