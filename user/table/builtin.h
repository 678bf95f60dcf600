/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The tables of probes/, embedded as text: tools/embed.sh generates the array, sorted by file name.
 */
#ifndef IOPROBE_TABLE_BUILTIN_H
#define IOPROBE_TABLE_BUILTIN_H

#include "table/table.h"

extern const struct table_source table_builtin[];       /* name: file name below probes/: "hdf5.probes" */
extern const size_t table_builtin_n;

#endif
