/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Known properties of the objects of a file, by name: an object that is closed and opened again keeps its type and extent as long
 * as the process has the file open.
 */
#include "replay/sizes/known.h"
#include "replay/frame.h"
#include "replay/library/handles.h"
#include "replay/sizes/hdf5_id.h"
#include "replay/sizes/iterations.h"
#include "replay/sizes/sized.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 65536         /* of one file */

/* ---- names ---- */

static bool add_components(char *to, size_t size, size_t *len, struct str name)
{
	for (size_t at = 0, n; at < name.len; at += n + 1) {
		const char *slash = memchr(name.p + at, '/', name.len - at);

		n = slash ? (size_t)(slash - name.p) - at : name.len - at;
		if (!n || (n == 1 && name.p[at] == '.'))
			continue;
		if (*len + 1 + n >= size)
			return false;
		to[(*len)++] = '/';
		memcpy(to + *len, name.p + at, n);
		*len += n;
	}
	return true;
}

/* Returns the name inside the file of `name` relative to `location` relative to an object; NULL if unknown. To be freed. */
static char *inner_name(const struct object *parent, struct str location, struct str name)
{
	char text[1024];
	size_t len = 0;
	struct str base = { parent->inner, parent->inner ? strlen(parent->inner) : 0 };
	struct str first = location.p ? location : name;

	if (!first.len || first.p[0] != '/') {  /* relative */
		if (!base.p || !add_components(text, sizeof(text), &len, base))
			return NULL;
	}
	if ((location.p && !add_components(text, sizeof(text), &len, location)) || !add_components(text, sizeof(text), &len, name))
		return NULL;
	return strndup(text, len);
}

int known_place(struct replay *r, struct frame *f, struct object *object, struct object *parent)
{
	struct object *file = parent->root ? parent : parent->in;
	struct str name = frame_string(r, f, ROLE_NAME), location = frame_string(r, f, ROLE_LOCATION);

	if (!file || object->in)
		return 0;
	object->in = file;
	file->holders++;
	if (!name.p || (frame_info(r, f)->arg[ROLE_LOCATION] >= 0 && !location.p))
		return 0;
	object->inner = inner_name(parent, location, name);
	return 0;
}

/* ---- properties by name ---- */

void known_renamed(struct process *process, const struct object *object)
{
	for (struct object *o = process->objects; o; o = o->hh.next)
		if (o->root && o->key.layer == object->key.layer && (o->file == object->file || o == object->in))
			names_forget(o);
}

/* The extent was changed through another handle of the same file: the properties known by that handle's names are no longer
 * valid. */
void known_extent_changed(struct process *process, const struct object *object)
{
	struct sized *known, *next;

	for (struct object *o = object ? process->objects : NULL; o; o = o->hh.next) {
		if (!o->root || o == object->in || o->key.layer != object->key.layer || o->file != object->file)
			continue;
		HASH_ITER(hh, o->known, known, next) {
			known->extent = UNKNOWN;
			name_forget(o, known);
		}
	}
}

static struct sized *name_new(struct object *file, const char *key, struct sized *of)
{
	struct sized *known = calloc(1, sizeof(*known));

	if (!known)
		return NULL;
	*known = (struct sized){
		.extent = UNKNOWN, .selected = UNKNOWN, .bytes = UNKNOWN, .rank = -1, .holders = 1, .name = strdup(key)
	};
	if (known->name)
		HASH_ADD_KEYPTR(hh, file->known, known->name, strlen(known->name), known);
	if (!known->name || !hash_added(known)) {
		sized_free(known);
		return NULL;
	}
	sized_copy_type(known, of);
	known->extent = of->extent;
	known->rank = of->rank;
	return known;
}

/* From now on the handle and its name share their properties. */
int known_opened(struct replay *r, struct thread *thread, const struct frame *f, const struct object *object)
{
	bool created = frame_row(r, f)->op == OP_CREATE;
	struct sized *handle, *known;
	char key[1100];

	if (!object->inner || !object->in || object->in->others_write)
		return 0;
	/* datasets and attributes may have the same name */
	snprintf(key, sizeof(key), "%u %s", hdf5_id_kind(object->key.value), object->inner);
	HASH_FIND(hh, object->in->known, key, strlen(key), known);
	if (known && created) {
		name_forget(object->in, known);
		known = NULL;
	}
	if (!known && HASH_COUNT(object->in->known) >= NAMES_MAX)
		return 0;
	handle = sized_get(thread, f->ret, false);
	if (!handle || handle->shared)
		return handle ? 0 : -ENOMEM;
	known = known ?: name_new(object->in, key, handle);
	if (!known)
		return -ENOMEM;
	known->holders++;
	handle->shared = known;
	return 0;
}

/* ---- ids that HDF5 passes to callbacks ---- */

void known_iterated_free(struct process *process)
{
	object_release(process->iterated);
	process->iterated = NULL;
	process->iterated_many = false;
	iterations_free(process);
}

int known_iterated(struct replay *r, struct thread *thread, const struct frame *f)
{
	struct process *process = thread->process;
	struct object *object = f->object, *file = !object ? NULL : object->root ? object : object->in;
	struct str name = frame_string(r, f, ROLE_NAME);
	char *inner = NULL;

	if (file && (frame_info(r, f)->arg[ROLE_NAME] < 0 || name.p))
		inner = inner_name(object, (struct str){ 0 }, name);
	process->iterated_many |= !file || (process->iterated && process->iterated != file);
	if (file && !process->iterated) {
		process->iterated = file;
		file->holders++;
	}
	return iterations_begun(thread, file, inner);
}

static void known_put_in(struct object *object, struct object *file)
{
	object->in = file;
	file->holders++;
	object->file = file->file;
	object->parent = file->ref;
}

/* Every call that makes an id of a group or dataset is recorded. So in a process that was observed from its start an id of unknown
 * origin was passed to a function of the program by an iteration, and is on the object that the iteration was called for. If the
 * order of the ids does not say which iteration that was, it is in the file in which all of them were. */
int known_handed_over(struct thread *thread, struct object *object)
{
	struct process *process = thread->process;
	const struct iterated *of;
	bool ordered;

	if (!process->from_start || object->in || !iterations_pass(object->key.value) || !process->iterated ||
	    process->iterated->key.layer != object->key.layer)
		return 0;
	of = iterations_find(thread, object->key.value, &ordered);
	if (!ordered && !process->iterated_many)
		known_put_in(object, process->iterated);
	if (!of || !of->file)
		return 0;
	known_put_in(object, of->file);
	object->inner = of->inner ? strdup(of->inner) : NULL;
	return of->inner && !object->inner ? -ENOMEM : 0;
}
