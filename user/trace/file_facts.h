/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts of an archive's files, by name.
 */
#ifndef IOPROBE_TRACE_FILE_FACTS_H
#define IOPROBE_TRACE_FILE_FACTS_H

#include "trace/trace.h"

/* Orders the facts by file and name: once, when all are read. */
void trace_facts_sort(struct trace *trace);
/* The facts of a file: the first one, and their number. */
const struct trace_fact *trace_facts_of(const struct trace *trace, uint32_t file, size_t *n);
/* The value of a fact of a file (object ""), or of an object in it: "HDF5", "g/packed", "Layout". NULL: it has none. */
const char *trace_fact_value(const struct trace *trace, uint32_t file, const char *layer, const char *object, const char *fact);
/* Whether the fact's name ends so: "HDF5 g/packed: Layout" is one of ": Layout". */
bool trace_fact_is(const struct trace_fact *fact, const char *end);

#endif
