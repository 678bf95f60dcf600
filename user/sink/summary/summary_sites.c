/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Counts by the innermost context of the application; complete chains are kept apart from those with unknown callers. Every
 * outermost call is counted in exactly one row.
 */
#include "sink/summary/summary_sites.h"

#include <errno.h>
#include <inttypes.h>
#include <otf2/OTF2_Events.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/json_text.h"
#include "util/utf8.h"

#define TEXT_ROWS 15
#define TEXT_CALLERS 3

/* context: of the application, else of the call itself; REF_NONE: the site is unknown. */
struct row_key { uint32_t context, callers; };
struct row {
	struct row_key key;
	uint64_t calls, time_ns, reads, writes, bytes_read, bytes_written, unknown;     /* unknown: operations of unknown size */
	uint32_t file;                  /* file of its operations, REF_NONE: none yet */
	bool several_files;
	uint64_t worst_ns;              /* of the process that spent most time here */
	uint32_t worst_group;
	struct group_time *last_time;   /* of the process that called last; NULL: none yet */
	UT_hash_handle hh;
};

struct group_key { struct row *row; uint64_t group; };
struct group_time { struct group_key key; uint64_t time_ns; UT_hash_handle hh; };
struct operation { uint64_t id; struct row *row; uint8_t mode; };
struct pending { struct operation op; UT_hash_handle hh; };
/* blocking: begun and not ended; row NULL: none. Most operations end in the call that began them: only others take a table. */
struct location { uint32_t depth; uint64_t enter_ns; struct row *row; struct operation blocking; };

struct summary_sites {
	struct row *rows;
	struct row **site_rows;         /* rows by model site, as far as they were looked up */
	size_t nsite_rows;
	struct group_time *groups;
	struct pending *operations;
	struct location *locations;
	size_t nlocations;
};

/* Apart from what is done for each event: inlined, they would slow that down. */
static struct row *row_lookup(struct summary_sites *s, const struct model *model, uint32_t site) __attribute__((noinline));
static struct group_time *time_of(struct summary_sites *s, struct row *row, uint32_t group) __attribute__((noinline));
static int sites_pending_add(struct summary_sites *s, const struct operation *op) __attribute__((noinline));

/* ---- rows ---- */

static struct row *row_lookup(struct summary_sites *s, const struct model *model, uint32_t site)
{
	struct row_key key = { REF_NONE, CALLERS_UNKNOWN };
	struct row *row;

	if (site && site <= model->sites.n) {
		const struct model_site *where = &model->sites.v[site - 1];

		key.context = where->application != REF_NONE ? where->application : where->context;
		key.callers = where->callers;
	}
	HASH_FIND(hh, s->rows, &key, sizeof(key), row);
	if (row)
		return row;
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->key = key;
	row->file = REF_NONE;
	HASH_ADD(hh, s->rows, key, sizeof(row->key), row);
	if (hash_added(row))
		return row;
	free(row);
	return NULL;
}

/* Sites are in the model before the first event. */
static struct row *row_of(struct summary_sites *s, const struct model *model, uint32_t site)
{
	if (!s->site_rows) {
		s->site_rows = calloc(model->sites.n + 1, sizeof(*s->site_rows));
		if (!s->site_rows)
			return NULL;
		s->nsite_rows = model->sites.n + 1;
	}
	if (site >= s->nsite_rows)
		return row_lookup(s, model, site);
	if (!s->site_rows[site])
		s->site_rows[site] = row_lookup(s, model, site);
	return s->site_rows[site];
}

static struct group_time *time_of(struct summary_sites *s, struct row *row, uint32_t group)
{
	struct group_key key = { row, group };
	struct group_time *time;

	HASH_FIND(hh, s->groups, &key, sizeof(key), time);
	if (time)
		return time;
	time = calloc(1, sizeof(*time));
	if (!time)
		return NULL;
	time->key = key;
	HASH_ADD(hh, s->groups, key, sizeof(time->key), time);
	if (hash_added(time))
		return time;
	free(time);
	return NULL;
}

static int add_time(struct summary_sites *s, struct row *row, uint32_t group, uint64_t time_ns)
{
	struct group_time *time = row->last_time;

	row->time_ns += time_ns;
	if (!time || time->key.group != group)
		time = row->last_time = time_of(s, row, group);
	if (!time)
		return -ENOMEM;
	time->time_ns += time_ns;
	if (time->time_ns >= row->worst_ns) {
		row->worst_ns = time->time_ns;
		row->worst_group = group;
	}
	return 0;
}

/* ---- events ---- */

static int on_enter(struct summary_sites *s, const struct model *model, struct location *l, const struct model_event *e)
{
	if (l->depth++)
		return 0;
	l->row = row_of(s, model, e->u.call.site);
	l->enter_ns = e->time_ns;
	if (!l->row)
		return -ENOMEM;
	l->row->calls++;
	return 0;
}

static int on_leave(struct summary_sites *s, const struct model *model, struct location *l, const struct model_event *e)
{
	struct row *row = l->row;

	if (!l->depth || --l->depth || !row)
		return 0;
	l->row = NULL;
	return add_time(s, row, model->locations.v[e->location].group, e->time_ns - l->enter_ns);
}

static void note_file(struct row *row, uint32_t file)
{
	row->several_files |= row->file != REF_NONE && file != REF_NONE && file != row->file;
	if (row->file == REF_NONE)
		row->file = file;
}

static int sites_pending_add(struct summary_sites *s, const struct operation *op)
{
	struct pending *pending = malloc(sizeof(*pending));

	if (!pending)
		return -ENOMEM;
	*pending = (struct pending){ .op = *op };
	HASH_ADD(hh, s->operations, op.id, sizeof(pending->op.id), pending);
	if (hash_added(pending))
		return 0;
	free(pending);
	return -ENOMEM;
}

/* Counts only operations of the outermost call itself: its inner calls move the same bytes again. */
static int on_begin(struct summary_sites *s, const struct model *model, struct location *l, const struct model_event *e)
{
	struct operation op = { .id = e->u.begin.matching_id, .row = l->row, .mode = e->u.begin.mode };

	if (l->depth != 1 || !l->row)
		return 0;
	l->row->reads += e->u.begin.mode == OTF2_IO_OPERATION_MODE_READ;
	l->row->writes += e->u.begin.mode == OTF2_IO_OPERATION_MODE_WRITE;
	if (e->u.begin.handle < model->handles.n)
		note_file(l->row, model->handles.v[e->u.begin.handle].file);
	if (e->u.begin.flags & OTF2_IO_OPERATION_FLAG_NON_BLOCKING)
		return sites_pending_add(s, &op);
	if (l->blocking.row && sites_pending_add(s, &l->blocking))
		return -ENOMEM;
	l->blocking = op;
	return 0;
}

static void count_moved(struct row *row, uint8_t mode, uint64_t bytes, bool failed)
{
	bool moves = mode == OTF2_IO_OPERATION_MODE_READ || mode == OTF2_IO_OPERATION_MODE_WRITE;

	if (bytes == BYTES_UNKNOWN)
		row->unknown += moves && !failed;
	else if (mode == OTF2_IO_OPERATION_MODE_READ)
		row->bytes_read += bytes;
	else if (mode == OTF2_IO_OPERATION_MODE_WRITE)
		row->bytes_written += bytes;
}

static void on_end(struct summary_sites *s, struct location *l, uint64_t id, uint64_t bytes, bool failed)
{
	struct pending *pending;

	if (l->blocking.row && l->blocking.id == id) {
		count_moved(l->blocking.row, l->blocking.mode, bytes, failed);
		l->blocking.row = NULL;
		return;
	}
	HASH_FIND(hh, s->operations, &id, sizeof(id), pending);
	if (!pending)
		return;
	count_moved(pending->op.row, pending->op.mode, bytes, failed);
	HASH_DEL(s->operations, pending);
	free(pending);
}

static struct location *location_of(struct summary_sites *s, uint32_t index)
{
	size_t wanted = s->nlocations ? s->nlocations : 64;
	struct location *grown;

	if (index < s->nlocations)
		return &s->locations[index];
	while (wanted <= index)
		wanted *= 2;
	grown = reallocarray(s->locations, wanted, sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + s->nlocations, 0, (wanted - s->nlocations) * sizeof(*grown));
	s->locations = grown;
	s->nlocations = wanted;
	return &s->locations[index];
}

int summary_sites_event(struct summary_sites **sites, const struct model *model, const struct model_event *e)
{
	struct location *l;

	if (!model->call_sites)
		return 0;
	if (!*sites)
		*sites = calloc(1, sizeof(**sites));
	l = *sites ? location_of(*sites, e->location) : NULL;
	if (!l)
		return -ENOMEM;
	switch (e->type) {
	case EV_ENTER: return on_enter(*sites, model, l, e);
	case EV_LEAVE: return on_leave(*sites, model, l, e);
	case EV_BEGIN: return on_begin(*sites, model, l, e);
	case EV_COMPLETE: on_end(*sites, l, e->u.complete.matching_id, e->u.complete.bytes, e->u.complete.failed); return 0;
	case EV_CANCELLED: on_end(*sites, l, e->u.op.matching_id, 0, true); return 0;
	default: return 0;
	}
}

#define FREE_ALL(head, type) do { \
	struct type *element_, *next_; \
	HASH_ITER(hh, head, element_, next_) { \
		HASH_DEL(head, element_); \
		free(element_); \
	} \
} while (0)

void summary_sites_destroy(struct summary_sites *s)
{
	if (!s)
		return;
	FREE_ALL(s->groups, group_time);
	FREE_ALL(s->operations, pending);
	FREE_ALL(s->rows, row);
	free(s->site_rows);
	free(s->locations);
	free(s);
}

/* ---- text ---- */

static int summary_sites_by_time(const struct row *a, const struct row *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? 1 : -1;
	return a->calls < b->calls ? 1 : a->calls > b->calls ? -1 : 0;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print_printable(FILE *out, const char *text)
{
	char *printable = utf8_printable(text);

	fputs(printable ? printable : "?", out);
	free(printable);
}

static void print_context(FILE *out, const struct model *model, const struct model_context *c)
{
	if (c->function)
		print_printable(out, c->function);
	if (c->line != REF_NONE) {
		fputs(c->function ? " (" : "(", out);
		print_printable(out, last_component(model->code_lines.v[c->line].file));
		fprintf(out, ":%" PRIu32 ")", model->code_lines.v[c->line].line);
	} else if (c->module) {
		fputs(c->function ? " (" : "", out);
		print_printable(out, last_component(c->module));
		fprintf(out, "+0x%" PRIx64 "%s", c->offset, c->function ? ")" : "");
	} else if (!c->function) {
		fputs("code in no file", out);
	}
}

static void print_callers(FILE *out, const struct model *model, const struct row *row)
{
	uint32_t caller = model->contexts.v[row->key.context].parent;

	for (int i = 0; i < TEXT_CALLERS && caller != REF_NONE; i++, caller = model->contexts.v[caller].parent) {
		if (!model->contexts.v[caller].application)
			continue;
		fputs(" < ", out);
		print_context(out, model, &model->contexts.v[caller]);
	}
	if (row->key.callers == CALLERS_UNKNOWN)
		fputs(" < not yet known", out);
}

static void print_bytes(FILE *out, uint64_t operations, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = bytes;
	size_t unit = 0;
	char cell[32] = "-";

	for (; value >= 1024 && unit < 6; unit++)
		value /= 1024;
	if (operations)
		snprintf(cell, sizeof(cell), "%.*f %s", unit ? 2 : 0, value, units[unit]);
	fprintf(out, " %13s", cell);
}

/* The names are those of the JSON. */
static void print_incomplete(FILE *out, const struct model_site_counts *c)
{
	const struct { const char *name; uint64_t n; } counts[] = {
		{ "no room", c->full }, { "not asked", c->unasked }, { "stack unreadable", c->unread },
		{ "code changing", c->no_image }, { "Python unreadable", c->no_python }, { "process gone", c->gone },
		{ "code in no file", c->no_file }, { "file unreadable", c->unreadable },
	};
	const char *before = "incomplete (times): ";

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		if (!counts[i].n)
			continue;
		fprintf(out, "%s%s %" PRIu64, before, counts[i].name, counts[i].n);
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', out);
}

/* Places whose file has no lines: most often it was compiled without -g. Files are named once in a model's strings. */
static void print_without_lines(FILE *out, const struct summary_sites *s, const struct model *model)
{
	const char *files[64];
	size_t nfiles = 0, places = 0;

	for (const struct row *row = s->rows; row; row = row->hh.next) {
		const struct model_context *c = row->key.context == REF_NONE ? NULL : &model->contexts.v[row->key.context];
		size_t i = 0;

		if (!c || c->line != REF_NONE || !c->module)
			continue;
		places++;
		while (i < nfiles && files[i] != c->module)
			i++;
		if (i == nfiles && nfiles < sizeof(files) / sizeof(*files))
			files[nfiles++] = c->module;
	}
	if (!places)
		return;
	fprintf(out, "without a line: %zu place%s in ", places, places == 1 ? "" : "s");
	print_printable(out, files[0]);
	if (nfiles > 1)
		fprintf(out, " and %s%zu other files", nfiles == sizeof(files) / sizeof(*files) ? "at least " : "", nfiles - 1);
	fputs(": no debug information for them could be read (compile with -g, or install debug packages; notes name other "
	      "reasons)\n", out);
}

void summary_sites_text(FILE *out, struct summary_sites *s, const struct model *model)
{
	size_t n = 0;

	if (!s)
		return;
	HASH_SORT(s->rows, summary_sites_by_time);
	fputs("     calls      time (s)          read       written  called from (by function and line of the application)\n", out);
	for (const struct row *row = s->rows; row && n < TEXT_ROWS; row = row->hh.next, n++) {
		fprintf(out, "%10" PRIu64 " %13.6f", row->calls, row->time_ns / 1e9);
		print_bytes(out, row->reads, row->bytes_read);
		print_bytes(out, row->writes, row->bytes_written);
		fputs("  ", out);
		if (row->key.context == REF_NONE) {
			fputs("not known\n", out);
			continue;
		}
		print_context(out, model, &model->contexts.v[row->key.context]);
		print_callers(out, model, row);
		fputc('\n', out);
	}
	if (HASH_COUNT(s->rows) > TEXT_ROWS)
		fprintf(out, "and %u more places\n", HASH_COUNT(s->rows) - TEXT_ROWS);
	print_incomplete(out, &model->site_counts);
	print_without_lines(out, s, model);
	fputc('\n', out);
}

/* ---- JSON ---- */

static json_t *frame_json(const struct model *model, const struct model_context *c)
{
	const struct model_code_line *line = c->line == REF_NONE ? NULL : &model->code_lines.v[c->line];
	json_t *o = json_object();
	int error = json_object_set_new(o, "function", json_text(c->function)) |
		    json_object_set_new(o, "file", json_text(line ? line->file : NULL)) |
		    json_object_set_new(o, "line", line ? json_integer(line->line) : json_null()) |
		    json_object_set_new(o, "module", json_text(c->module)) |
		    json_object_set_new(o, "offset", c->offset ? json_integer((json_int_t)c->offset) : json_null()) |
		    json_object_set_new(o, "application", json_boolean(c->application));

	if (!error)
		return o;
	json_decref(o);
	return NULL;
}

/* From the call site outwards. */
static json_t *frames_json(const struct model *model, uint32_t context)
{
	json_t *array = json_array();

	for (; context != REF_NONE && array; context = model->contexts.v[context].parent)
		if (json_array_append_new(array, frame_json(model, &model->contexts.v[context]))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *row_json(const struct model *model, const struct row *row)
{
	static const char *const callers[] = {
		[CALLERS_WHOLE] = "whole", [CALLERS_TRUNCATED] = "truncated", [CALLERS_UNKNOWN] = "unknown"
	};
	const struct model_group *worst = &model->groups.v[row->worst_group];
	json_t *o = json_object();
	int error =
		json_object_set_new(o, "calls", json_integer((json_int_t)row->calls)) |
		json_object_set_new(o, "time_ns", json_integer((json_int_t)row->time_ns)) |
		json_object_set_new(o, "bytes_read", json_integer((json_int_t)row->bytes_read)) |
		json_object_set_new(o, "bytes_written", json_integer((json_int_t)row->bytes_written)) |
		json_object_set_new(o, "operations_of_unknown_size", json_integer((json_int_t)row->unknown)) |
		json_object_set_new(o, "worst_process", row->worst_ns ? json_text(worst->name) : json_null()) |
		json_object_set_new(o, "worst_rank", row->worst_ns && worst->rank >= 0 ? json_integer(worst->rank) : json_null()) |
		json_object_set_new(o, "worst_time_ns", json_integer((json_int_t)row->worst_ns)) |
		json_object_set_new(o, "path",
				    json_text(row->file != REF_NONE ? model->files.v[row->file].path : NULL)) |
		json_object_set_new(o, "several_paths", json_boolean(row->several_files)) |
		json_object_set_new(o, "callers", json_text(callers[row->key.callers])) |
		json_object_set_new(o, "frames", frames_json(model, row->key.context));

	if (!error)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *counts_json(const struct model_site_counts *c)
{
	return json_pack("{sIsIsIsIsIsIsIsI}", "no_room", (json_int_t)c->full, "not_asked", (json_int_t)c->unasked,
			 "stack_unreadable", (json_int_t)c->unread, "code_changing", (json_int_t)c->no_image, "python_unreadable",
			 (json_int_t)c->no_python, "process_gone", (json_int_t)c->gone, "code_in_no_file", (json_int_t)c->no_file,
			 "file_unreadable", (json_int_t)c->unreadable);
}

json_t *summary_sites_json(struct summary_sites *s, const struct model *model)
{
	json_t *o, *array;
	int error;

	if (!s)
		return json_null();
	o = json_object();
	array = json_array();
	error = json_object_set_new(o, "application_frames", json_integer(model->call_sites)) |
		json_object_set_new(o, "incomplete", counts_json(&model->site_counts)) | json_object_set_new(o, "sites", array);
	HASH_SORT(s->rows, summary_sites_by_time);
	for (const struct row *row = s->rows; row && !error; row = row->hh.next)
		error = json_array_append_new(array, row_json(model, row));
	if (!error)
		return o;
	json_decref(o);
	return NULL;
}
