/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Converts events to those of the archive, one function call each; no allocation per event. All calls of the library for event
 * files are here, and all run on one thread. It knows nothing of the model: what an event needs of it is in the items before.
 */
#include "sink/otf2/otf2_writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otf2/otf2_library.h"
#include "sink/otf2/otf2_internal.h"
#include "util/relay.h"

struct writer_location { OTF2_EvtWriter *writer; uint64_t events; };

struct otf2_writer {
	OTF2_Archive *archive;
	const char *dir;                /* as shown in messages */
	struct relay *relay;
	struct otf2_writer_settings settings;
	OTF2_AttributeList *attributes; /* reused; the library empties it with every event written */
	struct writer_location *locations;
	size_t nlocations;
	atomic_int error;               /* the first one, a negative errno, set after its message */
	char message[512];
};

/* ---- errors ---- */

static void writer_fail(struct otf2_writer *w, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void writer_fail(struct otf2_writer *w, int error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(w->message, sizeof(w->message), format, ap);
	va_end(ap);
	atomic_store_explicit(&w->error, error, memory_order_release);
}

static void writer_fail_library(struct otf2_writer *w, OTF2_ErrorCode code, const char *action)
{
	writer_fail(w, otf2_library_errno(code), OTF2_LIBRARY_FAILURE, w->dir, action, otf2_library_message(code));
}

int otf2_writer_error(const struct otf2_writer *w, const char **message)
{
	int error = atomic_load_explicit(&w->error, memory_order_acquire);

	*message = w->message;
	return error;
}

/* ---- events ---- */

/* region: its ref in the archive, of ENTER and LEAVE. plain: a LEAVE without extras, which are not there to be read. cpu: its CPU
 * times, NULL if there are none. */
struct event { const struct model_event *event; uint32_t region; bool plain; const struct model_cpu *cpu; };

static uint64_t bytes_of(uint64_t bytes)
{
	return bytes == BYTES_UNKNOWN ? OTF2_UNDEFINED_UINT64 : bytes;
}

/* Matching ids are unique in the model; the tag makes them unique over all archives of a job on many nodes, because merge does not
 * rewrite events. It is in the low bits: the library does not store leading zeros. */
static uint64_t matching_id(const struct otf2_writer *w, uint64_t id)
{
	return w->settings.whole_job ? id : id << 31 | w->settings.tag;
}

static OTF2_ErrorCode add_mapping(OTF2_AttributeList *a, const struct model_event *e)
{
	OTF2_ErrorCode code = OTF2_AttributeList_AddIoHandleRef(a, ATTRIBUTE_MAPPED_HANDLE, e->u.call.mapped_handle);

	if (code == OTF2_SUCCESS)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_MAPPED_BYTES, e->u.call.mapped_bytes);
	return code == OTF2_SUCCESS ? OTF2_AttributeList_AddUint64(a, ATTRIBUTE_MAPPED_OFFSET, e->u.call.mapped_offset) : code;
}

/* Refs of names are 1 + index, and they are the archive's first strings. */
static OTF2_ErrorCode add_names(OTF2_AttributeList *a, const struct model_names *names)
{
	const struct { enum otf2_attribute attribute; uint32_t name; } v[] = {
		{ ATTRIBUTE_PATH, names->path }, { ATTRIBUTE_DIRECTORY, names->directory },
		{ ATTRIBUTE_NEW_PATH, names->new_path }, { ATTRIBUTE_NEW_DIRECTORY, names->new_directory },
	};
	OTF2_ErrorCode code = OTF2_SUCCESS;

	for (size_t i = 0; i < sizeof(v) / sizeof(*v) && code == OTF2_SUCCESS; i++)
		if (v[i].name)
			code = OTF2_AttributeList_AddStringRef(a, v[i].attribute, v[i].name - 1);
	return code;
}

/* Zeros are not written where "CPU time" or "Sleep before" shows that they are known. */
static OTF2_ErrorCode add_cpu(OTF2_AttributeList *a, const struct model_cpu *cpu)
{
	const struct { enum otf2_attribute attribute; bool given; uint64_t ns; } v[] = {
		{ ATTRIBUTE_CPU_TIME, cpu->known, cpu->cpu_ns }, { ATTRIBUTE_SLEEP, cpu->sleep_ns, cpu->sleep_ns },
		{ ATTRIBUTE_SLEEP_IO, cpu->io_sleep_ns, cpu->io_sleep_ns }, { ATTRIBUTE_DELAY, cpu->delay_ns, cpu->delay_ns },
		{ ATTRIBUTE_USER, cpu->user_ns, cpu->user_ns }, { ATTRIBUTE_SYSTEM, cpu->system_ns, cpu->system_ns },
		{ ATTRIBUTE_BEFORE, cpu->before_known, cpu->before_off_ns - cpu->before_delay_ns },
		{ ATTRIBUTE_BEFORE_DELAY, cpu->before_delay_ns, cpu->before_delay_ns },
	};
	OTF2_ErrorCode code = OTF2_SUCCESS;

	for (size_t i = 0; i < sizeof(v) / sizeof(*v) && code == OTF2_SUCCESS; i++)
		if (v[i].given)
			code = OTF2_AttributeList_AddUint64(a, v[i].attribute, v[i].ns);
	return code;
}

/* What only some calls have. */
static OTF2_ErrorCode add_extras(OTF2_AttributeList *a, const struct model_event *e, const struct model_cpu *cpu)
{
	OTF2_ErrorCode code = e->u.call.maps ? add_mapping(a, e) : OTF2_SUCCESS;

	if ((e->u.call.device_bytes || e->u.call.wait_ns) && code == OTF2_SUCCESS)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_DEVICE, e->u.call.device_bytes);
	if ((e->u.call.device_bytes || e->u.call.wait_ns) && code == OTF2_SUCCESS)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_WAIT, e->u.call.wait_ns);
	if (code == OTF2_SUCCESS && cpu)
		code = add_cpu(a, cpu);
	return code == OTF2_SUCCESS ? add_names(a, &e->u.call.names) : code;
}

static OTF2_ErrorCode write_leave(struct otf2_writer *w, OTF2_EvtWriter *to, const struct event *event)
{
	const struct model_event *e = event->event;
	OTF2_AttributeList *a = w->attributes;
	OTF2_ErrorCode code = OTF2_SUCCESS;

	if (e->u.call.failed && e->u.call.error)
		code = OTF2_AttributeList_AddInt32(a, ATTRIBUTE_ERRNO, e->u.call.error);
	else if (e->u.call.failed)
		code = OTF2_AttributeList_AddUint8(a, ATTRIBUTE_FAILED, 1);
	if (e->u.call.abandoned && code == OTF2_SUCCESS)
		code = OTF2_AttributeList_AddUint8(a, ATTRIBUTE_ABANDONED, 1);
	if (!event->plain && code == OTF2_SUCCESS)
		code = add_extras(a, e, event->cpu);
	return code == OTF2_SUCCESS ? OTF2_EvtWriter_Leave(to, a, e->time_ns, event->region) : code;
}

static OTF2_ErrorCode writer_begin(struct otf2_writer *w, OTF2_EvtWriter *to, const struct model_event *e)
{
	OTF2_AttributeList *a = w->attributes;
	OTF2_ErrorCode code = OTF2_SUCCESS;

	if (e->u.begin.offset != OFFSET_UNKNOWN)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_OFFSET, e->u.begin.offset);
	if (code == OTF2_SUCCESS && e->u.begin.variable)
		code = OTF2_AttributeList_AddStringRef(a, ATTRIBUTE_VARIABLE, e->u.begin.variable - 1);
	if (code == OTF2_SUCCESS && e->u.begin.unaligned)
		code = OTF2_AttributeList_AddUint8(a, w->settings.unaligned_ref, 1);
	if (code == OTF2_SUCCESS && e->u.begin.request)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_REQUEST, matching_id(w, e->u.begin.request));
	if (code != OTF2_SUCCESS)
		return code;
	return OTF2_EvtWriter_IoOperationBegin(to, a, e->time_ns, e->u.begin.handle, e->u.begin.mode, e->u.begin.flags,
					       bytes_of(e->u.begin.bytes), matching_id(w, e->u.begin.matching_id));
}

static OTF2_ErrorCode write_lock(struct otf2_writer *w, OTF2_EvtWriter *to, const struct model_event *e)
{
	OTF2_AttributeList *a = e->u.lock.ranged ? w->attributes : NULL;
	OTF2_ErrorCode code = OTF2_SUCCESS;

	if (a)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_LOCK_OFFSET, e->u.lock.offset);
	if (a && code == OTF2_SUCCESS)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_LOCK_LENGTH, e->u.lock.bytes);
	if (code != OTF2_SUCCESS)
		return code;
	if (e->type == EV_LOCK)
		return OTF2_EvtWriter_IoAcquireLock(to, a, e->time_ns, e->u.lock.handle, e->u.lock.kind);
	if (e->type == EV_UNLOCK)
		return OTF2_EvtWriter_IoReleaseLock(to, a, e->time_ns, e->u.lock.handle, e->u.lock.kind);
	return OTF2_EvtWriter_IoTryLock(to, a, e->time_ns, e->u.lock.handle, e->u.lock.kind);
}

static OTF2_ErrorCode write_complete(struct otf2_writer *w, OTF2_EvtWriter *to, const struct model_event *e)
{
	OTF2_AttributeList *a = e->u.complete.error ? w->attributes : NULL;
	OTF2_ErrorCode code = a ? OTF2_AttributeList_AddInt32(a, ATTRIBUTE_ERRNO, e->u.complete.error) : OTF2_SUCCESS;

	return code == OTF2_SUCCESS
		       ? OTF2_EvtWriter_IoOperationComplete(to, a, e->time_ns, e->u.complete.handle, bytes_of(e->u.complete.bytes),
							    matching_id(w, e->u.complete.matching_id))
		       : code;
}

static OTF2_ErrorCode write_event(struct otf2_writer *w, OTF2_EvtWriter *to, const struct event *event)
{
	const struct model_event *e = event->event;
	uint64_t t = e->time_ns;

	switch (e->type) {
	case EV_ENTER:
		return OTF2_EvtWriter_Enter(to, e->u.call.site ? w->attributes : NULL, t, event->region);
	case EV_LEAVE:
		return write_leave(w, to, event);
	case EV_BEGIN:
		return writer_begin(w, to, e);
	case EV_COMPLETE:
		return write_complete(w, to, e);
	case EV_ISSUED:
		return OTF2_EvtWriter_IoOperationIssued(to, NULL, t, e->u.op.handle, matching_id(w, e->u.op.matching_id));
	case EV_TEST:
		return OTF2_EvtWriter_IoOperationTest(to, NULL, t, e->u.op.handle, matching_id(w, e->u.op.matching_id));
	case EV_CANCELLED:
		return OTF2_EvtWriter_IoOperationCancelled(to, NULL, t, e->u.op.handle, matching_id(w, e->u.op.matching_id));
	case EV_CREATE:
		return OTF2_EvtWriter_IoCreateHandle(to, NULL, t, e->u.create.handle, e->u.create.mode, e->u.create.creation_flags,
						     e->u.create.status_flags);
	case EV_DESTROY:
		return OTF2_EvtWriter_IoDestroyHandle(to, NULL, t, e->u.destroy.handle);
	case EV_DUPLICATE:
		return OTF2_EvtWriter_IoDuplicateHandle(to, NULL, t, e->u.duplicate.old_handle, e->u.duplicate.new_handle,
							e->u.duplicate.status_flags);
	case EV_STATUS_FLAGS:
		return OTF2_EvtWriter_IoChangeStatusFlags(to, NULL, t, e->u.status.handle, e->u.status.status_flags);
	case EV_DELETE:
		return OTF2_EvtWriter_IoDeleteFile(to, NULL, t, e->u.del.paradigm, e->u.del.file);
	case EV_SEEK:
		return OTF2_EvtWriter_IoSeek(to, NULL, t, e->u.seek.handle, e->u.seek.request, e->u.seek.whence,
					     bytes_of(e->u.seek.result));
	case EV_LOCK:
	case EV_UNLOCK:
	case EV_TRYLOCK:
		return write_lock(w, to, e);
	}
	return OTF2_ERROR_INVALID_ARGUMENT;
}


/* ---- items ---- */

enum { ITEM_OPEN, ITEM_CLOSE, ITEM_SITE, ITEM_EVENT };

/* len: of all, a multiple of 8. ref: the location that is opened or closed, the site's calling context, the event's region */
struct item { uint16_t kind, len; uint32_t ref; };
struct item_open { struct item item; struct otf2_writer_settings settings; uint64_t id; };
struct item_site { struct item item; uint32_t line; };
/* event: without what its writer does not read, which is most of it; cpu: only of a LEAVE that has one */
struct item_event { struct item item; struct model_event event; struct model_cpu cpu; };

_Static_assert(sizeof(struct item_event) <= RELAY_ITEM_MAX && sizeof(struct item_open) <= RELAY_ITEM_MAX, "items fit");

static bool writer_grow(struct otf2_writer *w, uint32_t location)
{
	size_t n = location < 2 * w->nlocations ? 2 * w->nlocations : location + 64;
	struct writer_location *v;

	if (location < w->nlocations)
		return true;
	v = reallocarray(w->locations, n, sizeof(*v));
	if (!v)
		return false;
	memset(v + w->nlocations, 0, (n - w->nlocations) * sizeof(*v));
	w->locations = v;
	w->nlocations = n;
	return true;
}

static void writer_take_open(struct otf2_writer *w, const struct item_open *item)
{
	if (!writer_grow(w, item->item.ref)) {
		writer_fail(w, -ENOMEM, "%s: out of memory for location %u", w->dir, item->item.ref);
		return;
	}
	w->settings = item->settings;
	w->locations[item->item.ref].writer = OTF2_Archive_GetEvtWriter(w->archive, item->id);
	if (!w->locations[item->item.ref].writer)
		writer_fail_library(w, OTF2_ERROR_INTEGRITY_FAULT, "write a location");
}

static void writer_take_close(struct otf2_writer *w, const struct item *item)
{
	struct writer_location *l = &w->locations[item->ref];
	OTF2_ErrorCode code = OTF2_EvtWriter_GetNumberOfEvents(l->writer, &l->events);

	if (code == OTF2_SUCCESS)
		code = otf2_library_checked(OTF2_Archive_CloseEvtWriter(w->archive, l->writer));
	l->writer = NULL;
	if (code != OTF2_SUCCESS)
		writer_fail_library(w, code, "write the events of a location");
}

/* The attributes are written with the Enter that follows. */
static void writer_take_site(struct otf2_writer *w, const struct item_site *item)
{
	OTF2_ErrorCode code = OTF2_AttributeList_AddCallingContextRef(w->attributes, ATTRIBUTE_CALLING_CONTEXT, item->item.ref);

	if (item->line != REF_NONE && code == OTF2_SUCCESS)
		code = OTF2_AttributeList_AddSourceCodeLocationRef(w->attributes, ATTRIBUTE_SOURCE_CODE_LOCATION, item->line);
	if (code != OTF2_SUCCESS)
		writer_fail_library(w, code, "write the call site of an event");
}

static void writer_write(struct otf2_writer *w, const struct event *event)
{
	OTF2_ErrorCode code = write_event(w, w->locations[event->event->location].writer, event);

	code = otf2_library_checked(code);
	if (code != OTF2_SUCCESS)
		writer_fail_library(w, code, "write an event");
}

static void writer_take_event(struct otf2_writer *w, const struct item_event *item)
{
	struct event event = { .event = &item->event, .region = item->item.ref,
			       .plain = item->item.len < offsetof(struct item_event, cpu),
			       .cpu = item->item.len > offsetof(struct item_event, cpu) ? &item->cpu : NULL };

	writer_write(w, &event);
}

/* After an error the library must not be called again. */
static void writer_take_items(void *arg, const void *items, size_t len)
{
	struct otf2_writer *w = arg;
	const char *at = items, *end = at + len;

	for (; at < end && !atomic_load_explicit(&w->error, memory_order_relaxed); at += ((const struct item *)at)->len)
		switch (((const struct item *)at)->kind) {
		case ITEM_OPEN: writer_take_open(w, (const void *)at); break;
		case ITEM_CLOSE: writer_take_close(w, (const void *)at); break;
		case ITEM_SITE: writer_take_site(w, (const void *)at); break;
		default: writer_take_event(w, (const void *)at);
		}
}

static void writer_add(struct otf2_writer *w, struct item *item, uint16_t kind, uint32_t ref, size_t len)
{
	*item = (struct item){ kind, (len + 7) & ~(size_t)7, ref };
	relay_add(w->relay, item->len);
}

void otf2_writer_open(struct otf2_writer *w, uint32_t location, uint64_t id, const struct otf2_writer_settings *settings)
{
	struct item_open *item = relay_room(w->relay);

	item->id = id;
	item->settings = *settings;
	writer_add(w, &item->item, ITEM_OPEN, location, sizeof(*item));
}

void otf2_writer_close(struct otf2_writer *w, uint32_t location)
{
	writer_add(w, relay_room(w->relay), ITEM_CLOSE, location, sizeof(struct item));
}

void otf2_writer_site(struct otf2_writer *w, uint32_t context, uint32_t line)
{
	struct item_site *item = relay_room(w->relay);

	item->line = line;
	writer_add(w, &item->item, ITEM_SITE, context, sizeof(*item));
}

static bool is_plain(const struct model_event *e)
{
	const struct model_names *names = &e->u.call.names;

	return !e->u.call.maps && !e->u.call.device_bytes && !e->u.call.wait_ns && !e->u.call.cpu && !names->path &&
	       !names->directory && !names->new_path && !names->new_directory;
}

/* Returns the bytes that were copied: of a known number each time, which is faster. */
static size_t copy_event(struct item_event *item, const struct model_event *e)
{
	const size_t call = offsetof(struct model_event, u.call.mapped_handle), head = offsetof(struct model_event, u);

	switch (e->type) {
	case EV_ENTER:
		memcpy(&item->event, e, call);
		return call;
	case EV_BEGIN:
		memcpy(&item->event, e, head + sizeof(e->u.begin));
		return head + sizeof(e->u.begin);
	case EV_COMPLETE:
		memcpy(&item->event, e, head + sizeof(e->u.complete));
		return head + sizeof(e->u.complete);
	case EV_LEAVE:
		if (is_plain(e)) {
			memcpy(&item->event, e, call);
			return call;
		}
		/* fall through */
	default:
		memcpy(&item->event, e, sizeof(*e));
		return sizeof(*e);
	}
}

void otf2_writer_event(struct otf2_writer *w, const struct model_event *e, uint32_t region)
{
	const struct model_cpu *cpu = e->type == EV_LEAVE ? e->u.call.cpu : NULL;
	struct event event = { .event = e, .region = region, .cpu = cpu };
	struct item_event *item;
	size_t len;

	if (!relay_is_running(w->relay)) {
		writer_write(w, &event);
		return;
	}
	item = relay_room(w->relay);
	len = copy_event(item, e);
	if (cpu) {
		item->cpu = *cpu;
		len += sizeof(item->cpu);
	}
	writer_add(w, &item->item, ITEM_EVENT, region, offsetof(struct item_event, event) + len);
}

/* ---- public ---- */

struct otf2_writer *otf2_writer_create(OTF2_Archive *archive, const char *dir)
{
	struct otf2_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->archive = archive;
	w->dir = dir;
	w->attributes = OTF2_AttributeList_New();
	w->relay = relay_create();
	if (w->attributes && w->relay) {
		relay_bind(w->relay, writer_take_items, w);
		return w;
	}
	otf2_writer_destroy(w);
	return NULL;
}

bool otf2_writer_start(struct otf2_writer *w)
{
	return relay_start(w->relay);
}

void otf2_writer_finish(struct otf2_writer *w)
{
	relay_finish(w->relay);
}

uint64_t otf2_writer_events(const struct otf2_writer *w, uint32_t location)
{
	return location < w->nlocations ? w->locations[location].events : 0;
}

void otf2_writer_destroy(struct otf2_writer *w)
{
	if (!w)
		return;
	relay_destroy(w->relay);
	if (w->attributes)
		OTF2_AttributeList_Delete(w->attributes);
	free(w->locations);
	free(w);
}
