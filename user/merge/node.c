/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The life of a node's definitions, their strings, and their way from one process to another.
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

/* ---- between processes of one launch: the same program, the same machine ---- */

#define MAGIC 0x31656d6e6f706f69ull

static int save_array(FILE *out, const void *v, uint64_t n, size_t size)
{
	return fwrite(&n, sizeof(n), 1, out) == 1 && (!n || fwrite(v, size, n, out) == n) ? 0 : -EIO;
}

int node_save(const struct node *node, FILE *out)
{
	uint64_t magic = MAGIC;
	int ret = fwrite(&magic, sizeof(magic), 1, out) == 1 && fwrite(&node->head, sizeof(node->head), 1, out) == 1 ? 0 : -EIO;

#define X(type, name) ret = ret ? ret : save_array(out, node->name.v, node->name.n, sizeof(*node->name.v));
	NODE_ARRAYS(X)
#undef X
	return ret;
}

static int load_array(FILE *in, void **v, size_t *n, size_t size)
{
	uint64_t count;

	if (fread(&count, sizeof(count), 1, in) != 1)
		return -EBADMSG;
	*v = count ? reallocarray(NULL, count, size) : NULL;
	if (count && !*v)
		return -ENOMEM;
	*n = count;
	return !count || fread(*v, size, count, in) == count ? 0 : -EBADMSG;
}

int node_load(struct node *node, FILE *in)
{
	uint64_t magic;
	int ret;

	memset(node, 0, sizeof(*node));
	ret = fread(&magic, sizeof(magic), 1, in) == 1 && magic == MAGIC && fread(&node->head, sizeof(node->head), 1, in) == 1 ?
	      0 : -EBADMSG;
#define X(type, name) ret = ret ? ret : load_array(in, (void **)&node->name.v, &node->name.n, sizeof(*node->name.v)); \
	node->name.cap = node->name.n;
	NODE_ARRAYS(X)
#undef X
	if (ret)
		node_deinit(node);
	return ret;
}
