/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What a function does, by its name, and what a file is for, by its path.
 */
#ifndef IOPROBE_ANALYSIS_CLASSIFY_H
#define IOPROBE_ANALYSIS_CLASSIFY_H

#include "analysis/facts.h"

/* CLASS_NONE where the name does not say it. */
enum call_class classify_function(const char *name, enum trace_layer layer);
enum file_class classify_file(const struct trace_file *file);
/* A function that looks for a file by name (open, stat, access). */
bool looks_up_name(const char *name);
/* Creates a file, or lays out its space. */
bool creates_space(const char *name);

#endif
