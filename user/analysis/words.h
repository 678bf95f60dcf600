/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Numbers in text for users, the same in every output and locale.
 */
#ifndef IOPROBE_ANALYSIS_WORDS_H
#define IOPROBE_ANALYSIS_WORDS_H

#include <stddef.h>
#include <stdint.h>

void words_bytes(char *text, size_t len, uint64_t bytes);       /* "4.0 MiB" */
void words_seconds(char *text, size_t len, uint64_t ns);        /* "1.25 s", "0.4 ms" */

#endif
