/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Purpose of a function, by its name, and of a file, by its path.
 */
#ifndef IOPROBE_ANALYSIS_CLASSIFY_H
#define IOPROBE_ANALYSIS_CLASSIFY_H

#include "analysis/facts.h"

/* Returns CLASS_NONE if the name is not in the table. */
enum call_class classify_function(const char *name, enum trace_layer layer);
enum file_class classify_file(const struct trace_file *file);
/* Returns whether a function looks up a file by name (open, stat, access). */
bool looks_up_name(const char *name);
/* Returns whether a function creates a file, or lays out its space. */
bool creates_space(const char *name);

/* Size of what requests on a file should be aligned with: stripes, or blocks of a file system that is not local to a node (the page
 * cache joins neighbouring requests there). 0: unknown, or it does not matter. */
uint64_t file_alignment(const struct trace *trace, uint32_t file);

#endif
