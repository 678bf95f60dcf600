/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Sizes as libotf2 writes them: a record consists of a type, a length and its fields; integers are stored without leading zero
 * bytes after their length; a time has 9 bytes and is written if it differs from the location's last one. Room for the end of a
 * call, an operation or a handle is reserved when it begins: the end is always written.
 */
#include "sink/otf2/archive_size.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BLOCK 4096
#define BASE_BYTES (48u << 10)  /* global files, attributes, properties, summaries, directory */
#define SLACK_BYTES (16u << 10) /* events of one record, definitions that are created at the end */
#define RECORD_BYTES 2
#define TIME_BYTES 9
#define LOCATION_BYTES (2 * FILE_BLOCK + 128)   /* .evt, .def, definition, directory entry */
#define REGION_BYTES 96
#define NOTE_BYTES 32           /* per property, besides the text */
#define SITE_ROW_BYTES 512      /* of the summary, besides path and frames */
#define SITE_FRAME_BYTES 200    /* of its row, besides the frame's texts */
#define ATTRIBUTES_BYTES 4      /* per list, besides its members */

#define LEAVE_RESERVE (TIME_BYTES + RECORD_BYTES + 3 + ATTRIBUTES_BYTES + 8)
#define DESTROY_RESERVE (TIME_BYTES + RECORD_BYTES + 5)

struct location { bool used; uint64_t last_ns; };

struct archive_size_sink {
	struct sink sink;       /* first member: the public interface */
	uint64_t spool_bytes, free_bytes, event_bytes, reserved_bytes;
	/* size of the model's strings at the start: function names; REGION_BYTES includes those that are used */
	uint64_t table_strings;
	uint64_t tag;           /* part of each matching id, see otf2_events.c */
	struct location *locations;
	bool *regions;
	size_t nlocations, nregions, locations_used, regions_used;
	uint8_t *site_rows;     /* by context: bits 1 << enum model_callers of the rows that the summary has of it */
	size_t nsite_rows, site_rows_used, longest_path, files_seen;
	uint64_t site_row_bytes;
};

/* ---- events ---- */

static unsigned integer_bytes(uint64_t value)
{
	return value && value != UINT64_MAX ? 2 + (63 - __builtin_clzll(value)) / 8 : 1;
}

static unsigned id_bytes(const struct archive_size_sink *s, uint64_t id)
{
	return integer_bytes(s->tag ? id << 31 | s->tag : id);
}

/* A member of an attribute list: ref, type, value. */
static unsigned attribute_bytes(uint64_t value)
{
	return 2 + 1 + integer_bytes(value);
}

static unsigned list_bytes(unsigned members)
{
	return members ? ATTRIBUTES_BYTES + members : 0;
}

static unsigned begin_bytes(const struct archive_size_sink *s, const struct model_event *e)
{
	unsigned attributes = 0;

	if (e->u.begin.offset != OFFSET_UNKNOWN)
		attributes += attribute_bytes(e->u.begin.offset);
	if (e->u.begin.variable)
		attributes += attribute_bytes(e->u.begin.variable);
	if (e->u.begin.unaligned)
		attributes += attribute_bytes(1);
	return integer_bytes(e->u.begin.handle) + 1 + integer_bytes(e->u.begin.flags) + integer_bytes(e->u.begin.bytes) +
	       id_bytes(s, e->u.begin.matching_id) + list_bytes(attributes);
}

static unsigned complete_bytes(const struct archive_size_sink *s, const struct model_event *e)
{
	return integer_bytes(e->u.complete.handle) + integer_bytes(e->u.complete.bytes) + id_bytes(s, e->u.complete.matching_id) +
	       (e->u.complete.error ? ATTRIBUTES_BYTES + attribute_bytes(UINT32_MAX) : 0);
}

static unsigned name_bytes(uint32_t name)
{
	return name ? attribute_bytes(name) : 0;
}

static unsigned time_bytes(uint64_t ns)
{
	return ns ? attribute_bytes(ns) : 0;
}

static unsigned cpu_bytes(const struct model_cpu *cpu)
{
	return (cpu->known ? attribute_bytes(cpu->cpu_ns) : 0) + time_bytes(cpu->sleep_ns) + time_bytes(cpu->io_sleep_ns) +
	       time_bytes(cpu->delay_ns) + time_bytes(cpu->user_ns) + time_bytes(cpu->system_ns) +
	       (cpu->before_known ? attribute_bytes(cpu->before_off_ns) : 0) + time_bytes(cpu->before_delay_ns);
}

static unsigned leave_bytes(const struct model_event *e)
{
	const struct model_names *names = &e->u.call.names;
	unsigned attributes = 0;

	if (e->u.call.failed)
		attributes += attribute_bytes(UINT32_MAX);
	if (e->u.call.abandoned)
		attributes += attribute_bytes(1);
	if (e->u.call.maps)
		attributes += attribute_bytes(e->u.call.mapped_handle) + attribute_bytes(e->u.call.mapped_bytes) +
			      attribute_bytes(e->u.call.mapped_offset);
	if (e->u.call.device_bytes || e->u.call.wait_ns)
		attributes += attribute_bytes(e->u.call.device_bytes) + attribute_bytes(e->u.call.wait_ns);
	if (e->u.call.cpu)
		attributes += cpu_bytes(e->u.call.cpu);
	attributes += name_bytes(names->path) + name_bytes(names->directory) + name_bytes(names->new_path) +
		      name_bytes(names->new_directory);
	return 3 + list_bytes(attributes);
}

static unsigned lock_bytes(const struct model_event *e)
{
	return integer_bytes(e->u.lock.handle) + 1 +
	       (e->u.lock.ranged ? list_bytes(attribute_bytes(e->u.lock.offset) + attribute_bytes(e->u.lock.bytes)) : 0);
}

static unsigned field_bytes(const struct archive_size_sink *s, const struct model_event *e)
{
	switch (e->type) {
	case EV_ENTER: return 3 + (e->u.call.site ? list_bytes(2 * attribute_bytes(UINT32_MAX)) : 0);
	case EV_LEAVE: return leave_bytes(e);
	case EV_BEGIN: return begin_bytes(s, e);
	case EV_COMPLETE: return complete_bytes(s, e);
	case EV_ISSUED:
	case EV_TEST:
	case EV_CANCELLED: return integer_bytes(e->u.op.handle) + id_bytes(s, e->u.op.matching_id);
	case EV_CREATE: return integer_bytes(e->u.create.handle) + 1 + integer_bytes(e->u.create.creation_flags) +
			       integer_bytes(e->u.create.status_flags);
	case EV_DESTROY: return integer_bytes(e->u.destroy.handle);
	case EV_DUPLICATE: return integer_bytes(e->u.duplicate.new_handle) + integer_bytes(e->u.duplicate.old_handle) +
				  integer_bytes(e->u.duplicate.status_flags);
	case EV_STATUS_FLAGS: return integer_bytes(e->u.status.handle) + integer_bytes(e->u.status.status_flags);
	case EV_DELETE: return 1 + integer_bytes(e->u.del.file);
	case EV_SEEK:
		return integer_bytes(e->u.seek.handle) + integer_bytes(e->u.seek.request) + 1 + integer_bytes(e->u.seek.result);
	case EV_LOCK:
	case EV_UNLOCK:
	case EV_TRYLOCK: return lock_bytes(e);
	}
	return 0;
}

/* Returns the bytes that this event reserves for the event that ends what it begins. */
static uint64_t reserve_of(const struct archive_size_sink *s, const struct model_event *e)
{
	switch (e->type) {
	case EV_ENTER: return LEAVE_RESERVE;
	case EV_BEGIN: return TIME_BYTES + RECORD_BYTES + 5 + 9 + id_bytes(s, e->u.begin.matching_id);
	case EV_CREATE:
	case EV_DUPLICATE: return DESTROY_RESERVE;
	default: return 0;
	}
}

/* Returns the bytes of the reservation that this event uses. Reservations that are never used, for instance of handles that existed
 * at attach, do not matter. */
static uint64_t released_by(const struct archive_size_sink *s, const struct model_event *e)
{
	switch (e->type) {
	case EV_LEAVE: return LEAVE_RESERVE;
	case EV_COMPLETE: return TIME_BYTES + RECORD_BYTES + 5 + 9 + id_bytes(s, e->u.complete.matching_id);
	case EV_CANCELLED: return TIME_BYTES + RECORD_BYTES + 5 + 9 + id_bytes(s, e->u.op.matching_id);
	case EV_DESTROY: return DESTROY_RESERVE;
	default: return 0;
	}
}

static void archive_size_add_event(struct archive_size_sink *s, const struct model_event *e)
{
	struct location *l = &s->locations[e->location];
	uint64_t released = released_by(s, e);

	s->event_bytes += RECORD_BYTES + field_bytes(s, e) + (e->time_ns != l->last_ns ? TIME_BYTES : 0);
	s->reserved_bytes += reserve_of(s, e);
	s->reserved_bytes -= released < s->reserved_bytes ? released : s->reserved_bytes;
	l->last_ns = e->time_ns;
}

/* ---- definitions ---- */

/* summary.json, which contains names and counts of every file, process and mapping. */
static uint64_t summary_bytes(const struct model *m)
{
	return m->string_bytes + m->files.n * 1000 + m->handles.n * 350 + m->groups.n * 3000 + m->programs.n * 64 +
	       m->mappings.n * 160 + m->code_files.n * 160;
}

/* Each string of the model is written at most once, notes also to the files beside the archive. */
static uint64_t archive_size_definition_bytes(const struct archive_size_sink *s, const struct model *m)
{
	uint64_t bytes = BASE_BYTES + m->string_bytes - s->table_strings + m->site_string_bytes;

	bytes += (uint64_t)s->locations_used * LOCATION_BYTES + (uint64_t)s->regions_used * REGION_BYTES;
	bytes += m->groups.n * 192 + m->files.n * 80 + m->handles.n * 64 + m->comms.n * (64 + 6 * (uint64_t)m->groups.n);
	bytes += m->paradigms.n * 48 + m->names.n * 8 + m->excluded.n * 512 + m->shared_mounts.n * 48;
	bytes += m->facts.n * 250;      /* and as much text in the summary */
	bytes += m->contexts.n * 48 + m->code_lines.n * 16 + s->site_row_bytes + s->site_rows_used * s->longest_path;
	return bytes + m->nnotes * NOTE_BYTES + m->ndigest * 16 + summary_bytes(m);
}

/* Returns an array that includes the index; NULL without memory. New elements are zero. */
static void *reach_index(void *v, size_t *n, size_t size, uint32_t index)
{
	size_t wanted = index + 1 > 2 * *n ? index + 64 : 2 * *n;
	char *grown;

	if (index < *n)
		return v;
	grown = realloc(v, wanted * size);
	if (!grown)
		return NULL;
	memset(grown + *n * size, 0, (wanted - *n) * size);
	*n = wanted;
	return grown;
}

static int use_location(struct archive_size_sink *s, uint32_t location)
{
	struct location *v = reach_index(s->locations, &s->nlocations, sizeof(*v), location);

	if (!v)
		return -ENOMEM;
	s->locations = v;
	s->locations_used += !v[location].used;
	v[location].used = true;
	return 0;
}

static int use_region(struct archive_size_sink *s, uint32_t region)
{
	bool *v = reach_index(s->regions, &s->nregions, sizeof(*v), region);

	if (!v)
		return -ENOMEM;
	s->regions = v;
	s->regions_used += !v[region];
	v[region] = true;
	return 0;
}

/* Each row of the summary's call sites has the path of a file; files are there before their events. */
static void see_paths(struct archive_size_sink *s, const struct model *m)
{
	for (; s->files_seen < m->files.n; s->files_seen++) {
		const char *path = m->files.v[s->files_seen].path;
		size_t len = path ? strlen(path) : 0;

		s->longest_path = len > s->longest_path ? len : s->longest_path;
	}
}

static size_t text_bytes(const char *text)
{
	return text ? strlen(text) : 0;
}

/* A row and its frames as summary_sites.c writes them: indented, with the longest numbers. */
static uint64_t site_row_bytes(const struct model *m, uint32_t context)
{
	uint64_t bytes = SITE_ROW_BYTES;

	while (context != REF_NONE) {
		const struct model_context *c = &m->contexts.v[context];

		bytes += SITE_FRAME_BYTES + text_bytes(c->function) + text_bytes(c->module) +
			 (c->line == REF_NONE ? 0 : text_bytes(m->code_lines.v[c->line].file));
		context = c->parent;
	}
	return bytes;
}

static int use_site(struct archive_size_sink *s, const struct model *m, uint32_t site)
{
	const struct model_site *where = site && site <= m->sites.n ? &m->sites.v[site - 1] : NULL;
	uint32_t context = !where ? REF_NONE : where->application != REF_NONE ? where->application : where->context;
	uint8_t *v = context == REF_NONE ? NULL : reach_index(s->site_rows, &s->nsite_rows, sizeof(*v), context);

	if (!where)
		return 0;       /* one row for all of these */
	if (!v)
		return -ENOMEM;
	s->site_rows = v;
	if (v[context] & 1u << where->callers)
		return 0;
	v[context] |= 1u << where->callers;
	s->site_rows_used++;
	s->site_row_bytes += site_row_bytes(m, context);
	return 0;
}

/* ---- public ---- */

uint64_t archive_size(const struct sink *sink, const struct model *model)
{
	const struct archive_size_sink *s = (const struct archive_size_sink *)sink;

	return s->event_bytes + s->reserved_bytes + archive_size_definition_bytes(s, model);
}

static int size_event(struct sink *sink, const struct model *model, const struct model_event *e)
{
	struct archive_size_sink *s = (struct archive_size_sink *)sink;
	int error = use_location(s, e->location);

	if (!s->table_strings)
		s->table_strings = model->string_bytes;
	if (!error && e->type == EV_ENTER)
		error = use_region(s, e->u.call.region) ?: use_site(s, model, e->u.call.site);
	see_paths(s, model);
	if (!error)
		archive_size_add_event(s, e);
	return error;
}

/* Events need several times the bytes of their records in the spool. */
static int size_finish(struct sink *sink, const struct model *model)
{
	const struct archive_size_sink *s = (const struct archive_size_sink *)sink;

	return model->end.cut && s->event_bytes < s->spool_bytes ? -ENOSPC : 0;
}

static const char *size_full(const struct sink *sink, const struct model *model)
{
	const struct archive_size_sink *s = (const struct archive_size_sink *)sink;
	const struct model_end *end = &model->end;
	uint64_t bytes;

	if (!end->max_bytes && !end->min_free_bytes)
		return NULL;
	bytes = archive_size(sink, model) + SLACK_BYTES;
	if (end->max_bytes && s->spool_bytes + bytes > end->max_bytes)
		return "max-size";
	return end->min_free_bytes && bytes + end->min_free_bytes > s->free_bytes ? "min-free" : NULL;
}

int archive_size_sink_create(struct sink **out, uint64_t spool_bytes, uint64_t free_bytes, bool whole_job)
{
	struct archive_size_sink *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return -ENOMEM;
	s->sink = (struct sink){ .event = size_event, .finish = size_finish, .full = size_full };
	s->spool_bytes = spool_bytes;
	s->free_bytes = free_bytes;
	s->tag = whole_job ? 0 : 0x7fffffff;
	*out = &s->sink;
	return 0;
}

void archive_size_sink_destroy(struct sink *sink)
{
	struct archive_size_sink *s = (struct archive_size_sink *)sink;

	if (!s)
		return;
	free(s->locations);
	free(s->regions);
	free(s->site_rows);
	free(s);
}
