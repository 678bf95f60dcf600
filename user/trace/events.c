/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Converts OTF2's events to the visitor's: references are checked, times are nanoseconds since the beginning of the trace,
 * attributes are looked up.
 */
#include "trace/events.h"

#define PROGRESS_EVERY 4096

/* The parameters that all callbacks begin with. */
#define EVENT_PARAMETERS \
	OTF2_LocationRef location __attribute__((unused)), OTF2_TimeStamp time __attribute__((unused)), \
		uint64_t position __attribute__((unused)), void *data, OTF2_AttributeList *attributes __attribute__((unused))

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

static OTF2_CallbackCode events_on_enter(EVENT_PARAMETERS, OTF2_RegionRef region)
{
	struct events_state *s = data;
	const uint64_t ns = trace_ns(s->trace, time);

	if (!events_counted(s))
		return OTF2_CALLBACK_INTERRUPT;
	s->visitor->enter(s->worker, ns, events_checked(region, s->trace->regions.n), site_of(s, attributes));
	return OTF2_CALLBACK_SUCCESS;
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

static OTF2_CallbackCode events_on_leave(EVENT_PARAMETERS, OTF2_RegionRef region)
{
	struct events_state *s = data;
	const uint64_t ns = trace_ns(s->trace, time);
	struct trace_leave leave = { .mapped_handle = TRACE_NONE, .path = TRACE_NONE, .directory = TRACE_NONE };
	uint32_t n = OTF2_AttributeList_GetNumberOfElements(attributes);

	if (!events_counted(s))
		return OTF2_CALLBACK_INTERRUPT;
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
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode events_on_begin(EVENT_PARAMETERS, OTF2_IoHandleRef handle, OTF2_IoOperationMode mode,
					 OTF2_IoOperationFlag flags, uint64_t bytes, uint64_t id)
{
	struct events_state *s = data;
	const uint64_t ns = trace_ns(s->trace, time);
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

	if (!events_counted(s))
		return OTF2_CALLBACK_INTERRUPT;
	if (s->attributes.offset != TRACE_NONE)
		OTF2_AttributeList_GetUint64(attributes, s->attributes.offset, &op.offset);
	if (s->attributes.request != TRACE_NONE)
		OTF2_AttributeList_GetUint64(attributes, s->attributes.request, &op.request);
	op.unaligned = s->attributes.unaligned != TRACE_NONE &&
		       OTF2_AttributeList_TestAttributeByID(attributes, s->attributes.unaligned);
	s->visitor->begin(s->worker, ns, &op);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode events_on_complete(EVENT_PARAMETERS, OTF2_IoHandleRef handle, uint64_t bytes, uint64_t id)
{
	struct events_state *s = data;
	const uint64_t ns = trace_ns(s->trace, time);

	if (!events_counted(s))
		return OTF2_CALLBACK_INTERRUPT;
	s->visitor->complete(s->worker, ns, events_handle_of(s, handle), id, events_known(bytes));
	return OTF2_CALLBACK_SUCCESS;
}

static void handle_event(struct events_state *s, uint64_t ns, enum trace_handle_event event, uint32_t handle, uint32_t other,
			 uint64_t position)
{
	s->visitor->handle(s->worker, ns, event, events_handle_of(s, handle), other, position);
}

static OTF2_CallbackCode events_on_create(EVENT_PARAMETERS, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode,
					  OTF2_IoCreationFlag creation, OTF2_IoStatusFlag status)
{
	struct events_state *s = data;
	const uint64_t ns = trace_ns(s->trace, time);

	(void)mode;
	if (!events_counted(s))
		return OTF2_CALLBACK_INTERRUPT;
	/* appended data goes to the end of the file, wherever that is */
	handle_event(s, ns, creation & OTF2_IO_CREATION_FLAG_CREATE ? HANDLE_CREATE_FILE : HANDLE_CREATE, handle, TRACE_NONE,
		     status & OTF2_IO_STATUS_FLAG_APPEND ? TRACE_UNKNOWN : 0);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode events_on_destroy(EVENT_PARAMETERS, OTF2_IoHandleRef handle)
{
	struct events_state *s = data;
	const uint64_t ns = trace_ns(s->trace, time);

	if (!events_counted(s))
		return OTF2_CALLBACK_INTERRUPT;
	handle_event(s, ns, HANDLE_DESTROY, handle, TRACE_NONE, TRACE_UNKNOWN);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode events_on_duplicate(EVENT_PARAMETERS, OTF2_IoHandleRef old, OTF2_IoHandleRef new, OTF2_IoStatusFlag status)
{
	struct events_state *s = data;
	const uint64_t ns = trace_ns(s->trace, time);

	(void)status;
	if (!events_counted(s))
		return OTF2_CALLBACK_INTERRUPT;
	handle_event(s, ns, HANDLE_DUPLICATE, old, events_handle_of(s, new), TRACE_UNKNOWN);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode events_on_seek(EVENT_PARAMETERS, OTF2_IoHandleRef handle, int64_t request, OTF2_IoSeekOption whence,
					uint64_t result)
{
	struct events_state *s = data;
	const uint64_t ns = trace_ns(s->trace, time);

	(void)request, (void)whence;
	if (!events_counted(s))
		return OTF2_CALLBACK_INTERRUPT;
	handle_event(s, ns, HANDLE_SEEK, handle, TRACE_NONE, events_known(result));
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode events_on_lock(EVENT_PARAMETERS, OTF2_IoHandleRef handle, OTF2_LockType type)
{
	struct events_state *s = data;
	const uint64_t ns = trace_ns(s->trace, time);

	(void)type;
	if (!events_counted(s))
		return OTF2_CALLBACK_INTERRUPT;
	handle_event(s, ns, HANDLE_LOCK, handle, TRACE_NONE, TRACE_UNKNOWN);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode events_on_unlock(EVENT_PARAMETERS, OTF2_IoHandleRef handle, OTF2_LockType type)
{
	struct events_state *s = data;
	const uint64_t ns = trace_ns(s->trace, time);

	(void)type;
	if (!events_counted(s))
		return OTF2_CALLBACK_INTERRUPT;
	handle_event(s, ns, HANDLE_UNLOCK, handle, TRACE_NONE, TRACE_UNKNOWN);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode events_on_delete(EVENT_PARAMETERS, OTF2_IoParadigmRef paradigm, OTF2_IoFileRef file)
{
	struct events_state *s = data;
	const uint64_t ns = trace_ns(s->trace, time);

	(void)paradigm;
	if (!events_counted(s))
		return OTF2_CALLBACK_INTERRUPT;
	handle_event(s, ns, HANDLE_DELETE, TRACE_NONE, events_checked(file, s->trace->files.n), TRACE_UNKNOWN);
	return OTF2_CALLBACK_SUCCESS;
}

/* Events that are only counted: the definition's number of events includes them. */
static OTF2_CallbackCode events_on_issued(EVENT_PARAMETERS, OTF2_IoHandleRef handle, uint64_t id)
{
	(void)handle, (void)id;
	return events_counted(data) ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

static OTF2_CallbackCode events_on_status(EVENT_PARAMETERS, OTF2_IoHandleRef handle, OTF2_IoStatusFlag flags)
{
	(void)handle, (void)flags;
	return events_counted(data) ? OTF2_CALLBACK_SUCCESS : OTF2_CALLBACK_INTERRUPT;
}

OTF2_ErrorCode events_register(OTF2_Reader *reader, OTF2_EvtReader *events, struct events_state *state)
{
	OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
	OTF2_ErrorCode code;

	if (!c)
		return OTF2_ERROR_MEM_ALLOC_FAILED;
#define SET(type, function) OTF2_EvtReaderCallbacks_Set##type##Callback(c, function)
	SET(Enter, events_on_enter);
	SET(Leave, events_on_leave);
	SET(IoOperationBegin, events_on_begin);
	SET(IoOperationComplete, events_on_complete);
	SET(IoOperationIssued, events_on_issued);
	SET(IoOperationTest, events_on_issued);
	SET(IoOperationCancelled, events_on_issued);
	SET(IoCreateHandle, events_on_create);
	SET(IoDestroyHandle, events_on_destroy);
	SET(IoDuplicateHandle, events_on_duplicate);
	SET(IoSeek, events_on_seek);
	SET(IoAcquireLock, events_on_lock);
	SET(IoReleaseLock, events_on_unlock);
	SET(IoTryLock, events_on_lock);
	SET(IoDeleteFile, events_on_delete);
	SET(IoChangeStatusFlags, events_on_status);
#undef SET
	code = OTF2_Reader_RegisterEvtCallbacks(reader, events, c, state);
	OTF2_EvtReaderCallbacks_Delete(c);
	return code;
}
