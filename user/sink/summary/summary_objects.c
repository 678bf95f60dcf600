/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Operations by object inside a file: datasets, groups and attributes, which have handles below their file's, and variables.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sink/summary/summary_report.h"

/* Returns the handle in which this one was opened; NULL for a file, whose parent belongs to another layer. */
static const struct model_handle *summary_objects_container(const struct model *model, const struct model_handle *handle)
{
	const struct model_handle *parent = handle->parent < model->handles.n ? &model->handles.v[handle->parent] : NULL;

	return parent && parent->paradigm == handle->paradigm ? parent : NULL;
}

/* Returns "group/dataset" from the names by which they were opened. NULL without memory. */
static char *object_path(const struct model *model, const struct model_handle *handle)
{
	char *path = strdup(handle->name), *longer;

	for (handle = summary_objects_container(model, handle); handle && path && path[0] != '/';
	     handle = summary_objects_container(model, handle)) {
		if (!handle->name[0] || !strcmp(handle->name, "/"))
			continue;
		longer = malloc(strlen(handle->name) + strlen(path) + 2);
		if (longer)
			sprintf(longer, "%s/%s", handle->name, path);
		free(path);
		path = longer;
	}
	if (path && path[0] == '/')
		memmove(path, path + 1, strlen(path));
	return path;
}

static int summary_objects_by_name(const void *a, const void *b)
{
	const struct summary_object *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->paradigm != y->paradigm)
		return x->paradigm < y->paradigm ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_activity(const void *a, const void *b)
{
	const struct summary_object *x = a, *y = b;
	uint64_t ax = summary_activity(&x->counts), ay = summary_activity(&y->counts);

	return ax != ay ? (ax > ay ? -1 : 1) : summary_objects_by_name(a, b);
}

static int summary_objects_add(struct summary_report *r, const struct model_handle *handle, char *name,
			       const struct summary_counts *counts)
{
	if (!name)
		return -ENOMEM;
	r->objects[r->nobjects++] = (struct summary_object){ handle->file < r->model->files.n ? handle->file : REF_NONE,
							     handle->paradigm, name, *counts };
	return 0;
}

static int summary_objects_collect(struct summary_report *r, const struct summary_counts *handles, size_t n,
				   const struct summary_variable *variables)
{
	const struct model *model = r->model;
	int error = 0;

	for (size_t i = 0; i < n && i < model->handles.n && !error; i++) {
		const struct model_handle *handle = &model->handles.v[i];

		if (summary_activity(&handles[i]) && handle->name[0] && summary_objects_container(model, handle))
			error = summary_objects_add(r, handle, object_path(model, handle), &handles[i]);
	}
	for (const struct summary_variable *v = variables; v && !error; v = v->hh.next)
		error = summary_objects_add(r, &model->handles.v[v->key >> 32], strdup(model->names.v[(uint32_t)v->key - 1]),
					    &v->counts);
	return error;
}

/* Merges entries with the same file, layer and name. */
static void summary_objects_merge(struct summary_report *r)
{
	size_t kept = 0;

	if (r->nobjects)
		qsort(r->objects, r->nobjects, sizeof(*r->objects), summary_objects_by_name);
	for (size_t i = 0; i < r->nobjects; i++) {
		if (!kept || summary_objects_by_name(&r->objects[kept - 1], &r->objects[i])) {
			r->objects[kept++] = r->objects[i];
			continue;
		}
		summary_add(&r->objects[kept - 1].counts, &r->objects[i].counts);
		free(r->objects[i].name);
	}
	r->nobjects = kept;
}

int summary_objects(struct summary_report *r, const struct summary_counts *handles, size_t n,
		    const struct summary_variable *variables)
{
	int error;

	r->objects = calloc(n + HASH_COUNT(variables) + 1, sizeof(*r->objects));
	if (!r->objects)
		return -ENOMEM;
	error = summary_objects_collect(r, handles, n, variables);
	summary_objects_merge(r);
	if (r->nobjects)
		qsort(r->objects, r->nobjects, sizeof(*r->objects), by_activity);
	r->objects_total = r->nobjects;
	for (; r->nobjects > REPORT_OBJECTS; r->nobjects--)
		free(r->objects[r->nobjects - 1].name);
	return error;
}

void summary_objects_free(struct summary_report *r)
{
	for (size_t i = 0; i < r->nobjects; i++)
		free(r->objects[i].name);
	free(r->objects);
}
