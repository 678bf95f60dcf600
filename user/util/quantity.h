/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Numbers with units, as in options and the service's policy.
 */
#ifndef IOPROBE_QUANTITY_H
#define IOPROBE_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUANTITY_SIZES "4096, 64KiB, 10GiB"     /* examples for messages */

/* Both return false, and do not change *out, if text is not such a number, negative, or beyond 9e18. The unit is
 * case-insensitive. */
bool quantity_bytes(const char *text, uint64_t *out);   /* 4096, 64KiB, 1.5M, 10GiB, 1T: powers of 1024 */
bool quantity_ns(const char *text, uint64_t *out);      /* 10us, 1.5ms, 2s: the unit is required */

/* Formats 512 B, 1.50 MiB. Returns text. */
char *quantity_format_bytes(uint64_t bytes, char *text, size_t len);

#endif
