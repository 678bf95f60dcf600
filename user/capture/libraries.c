/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From a file's plan to attached links. What is missing or refused is noted once per file.
 */
#include "capture/libraries.h"

#include <errno.h>
#include <string.h>

#include "capture/notes.h"

void libraries_init(struct libraries *libraries, const struct table_set *set, struct kernel_side *kernel, struct spool_writer *spool)
{
	*libraries = (struct libraries){ .set = set, .kernel = kernel, .spool = spool };
}

static void library_destroy(struct library *library)
{
	links_destroy(&library->shared);
	plan_destroy(&library->plan);
	free(library->shared_points);
	free(library->own_points);
	free(library->unwind_points);
	free(library->path);
	free(library);
}

void libraries_detach(struct libraries *libraries, struct closer *closer)
{
	for (struct library *library = libraries->all; library; library = library->hh.next)
		closer_take(closer, &library->shared);
}

void libraries_deinit(struct libraries *libraries)
{
	struct library *library, *next;

	HASH_ITER(hh, libraries->all, library, next) {
		HASH_DEL(libraries->all, library);
		library_destroy(library);
	}
}

/* ---- the plan of a file ---- */

static const char *layer_name(const struct libraries *libraries, uint16_t row)
{
	return libraries->set->layers[libraries->set->rows[row].layer].name;
}

static void note_plan_missing(struct libraries *libraries, const struct library *library)
{
	for (size_t i = 0; i < library->plan.nmissing; i++) {
		const struct plan_missing *missing = &library->plan.missing[i];

		if (!strcmp(missing->reason, PLAN_ABSENT))
			continue;
		note_missing(libraries->spool, layer_name(libraries, missing->row), library->path,
			     libraries->set->rows[missing->row].name, missing->reason);
		libraries->missing++;
	}
	if (library->plan.stripped_static)
		note_missing(libraries->spool, "*", library->path, "*", "static executable without symbols: its library calls cannot be seen");
}

static void sort_point(struct libraries *libraries, struct library *library, const struct plan_point *point)
{
	const struct table_row *row = &libraries->set->rows[point->row];
	struct attach_point attach = { point->file_offset, point->row, point->function };

	if (row->op == OP_UNWIND)
		library->unwind_points[library->nunwind++] = attach;
	else if (libraries->set->layers[row->layer].per_process)
		library->own_points[library->nown++] = attach;
	else
		library->shared_points[library->nshared++] = attach;
	libraries->probes++;
	libraries->moved += point->placement.kind == PLACED_MOVED;
	libraries->single_stepped += point->placement.kind == PLACED_SINGLE_STEP;
}

static bool sort_points(struct libraries *libraries, struct library *library)
{
	size_t n = library->plan.npoints + 1;

	library->shared_points = calloc(n, sizeof(struct attach_point));
	library->own_points = calloc(n, sizeof(struct attach_point));
	library->unwind_points = calloc(n, sizeof(struct attach_point));
	if (!library->shared_points || !library->own_points || !library->unwind_points)
		return false;
	for (size_t i = 0; i < library->plan.npoints; i++)
		sort_point(libraries, library, &library->plan.points[i]);
	return true;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A file that cannot be read stays known with an empty plan, so that it is noted once. */
static struct library *library_create(struct libraries *libraries, const struct proc_module *module)
{
	struct library *library = calloc(1, sizeof(*library));
	char err[512];

	if (!library)
		return NULL;
	library->key.dev = module->dev;
	library->key.ino = module->ino;
	library->path = strdup(module->path);
	if (plan_create(&library->plan, libraries->set, module->open_path, last_component(module->path), err, sizeof(err)))
		note_missing(libraries->spool, "*", module->path, "*", err);
	if (!library->path || !sort_points(libraries, library)) {
		library_destroy(library);
		return NULL;
	}
	note_plan_missing(libraries, library);
	HASH_ADD(hh, libraries->all, key, sizeof(library->key), library);
	return library;
}

struct library *libraries_get(struct libraries *libraries, const struct proc_module *module)
{
	struct { uint64_t dev, ino; } key = { module->dev, module->ino };
	struct library *library;

	HASH_FIND(hh, libraries->all, &key, sizeof(key), library);
	return library ?: library_create(libraries, module);
}

/* ---- links ---- */

struct refusal { struct libraries *libraries; const struct library *library; };

static void note_refused(void *arg, const struct attach_point *point, int err)
{
	struct refusal *refusal = arg;
	char reason[128];

	snprintf(reason, sizeof(reason), "the kernel refused the probe: %s", strerror(-err));
	note_missing(refusal->libraries->spool, layer_name(refusal->libraries, point->cookie), refusal->library->path, point->function, reason);
	refusal->libraries->missing++;
}

void library_attach_shared(struct libraries *libraries, struct library *library, const char *open_path)
{
	struct refusal refusal = { libraries, library };

	if (library->shared_done || !library->nshared)
		return;
	library->shared_done = true;
	attach_points(&library->shared, libraries->kernel, ATTACH_CALLS, open_path, 0, library->shared_points, library->nshared,
		      note_refused, &refusal);
}

int library_attach_own(struct libraries *libraries, struct library *library, const char *open_path, pid_t pid, struct links *links)
{
	struct refusal refusal = { libraries, library };
	int err;

	/* The unwinder first: no return address is hijacked before it can be given back. */
	err = attach_points(links, libraries->kernel, ATTACH_UNWINDER, open_path, pid, library->unwind_points, library->nunwind,
			    note_refused, &refusal);
	if (err && err != -EOPNOTSUPP)
		return err;
	return attach_points(links, libraries->kernel, ATTACH_CALLS, open_path, pid, library->own_points, library->nown,
			     note_refused, &refusal);
}

int library_attach_rendezvous(struct libraries *libraries, struct library *library, const char *open_path)
{
	struct attach_point point = { library->plan.rendezvous_offset, 0, "_dl_debug_state" };
	struct refusal refusal = { libraries, library };

	if (library->rendezvous_done || !point.offset)
		return 0;
	library->rendezvous_done = true;
	return attach_points(&library->shared, libraries->kernel, ATTACH_RENDEZVOUS, open_path, 0, &point, 1, note_refused, &refusal);
}
