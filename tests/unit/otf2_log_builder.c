/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads an archive with the library's own reader and writes it down as text, one line per definition and event.
 */
#include "otf2_log_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char otf2_log[OTF2_LOG_LEN];
static char strings[256][128];
static uint64_t time_base;

static void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void log_line(const char *format, ...)
{
	size_t len = strlen(otf2_log);
	va_list ap;

	va_start(ap, format);
	vsnprintf(otf2_log + len, sizeof(otf2_log) - len, format, ap);
	va_end(ap);
}

#define OK OTF2_CALLBACK_SUCCESS
/* The parameters that all callbacks of events begin with. */
#define EVENT_PARAMETERS OTF2_LocationRef l, OTF2_TimeStamp t, void *data, OTF2_AttributeList *a

static OTF2_CallbackCode on_clock(void *data, uint64_t resolution, uint64_t offset, uint64_t length, uint64_t realtime)
{
	(void)data;
	log_line("clock %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", resolution, offset - time_base, length, realtime);
	return OK;
}

static OTF2_CallbackCode on_string(void *data, OTF2_StringRef ref, const char *text)
{
	(void)data;
	assert_true(ref < 256);
	snprintf(strings[ref], sizeof(strings[ref]), "%s", text);
	return OK;
}

static OTF2_CallbackCode on_paradigm(void *data, OTF2_IoParadigmRef ref, OTF2_StringRef id, OTF2_StringRef name,
				     OTF2_IoParadigmClass class, OTF2_IoParadigmFlag flags, uint8_t n,
				     const OTF2_IoParadigmProperty *properties, const OTF2_Type *types,
				     const OTF2_AttributeValue *values)
{
	(void)data, (void)properties, (void)types;
	log_line("paradigm %u %s|%s class %d flags %u version %s\n", ref, strings[id], strings[name], class, flags,
		 n ? strings[values[0].stringRef] : "-");
	return OK;
}

static OTF2_CallbackCode on_node(void *data, OTF2_SystemTreeNodeRef ref, OTF2_StringRef name, OTF2_StringRef class,
				 OTF2_SystemTreeNodeRef parent)
{
	(void)data;
	log_line("node %u %s %s below %d\n", ref, strings[class], strings[name], (int)parent);
	return OK;
}

static OTF2_CallbackCode on_location_group(void *data, OTF2_LocationGroupRef ref, OTF2_StringRef name, OTF2_LocationGroupType type,
					   OTF2_SystemTreeNodeRef parent, OTF2_LocationGroupRef creator)
{
	(void)data, (void)type, (void)creator;
	log_line("group %u %s on %u\n", ref, strings[name], parent);
	return OK;
}

static OTF2_CallbackCode on_group_property(void *data, OTF2_LocationGroupRef group, OTF2_StringRef name, OTF2_Type type,
					   OTF2_AttributeValue value)
{
	(void)data;
	if (type == OTF2_TYPE_STRING)
		log_line("group property %u %s=%s\n", group, strings[name], strings[value.stringRef]);
	else
		log_line("group property %u %s=%u\n", group, strings[name], value.uint32);
	return OK;
}

static OTF2_CallbackCode on_location(void *data, OTF2_LocationRef ref, OTF2_StringRef name, OTF2_LocationType type, uint64_t events,
				     OTF2_LocationGroupRef group)
{
	(void)data, (void)type;
	log_line("location %" PRIu64 " %s events %" PRIu64 " group %u\n", ref, strings[name], events, group);
	return OK;
}

static OTF2_CallbackCode on_region(void *data, OTF2_RegionRef ref, OTF2_StringRef name, OTF2_StringRef canonical,
				   OTF2_StringRef description, OTF2_RegionRole role, OTF2_Paradigm paradigm, OTF2_RegionFlag flags,
				   OTF2_StringRef file, uint32_t begin, uint32_t end)
{
	(void)data, (void)canonical, (void)flags, (void)file, (void)begin, (void)end;
	log_line("region %u %s of %s role %d paradigm %d\n", ref, strings[name], strings[description], role, paradigm);
	return OK;
}

static OTF2_CallbackCode on_members(void *data, OTF2_GroupRef ref, OTF2_StringRef name, OTF2_GroupType type, OTF2_Paradigm paradigm,
				    OTF2_GroupFlag flags, uint32_t n, const uint64_t *members)
{
	(void)data, (void)paradigm, (void)flags;
	log_line("members %u %s type %d:", ref, strings[name], type);
	for (uint32_t i = 0; i < n; i++)
		log_line(" %" PRIu64, members[i]);
	log_line("\n");
	return OK;
}

static OTF2_CallbackCode on_comm(void *data, OTF2_CommRef ref, OTF2_StringRef name, OTF2_GroupRef group, OTF2_CommRef parent,
				 OTF2_CommFlag flags)
{
	(void)data, (void)flags;
	log_line("comm %u %s group %u parent %d\n", ref, strings[name], group, (int)parent);
	return OK;
}

static OTF2_CallbackCode on_file(void *data, OTF2_IoFileRef ref, OTF2_StringRef name, OTF2_SystemTreeNodeRef scope)
{
	(void)data;
	log_line("file %u %s scope %d\n", ref, strings[name], (int)scope);
	return OK;
}

static OTF2_CallbackCode on_directory(void *data, OTF2_IoFileRef ref, OTF2_StringRef name, OTF2_SystemTreeNodeRef scope)
{
	(void)data;
	log_line("directory %u %s scope %d\n", ref, strings[name], (int)scope);
	return OK;
}

static OTF2_CallbackCode on_property(void *data, OTF2_IoFileRef file, OTF2_StringRef name, OTF2_Type type,
				     OTF2_AttributeValue value)
{
	(void)data, (void)type;
	log_line("property %u %s=%s\n", file, strings[name], strings[value.stringRef]);
	return OK;
}

static OTF2_CallbackCode on_handle(void *data, OTF2_IoHandleRef ref, OTF2_StringRef name, OTF2_IoFileRef file,
				   OTF2_IoParadigmRef paradigm, OTF2_IoHandleFlag flags, OTF2_CommRef comm, OTF2_IoHandleRef parent)
{
	(void)data;
	log_line("handle %u '%s' file %d paradigm %u flags %u comm %d parent %d\n", ref, strings[name], (int)file, paradigm, flags,
		 (int)comm, (int)parent);
	return OK;
}

static OTF2_CallbackCode on_precreated(void *data, OTF2_IoHandleRef ref, OTF2_IoAccessMode mode, OTF2_IoStatusFlag flags)
{
	(void)data;
	log_line("precreated %u mode %u flags %u\n", ref, mode, flags);
	return OK;
}

static void log_attributes(const OTF2_AttributeList *list)
{
	for (uint32_t i = 0; i < OTF2_AttributeList_GetNumberOfElements(list); i++) {
		OTF2_AttributeRef ref;
		OTF2_Type type;
		OTF2_AttributeValue value;

		assert_int_equal(OTF2_AttributeList_GetAttributeByIndex(list, i, &ref, &type, &value), OTF2_SUCCESS);
		log_line(" {%u=%" PRIu64 "}", ref, type == OTF2_TYPE_INT32 ? (uint64_t)value.int32 :
			 type == OTF2_TYPE_UINT8 ? value.uint8 : value.uint64);
	}
	log_line("\n");
}

/* Matching ids carry the recording's tag in their low bits. */
uint32_t otf2_log_tag;

static uint64_t id_of(uint64_t matching_id)
{
	assert_int_equal(matching_id & 0x7fffffff, otf2_log_tag);
	return matching_id >> 31;
}

#define EVENT_LINE(format, ...) do { \
	(void)data; \
	log_line("%" PRIu64 " %" PRIu64 " " format, l, t - time_base, __VA_ARGS__); \
	log_attributes(a); \
} while (0)

static OTF2_CallbackCode on_enter(EVENT_PARAMETERS, OTF2_RegionRef r)
{
	EVENT_LINE("enter %u", r);
	return OK;
}

static OTF2_CallbackCode on_leave(EVENT_PARAMETERS, OTF2_RegionRef r)
{
	EVENT_LINE("leave %u", r);
	return OK;
}

static OTF2_CallbackCode on_create(EVENT_PARAMETERS, OTF2_IoHandleRef h, OTF2_IoAccessMode m, OTF2_IoCreationFlag c,
				   OTF2_IoStatusFlag s)
{
	EVENT_LINE("create %u %u %u %u", h, m, c, s);
	return OK;
}

static OTF2_CallbackCode on_destroy(EVENT_PARAMETERS, OTF2_IoHandleRef h)
{
	EVENT_LINE("destroy %u", h);
	return OK;
}

static OTF2_CallbackCode on_duplicate(EVENT_PARAMETERS, OTF2_IoHandleRef o, OTF2_IoHandleRef n, OTF2_IoStatusFlag s)
{
	EVENT_LINE("duplicate %u %u %u", o, n, s);
	return OK;
}

static OTF2_CallbackCode on_status(EVENT_PARAMETERS, OTF2_IoHandleRef h, OTF2_IoStatusFlag s)
{
	EVENT_LINE("status %u %u", h, s);
	return OK;
}

static OTF2_CallbackCode on_delete(EVENT_PARAMETERS, OTF2_IoParadigmRef p, OTF2_IoFileRef f)
{
	EVENT_LINE("delete %u %u", p, f);
	return OK;
}

static OTF2_CallbackCode on_seek(EVENT_PARAMETERS, OTF2_IoHandleRef h, int64_t q, OTF2_IoSeekOption w, uint64_t r)
{
	EVENT_LINE("seek %u %" PRId64 " %u %" PRIu64, h, q, w, r);
	return OK;
}

static OTF2_CallbackCode on_begin(EVENT_PARAMETERS, OTF2_IoHandleRef h, OTF2_IoOperationMode m, OTF2_IoOperationFlag f, uint64_t b,
				  uint64_t i)
{
	EVENT_LINE("begin %u %u %u %" PRId64 " #%" PRIu64, h, m, f, (int64_t)b, id_of(i));
	return OK;
}

static OTF2_CallbackCode on_issued(EVENT_PARAMETERS, OTF2_IoHandleRef h, uint64_t i)
{
	EVENT_LINE("issued %u #%" PRIu64, h, id_of(i));
	return OK;
}

static OTF2_CallbackCode on_test(EVENT_PARAMETERS, OTF2_IoHandleRef h, uint64_t i)
{
	EVENT_LINE("test %u #%" PRIu64, h, id_of(i));
	return OK;
}

static OTF2_CallbackCode on_cancelled(EVENT_PARAMETERS, OTF2_IoHandleRef h, uint64_t i)
{
	EVENT_LINE("cancelled %u #%" PRIu64, h, id_of(i));
	return OK;
}

static OTF2_CallbackCode on_complete(EVENT_PARAMETERS, OTF2_IoHandleRef h, uint64_t b, uint64_t i)
{
	EVENT_LINE("complete %u %" PRId64 " #%" PRIu64, h, (int64_t)b, id_of(i));
	return OK;
}

static OTF2_CallbackCode on_lock(EVENT_PARAMETERS, OTF2_IoHandleRef h, OTF2_LockType k)
{
	EVENT_LINE("lock %u %u", h, k);
	return OK;
}

static OTF2_CallbackCode on_unlock(EVENT_PARAMETERS, OTF2_IoHandleRef h, OTF2_LockType k)
{
	EVENT_LINE("unlock %u %u", h, k);
	return OK;
}

static OTF2_CallbackCode on_trylock(EVENT_PARAMETERS, OTF2_IoHandleRef h, OTF2_LockType k)
{
	EVENT_LINE("trylock %u %u", h, k);
	return OK;
}

void otf2_log_definitions(OTF2_Reader *reader, uint64_t time_zero)
{
	OTF2_GlobalDefReader *defs = OTF2_Reader_GetGlobalDefReader(reader);
	OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();
	uint64_t n;

	otf2_log[0] = '\0';
	time_base = time_zero;
	OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c, on_clock);
	OTF2_GlobalDefReaderCallbacks_SetStringCallback(c, on_string);
	OTF2_GlobalDefReaderCallbacks_SetIoParadigmCallback(c, on_paradigm);
	OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(c, on_node);
	OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(c, on_location_group);
	OTF2_GlobalDefReaderCallbacks_SetLocationGroupPropertyCallback(c, on_group_property);
	OTF2_GlobalDefReaderCallbacks_SetLocationCallback(c, on_location);
	OTF2_GlobalDefReaderCallbacks_SetRegionCallback(c, on_region);
	OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, on_members);
	OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, on_comm);
	OTF2_GlobalDefReaderCallbacks_SetIoRegularFileCallback(c, on_file);
	OTF2_GlobalDefReaderCallbacks_SetIoDirectoryCallback(c, on_directory);
	OTF2_GlobalDefReaderCallbacks_SetIoFilePropertyCallback(c, on_property);
	OTF2_GlobalDefReaderCallbacks_SetIoHandleCallback(c, on_handle);
	OTF2_GlobalDefReaderCallbacks_SetIoPreCreatedHandleStateCallback(c, on_precreated);
	assert_int_equal(OTF2_Reader_RegisterGlobalDefCallbacks(reader, defs, c, NULL), OTF2_SUCCESS);
	OTF2_GlobalDefReaderCallbacks_Delete(c);
	assert_int_equal(OTF2_Reader_ReadAllGlobalDefinitions(reader, defs, &n), OTF2_SUCCESS);
}

uint64_t otf2_log_events(OTF2_Reader *reader, const uint64_t *locations, size_t nlocations)
{
	OTF2_GlobalEvtReader *events;
	OTF2_GlobalEvtReaderCallbacks *c = OTF2_GlobalEvtReaderCallbacks_New();
	uint64_t n = 0;

	for (size_t i = 0; i < nlocations; i++)
		OTF2_Reader_SelectLocation(reader, locations[i]);
	OTF2_Reader_OpenEvtFiles(reader);
	for (size_t i = 0; i < nlocations; i++)
		assert_non_null(OTF2_Reader_GetEvtReader(reader, locations[i]));
	events = OTF2_Reader_GetGlobalEvtReader(reader);
	OTF2_GlobalEvtReaderCallbacks_SetEnterCallback(c, on_enter);
	OTF2_GlobalEvtReaderCallbacks_SetLeaveCallback(c, on_leave);
	OTF2_GlobalEvtReaderCallbacks_SetIoCreateHandleCallback(c, on_create);
	OTF2_GlobalEvtReaderCallbacks_SetIoDestroyHandleCallback(c, on_destroy);
	OTF2_GlobalEvtReaderCallbacks_SetIoDuplicateHandleCallback(c, on_duplicate);
	OTF2_GlobalEvtReaderCallbacks_SetIoChangeStatusFlagsCallback(c, on_status);
	OTF2_GlobalEvtReaderCallbacks_SetIoDeleteFileCallback(c, on_delete);
	OTF2_GlobalEvtReaderCallbacks_SetIoSeekCallback(c, on_seek);
	OTF2_GlobalEvtReaderCallbacks_SetIoOperationBeginCallback(c, on_begin);
	OTF2_GlobalEvtReaderCallbacks_SetIoOperationIssuedCallback(c, on_issued);
	OTF2_GlobalEvtReaderCallbacks_SetIoOperationTestCallback(c, on_test);
	OTF2_GlobalEvtReaderCallbacks_SetIoOperationCancelledCallback(c, on_cancelled);
	OTF2_GlobalEvtReaderCallbacks_SetIoOperationCompleteCallback(c, on_complete);
	OTF2_GlobalEvtReaderCallbacks_SetIoAcquireLockCallback(c, on_lock);
	OTF2_GlobalEvtReaderCallbacks_SetIoReleaseLockCallback(c, on_unlock);
	OTF2_GlobalEvtReaderCallbacks_SetIoTryLockCallback(c, on_trylock);
	assert_int_equal(OTF2_Reader_RegisterGlobalEvtCallbacks(reader, events, c, NULL), OTF2_SUCCESS);
	OTF2_GlobalEvtReaderCallbacks_Delete(c);
	assert_int_equal(OTF2_Reader_ReadAllGlobalEvents(reader, events, &n), OTF2_SUCCESS);
	return n;
}
