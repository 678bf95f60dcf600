/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Converts OTF2's events to the visitor's: references are checked, times are nanoseconds since the beginning of the trace,
 * attributes are looked up.
 */
#include "trace/events.h"

#define PROGRESS_EVERY 4096

#define EVENT(name, ...) \
	static OTF2_CallbackCode on_##name(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data, \
							    OTF2_AttributeList *attributes, __VA_ARGS__)
#define BEGIN_EVENT \
	struct events_state *s = data; \
	const uint64_t ns = trace_ns(s->trace, time); \
	(void)location, (void)position, (void)attributes, (void)ns; \
	if (!events_counted(s)) \
		return OTF2_CALLBACK_INTERRUPT
#define END_EVENT return OTF2_CALLBACK_SUCCESS

static bool events_counted(struct events_state *s)
{
	if (++s->count % PROGRESS_EVERY == 0)
		++*s->progress;
	s->overrun = s->count > s->limit;
	return !s->overrun;
}

static uint32_t events_checked(uint32_t ref, size_t n)
{
	return ref < n ? ref : TRACE_NONE;
}

static uint32_t events_handle_of(const struct events_state *s, uint32_t ref)
{
	return events_checked(ref, s->trace->handles.n);
}

static uint64_t events_known(uint64_t value)
{
	return value == OTF2_UNDEFINED_UINT64 ? TRACE_UNKNOWN : value;
}

/* Returns the call site: the application's source line if known, else the calling context. TRACE_NONE if the event has none. */
static uint32_t site_of(const struct events_state *s, OTF2_AttributeList *attributes)
{
	uint32_t n = OTF2_AttributeList_GetNumberOfElements(attributes), context = TRACE_NONE;

	for (uint32_t i = 0; i < n; i++) {
		OTF2_AttributeRef ref;
		OTF2_AttributeValue value;
		OTF2_Type type;

		if (OTF2_AttributeList_GetAttributeByIndex(attributes, i, &ref, &type, &value) != OTF2_SUCCESS)
			continue;
		if (type == OTF2_TYPE_SOURCE_CODE_LOCATION)
			return events_checked(value.sourceCodeLocationRef, s->trace->sites.n);
		if (type == OTF2_TYPE_CALLING_CONTEXT && value.callingContextRef < s->trace->contexts.n)
			context = value.callingContextRef | TRACE_SITE_CONTEXT;
	}
	return context;
}

EVENT(enter, OTF2_RegionRef region)
{
	BEGIN_EVENT;
	s->visitor->enter(s->worker, ns, events_checked(region, s->trace->regions.n), site_of(s, attributes));
	END_EVENT;
}

/* Zeros are not in the archive: neither sleep nor run delay, or the rest of the call's time cannot be divided. */
static void set_cpu(const struct trace_attributes *known, OTF2_AttributeRef ref, uint64_t ns, struct trace_cpu *cpu)
{
	const struct { uint32_t ref; uint64_t *ns; bool *has; } v[] = {
		{ known->cpu, &cpu->cpu_ns, &cpu->has_call }, { known->sleep, &cpu->sleep_ns, NULL },
		{ known->sleep_io, &cpu->io_sleep_ns, NULL }, { known->delay, &cpu->delay_ns, NULL },
		{ known->before, &cpu->before_sleep_ns, &cpu->has_before }, { known->before_delay, &cpu->before_delay_ns, NULL },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		if (v[i].ref != ref)
			continue;
		*v[i].ns = ns;
		if (v[i].has)
			*v[i].has = true;
	}
}

EVENT(leave, OTF2_RegionRef region)
{
	BEGIN_EVENT;
	struct trace_leave leave = { .mapped_handle = TRACE_NONE, .path = TRACE_NONE, .directory = TRACE_NONE };
	uint32_t n = OTF2_AttributeList_GetNumberOfElements(attributes);

	for (uint32_t i = 0; i < n; i++) {
		OTF2_AttributeRef ref;
		OTF2_AttributeValue value;
		OTF2_Type type;

		if (OTF2_AttributeList_GetAttributeByIndex(attributes, i, &ref, &type, &value) != OTF2_SUCCESS)
			continue;
		if (ref == s->attributes.error && type == OTF2_TYPE_INT32) {
			leave.error = value.int32;
			leave.failed = true;
		} else if (ref == s->attributes.failed) {
			leave.failed = true;
		} else if (ref == s->attributes.abandoned) {
			leave.abandoned = true;
		} else if (ref == s->attributes.mapped_handle) {
			leave.mapped_handle = events_handle_of(s, value.ioHandleRef);
		} else if (ref == s->attributes.mapped_bytes) {
			leave.mapped_bytes = value.uint64;
		} else if (ref == s->attributes.path && type == OTF2_TYPE_STRING) {
			leave.path = events_checked(value.stringRef, s->trace->strings.n);
		} else if (ref == s->attributes.directory && type == OTF2_TYPE_STRING) {
			leave.directory = events_checked(value.stringRef, s->trace->strings.n);
		} else if (type == OTF2_TYPE_UINT64) {
			set_cpu(&s->attributes, ref, value.uint64, &leave.cpu);
		}
	}
	s->visitor->leave(s->worker, ns, events_checked(region, s->trace->regions.n), &leave);
	END_EVENT;
}

EVENT(begin, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode, OTF2_IoOperationFlag flags, uint64_t bytes, uint64_t id)
{
	BEGIN_EVENT;
	struct trace_op op = {
		.id = id,
		.bytes = events_known(bytes),
		.offset = TRACE_UNKNOWN,
		.request = TRACE_UNKNOWN,
		.handle = events_handle_of(s, handle),
		.kind = mode == OTF2_IO_OPERATION_MODE_READ    ? OP_READ
			: mode == OTF2_IO_OPERATION_MODE_WRITE ? OP_WRITE
							       : OP_FLUSH,
		.non_blocking = flags & OTF2_IO_OPERATION_FLAG_NON_BLOCKING,
		.collective = flags & OTF2_IO_OPERATION_FLAG_COLLECTIVE,
	};

	if (s->attributes.offset != TRACE_NONE)
		OTF2_AttributeList_GetUint64(attributes, s->attributes.offset, &op.offset);
	if (s->attributes.request != TRACE_NONE)
		OTF2_AttributeList_GetUint64(attributes, s->attributes.request, &op.request);
	s->visitor->begin(s->worker, ns, &op);
	END_EVENT;
}

EVENT(complete, OTF2_IoHandleRef handle, uint64_t bytes, uint64_t id)
{
	BEGIN_EVENT;
	s->visitor->complete(s->worker, ns, events_handle_of(s, handle), id, events_known(bytes));
	END_EVENT;
}

static void handle_event(struct events_state *s, uint64_t ns, enum trace_handle_event event, uint32_t handle, uint32_t other,
			 uint64_t position)
{
	s->visitor->handle(s->worker, ns, event, events_handle_of(s, handle), other, position);
}

EVENT(create, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode, OTF2_IoCreationFlag creation, OTF2_IoStatusFlag status)
{
	BEGIN_EVENT;
	(void)mode;
	/* appended data goes to the end of the file, wherever that is */
	handle_event(s, ns, creation & OTF2_IO_CREATION_FLAG_CREATE ? HANDLE_CREATE_FILE : HANDLE_CREATE, handle, TRACE_NONE,
		     status & OTF2_IO_STATUS_FLAG_APPEND ? TRACE_UNKNOWN : 0);
	END_EVENT;
}

EVENT(destroy, OTF2_IoHandleRef handle)
{
	BEGIN_EVENT;
	handle_event(s, ns, HANDLE_DESTROY, handle, TRACE_NONE, TRACE_UNKNOWN);
	END_EVENT;
}

EVENT(duplicate, OTF2_IoHandleRef old, OTF2_IoHandleRef new, OTF2_IoStatusFlag status)
{
	BEGIN_EVENT;
	(void)status;
	handle_event(s, ns, HANDLE_DUPLICATE, old, events_handle_of(s, new), TRACE_UNKNOWN);
	END_EVENT;
}

EVENT(seek, OTF2_IoHandleRef handle, int64_t request, OTF2_IoSeekOption whence, uint64_t result)
{
	BEGIN_EVENT;
	(void)request, (void)whence;
	handle_event(s, ns, HANDLE_SEEK, handle, TRACE_NONE, events_known(result));
	END_EVENT;
}

EVENT(lock, OTF2_IoHandleRef handle, OTF2_LockType type)
{
	BEGIN_EVENT;
	(void)type;
	handle_event(s, ns, HANDLE_LOCK, handle, TRACE_NONE, TRACE_UNKNOWN);
	END_EVENT;
}

EVENT(unlock, OTF2_IoHandleRef handle, OTF2_LockType type)
{
	BEGIN_EVENT;
	(void)type;
	handle_event(s, ns, HANDLE_UNLOCK, handle, TRACE_NONE, TRACE_UNKNOWN);
	END_EVENT;
}

EVENT(delete, OTF2_IoParadigmRef paradigm, OTF2_IoFileRef file)
{
	BEGIN_EVENT;
	(void)paradigm;
	handle_event(s, ns, HANDLE_DELETE, TRACE_NONE, events_checked(file, s->trace->files.n), TRACE_UNKNOWN);
	END_EVENT;
}

/* Events that are only counted: the definition's number of events includes them. */
#define COUNTED(name, ...) EVENT(name, __VA_ARGS__) { BEGIN_EVENT; END_EVENT; }
COUNTED(issued, OTF2_IoHandleRef handle __attribute__((unused)), uint64_t id __attribute__((unused)))
COUNTED(status, OTF2_IoHandleRef handle __attribute__((unused)), OTF2_IoStatusFlag flags __attribute__((unused)))

OTF2_ErrorCode events_register(OTF2_Reader *reader, OTF2_EvtReader *events, struct events_state *state)
{
	OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
	OTF2_ErrorCode code;

	if (!c)
		return OTF2_ERROR_MEM_ALLOC_FAILED;
#define SET(type, name) OTF2_EvtReaderCallbacks_Set##type##Callback(c, on_##name)
	SET(Enter, enter);
	SET(Leave, leave);
	SET(IoOperationBegin, begin);
	SET(IoOperationComplete, complete);
	SET(IoOperationIssued, issued);
	SET(IoOperationTest, issued);
	SET(IoOperationCancelled, issued);
	SET(IoCreateHandle, create);
	SET(IoDestroyHandle, destroy);
	SET(IoDuplicateHandle, duplicate);
	SET(IoSeek, seek);
	SET(IoAcquireLock, lock);
	SET(IoReleaseLock, unlock);
	SET(IoTryLock, lock);
	SET(IoDeleteFile, delete);
	SET(IoChangeStatusFlags, status);
#undef SET
	code = OTF2_Reader_RegisterEvtCallbacks(reader, events, c, state);
	OTF2_EvtReaderCallbacks_Delete(c);
	return code;
}
