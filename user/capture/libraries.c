/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From the plan of a file to attached links. Probes that are missing or refused are noted once per file.
 */
#include "capture/libraries.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/rings.h"
#include "capture/notes.h"

void libraries_init(struct libraries *libraries, const struct table_set *set, struct parse_pool *parsers,
		    struct spool_writer *spool, bool streams_apart)
{
	*libraries = (struct libraries){ .set = set, .parsers = parsers, .spool = spool, .streams_apart = streams_apart };
}

void libraries_begin(struct libraries *libraries, struct bpf_side *kernel, struct hold_server *server)
{
	libraries->kernel = kernel;
	libraries->server = server;
	libraries->pending = (struct attachments){ .kernel = kernel, .server = server };
}

static void library_destroy(struct library *library)
{
	plan_destroy(&library->plan);
	for (int group = 0; group < POINT_GROUPS; group++)
		free(library->points[group].v);
	code_file_close(&library->file);
	free(library->path);
	free(library);
}

void libraries_detach_calls(struct libraries *libraries)
{
	for (struct library *library = libraries->all; library; library = library->hh.next) {
		links_detach(libraries->server, &library->shared);
		links_detach(libraries->server, &library->demand);
		links_detach(libraries->server, &library->direct);
	}
}

void libraries_detach(struct libraries *libraries)
{
	libraries_detach_calls(libraries);
	for (struct library *library = libraries->all; library; library = library->hh.next)
		links_detach(libraries->server, &library->shared_unwinders);
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

		if (!strcmp(missing->reason, PLAN_ABSENT) || !strcmp(missing->reason, PLAN_JUMPS))
			continue;
		note_missing(libraries->spool, layer_name(libraries, missing->row), library->path,
			     libraries->set->rows[missing->row].name, missing->reason);
		libraries->missing++;
	}
	if (library->plan.stripped_static)
		note_missing(libraries->spool, "*", library->path, "*",
			     "static executable without symbols: its library calls cannot be recorded");
}

static enum point_group libraries_group_of(const struct libraries *libraries, const struct table_row *row)
{
	if (table_row_is_internal(row))
		return POINTS_UNWIND;
	if (row->mods & MOD_ON_DEMAND)
		return POINTS_DEMAND;
	if (row->mods & MOD_DIRECT)
		return POINTS_DIRECT;
	if (!libraries->streams_apart)
		return POINTS_OWN;
	switch (table_row_stream_flag(libraries->set, row)) {
	case IOP_D_STREAM_BYTES: return POINTS_STREAM_BYTES;
	case IOP_D_STREAM_DATA: return POINTS_STREAM_DATA;
	default: return POINTS_OWN;
	}
}

/* Returns the bits of the cookie for the library's ABI. */
static uint64_t cookie_bits(const struct library *library, const struct table_row *row)
{
	uint64_t number = (uint64_t)library->number << IOP_COOKIE_LIBRARY_SHIFT;

	for (size_t i = 0; i < library->plan.nlayers; i++)
		if (library->plan.layers[i].layer == row->layer && library->plan.layers[i].narrow)
			return number | IOP_COOKIE_NARROW;
	return number;
}

static struct attach_point attach_point_of(const struct plan_point *point, const struct table_row *row, uint64_t bits)
{
	uint64_t cookie = point->row | IOP_COOKIE_OWN | bits | (row->op == OP_UNWIND ? IOP_COOKIE_WALKS : 0);
	uint64_t exit_offset = point->placement.exit_offset ?
			       point->file_offset - point->placement.offset + point->placement.exit_offset : 0;

	return (struct attach_point){ point->file_offset, exit_offset, point->second_offset, point->second_frame,
				      cookie | (uint64_t)point->placement.frame << IOP_COOKIE_FRAME_SHIFT, point->function };
}

static bool libraries_sort_points(struct libraries *libraries, struct library *library)
{
	for (int group = 0; group < POINT_GROUPS; group++) {
		library->points[group].v = calloc(library->plan.npoints + 1, sizeof(struct attach_point));
		if (!library->points[group].v)
			return false;
	}
	if (library->plan.npoints && libraries->numbers < IOP_MAX_LIBRARIES_FOR_ALL)
		library->number = ++libraries->numbers;
	for (size_t i = 0; i < library->plan.npoints; i++) {
		const struct plan_point *point = &library->plan.points[i];
		const struct table_row *row = &libraries->set->rows[point->row];
		enum point_group group = libraries_group_of(libraries, row);

		library->points[group].v[library->points[group].n++] =
			attach_point_of(point, row, cookie_bits(library, row));
		library->has_streams |= table_row_stream_flag(libraries->set, row) != 0;
		libraries->probes++;
		libraries->single_stepped += point->placement.kind == PLACED_SINGLE_STEP;
		libraries->row_single_stepped[point->row] |= point->placement.kind == PLACED_SINGLE_STEP;
	}
	return true;
}

static const char *libraries_last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void note_unread(struct libraries *libraries, const char *path, const char *action, const char *reason)
{
	char text[640];

	snprintf(text, sizeof(text), "%s: %s", action, reason);
	note_missing(libraries->spool, "*", path, "*", text);
}

/* Code may be mapped from files that are not ELF files; those have no functions to probe. Code that could not be read may switch
 * stacks: return probes would end such a program. */
static void plan_file(struct libraries *libraries, struct library *library)
{
	char reason[512];
	int err = parse_plan(libraries->parsers, &library->file, libraries_last_component(library->path), &library->plan, reason,
			     sizeof(reason));

	if (!err || err == -ENOEXEC)
		return;
	note_unread(libraries, library->path, "its symbols could not be read", reason);
	library->plan.switching = SHARES_STACK;
}

/* Takes ownership of the file; its fd is -1 if it could not be opened. A file that cannot be read is kept with an empty plan, so
 * that it is noted only once. */
static struct library *library_create(struct libraries *libraries, const char *path, struct code_file *file)
{
	struct library *library = calloc(1, sizeof(*library));

	if (!library) {
		code_file_close(file);
		return NULL;
	}
	library->libraries = libraries;
	library->key.dev = file->dev;
	library->key.ino = file->ino;
	library->file = *file;
	library->path = strdup(path);
	if (library->path && file->fd >= 0)
		plan_file(libraries, library);
	if (!library->path || !libraries_sort_points(libraries, library)) {
		library_destroy(library);
		return NULL;
	}
	note_plan_missing(libraries, library);
	HASH_ADD(hh, libraries->all, key, sizeof(library->key), library);
	if (hash_added(library))
		return library;
	library_destroy(library);
	return NULL;
}

static struct library *find_library(struct libraries *libraries, uint64_t dev, uint64_t ino)
{
	struct { uint64_t dev, ino; } key = { dev, ino };
	struct library *library;

	HASH_FIND(hh, libraries->all, &key, sizeof(key), library);
	return library;
}

struct library *libraries_get_file(struct libraries *libraries, const char *path, struct code_file *file)
{
	struct library *library = find_library(libraries, file->dev, file->ino);

	if (!library)
		return library_create(libraries, path, file);
	code_file_close(file);
	return library;
}

/* Returns NULL for a file that is no longer mapped; it is not remembered, since it may be mapped again. Devices and other files
 * that are not regular have no functions to probe. */
struct library *libraries_get(struct libraries *libraries, const struct proc_module *module)
{
	struct library *library = find_library(libraries, module->dev, module->ino);
	struct code_file file;
	int err;

	if (library)
		return library;
	err = proc_module_open(module, &file);
	if ((err == -ENOENT || err == -ESRCH) && !proc_alive(module->pid))
		return NULL;
	if (err && err != -EMEDIUMTYPE)
		note_unread(libraries, module->path, "it cannot be opened", err == -ENOENT ? "it is not mapped any more" :
			    err == -EPERM && module->by_name ? "that takes CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN" :
			    code_file_strerror(err));
	if (err == -ENOENT)
		return NULL;
	if (err)
		file = (struct code_file){ .fd = -1, .dev = module->dev, .ino = module->ino };
	return library_create(libraries, module->path, &file);
}

uint64_t library_everywhere_ns(const struct library *library, bool withheld)
{
	if (hold_server_has_members(library->libraries->server) || !library->for_all_ns)
		return 0;
	if (withheld || !library->points[POINTS_DIRECT].n)
		return library->for_all_ns;
	return library->direct_ns && library->direct_ns < library->for_all_ns ? library->for_all_ns : library->direct_ns;
}

enum stack_switching libraries_switching(struct libraries *libraries, const struct proc_modules *modules)
{
	enum stack_switching switching = SWITCHES_NO_STACKS;

	for (size_t i = 0; i < modules->n; i++) {
		struct library *library = libraries_get(libraries, &modules->v[i]);

		if (library && library->plan.switching > switching)
			switching = library->plan.switching;
	}
	return switching;
}

/* ---- links ---- */

static void note_refused(void *arg, const struct attach_point *point, int err)
{
	struct library *library = arg;
	struct libraries *libraries = library->libraries;
	enum point_group group = libraries_group_of(libraries, &libraries->set->rows[point->cookie & IOP_COOKIE_ROW]);
	char reason[128];

	if (err == -ENXIO && (library->second_noted & 1u << group))
		return;         /* noted with another process */
	if (err == -ENXIO)
		snprintf(reason, sizeof(reason), "in programs that switch stacks: only its first instruction can be probed");
	else
		snprintf(reason, sizeof(reason), "the kernel refused the probe: %s", strerror(-err));
	note_missing(libraries->spool, layer_name(libraries, point->cookie & IOP_COOKIE_ROW), library->path, point->function,
		     reason);
	libraries->missing++;
}

static void attach_group(struct libraries *libraries, struct library *library, enum attach_what what, pid_t pid,
			 const struct attach_point *points, size_t n, struct links *links)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", library->file.fd);
	attachments_add(&libraries->pending, links, what, path, pid, points, n, note_refused, library);
}

int libraries_place(struct libraries *libraries)
{
	return libraries->pending.groups ? attachments_place(&libraries->pending) : 0;
}

static enum attach_what what_of(const struct libraries *libraries, enum point_group group, bool entries_only)
{
	if (group == POINTS_UNWIND)
		return ATTACH_UNWINDER;
	return entries_only || libraries->entries_only ? ATTACH_SECOND : ATTACH_CALLS;
}

void library_attach_own(struct libraries *libraries, struct library *library, enum point_group group, pid_t pid,
			bool switches_stacks, struct links *links)
{
	enum attach_what what = what_of(libraries, group, switches_stacks);

	attach_group(libraries, library, what, pid, library->points[group].v, library->points[group].n, links);
	if (what == ATTACH_SECOND)
		library->second_noted |= 1u << group;
}

static void attach_group_for_all(struct libraries *libraries, struct library *library, enum point_group group, struct links *links)
{
	size_t n = library->points[group].n;
	struct attach_point *points = calloc(n + 1, sizeof(*points));

	for (size_t k = 0; k < n && points; k++) {
		points[k] = library->points[group].v[k];
		points[k].cookie ^= IOP_COOKIE_OWN | IOP_COOKIE_FOR_ALL;
	}
	if (points)
		attach_group(libraries, library, what_of(libraries, group, false), 0, points, n, links);
	free(points);
}

static void attach_calls_for_all(struct libraries *libraries, struct library *library)
{
	static const enum point_group order[] = { POINTS_OWN, POINTS_STREAM_DATA, POINTS_STREAM_BYTES };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		attach_group_for_all(libraries, library, order[i], &library->shared);
}

void library_attach_for_all(struct libraries *libraries, struct library *library)
{
	attach_group_for_all(libraries, library, POINTS_UNWIND, &library->shared_unwinders);
	attach_calls_for_all(libraries, library);
}

/* The point's cookie is the process. */
static void note_not_joined(void *arg, const struct attach_point *point, int err)
{
	struct library *library = arg;
	char reason[160];

	snprintf(reason, sizeof(reason), "process %d has no probes there: %s", (int)point->cookie, err == -ENOSPC ?
		 "too many probes in all processes of the recording" : strerror(-err));
	note_missing(library->libraries->spool, "*", library->path, "*", reason);
	library->libraries->missing++;
}

void library_join(struct libraries *libraries, struct library *library, pid_t pid, bool again, struct links *links)
{
	struct attach_point point = { .cookie = pid, .function = "*" };
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", library->file.fd);
	attachments_add_member(&libraries->pending, links, path, pid, again, &point, note_not_joined, library);
}

void library_note_forbidden(struct library *library)
{
	if (!library->forbidden_noted && library->plan.npoints) {
		note_missing(library->libraries->spool, "*", library->path, "*",
			     "its probes would be in all processes, which 'shared-links no' forbids; Linux 6.10 has others");
		library->libraries->missing++;
	}
	library->forbidden_noted = true;
}

void library_demand_for_all(struct libraries *libraries, struct library *library, bool on)
{
	if (on && !library->demand_users++)
		attach_group_for_all(libraries, library, POINTS_DEMAND, &library->demand);
	else if (!on && !--library->demand_users)
		links_detach(libraries->server, &library->demand);
}

void library_direct_for_all(struct libraries *libraries, struct library *library)
{
	if (library->direct.n)
		return;
	attach_group_for_all(libraries, library, POINTS_DIRECT, &library->direct);
	libraries_place(libraries);
	if (library->direct.n)
		library->direct_ns = monotonic_ns();
}

void libraries_stop_returns(struct libraries *libraries)
{
	libraries->entries_only = true;
	for (struct library *library = libraries->all; library; library = library->hh.next) {
		links_detach(libraries->server, &library->shared);
		if (library->for_all_ns)
			attach_calls_for_all(libraries, library);
		links_detach(libraries->server, &library->demand);
		if (library->demand_users)
			attach_group_for_all(libraries, library, POINTS_DEMAND, &library->demand);
		if (library->direct.n) {
			links_detach(libraries->server, &library->direct);
			library_direct_for_all(libraries, library);
		}
	}
}

void library_attach_rendezvous(struct libraries *libraries, struct library *library, pid_t pid, struct links *links)
{
	struct attach_point point = { .offset = library->plan.rendezvous_offset, .function = "_dl_debug_state" };
	bool for_all = bpf_side_method(libraries->kernel) == ATTACH_PERF;

	if (!point.offset)
		return;
	if (!for_all || !library->rendezvous_done)
		attach_group(libraries, library, ATTACH_RENDEZVOUS, for_all ? 0 : pid, &point, 1,
			     for_all ? &library->shared : links);
	library->rendezvous_done = for_all;
	if (for_all && hold_server_has_members(libraries->server))
		library_join(libraries, library, pid, false, links);
}
