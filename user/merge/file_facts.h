/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts of files, from the properties "LAYER [OBJECT]: FACT" of the nodes' archives.
 */
#ifndef IOPROBE_MERGE_FILE_FACTS_H
#define IOPROBE_MERGE_FILE_FACTS_H

#include "merge/merge.h"

/* file: merged ref. values: of all nodes, each once, separated by " | "; owned by the array. */
struct file_fact { uint32_t file; const char *name; char *values; };

/* Returns the facts of all nodes' files, sorted by file; to be freed by file_facts_free, which takes NULL, too. NULL without
 * memory. */
struct file_fact *file_facts_new(const struct merge *m, size_t *n);
void file_facts_free(struct file_fact *facts, size_t n);

/* Lustre's stripes of a merged file: of all nodes that know them; 0: none does, or they differ. */
struct file_stripes { uint64_t bytes, count; bool bytes_differ, count_differs; };

/* Returns those of all files, by merged ref; the caller frees them. NULL without memory. */
struct file_stripes *file_stripes_new(const struct merge *m);

#endif
