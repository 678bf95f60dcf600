/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The files beside an archive that save merge from reading events: collectives.json and summary.json. Older archives have none.
 */
#include "merge/node.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

/* NULL with error 0: there is no such file. */
static json_t *load(const char *dir, const char *name, int *error, char *err, size_t err_len)
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

static uint64_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static struct node_meeting meeting(const json_t *object)
{
	return (struct node_meeting){ number(object, "ranks"), number(object, "last_enter_ns"), number(object, "first_leave_ns") };
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
		c->handle = number(entry, "handle");
		c->opened = meeting(json_object_get(entry, "opened"));
		c->closed = meeting(json_object_get(entry, "closed"));
		if (c->handle >= node->handles.n)
			return -EBADMSG;
	}
	return 0;
}

static int add_layers(struct node *node, const json_t *root)
{
	const json_t *list = json_object_get(root, "layers");
	size_t n = json_array_size(list);

	node->head.has_summary = json_is_array(list);
	for (size_t i = 0; i < n; i++) {
		const json_t *entry = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(entry, "name"));
		struct node_layer *layer = MODEL_ADD(node->layers);

		if (!layer)
			return -ENOMEM;
		*layer = (struct node_layer){
			.name = node_string_add(node, name ? name : "?"), .calls = number(entry, "calls"), .failed = number(entry, "failed"),
			.time_ns = number(entry, "time_ns"), .system_ns = number(entry, "system_time_ns"),
			.os = json_is_true(json_object_get(entry, "operating_system")),
			.system_known = json_is_integer(json_object_get(entry, "system_time_ns")), .reads = number(entry, "reads"), .writes = number(entry, "writes"),
			.bytes_read = number(entry, "bytes_read"), .bytes_written = number(entry, "bytes_written"),
			.known_reads = number(entry, "reads_of_known_size"), .known_writes = number(entry, "writes_of_known_size"),
			.unknown_reads = number(entry, "reads_of_unknown_size"), .unknown_writes = number(entry, "writes_of_unknown_size"),
		};
		if (layer->name == REF_NONE)
			return -ENOMEM;
	}
	return 0;
}

int node_read_side_files(struct node *node, char *err, size_t err_len)
{
	static const struct { const char *name; int (*add)(struct node *node, const json_t *root); } files[] = {
		{ "collectives.json", add_collectives }, { "summary.json", add_layers },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int error;
		json_t *root = load(node->dir, files[i].name, &error, err, err_len);

		if (root) {
			error = files[i].add(node, root);
			json_decref(root);
			if (error)
				snprintf(err, err_len, "cannot merge %s: %s does not fit the archive: %s", node->dir, files[i].name,
					 strerror(-error));
		}
		if (error)
			return error;
	}
	return 0;
}
