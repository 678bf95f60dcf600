/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Strings and end of a node's definitions.
 */
#include "merge/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const node_total_names[NODE_TOTALS] = {
	[TOTAL_CALLS] = "CALLS", [TOTAL_LOST] = "LOST_RECORDS", [TOTAL_LATE] = "LATE_RECORDS",
	[TOTAL_ABANDONED] = "ABANDONED_CALLS",
	[TOTAL_FAILED] = "FAILED_CALLS", [TOTAL_UNKNOWN_SIZES] = "UNKNOWN_SIZES",
	[TOTAL_RETURNS_WITHOUT_FRAME] = "RETURNS_WITHOUT_FRAME", [TOTAL_FRAMES_TOO_DEEP] = "FRAMES_TOO_DEEP",
	[TOTAL_FACTS_UNKNOWN] = "FACTS_UNKNOWN", [TOTAL_FACTS_BEYOND] = "FACTS_BEYOND",
};

void node_deinit(struct node *node)
{
#define X(type, name) free(node->name.v);
	NODE_ARRAYS(X)
#undef X
	memset(node, 0, sizeof(*node));
}

uint32_t node_string_add(struct node *node, const char *text)
{
	size_t len = strlen(text) + 1;
	uint32_t *ref;

	if (node->text.n + len > UINT32_MAX)
		return REF_NONE;
	if (node->text.n + len > node->text.cap) {
		size_t cap = 2 * (node->text.n + len);
		char *grown = realloc(node->text.v, cap);

		if (!grown)
			return REF_NONE;
		node->text.v = grown;
		node->text.cap = cap;
	}
	ref = MODEL_ADD(node->strings);
	if (!ref)
		return REF_NONE;
	*ref = node->text.n;
	memcpy(node->text.v + node->text.n, text, len);
	node->text.n += len;
	return node->strings.n - 1;
}
