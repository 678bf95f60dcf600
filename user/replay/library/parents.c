/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Parents of handles: the innermost handle on the thread's stack of calls, if it is on the same file. An outer call that is still
 * creating its handle gets the ref when the first handle below it needs one, outermost first, so that a parent's ref is smaller
 * than its children's.
 */
#include "replay/library/parents.h"
#include "replay/files.h"
#include "replay/frame.h"
#include "replay/library/handles.h"
#include "replay/mpi/comms.h"
#include "replay/paths.h"
#include "replay/sizes/known.h"

#include <string.h>

static const char *file_path(const struct replay *r, uint32_t file)
{
	return file == REF_NONE ? NULL : r->model->files.v[file].path;
}

static const char *frame_path(const struct frame *f)
{
	return f->path && f->path[0] ? f->path : NULL;
}

static bool same_path(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static bool parents_is_below(const char *path, const char *directory)
{
	size_t len = directory ? strlen(directory) : 0;

	return len && path && !strncmp(path, directory, len) && path[len] == '/';
}

/* Returns whether a file, or a path, is in the directory that the frame's handle represents. */
static bool frame_has_below(const struct replay *r, const struct frame *f, uint32_t file, const char *path)
{
	uint32_t mine = f->object ? f->object->file : f->file;
	const char *directory = f->makes && f->tree ? frame_path(f) : NULL;

	if (!directory && mine != REF_NONE && r->files.v[mine].tree)
		directory = file_path(r, mine);
	return parents_is_below(file != REF_NONE ? file_path(r, file) : path, directory);
}

/* Returns whether a handle of this file, or of this path (compared lexically if the file is not yet known), is on the file of the
 * frame's handle. */
static bool frame_on_file(const struct replay *r, const struct frame *f, uint32_t file, const char *path)
{
	uint32_t mine = f->object ? f->object->file : f->file;
	const char *my_path = f->makes ? frame_path(f) : NULL;

	if (mine != REF_NONE && file != REF_NONE)
		return mine == file;
	return same_path(my_path, path) || same_path(file_path(r, mine), path) || same_path(my_path, file_path(r, file));
}

uint32_t parent_of(struct replay *r, struct thread *thread, unsigned index, uint32_t file, const char *path)
{
	while (index--) {
		struct frame *f = &thread->frames[index];
		uint32_t ref;
		bool below;

		if (f->doubtful)
			return REF_NONE;
		if (!f->makes && !f->object)
			continue;
		below = frame_has_below(r, f, file, path);
		if (!below && !frame_on_file(r, f, file, path))
			return REF_NONE;
		ref = f->makes ? frame_handle(r, thread, index) : object_handle(r, thread->process, f->object);
		f->has_files |= below && f->makes;
		if (below && !f->makes)
			r->files.v[f->object->file].has_files = true;
		return ref;
	}
	return REF_NONE;
}

/* Returns the file of the nearest enclosing call of another library, as reported by the kernel. */
static uint32_t enclosing_file(const struct replay *r, const struct thread *thread, unsigned index, uint32_t layer)
{
	while (index--) {
		const struct frame *f = &thread->frames[index];

		if (f->doubtful)
			return REF_NONE;
		if (frame_row(r, f)->layer == layer || (!f->makes && !f->object))
			continue;
		if (f->makes)
			return f->resolved ? f->file : REF_NONE;
		return f->object->file;
	}
	return REF_NONE;
}

/* Returns the only open file handle of this layer on that file; NULL if there are several. */
static struct object *root_on(const struct process *process, uint32_t layer, uint32_t file)
{
	struct object *found = NULL;

	for (struct object *o = process->objects; o; o = o->hh.next) {
		if (!o->root || o->key.layer != layer || o->file != file)
			continue;
		if (found)
			return NULL;
		found = o;
	}
	return found;
}

/* Determines the file of an identifier that a library created unobserved (the group that H5Literate passes to netCDF's
 * callback): that of the iteration, or of the enclosing call. Not for streams and other pointers: an error message may be printed
 * anywhere. */
int object_place(struct replay *r, struct thread *thread, unsigned index, struct object *object)
{
	uint32_t layer = object->key.layer;
	struct object *root;
	int ret;

	if (r->set.layers[layer].handle_kind != HANDLE_ID || object->file != REF_NONE)
		return 0;
	ret = known_handed_over(thread, object);
	if (ret || object->file != REF_NONE)
		return ret;
	object->file = enclosing_file(r, thread, index, layer);
	root = object->file != REF_NONE ? root_on(thread->process, layer, object->file) : NULL;
	if (root)
		object->parent = root->ref;
	if (root && root->inner && !object->in) {
		object->in = root;
		root->holders++;
	}
	return 0;
}

static struct object *parent_object(struct replay *r, struct thread *thread, struct frame *f)
{
	const struct table_row *row = frame_row(r, f);
	struct object *object;
	int64_t value;

	if (!frame_arg(r, f, ROLE_PARENT, &value))
		return NULL;
	value &= frame_layer(r, f)->handle_mask;
	object = object_find(thread->process, row->layer, value);
	if (object)
		return object;
	object = object_add(r, thread->process, row->layer, value);
	if (object && object_place(r, thread, f - thread->frames, object))
		return NULL;
	return object;
}

static const char *parents_object_name(struct replay *r, const struct frame *f)
{
	struct str name = frame_string(r, f, ROLE_NAME);

	return name.p ? model_string(r->model, name.p, name.len) : "";
}

uint32_t frame_handle(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];
	struct object *parent;
	struct model_handle def;

	if (f->ref != REF_NONE)
		return f->ref;
	parent = parent_object(r, thread, f);
	if (parent && f->file == REF_NONE)
		f->file = parent->file;
	def = (struct model_handle){ .file = f->file, .comm = f->comm, .paradigm = frame_info(r, f)->paradigm,
				     .group = thread->process->group };
	def.parent = parent ? object_handle(r, thread->process, parent) : parent_of(r, thread, index, f->file, frame_path(f));
	def.name = parents_object_name(r, f);
	if (!def.name)
		return REF_NONE;
	if (comm_is_shared(r, f->comm) && frame_path(f))
		f->ref = handle_unified(r, thread->process, &def, f->path);
	else
		f->ref = handle_new(r, &def);
	return f->ref;
}

static void parents_set_file(struct replay *r, struct frame *f, uint32_t file, bool resolved)
{
	f->file = file;
	f->resolved = resolved;
	if (f->tree && file != REF_NONE) {
		r->files.v[file].tree = true;
		r->files.v[file].has_files |= f->has_files;
	}
	if (f->ref != REF_NONE && (resolved || r->model->handles.v[f->ref].file == REF_NONE))
		r->model->handles.v[f->ref].file = file;
}

void frame_resolve(struct replay *r, struct thread *thread, unsigned index)
{
	struct frame *f = &thread->frames[index];

	if (!f->resolved && f->file == REF_NONE && frame_path(f))
		parents_set_file(r, f, file_by_path(r, thread->process, f->path), false);
}

static bool parents_names_file(const struct replay *r, const struct frame *f, uint32_t file, const char *path)
{
	const char *mine = frame_path(f);

	if (!mine)      /* tmpfile and the like: any file that is opened inside; a name inside a file is not a file's */
		return frame_info(r, f)->arg[ROLE_PATH] < 0 && frame_info(r, f)->arg[ROLE_PARENT] < 0;
	if (f->tree)
		return same_path(mine, path) || same_path(mine, file_path(r, file));
	return same_path(mine, path) || same_path(path_last(mine), path_last(file_path(r, file)));
}

void file_was_made(struct replay *r, struct thread *thread, unsigned index, uint32_t file, const char *path)
{
	while (file != REF_NONE && index--) {
		struct frame *f = &thread->frames[index];

		if (f->makes && !f->resolved && !f->doubtful && parents_names_file(r, f, file, path))
			parents_set_file(r, f, file, true);
	}
}

/* Sockets and pipes are also used inside calls on files, but a stream may be on one. */
static bool may_be_of(const struct replay *r, const struct object *object, uint32_t file, bool nearest)
{
	if (r->files.v[file].regular || !r->files.v[file].kernel)
		return true;
	return nearest && r->set.layers[object->key.layer].handle_kind == HANDLE_POINTER;
}

void file_was_used(struct replay *r, struct thread *thread, unsigned index, uint32_t file)
{
	bool nearest = true;

	while (file != REF_NONE && index--) {
		struct frame *f = &thread->frames[index];
		struct object *object = f->object;

		if (f->doubtful)
			return;
		if (f->makes && !f->resolved && frame_path(f) && parents_names_file(r, f, file, NULL))
			parents_set_file(r, f, file, true);
		if (!object)
			continue;
		if (object->file == REF_NONE && may_be_of(r, object, file, nearest)) {
			object->file = file;
			if (object->ref != REF_NONE)
				r->model->handles.v[object->ref].file = file;
		}
		nearest = false;
	}
}
