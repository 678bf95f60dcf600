/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * collectives.json, which is beside an archive and saves merge from reading events. Older archives have none.
 */
#include "merge/node.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

/* NULL with error 0: there is no such file. */
static json_t *node_side_load(const char *dir, const char *name, int *error, char *err, size_t err_len)
{
	json_error_t why;
	char path[4200];
	json_t *root;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	*error = 0;
	if (access(path, F_OK))
		return NULL;
	root = json_load_file(path, 0, &why);
	if (root)
		return root;
	snprintf(err, err_len, "cannot merge %s: %s cannot be read: %s", dir, path, why.text);
	*error = -EBADMSG;
	return NULL;
}

static uint64_t node_side_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static struct node_meeting node_side_meeting(const json_t *object)
{
	return (struct node_meeting){ node_side_number(object, "ranks"), node_side_number(object, "last_enter_ns"),
				      node_side_number(object, "first_leave_ns") };
}

static int add_collectives(struct node *node, const json_t *root)
{
	const json_t *list = json_object_get(root, "collectives");
	size_t n = json_array_size(list);

	node->head.has_collectives = json_is_array(list);
	for (size_t i = 0; i < n; i++) {
		const json_t *entry = json_array_get(list, i);
		struct node_collective *c = MODEL_ADD(node->collectives);

		if (!c)
			return -ENOMEM;
		c->handle = node_side_number(entry, "handle");
		c->opened = node_side_meeting(json_object_get(entry, "opened"));
		c->closed = node_side_meeting(json_object_get(entry, "closed"));
		if (c->handle >= node->handles.n)
			return -EBADMSG;
	}
	return 0;
}

int node_read_collectives(struct node *node, char *err, size_t err_len)
{
	int error;
	json_t *root = node_side_load(node->dir, "collectives.json", &error, err, err_len);

	if (!root)
		return error;
	error = add_collectives(node, root);
	json_decref(root);
	if (error)
		snprintf(err, err_len, "cannot merge %s: collectives.json does not fit the archive: %s", node->dir,
			 strerror(-error));
	return error;
}
