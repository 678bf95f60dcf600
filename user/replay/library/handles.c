/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Handles of libraries: per process, from the program's value to the model's handle. Handles that were created before the recording
 * are defined as pre-created at their first use.
 */
#include "replay/library/handles.h"
#include "replay/sizes/sized.h"
#include "replay/sizes/shapes.h"

#include <errno.h>
#include <otf2/OTF2_Definitions.h>
#include <stdlib.h>
#include <string.h>

uint32_t handle_new(struct replay *r, const struct model_handle *def)
{
	struct model_handle *handle = MODEL_ADD(r->model->handles);

	if (!handle)
		return REF_NONE;
	*handle = *def;
	return r->model->handles.n - 1;
}

bool layer_parallel(const struct replay *r, const struct process *process, uint32_t layer)
{
	const struct table_layer *l = &r->set.layers[layer];

	if (layer < MAX_LAYERS && process->libraries[layer].seen)
		return process->libraries[layer].parallel || l->klass == CLASS_PARALLEL;
	return l->klass == CLASS_PARALLEL;
}

static struct object_key handles_key_of(uint32_t layer, uint64_t value)
{
	return (struct object_key){ .value = value, .layer = layer };
}

struct object *object_find(struct process *process, uint32_t layer, uint64_t value)
{
	struct object_key key = handles_key_of(layer, value);
	struct object *object;

	HASH_FIND(hh, process->objects, &key, sizeof(key), object);
	return object;
}

struct object *object_of_ref(struct process *process, uint32_t ref)
{
	struct object *object = process->objects;

	while (object && object->ref != ref)
		object = object->hh.next;
	return object;
}

void object_release(struct object *object)
{
	if (!object || --object->holders)
		return;
	shape_free(object);
	names_forget(object);
	object_release(object->in);     /* NULL for a file */
	free(object->inner);
	free(object);
}

void object_forget(struct process *process, struct object *object)
{
	HASH_DEL(process->objects, object);
	object_release(object);
}

struct object *object_add(struct replay *r, struct process *process, uint32_t layer, uint64_t value)
{
	struct object *object = object_find(process, layer, value);

	if (object)     /* its close was not recorded, and the value is reused */
		object_forget(process, object);
	object = calloc(1, sizeof(*object));
	if (!object)
		return NULL;
	object->key = handles_key_of(layer, value);
	object->holders = 1;
	object->ref = object->file = object->comm = object->parent = REF_NONE;
	object->name = "";
	object->mode = OTF2_IO_ACCESS_MODE_READ_WRITE;
	object->paradigm = r->layer_paradigm[layer];
	HASH_ADD(hh, process->objects, key, sizeof(object->key), object);
	if (hash_added(object))
		return object;
	free(object);
	return NULL;
}

bool object_rename(struct process *process, struct object *object, uint64_t value)
{
	HASH_DEL(process->objects, object);
	object->key.value = value;
	HASH_ADD(hh, process->objects, key, sizeof(object->key), object);
	if (hash_added(object))
		return true;
	object_release(object);
	return false;
}

uint32_t object_handle(struct replay *r, struct process *process, struct object *object)
{
	struct model_handle def = {
		.name = object->name, .file = object->file, .paradigm = object->paradigm, .comm = REF_NONE,
		.parent = object->parent, .group = process->group, .precreated = true, .pre_mode = object->mode,
	};

	if (object->ref == REF_NONE)
		object->ref = handle_new(r, &def);
	return object->ref;
}

void object_on_descriptor(struct replay *r, struct process *process, int64_t fd, uint32_t file)
{
	for (struct object *object = process->objects; object; object = object->hh.next) {
		if (object->key.value != STANDARD_STREAM(fd) || object->file != REF_NONE)
			continue;
		object->file = file;
		if (object->ref != REF_NONE)
			r->model->handles.v[object->ref].file = file;
	}
}

/* If the opening of an object was not recorded, its file is determined at its use; objects that were opened in it before get the
 * same file. */
void handles_finish(struct replay *r)
{
	for (size_t i = 0; i < r->model->handles.n; i++) {
		struct model_handle *handle = &r->model->handles.v[i];

		if (handle->file == REF_NONE && handle->parent != REF_NONE)
			handle->file = r->model->handles.v[handle->parent].file;
	}
}

int object_inherit(struct replay *r, struct process *child, const struct process *parent)
{
	child->fact_lists_dropped = parent->fact_lists || parent->fact_lists_dropped;
	for (const struct object *from = parent->objects; from; from = from->hh.next) {
		struct object *object = object_add(r, child, from->key.layer, from->key.value);

		if (!object)
			return -ENOMEM;
		object->file = from->file;
		object->name = from->name;
		object->mode = from->mode;
		object->paradigm = from->paradigm;
	}
	return 0;
}

void object_free_all(struct process *process)
{
	struct object *object, *next;

	HASH_ITER(hh, process->objects, object, next)
		object_forget(process, object);
}
