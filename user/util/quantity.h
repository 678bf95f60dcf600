/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Numbers with units, as options and the service's policy take them.
 */
#ifndef IOPROBE_QUANTITY_H
#define IOPROBE_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUANTITY_SIZES "4096, 64KiB, 10GiB"     /* examples for messages */

/* Both return false, and leave *out alone, if text is no such number, negative, or beyond 9e18. The unit's case does not matter. */
bool quantity_bytes(const char *text, uint64_t *out);   /* 4096, 64KiB, 1.5M, 10GiB, 1T: powers of 1024 */
bool quantity_ns(const char *text, uint64_t *out);      /* 10us, 1.5ms, 2s: the unit is needed */

/* 512 B, 1.50 MiB. Returns text. */
char *quantity_format_bytes(uint64_t bytes, char *text, size_t len);

#endif
