/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes functions and lines of the places in one module, as SYMBOL records.
 */
#ifndef IOPROBE_SITE_SYMBOLS_H
#define IOPROBE_SITE_SYMBOLS_H

#include "capture/site_modules.h"
#include "spool/spool.h"

/* Separate debug files are looked up as by gdb: below /usr/lib/debug by build-id, or by the name in the file, there and beside it.
 * A debug file is used only if the module's owner may read it. */
void site_symbols_write(struct site_module *module, uint32_t number, struct parse_pool *parsers, struct spool_writer *spool);

#endif
