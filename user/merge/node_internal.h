/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A node's archive while it is read, as node_read.c and node_properties.c share it.
 */
#ifndef IOPROBE_MERGE_NODE_INTERNAL_H
#define IOPROBE_MERGE_NODE_INTERNAL_H

#include <otf2/otf2.h>

#include "merge/node.h"

/* A group of OTF2 as it stands, until all are known. */
struct raw_group { OTF2_GroupType type; uint64_t *members; uint32_t n; };

struct reading {
	struct node *node;
	const char *dir;
	OTF2_Reader *reader;
	MODEL_ARRAY(struct raw_group, groups);
	MODEL_ARRAY(bool, is_root);             /* system tree node has no parent */
	uint64_t resolution;
	int error;
	char *err;
	size_t err_len;
};

/* node_read.c. Keeps the first failure and its message: "cannot merge DIR: what". Returns the first error. */
int node_read_fail(struct reading *r, int error, const char *what);

/* node_properties.c. Returns 0, or -errno with the message kept. */
int node_read_properties(struct reading *r);

#endif
