/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the global definitions and the properties of an archive. Definitions of other recorders may come in any order of reference
 * and with gaps; a dangling reference is treated as unknown.
 */
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <otf2/otf2.h>

#include "otf2/otf2_library.h"
#include "trace/file_facts.h"
#include "trace/layers.h"
#include "trace/properties.h"

#define TEXT_BLOCK (1u << 20)
#define KNOWN_MOUNTS 64         /* that are compared */

struct reading { struct trace *trace; const char *problem; uint64_t max_ref; };

void *trace_grow(void **v, size_t *n, size_t *cap, size_t size)
{
	if (*n == *cap) {
		size_t more = *cap ? *cap * 2 : 64;
		void *grown = realloc(*v, more * size);

		if (!grown)
			return NULL;
		*v = grown;
		*cap = more;
	}
	return memset((char *)*v + (*n)++ * size, 0, size);
}

/* A damaged reference must not exhaust memory: there cannot be more definitions than bytes in their file. */
static uint64_t definitions_definition_bytes(const char *anchor)
{
	char path[4300];
	struct stat st;

	snprintf(path, sizeof(path), "%.*s.def", (int)(strlen(anchor) > 5 ? strlen(anchor) - 5 : 0), anchor);
	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* Returns element ref of an array, created together with all before it; NULL: the reading has failed. */
static void *definitions_at(void **v, size_t *n, size_t *cap, size_t size, uint32_t ref, struct reading *r)
{
	bool grown = ref < r->max_ref;

	while (grown && *n <= ref)
		grown = trace_grow(v, n, cap, size);
	if (!grown) {
		r->problem = "a definition is out of range, or memory is short";
		return NULL;
	}
	return (char *)*v + (size_t)ref * size;
}

static OTF2_CallbackCode definitions_stop(struct reading *r, const char *problem)
{
	r->problem = problem;
	return OTF2_CALLBACK_INTERRUPT;
}

#define AT(array, ref) \
	((typeof((array).v))definitions_at((void **)&(array).v, &(array).n, &(array).cap, sizeof(*(array).v), ref, r))

static OTF2_CallbackCode definitions_on_clock(void *data, uint64_t resolution, uint64_t begin, uint64_t length, uint64_t realtime)
{
	struct reading *r = data;

	r->trace->resolution = resolution ? resolution : 1000000000;
	r->trace->begin = begin;
	r->trace->length = length;
	r->trace->realtime_ns = realtime == OTF2_UNDEFINED_TIMESTAMP ? TRACE_UNKNOWN : realtime;
	return OTF2_CALLBACK_SUCCESS;
}

/* In blocks: there may be millions of names. */
const char *trace_copy_text(struct trace *trace, const char *text)
{
	size_t len = strlen(text) + 1, block = len > TEXT_BLOCK ? len : TEXT_BLOCK;

	if (len > trace->text_room) {
		char *memory = malloc(block), **slot = memory ? TRACE_ADD(trace->texts) : NULL;

		if (!slot) {
			free(memory);
			return NULL;
		}
		*slot = trace->text_end = memory;
		trace->text_room = block;
	}
	memcpy(trace->text_end, text, len);
	trace->text_end += len;
	trace->text_room -= len;
	return trace->text_end - len;
}

static OTF2_CallbackCode definitions_on_string(void *data, OTF2_StringRef ref, const char *text)
{
	struct reading *r = data;
	const char **slot = AT(r->trace->strings, ref);

	if (!slot)
		return OTF2_CALLBACK_INTERRUPT;
	*slot = trace_copy_text(r->trace, text);
	return *slot ? OTF2_CALLBACK_SUCCESS : definitions_stop(r, "out of memory");
}

static OTF2_CallbackCode definitions_on_io_paradigm(void *data, OTF2_IoParadigmRef ref, OTF2_StringRef identification,
						    OTF2_StringRef name, OTF2_IoParadigmClass class, OTF2_IoParadigmFlag flags,
						    uint8_t n, const OTF2_IoParadigmProperty *properties, const OTF2_Type *types,
						    const OTF2_AttributeValue *values)
{
	struct reading *r = data;
	struct trace_paradigm *p = AT(r->trace->paradigms, ref);

	if (!p)
		return OTF2_CALLBACK_INTERRUPT;
	(void)class, (void)flags;
	*p = (struct trace_paradigm){ trace_string(r->trace, name), NULL, layer_by_name(trace_string(r->trace, identification)) };
	for (uint8_t i = 0; i < n; i++)
		if (properties[i] == OTF2_IO_PARADIGM_PROPERTY_VERSION && types[i] == OTF2_TYPE_STRING)
			p->version = trace_string(r->trace, values[i].stringRef);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_tree_node(void *data, OTF2_SystemTreeNodeRef ref, OTF2_StringRef name, OTF2_StringRef class,
						  OTF2_SystemTreeNodeRef parent)
{
	struct reading *r = data;
	struct trace_node *node = AT(r->trace->nodes, ref);

	if (!node)
		return OTF2_CALLBACK_INTERRUPT;
	*node = (struct trace_node){ trace_string(r->trace, name), trace_string(r->trace, class), parent };
	return OTF2_CALLBACK_SUCCESS;
}

/* Score-P has no property for the rank, but names its processes by it. */
static int64_t rank_of_name(const char *name)
{
	int64_t rank;

	return name && sscanf(name, "MPI Rank %" SCNd64, &rank) == 1 ? rank : -1;
}

static OTF2_CallbackCode definitions_on_group(void *data, OTF2_LocationGroupRef ref, OTF2_StringRef name,
					      OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef parent,
					      OTF2_LocationGroupRef creator)
{
	struct reading *r = data;
	struct trace_group *g = AT(r->trace->groups, ref);

	if (!g)
		return OTF2_CALLBACK_INTERRUPT;
	(void)type, (void)creator;
	*g = (struct trace_group){
		trace_string(r->trace, name), parent, rank_of_name(trace_string(r->trace, name)), TRACE_UNKNOWN, TRACE_UNKNOWN, 0
	};
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_group_property(void *data, OTF2_LocationGroupRef group, OTF2_StringRef name, OTF2_Type type,
						       OTF2_AttributeValue value)
{
	struct reading *r = data;
	const char *text = trace_string(r->trace, name);
	struct trace_group *g = group < r->trace->groups.n ? &r->trace->groups.v[group] : NULL;

	if (!g || !text)
		return OTF2_CALLBACK_SUCCESS;
	if (!strcmp(text, OTF2_PROPERTY_RANK) && type == OTF2_TYPE_UINT32)
		g->rank = value.uint32;
	else if (!strcmp(text, "Begin") && type == OTF2_TYPE_UINT64)
		g->begin_ns = value.uint64;     /* ticks, until all definitions are read */
	else if (!strcmp(text, "End") && type == OTF2_TYPE_UINT64)
		g->end_ns = value.uint64;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_location(void *data, OTF2_LocationRef id, OTF2_StringRef name, OTF2_LocationType type,
						 uint64_t events, OTF2_LocationGroupRef group)
{
	struct reading *r = data;
	struct trace_location *l;

	if (type != OTF2_LOCATION_TYPE_CPU_THREAD)
		return OTF2_CALLBACK_SUCCESS;
	l = TRACE_ADD(r->trace->locations);
	if (!l)
		return definitions_stop(r, "out of memory");
	*l = (struct trace_location){ .id = id, .events = events, .name = trace_string(r->trace, name), .group = group };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_region(void *data, OTF2_RegionRef ref, OTF2_StringRef name, OTF2_StringRef canonical,
					       OTF2_StringRef description, OTF2_RegionRole role, OTF2_Paradigm paradigm,
					       OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin, uint32_t end)
{
	struct reading *r = data;
	struct trace_region *region = AT(r->trace->regions, ref);
	const char *function = trace_string(r->trace, canonical), *said = trace_string(r->trace, description);

	if (!region)
		return OTF2_CALLBACK_INTERRUPT;
	(void)flags, (void)file, (void)begin, (void)end;
	region->name = trace_string(r->trace, name) ? trace_string(r->trace, name) : "?";
	region->metadata = role == OTF2_REGION_ROLE_FILE_IO_METADATA;
	region->io = region->metadata || role == OTF2_REGION_ROLE_FILE_IO;
	region->layer = layer_by_name(said);
	if (region->layer == LAYER_NONE || region->layer == LAYER_OTHER)
		region->layer = layer_of_function(function ? function : region->name, region->io, paradigm == OTF2_PARADIGM_MPI);
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_members(void *data, OTF2_GroupRef ref, OTF2_StringRef name, OTF2_GroupType type,
						OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t n, const uint64_t *members)
{
	struct reading *r = data;
	struct trace_members *group = AT(r->trace->members, ref);

	if (!group)
		return OTF2_CALLBACK_INTERRUPT;
	(void)name, (void)paradigm, (void)flags, (void)members;
	*group = (struct trace_members){ type == OTF2_GROUP_TYPE_COMM_SELF ? 1 : n, type == OTF2_GROUP_TYPE_COMM_LOCATIONS };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_comm(void *data, OTF2_CommRef ref, OTF2_StringRef name, OTF2_GroupRef group,
					     OTF2_CommRef parent, OTF2_CommFlag flags)
{
	struct reading *r = data;
	struct trace_comm *comm = AT(r->trace->comms, ref);

	if (!comm)
		return OTF2_CALLBACK_INTERRUPT;
	(void)parent, (void)flags;
	*comm = (struct trace_comm){ trace_string(r->trace, name), group,
				     group < r->trace->members.n ? r->trace->members.v[group].n : TRACE_NONE };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_attribute(void *data, OTF2_AttributeRef ref, OTF2_StringRef name,
						  OTF2_StringRef description, OTF2_Type type)
{
	struct reading *r = data;
	struct trace_attribute *a = AT(r->trace->attributes, ref);

	if (!a)
		return OTF2_CALLBACK_INTERRUPT;
	(void)description;
	*a = (struct trace_attribute){ trace_string(r->trace, name), type };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_source(void *data, OTF2_SourceCodeLocationRef ref, OTF2_StringRef file, uint32_t line)
{
	struct reading *r = data;
	struct trace_site *site = AT(r->trace->sites, ref);

	if (!site)
		return OTF2_CALLBACK_INTERRUPT;
	*site = (struct trace_site){ trace_string(r->trace, file), NULL, line };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_context(void *data, OTF2_CallingContextRef ref, OTF2_RegionRef region,
						OTF2_SourceCodeLocationRef source, OTF2_CallingContextRef parent)
{
	struct reading *r = data;
	struct trace_context *context = AT(r->trace->contexts, ref);

	if (!context)
		return OTF2_CALLBACK_INTERRUPT;
	*context = (struct trace_context){ region, source, parent };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_add_file(struct reading *r, OTF2_IoFileRef ref, OTF2_StringRef name, uint32_t scope,
					      bool directory)
{
	struct trace_file *f = AT(r->trace->files, ref);

	if (!f)
		return OTF2_CALLBACK_INTERRUPT;
	f->name = trace_string(r->trace, name);
	f->scope = scope;
	f->directory = directory;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_file(void *data, OTF2_IoFileRef ref, OTF2_StringRef name, OTF2_SystemTreeNodeRef scope)
{
	return definitions_add_file(data, ref, name, scope, false);
}

static OTF2_CallbackCode definitions_on_directory(void *data, OTF2_IoFileRef ref, OTF2_StringRef name, OTF2_SystemTreeNodeRef scope)
{
	return definitions_add_file(data, ref, name, scope, true);
}

/* Lustre's stripe numbers are strings in archives of other recorders. */
static uint64_t definitions_number(struct reading *r, OTF2_Type type, OTF2_AttributeValue value)
{
	const char *text = type == OTF2_TYPE_STRING ? trace_string(r->trace, value.stringRef) : NULL;

	return type == OTF2_TYPE_UINT64   ? value.uint64
	       : type == OTF2_TYPE_UINT32 ? value.uint32
	       : text                     ? strtoull(text, NULL, 10)
					  : 0;
}

static OTF2_CallbackCode definitions_add_fact(struct reading *r, uint32_t file, const char *name, const char *value)
{
	struct trace_fact *fact = TRACE_ADD(r->trace->facts);

	if (!fact)
		return definitions_stop(r, "out of memory");
	*fact = (struct trace_fact){ file, name, value };
	return OTF2_CALLBACK_SUCCESS;
}

/* Sets one of a file's properties that it has in common with others: the file gets the mount that differs in it. Returns false
 * without memory. */
static bool definitions_set_mount(struct trace *trace, struct trace_file *file, const struct trace_mount *wanted)
{
	struct trace_mount **slot;

	for (size_t i = trace->mounts.n; i-- > 0 && i + KNOWN_MOUNTS >= trace->mounts.n;)
		if (!memcmp(trace->mounts.v[i], wanted, sizeof(*wanted))) {
			file->mount = trace->mounts.v[i];
			return true;
		}
	slot = TRACE_ADD(trace->mounts);
	if (!slot || !(*slot = malloc(sizeof(*wanted)))) {
		trace->mounts.n -= !!slot;
		return false;
	}
	**slot = *wanted;
	file->mount = *slot;
	return true;
}

static OTF2_CallbackCode definitions_on_file_property(void *data, OTF2_IoFileRef file, OTF2_StringRef name, OTF2_Type type,
						      OTF2_AttributeValue value)
{
	struct reading *r = data;
	const char *key = trace_string(r->trace, name),
		   *text = type == OTF2_TYPE_STRING ? trace_string(r->trace, value.stringRef) : NULL;
	struct trace_file *f = file < r->trace->files.n ? &r->trace->files.v[file] : NULL;

	struct trace_mount mount;

	if (!f || !key)
		return OTF2_CALLBACK_SUCCESS;
	mount = *trace_mount_of(f);
	if (!strcmp(key, "Mount Point"))
		mount.point = text;
	else if (!strcmp(key, "Mount Source"))
		mount.source = text;
	else if (!strcmp(key, "File system"))
		mount.fs_type = text;
	else if (!strcmp(key, "Stripe Size"))
		mount.stripe_bytes = definitions_number(r, type, value);
	else if (!strcmp(key, "Stripe Count"))
		mount.stripe_count = definitions_number(r, type, value);
	else if (!strcmp(key, "Block Size"))
		mount.block_bytes = definitions_number(r, type, value);
	else
		return text && strstr(key, ": ") ? definitions_add_fact(r, file, key, text) : OTF2_CALLBACK_SUCCESS;
	return definitions_set_mount(r->trace, f, &mount) ? OTF2_CALLBACK_SUCCESS : definitions_stop(r, "out of memory");
}

static OTF2_CallbackCode definitions_on_handle(void *data, OTF2_IoHandleRef ref, OTF2_StringRef name, OTF2_IoFileRef file,
					       OTF2_IoParadigmRef paradigm, OTF2_IoHandleFlag flags, OTF2_CommRef comm,
					       OTF2_IoHandleRef parent)
{
	struct reading *r = data;
	struct trace_handle *h = AT(r->trace->handles, ref);

	if (!h)
		return OTF2_CALLBACK_INTERRUPT;
	(void)flags;
	*h = (struct trace_handle){ trace_string(r->trace, name), file, paradigm, comm, parent };
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_GlobalDefReaderCallbacks *definitions_callbacks_new(void)
{
	OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();

	if (!c)
		return NULL;
#define SET(type, function) OTF2_GlobalDefReaderCallbacks_Set##type##Callback(c, function)
	SET(ClockProperties, definitions_on_clock);
	SET(String, definitions_on_string);
	SET(IoParadigm, definitions_on_io_paradigm);
	SET(SystemTreeNode, definitions_on_tree_node);
	SET(LocationGroup, definitions_on_group);
	SET(LocationGroupProperty, definitions_on_group_property);
	SET(Location, definitions_on_location);
	SET(Region, definitions_on_region);
	SET(Group, definitions_on_members);
	SET(Comm, definitions_on_comm);
	SET(Attribute, definitions_on_attribute);
	SET(SourceCodeLocation, definitions_on_source);
	SET(CallingContext, definitions_on_context);
	SET(IoRegularFile, definitions_on_file);
	SET(IoDirectory, definitions_on_directory);
	SET(IoFileProperty, definitions_on_file_property);
	SET(IoHandle, definitions_on_handle);
#undef SET
	return c;
}

static int definitions_read_definitions(struct reading *r, OTF2_Reader *reader, char *err, size_t err_len)
{
	OTF2_GlobalDefReaderCallbacks *callbacks = definitions_callbacks_new();
	OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
	OTF2_ErrorCode code = OTF2_ERROR_INTEGRITY_FAULT;
	uint64_t n;

	if (callbacks && definitions)
		code = OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, r);
	if (code == OTF2_SUCCESS)
		code = OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &n);
	if (callbacks)
		OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
	if (!r->problem && code == OTF2_SUCCESS)
		return 0;
	snprintf(err, err_len, "%s: cannot read its definitions: %s", r->trace->dir,
		 r->problem ? r->problem : otf2_library_message(code));
	return r->problem ? -EBADMSG : otf2_library_errno(code);
}

/* A process may have begun before the first event, which is time 0: its wall time is of the ticks. */
static void convert_times(struct trace *trace)
{
	for (size_t i = 0; i < trace->groups.n; i++) {
		struct trace_group *g = &trace->groups.v[i];

		if (g->begin_ns != TRACE_UNKNOWN && g->end_ns != TRACE_UNKNOWN && g->end_ns > g->begin_ns)
			g->wall_ns = trace_ns(trace, trace->begin + (g->end_ns - g->begin_ns));
		g->begin_ns = g->begin_ns == TRACE_UNKNOWN ? TRACE_UNKNOWN : trace_ns(trace, g->begin_ns);
		g->end_ns = g->end_ns == TRACE_UNKNOWN ? TRACE_UNKNOWN : trace_ns(trace, g->end_ns);
	}
}

int trace_open(struct trace *trace, const char *dir, const char *anchor, char *err, size_t err_len)
{
	struct reading r = { trace, NULL, definitions_definition_bytes(anchor) };
	OTF2_Reader *reader;
	int ret;

	memset(trace, 0, sizeof(*trace));
	snprintf(trace->dir, sizeof(trace->dir), "%s", dir);
	trace->anchor = anchor;
	trace->resolution = 1000000000;
	trace->realtime_ns = TRACE_UNKNOWN;
	otf2_library_watch();
	reader = OTF2_Reader_Open(anchor);
	if (!reader) {
		snprintf(err, err_len, "%s: cannot open it as an OTF2 archive: %s", dir,
			 otf2_library_message(OTF2_ERROR_INTEGRITY_FAULT));
		return -EBADMSG;
	}
	OTF2_Reader_SetSerialCollectiveCallbacks(reader);
	ret = definitions_read_definitions(&r, reader, err, err_len);
	convert_times(trace);
	trace_facts_sort(trace);
	if (!ret && (ret = trace_properties_read(trace, reader)))
		snprintf(err, err_len, "%s: cannot read its properties: %s", dir, strerror(-ret));
	OTF2_Reader_Close(reader);
	return ret;
}

void trace_close(struct trace *trace)
{
	for (size_t i = 0; i < trace->texts.n; i++)
		free(trace->texts.v[i]);
	for (size_t i = 0; i < trace->mounts.n; i++)
		free(trace->mounts.v[i]);
	free(trace->texts.v);
	free(trace->mounts.v);
	free(trace->strings.v);
	free(trace->regions.v);
	free(trace->paradigms.v);
	free(trace->files.v);
	free(trace->handles.v);
	free(trace->facts.v);
	free(trace->groups.v);
	free(trace->locations.v);
	free(trace->nodes.v);
	free(trace->comms.v);
	free(trace->members.v);
	free(trace->attributes.v);
	free(trace->sites.v);
	free(trace->contexts.v);
	free(trace->notes.v);
	memset(trace, 0, sizeof(*trace));
}
