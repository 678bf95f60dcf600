/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Serialised tables of a recording: names and texts of the sources, which are parsed again by the receiver, and which rows are off.
 */
#ifndef IOPROBE_TABLES_WIRE_H
#define IOPROBE_TABLES_WIRE_H

#include "table/table.h"

#define TABLES_WIRE_MAX_BYTES (64ull << 20)

/* Writes the tables at the beginning of fd. Returns 0 or -errno. */
int tables_wire_write(const struct table_set *set, int fd);

/* Reads them into set, which must be initialised and empty. Returns 0 or -errno (-EBADMSG: not the bytes of a set). */
int tables_wire_read(struct table_set *set, int fd);

#endif
