/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Converts events of the model to events of the archive, one function call each; no allocation per event.
 */
#include "sink/otf2/otf2_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t bytes_of(uint64_t bytes)
{
	return bytes == BYTES_UNKNOWN ? OTF2_UNDEFINED_UINT64 : bytes;
}

/* Matching ids are unique in the model; the tag makes them unique over all archives of a job on many nodes, because merge does not
 * rewrite events. It is in the low bits: the library does not store leading zeros. */
static uint64_t matching_id(const struct otf2_sink *s, uint64_t id)
{
	return s->whole_job ? id : id << 31 | s->tag;
}

/* Regions get their refs in the order of first use, so that unused ones (most rows of a table) leave no gap. */
static int region_define(struct otf2_sink *s, const struct model *model, uint32_t region)
{
	if (region >= model->regions.n)
		return otf2_fail(s, -EINVAL, "%s: event of an undefined region %u", s->dir, region);
	if (region >= s->nregion_refs) {
		size_t n = model->regions.n;
		uint32_t *refs = realloc(s->region_refs, n * sizeof(*refs));

		if (!refs)
			return otf2_fail(s, -ENOMEM, "%s: out of memory for %zu regions", s->dir, n);
		memset(refs + s->nregion_refs, 0xff, (n - s->nregion_refs) * sizeof(*refs));
		s->region_refs = refs;
		s->nregion_refs = n;
	}
	if (s->region_refs[region] != REF_NONE)
		return 0;
	if (s->nregions == s->cap_regions) {
		uint32_t cap = s->cap_regions ? 2 * s->cap_regions : 64;
		uint32_t *regions = realloc(s->regions, cap * sizeof(*regions));

		if (!regions)
			return otf2_fail(s, -ENOMEM, "%s: out of memory for %u regions", s->dir, cap);
		s->regions = regions;
		s->cap_regions = cap;
	}
	s->regions[s->nregions] = region;
	s->region_refs[region] = s->nregions++;
	return 0;
}

static OTF2_ErrorCode otf2_events_add_mapping(OTF2_AttributeList *a, const struct model_event *e)
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

static OTF2_ErrorCode write_leave(struct otf2_sink *s, OTF2_EvtWriter *w, uint64_t t, const struct model_event *e)
{
	OTF2_AttributeList *a = s->attributes;
	OTF2_ErrorCode code = OTF2_SUCCESS;

	if (e->u.call.failed && e->u.call.error)
		code = OTF2_AttributeList_AddInt32(a, ATTRIBUTE_ERRNO, e->u.call.error);
	else if (e->u.call.failed)
		code = OTF2_AttributeList_AddUint8(a, ATTRIBUTE_FAILED, 1);
	if (e->u.call.abandoned && code == OTF2_SUCCESS)
		code = OTF2_AttributeList_AddUint8(a, ATTRIBUTE_ABANDONED, 1);
	if (e->u.call.maps && code == OTF2_SUCCESS)
		code = otf2_events_add_mapping(a, e);
	if ((e->u.call.device_bytes || e->u.call.wait_ns) && code == OTF2_SUCCESS)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_DEVICE, e->u.call.device_bytes);
	if ((e->u.call.device_bytes || e->u.call.wait_ns) && code == OTF2_SUCCESS)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_WAIT, e->u.call.wait_ns);
	if (code == OTF2_SUCCESS && e->u.call.cpu)
		code = add_cpu(a, e->u.call.cpu);
	if (code == OTF2_SUCCESS)
		code = add_names(a, &e->u.call.names);
	return code == OTF2_SUCCESS ? OTF2_EvtWriter_Leave(w, a, t, s->region_refs[e->u.call.region]) : code;
}

static OTF2_ErrorCode otf2_events_write_begin(struct otf2_sink *s, OTF2_EvtWriter *w, uint64_t t, const struct model_event *e)
{
	OTF2_AttributeList *a = s->attributes;
	OTF2_ErrorCode code = OTF2_SUCCESS;

	if (e->u.begin.offset != OFFSET_UNKNOWN)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_OFFSET, e->u.begin.offset);
	if (code == OTF2_SUCCESS && e->u.begin.variable)
		code = OTF2_AttributeList_AddStringRef(a, ATTRIBUTE_VARIABLE, e->u.begin.variable - 1);
	if (code == OTF2_SUCCESS && e->u.begin.unaligned)
		code = OTF2_AttributeList_AddUint8(a, s->unaligned_ref, 1);
	if (code == OTF2_SUCCESS && e->u.begin.request)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_REQUEST, matching_id(s, e->u.begin.request));
	if (code != OTF2_SUCCESS)
		return code;
	return OTF2_EvtWriter_IoOperationBegin(w, a, t, e->u.begin.handle, e->u.begin.mode, e->u.begin.flags,
					       bytes_of(e->u.begin.bytes), matching_id(s, e->u.begin.matching_id));
}

static OTF2_ErrorCode write_lock(struct otf2_sink *s, OTF2_EvtWriter *w, uint64_t t, const struct model_event *e)
{
	OTF2_AttributeList *a = e->u.lock.ranged ? s->attributes : NULL;
	OTF2_ErrorCode code = OTF2_SUCCESS;

	if (a)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_LOCK_OFFSET, e->u.lock.offset);
	if (a && code == OTF2_SUCCESS)
		code = OTF2_AttributeList_AddUint64(a, ATTRIBUTE_LOCK_LENGTH, e->u.lock.bytes);
	if (code != OTF2_SUCCESS)
		return code;
	if (e->type == EV_LOCK)
		return OTF2_EvtWriter_IoAcquireLock(w, a, t, e->u.lock.handle, e->u.lock.kind);
	if (e->type == EV_UNLOCK)
		return OTF2_EvtWriter_IoReleaseLock(w, a, t, e->u.lock.handle, e->u.lock.kind);
	return OTF2_EvtWriter_IoTryLock(w, a, t, e->u.lock.handle, e->u.lock.kind);
}

static OTF2_ErrorCode write_complete(struct otf2_sink *s, OTF2_EvtWriter *w, uint64_t t, const struct model_event *e)
{
	OTF2_AttributeList *a = e->u.complete.error ? s->attributes : NULL;
	OTF2_ErrorCode code = a ? OTF2_AttributeList_AddInt32(a, ATTRIBUTE_ERRNO, e->u.complete.error) : OTF2_SUCCESS;

	return code == OTF2_SUCCESS
		       ? OTF2_EvtWriter_IoOperationComplete(w, a, t, e->u.complete.handle, bytes_of(e->u.complete.bytes),
							    matching_id(s, e->u.complete.matching_id))
		       : code;
}

static OTF2_ErrorCode otf2_events_write_event(struct otf2_sink *s, OTF2_EvtWriter *w, const struct model_event *e)
{
	uint64_t t = e->time_ns;

	switch (e->type) {
	case EV_ENTER:
		return OTF2_EvtWriter_Enter(w, e->u.call.site ? s->attributes : NULL, t, s->region_refs[e->u.call.region]);
	case EV_LEAVE:
		return write_leave(s, w, t, e);
	case EV_BEGIN:
		return otf2_events_write_begin(s, w, t, e);
	case EV_COMPLETE:
		return write_complete(s, w, t, e);
	case EV_ISSUED:
		return OTF2_EvtWriter_IoOperationIssued(w, NULL, t, e->u.op.handle, matching_id(s, e->u.op.matching_id));
	case EV_TEST:
		return OTF2_EvtWriter_IoOperationTest(w, NULL, t, e->u.op.handle, matching_id(s, e->u.op.matching_id));
	case EV_CANCELLED:
		return OTF2_EvtWriter_IoOperationCancelled(w, NULL, t, e->u.op.handle, matching_id(s, e->u.op.matching_id));
	case EV_CREATE:
		return OTF2_EvtWriter_IoCreateHandle(w, NULL, t, e->u.create.handle, e->u.create.mode, e->u.create.creation_flags,
						     e->u.create.status_flags);
	case EV_DESTROY:
		return OTF2_EvtWriter_IoDestroyHandle(w, NULL, t, e->u.destroy.handle);
	case EV_DUPLICATE:
		return OTF2_EvtWriter_IoDuplicateHandle(w, NULL, t, e->u.duplicate.old_handle, e->u.duplicate.new_handle,
							e->u.duplicate.status_flags);
	case EV_STATUS_FLAGS:
		return OTF2_EvtWriter_IoChangeStatusFlags(w, NULL, t, e->u.status.handle, e->u.status.status_flags);
	case EV_DELETE:
		return OTF2_EvtWriter_IoDeleteFile(w, NULL, t, e->u.del.paradigm, e->u.del.file);
	case EV_SEEK:
		return OTF2_EvtWriter_IoSeek(w, NULL, t, e->u.seek.handle, e->u.seek.request, e->u.seek.whence,
					     bytes_of(e->u.seek.result));
	case EV_LOCK:
	case EV_UNLOCK:
	case EV_TRYLOCK:
		return write_lock(s, w, t, e);
	}
	return OTF2_ERROR_INVALID_ARGUMENT;
}

/* Preconditions for writing an event: an open writer, a defined region, a time that does not decrease. */
static int otf2_events_prepare(struct otf2_sink *s, const struct model *model, const struct model_event *e)
{
	int error = 0;

	if (s->error)
		return s->error;
	if (!s->archive)
		return otf2_fail(s, -EBADF, "%s: event after the end of the archive", s->dir);
	s->tag = model->recording_tag;
	if (e->location >= s->nlocations || !s->locations[e->location].writer)
		error = otf2_location_open(s, model, e->location);
	if (!error && s->locations[e->location].closed)
		error = otf2_fail(s, -EINVAL, "%s: event of location %u after its end", s->dir, e->location);
	if (!error && (e->type == EV_ENTER || e->type == EV_LEAVE) &&
	    (e->u.call.region >= s->nregion_refs || s->region_refs[e->u.call.region] == REF_NONE))
		error = region_define(s, model, e->u.call.region);
	if (!error && e->time_ns < s->locations[e->location].last_ns)
		error = otf2_fail(s, -EINVAL, "%s: time of location %u goes back from %llu to %llu ns", s->dir, e->location,
				  (unsigned long long)s->locations[e->location].last_ns, (unsigned long long)e->time_ns);
	return error;
}

static int add_site(struct otf2_sink *s, const struct model *model, uint32_t site)
{
	OTF2_ErrorCode code;

	if (otf2_sites_add(s, model, site, &code))
		return otf2_fail(s, -ENOMEM, "%s: out of memory for %zu calling contexts", s->dir, model->contexts.n);
	return code == OTF2_SUCCESS ? 0 : otf2_fail_library(s, code, "write the call site of an event");
}

int otf2_event(struct sink *sink, const struct model *model, const struct model_event *e)
{
	struct otf2_sink *s = (struct otf2_sink *)sink;
	OTF2_ErrorCode code;
	int error = otf2_events_prepare(s, model, e);

	if (!error && e->type == EV_ENTER && e->u.call.site)
		error = add_site(s, model, e->u.call.site);
	if (error)
		return error;
	code = otf2_library_checked(otf2_events_write_event(s, s->locations[e->location].writer, e));
	if (code != OTF2_SUCCESS)
		return otf2_fail_library(s, code, "write an event");
	s->locations[e->location].last_ns = e->time_ns;
	if (e->time_ns < s->first_ns)
		s->first_ns = e->time_ns;
	if (e->time_ns > s->last_ns)
		s->last_ns = e->time_ns;
	return 0;
}
