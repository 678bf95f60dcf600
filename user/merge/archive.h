/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writing the merged archive: what there is once (archive.c), and the files of each location (locals.c).
 */
#ifndef IOPROBE_MERGE_ARCHIVE_H
#define IOPROBE_MERGE_ARCHIVE_H

#include "merge/merge.h"

/* Anchor, global definitions and properties into dir. 0 or -errno with a line in m->err. */
int archive_merge(struct merge *m, const char *dir);
/* The size of a chunk of definitions, in all its files. 0: OTF2 has none that is large enough. */
uint64_t archive_chunk_bytes(const struct merge *m);

/* The .evt and .def files of a node's locations into dir/traces, which exists; scratch is an empty directory, and filled
 * afterwards. */
int locals_write(const struct node *node, const struct node_map *map, const char *dir, const char *scratch, uint64_t chunk_bytes,
		 struct location_counts *counts, char *err, size_t err_len);

#endif
