/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes the definitions of an archive when the replay is done: one walk over the model that runs twice, first to write every
 * string that other definitions refer to, then to write those.
 */
#include "sink/otf2/otf2_definitions.h"
#include "table/known_layers.h"
#include "util/utf8.h"
#include "util/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct string_entry {
	UT_hash_handle hh;
	uint32_t ref;
	char text[];
};

/* ---- strings ---- */

static OTF2_StringRef string_ref(struct definitions *d, const char *text);

/* A path may contain any bytes; readers reject an archive with a string that they cannot decode. */
static OTF2_StringRef escaped_string_ref(struct definitions *d, const char *text)
{
	char *escaped = utf8_printable(text);
	OTF2_StringRef ref = OTF2_UNDEFINED_STRING;

	if (escaped)
		ref = string_ref(d, escaped);
	else if (d->code == OTF2_SUCCESS)
		d->code = OTF2_ERROR_ENOMEM;
	free(escaped);
	return ref;
}

static OTF2_StringRef string_ref(struct definitions *d, const char *text)
{
	size_t len = strlen(text);
	struct string_entry *entry;

	if (!utf8_valid(text))
		return escaped_string_ref(d, text);
	HASH_FIND(hh, d->strings, text, len, entry);
	if (entry)
		return entry->ref;
	entry = d->strings_only && d->code == OTF2_SUCCESS ? malloc(sizeof(*entry) + len + 1) : NULL;
	if (!entry) {
		if (d->code == OTF2_SUCCESS)
			d->code = d->strings_only ? OTF2_ERROR_ENOMEM : OTF2_ERROR_INTEGRITY_FAULT;
		return OTF2_UNDEFINED_STRING;
	}
	memcpy(entry->text, text, len + 1);
	entry->ref = d->nstrings++;
	memset(&entry->hh, 0, sizeof(entry->hh));
	HASH_ADD(hh, d->strings, text, len, entry);
	if (!entry->hh.tbl) {
		free(entry);
		d->code = OTF2_ERROR_ENOMEM;
		return OTF2_UNDEFINED_STRING;
	}
	d->code = otf2_library_checked(OTF2_GlobalDefWriter_WriteString(d->writer, entry->ref, entry->text));
	return entry->ref;
}

OTF2_StringRef otf2_string_ref(struct definitions *d, const char *text)
{
	return string_ref(d, text);
}

static void strings_free(struct definitions *d)
{
	struct string_entry *entry, *next;

	HASH_ITER(hh, d->strings, entry, next) {
		HASH_DEL(d->strings, entry);
		free(entry);
	}
}

/* Events refer to names of variables and to paths by index, long before this: they are the first strings. Names that differ in
 * bytes which readers cannot decode may look the same. */
static void define_names(struct definitions *d)
{
	for (size_t i = 0; i < d->model->names.n && d->code == OTF2_SUCCESS; i++) {
		char *name = utf8_printable(d->model->names.v[i]);

		d->code = name ? otf2_library_checked(OTF2_GlobalDefWriter_WriteString(d->writer, d->nstrings++, name)) :
				 OTF2_ERROR_ENOMEM;
		free(name);
	}
}

OTF2_AttributeValue otf2_string_value(struct definitions *d, const char *text)
{
	return (OTF2_AttributeValue){ .stringRef = string_ref(d, text) };
}

/* ---- selection of groups and locations ---- */

/* Finds the location that represents each process: its main thread's, else its first; REF_NONE if it has none. In one pass for all
 * groups: a trace may have as many as the job has processes. */
static uint32_t *master_locations(const struct model *model)
{
	uint32_t *masters = malloc((model->groups.n + 1) * sizeof(*masters));

	if (!masters)
		return NULL;
	for (size_t g = 0; g < model->groups.n; g++)
		masters[g] = REF_NONE;
	for (uint32_t i = 0; i < model->locations.n; i++) {
		const struct model_location *l = &model->locations.v[i];

		if (l->group < model->groups.n && (masters[l->group] == REF_NONE || l->tid == model->groups.v[l->group].tgid))
			masters[l->group] = i;
	}
	return masters;
}

/* Readers reject an archive without locations: if there were no events, all are kept. */
static int keep_any(struct otf2_sink *s, const struct model *model)
{
	int error = 0;

	for (size_t i = 0; i < s->nlocations; i++)
		if (s->locations[i].kept)
			return 0;
	for (size_t i = 0; i < model->locations.n && !error; i++)
		error = otf2_location_open(s, model, i);
	return error;
}

int otf2_keep_members(struct otf2_sink *s, const struct model *model)
{
	uint32_t *masters = master_locations(model);
	int error = masters ? 0 : otf2_fail(s, -ENOMEM, "%s: out of memory", s->dir);

	for (size_t c = 0; c < model->comms.n && !error; c++) {
		const struct model_comm *comm = &model->comms.v[c];

		for (size_t m = 0; m < comm->nmembers && !error; m++) {
			uint32_t group = comm->members[m];

			if (group >= model->groups.n || masters[group] == REF_NONE || model->groups.v[group].rank < 0)
				error = otf2_fail(s, -EINVAL, "%s: member %zu of communicator %s is not a rank with a location",
						  s->dir, m, comm->name);
			else
				error = otf2_location_open(s, model, masters[group]);
		}
	}
	free(masters);
	return error ? error : keep_any(s, model);
}

struct rank_of { int64_t rank; uint32_t job, group; };

static int otf2_defs_by_rank(const void *a, const void *b)
{
	const struct rank_of *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

/* Numbers the groups that are kept, and the ranks among them by job and rank: the index equals the rank if there is one job and all
 * its ranks were observed. */
static int number_groups(struct definitions *d)
{
	const struct model *m = d->model;
	struct rank_of *ranks = calloc(m->groups.n + 1, sizeof(*ranks));
	uint32_t *masters = master_locations(m);
	uint32_t nkept = 0, nranks = 0;
	int error = ranks && masters ? 0 : -ENOMEM;

	for (size_t g = 0; g < m->groups.n && !error; g++)
		d->group_refs[g] = d->comm_index[g] = REF_NONE;
	for (size_t l = 0; l < m->locations.n && !error; l++)
		if (otf2_location_kept(d, l))
			d->group_refs[m->locations.v[l].group] = 0;
	for (uint32_t g = 0; g < m->groups.n && !error; g++) {
		if (d->group_refs[g] == REF_NONE)
			continue;
		d->group_refs[g] = nkept++;
		if (m->groups.v[g].rank >= 0)
			ranks[nranks++] = (struct rank_of){ m->groups.v[g].rank, m->groups.v[g].job, g };
	}
	if (!error)
		qsort(ranks, nranks, sizeof(*ranks), otf2_defs_by_rank);
	for (uint32_t r = 0; r < nranks; r++) {
		uint32_t master = masters[ranks[r].group];

		/* a location that is not kept has no definition: another one of the group is used */
		for (uint32_t l = 0; !otf2_location_kept(d, master) && l < m->locations.n; l++)
			if (m->locations.v[l].group == ranks[r].group && otf2_location_kept(d, l))
				master = l;
		d->comm_index[ranks[r].group] = r;
		d->comm_locations[r] = m->locations.v[master].id;
	}
	d->ncomm_locations = nranks;
	free(masters);
	free(ranks);
	return error;
}

/* ---- definitions, in the order of the contract ---- */

static bool uses_mpi(const struct definitions *d)
{
	for (uint32_t i = 0; i < d->sink->nregions; i++)
		if (known_layer_is_mpi(d->model->regions.v[d->sink->regions[i]].paradigm))
			return true;
	return d->ncomm_locations || d->model->comms.n;
}

static void otf2_defs_define_paradigms(struct definitions *d)
{
	if (uses_mpi(d)) {
		OTF2_StringRef mpi = string_ref(d, "MPI");

		DEFINE(d, Paradigm, OTF2_PARADIGM_MPI, mpi, OTF2_PARADIGM_CLASS_PROCESS);
	}
	for (uint32_t i = 0; i < d->model->paradigms.n; i++) {
		const struct model_paradigm *p = &d->model->paradigms.v[i];
		OTF2_IoParadigmProperty property = OTF2_IO_PARADIGM_PROPERTY_VERSION;
		OTF2_Type type = OTF2_TYPE_STRING;
		OTF2_AttributeValue version = { 0 };
		OTF2_StringRef identification = string_ref(d, p->identification);
		OTF2_StringRef name = string_ref(d, p->name ? p->name : p->identification);

		if (p->version)
			version = otf2_string_value(d, p->version);
		DEFINE(d, IoParadigm, i, identification, name,
		       p->parallel ? OTF2_IO_PARADIGM_CLASS_PARALLEL : OTF2_IO_PARADIGM_CLASS_SERIAL,
		       p->os ? OTF2_IO_PARADIGM_FLAG_OS : OTF2_IO_PARADIGM_FLAG_NONE, p->version ? 1 : 0, &property, &type,
		       &version);
	}
}

static void otf2_defs_define_system_tree(struct definitions *d)
{
	const char *host = d->model->host_name ? d->model->host_name : "unknown host";
	OTF2_StringRef machine = string_ref(d, d->model->machine_name ? d->model->machine_name : host);
	OTF2_StringRef node = string_ref(d, host);
	OTF2_StringRef machine_class = string_ref(d, "machine"), node_class = string_ref(d, "node");

	DEFINE(d, SystemTreeNode, OTF2_NODE_MACHINE, machine, machine_class, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
	DEFINE(d, SystemTreeNodeDomain, OTF2_NODE_MACHINE, OTF2_SYSTEM_TREE_DOMAIN_MACHINE);
	DEFINE(d, SystemTreeNode, OTF2_NODE_HOST, node, node_class, OTF2_NODE_MACHINE);
	DEFINE(d, SystemTreeNodeDomain, OTF2_NODE_HOST, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
}

static void otf2_defs_define_regions(struct definitions *d)
{
	OTF2_StringRef empty = string_ref(d, "");

	for (uint32_t i = 0; i < d->sink->nregions; i++) {
		const struct model_region *r = &d->model->regions.v[d->sink->regions[i]];
		OTF2_StringRef name = string_ref(d, r->name), layer = string_ref(d, r->paradigm);
		OTF2_RegionRole role = !r->io ? OTF2_REGION_ROLE_FUNCTION :
				       r->metadata ? OTF2_REGION_ROLE_FILE_IO_METADATA : OTF2_REGION_ROLE_FILE_IO;
		/* The enumeration lists models of parallelism, other I/O layers belong to none: the description names the layer. */
		OTF2_Paradigm paradigm = known_layer_is_mpi(r->paradigm) ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_NONE;

		DEFINE(d, Region, i, name, name, layer, role, paradigm, OTF2_REGION_FLAG_NONE, empty, 0, 0);
	}
}

static void define_comm(struct definitions *d, uint32_t ref, uint32_t group)
{
	const struct model_comm *c = &d->model->comms.v[ref];
	OTF2_StringRef name = string_ref(d, c->name ? c->name : "");
	bool self = c->kind == COMM_KIND_SELF;

	for (size_t i = 0; i < c->nmembers && !self; i++)
		d->members[i] = d->comm_index[c->members[i]];
	DEFINE(d, Group, group, name, self ? OTF2_GROUP_TYPE_COMM_SELF : OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
	       OTF2_GROUP_FLAG_NONE, self ? 0 : c->nmembers, d->members);
}

/* Group 0 holds the ranks' locations, group 1 + i the members of communicator i. */
static void otf2_defs_define_comms(struct definitions *d)
{
	OTF2_StringRef empty = string_ref(d, "");

	if (!d->ncomm_locations && !d->model->comms.n)
		return;
	DEFINE(d, Group, 0, empty, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, d->ncomm_locations,
	       d->comm_locations);
	for (uint32_t i = 0; i < d->model->comms.n; i++)
		define_comm(d, i, 1 + i);
	for (uint32_t i = 0; i < d->model->comms.n; i++) {
		const char *text = d->model->comms.v[i].name;
		OTF2_StringRef name = string_ref(d, text ? text : "");

		DEFINE(d, Comm, i, name, 1 + i, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
	}
}

/* Number of attributes that are defined before ATTRIBUTE_UNALIGNED. */
static uint32_t attributes_before(const struct model *model)
{
	return model->cpu_time ? ATTRIBUTE_CPU_END : model->call_sites ? ATTRIBUTE_SITES_END : ATTRIBUTE_ALWAYS;
}

uint32_t otf2_attribute_ref(const struct model *model, enum otf2_attribute attribute)
{
	return attribute == ATTRIBUTE_UNALIGNED ? attributes_before(model) : attribute;
}

static bool has_attribute(const struct model *model, enum otf2_attribute attribute)
{
	return attribute == ATTRIBUTE_UNALIGNED ? model->buffer_alignment : attribute < attributes_before(model);
}

static void otf2_defs_define_attributes(struct definitions *d)
{
	static const struct { const char *name, *description; OTF2_Type type;
	} attributes[ATTRIBUTE_COUNT] = {
		[ATTRIBUTE_OFFSET] = { "Offset", "File offset in bytes at which the operation begins", OTF2_TYPE_UINT64 },
		[ATTRIBUTE_ERRNO] = { "errno", "Error code of a failed call: errno or the library's error code", OTF2_TYPE_INT32 },
		[ATTRIBUTE_FAILED] = { "Failed", "1: the call failed and gave no error code", OTF2_TYPE_UINT8 },
		[ATTRIBUTE_ABANDONED] = { "Abandoned", "1: the call was left without a return, the time is when that was noticed",
					  OTF2_TYPE_UINT8 },
		[ATTRIBUTE_MAPPED_HANDLE] = { "Mapped handle", "Handle whose file the call mapped to memory", OTF2_TYPE_IO_HANDLE },
		[ATTRIBUTE_MAPPED_BYTES] = { "Mapped bytes", "Length of the mapping", OTF2_TYPE_UINT64 },
		[ATTRIBUTE_MAPPED_OFFSET] = { "Mapped offset", "File offset of the mapping in bytes", OTF2_TYPE_UINT64 },
		[ATTRIBUTE_DEVICE] = { "Device read", "Bytes that the system call asked of block devices, read-ahead included",
				       OTF2_TYPE_UINT64 },
		[ATTRIBUTE_WAIT] = { "I/O wait", "Nanoseconds that the system call slept for I/O", OTF2_TYPE_UINT64 },
		[ATTRIBUTE_VARIABLE] = { "Variable", "Name of the variable that the operation is on", OTF2_TYPE_STRING },
		[ATTRIBUTE_LOCK_OFFSET] = { "Lock Offset", "First byte of the locked range", OTF2_TYPE_UINT64 },
		[ATTRIBUTE_LOCK_LENGTH] = { "Lock Length", "Length of the locked range in bytes, 0: to the end of the file",
					    OTF2_TYPE_UINT64 },
		[ATTRIBUTE_PATH] = { "Path", "Path argument of the call, unchanged", OTF2_TYPE_STRING },
		[ATTRIBUTE_DIRECTORY] = { "Directory", "Directory that the path is relative to", OTF2_TYPE_STRING },
		[ATTRIBUTE_NEW_PATH] = { "New Path", "Second path argument of the call", OTF2_TYPE_STRING },
		[ATTRIBUTE_NEW_DIRECTORY] = { "New Directory", "Directory that the second path is relative to", OTF2_TYPE_STRING },
		[ATTRIBUTE_REQUEST] = { "Request", "Matching id of the non-blocking operation that this one carries out",
			OTF2_TYPE_UINT64 },
		[ATTRIBUTE_SOURCE_CODE_LOCATION] = { "SOURCE_CODE_LOCATION", "Line of the application that the call comes from",
						     OTF2_TYPE_SOURCE_CODE_LOCATION },
		[ATTRIBUTE_CALLING_CONTEXT] = { "CALLING_CONTEXT", "Chain of functions that led to the "
			"call", OTF2_TYPE_CALLING_CONTEXT },
		[ATTRIBUTE_CPU_TIME] = { "CPU time", "Nanoseconds on a CPU in this outermost call", OTF2_TYPE_UINT64 },
		[ATTRIBUTE_SLEEP] = { "Sleep", "Nanoseconds asleep in this outermost call", OTF2_TYPE_UINT64 },
		[ATTRIBUTE_SLEEP_IO] = { "Sleep for I/O", "Of the sleep, nanoseconds for I/O", OTF2_TYPE_UINT64 },
		[ATTRIBUTE_DELAY] = { "Run delay", "Nanoseconds ready to run and waiting for a CPU in this outermost call",
			OTF2_TYPE_UINT64 },
		[ATTRIBUTE_USER] = { "User time", "Of the CPU time, nanoseconds in user mode, counted in clock ticks",
			OTF2_TYPE_UINT64 },
		[ATTRIBUTE_SYSTEM] = { "System time", "Of the CPU time, nanoseconds in the kernel, counted in clock ticks",
			OTF2_TYPE_UINT64 },
		[ATTRIBUTE_BEFORE] = { "Sleep before", "Nanoseconds asleep since the previous outermost call", OTF2_TYPE_UINT64 },
		[ATTRIBUTE_BEFORE_DELAY] = { "Run delay before", "Nanoseconds waiting for a CPU since the previous outermost call",
					     OTF2_TYPE_UINT64 },
		[ATTRIBUTE_UNALIGNED] = { "Unaligned buffer", "1: the buffer's address is no multiple of 8 bytes",
			OTF2_TYPE_UINT8 },
	};

	for (uint32_t i = 0; i < ATTRIBUTE_COUNT; i++) {
		if (!has_attribute(d->model, i))
			continue;
		OTF2_StringRef name = string_ref(d, attributes[i].name), description = string_ref(d, attributes[i].description);

		DEFINE(d, Attribute, otf2_attribute_ref(d->model, i), name, description, attributes[i].type);
	}
}

static void otf2_defs_define_file_property(struct definitions *d, uint32_t file, const char *name, const char *value)
{
	if (value) {
		OTF2_StringRef key = string_ref(d, name);
		OTF2_AttributeValue text = otf2_string_value(d, value);

		DEFINE(d, IoFileProperty, file, key, OTF2_TYPE_STRING, text);
	}
}

static void otf2_defs_define_file_number(struct definitions *d, uint32_t file, const char *name, uint64_t value)
{
	OTF2_StringRef key = string_ref(d, name);
	OTF2_AttributeValue number = { .uint64 = value };

	DEFINE(d, IoFileProperty, file, key, OTF2_TYPE_UINT64, number);
}

/* "HDF5 temperature: Chunk Shape", or "MPI-IO: Hint cb_nodes" of the file itself; several values are separated by " | ". */
static void define_fact(struct definitions *d, const struct model_fact *fact)
{
	const char *layer = d->model->paradigms.v[fact->paradigm].identification;
	char *name, *value;

	if (asprintf(&name, "%s%s%s: %s", layer, fact->object[0] ? " " : "", fact->object, fact->name) < 0)
		name = NULL;
	value = model_fact_text(fact);
	if (name && value)
		otf2_defs_define_file_property(d, fact->file, name, value);
	else if (d->code == OTF2_SUCCESS)
		d->code = OTF2_ERROR_ENOMEM;
	free(name);
	free(value);
}

static void otf2_defs_define_stripes(struct definitions *d, uint32_t file, const struct model_stripes *s)
{
	if (s->bytes)
		otf2_defs_define_file_number(d, file, "Stripe Size", s->bytes);
	if (s->count)
		otf2_defs_define_file_number(d, file, "Stripe Count", s->count);
	otf2_defs_define_file_property(d, file, "Stripe Devices", s->devices);
	otf2_defs_define_file_property(d, file, "Stripe Pool", s->pool);
	otf2_defs_define_file_property(d, file, "Stripe Components", s->components);
}

static void otf2_defs_define_files(struct definitions *d)
{
	size_t fact = 0;

	for (uint32_t i = 0; i < d->model->files.n; i++) {
		const struct model_file *f = &d->model->files.v[i];
		OTF2_StringRef name = string_ref(d, f->path);
		OTF2_SystemTreeNodeRef scope = f->scope == SCOPE_SHARED ? OTF2_NODE_MACHINE : f->scope == SCOPE_NODE ?
			OTF2_NODE_HOST :
					       OTF2_UNDEFINED_SYSTEM_TREE_NODE;

		if (f->directory)
			DEFINE(d, IoDirectory, i, name, scope);
		else
			DEFINE(d, IoRegularFile, i, name, scope);
		otf2_defs_define_file_property(d, i, "Mount Point", f->mount_point);
		otf2_defs_define_file_property(d, i, "Mount Source", f->mount_source);
		otf2_defs_define_file_property(d, i, "File system", f->fs_type);
		if (f->block_bytes)
			otf2_defs_define_file_number(d, i, "Block Size", f->block_bytes);
		otf2_defs_define_stripes(d, i, &f->stripes);
		if (f->inodes > 1)
			otf2_defs_define_file_number(d, i, "Inodes", f->inodes);
		for (; fact < d->model->facts.n && d->model->facts.v[fact].file == i; fact++)
			define_fact(d, &d->model->facts.v[fact]);
		if (!f->mapped)
			continue;
		otf2_defs_define_file_number(d, i, "Mapped Read Faults", f->read_faults);
		otf2_defs_define_file_number(d, i, "Mapped Write Faults", f->write_faults);
		otf2_defs_define_file_number(d, i, "Mapped Pages Written Back", f->pages_written_back);
	}
}

static void otf2_defs_define_handles(struct definitions *d)
{
	for (uint32_t i = 0; i < d->model->handles.n; i++) {
		const struct model_handle *h = &d->model->handles.v[i];
		OTF2_StringRef name = string_ref(d, h->name ? h->name : "");

		DEFINE(d, IoHandle, i, name, h->file == REF_NONE ? OTF2_UNDEFINED_IO_FILE : h->file, h->paradigm,
		       h->precreated ? OTF2_IO_HANDLE_FLAG_PRE_CREATED : OTF2_IO_HANDLE_FLAG_NONE,
		       h->comm == REF_NONE ? OTF2_UNDEFINED_COMM : h->comm,
		       h->parent == REF_NONE ? OTF2_UNDEFINED_IO_HANDLE : h->parent);
		if (h->precreated)
			DEFINE(d, IoPreCreatedHandleState, i, h->pre_mode, h->pre_status_flags);
	}
}

static void otf2_defs_define_all(struct definitions *d)
{
	otf2_defs_define_paradigms(d);
	otf2_defs_define_system_tree(d);
	otf2_define_locations(d);
	otf2_defs_define_regions(d);
	otf2_define_contexts(d);
	otf2_defs_define_comms(d);
	otf2_defs_define_attributes(d);
	otf2_defs_define_files(d);
	otf2_defs_define_handles(d);
}

/* The clock range must include every event. If the model's range is smaller it is extended, and the wall clock time is adjusted. */
static void define_clock(struct definitions *d)
{
	const struct model *m = d->model;
	uint64_t begin = m->clock_begin_ns, end = m->clock_end_ns, realtime = m->realtime_at_begin_ns;

	if (d->sink->first_ns < begin) {
		realtime = realtime > begin - d->sink->first_ns ? realtime - (begin - d->sink->first_ns) : 0;
		begin = d->sink->first_ns;
	}
	if (d->sink->last_ns > end)
		end = d->sink->last_ns;
	if (d->code == OTF2_SUCCESS)
		d->code = OTF2_GlobalDefWriter_WriteClockProperties(d->writer, 1000000000, begin, end > begin ? end - begin : 0,
								    realtime ? realtime : OTF2_UNDEFINED_TIMESTAMP);
}

/* Arrays indexed by elements of the model; allocated once, freed by the caller. */
static int definitions_init(struct definitions *d)
{
	size_t n = d->model->groups.n + 1;

	for (size_t i = 0; i < d->model->comms.n; i++)
		if (d->model->comms.v[i].nmembers > n)
			n = d->model->comms.v[i].nmembers;
	d->group_refs = calloc(n, sizeof(*d->group_refs));
	d->comm_index = calloc(n, sizeof(*d->comm_index));
	d->members = calloc(n, sizeof(*d->members));
	d->comm_locations = calloc(n, sizeof(*d->comm_locations));
	if (!d->group_refs || !d->comm_index || !d->members || !d->comm_locations)
		return -ENOMEM;
	return number_groups(d);
}

static void definitions_deinit(struct definitions *d)
{
	strings_free(d);
	free(d->group_refs);
	free(d->comm_index);
	free(d->members);
	free(d->comm_locations);
}

int otf2_definitions_write(struct otf2_sink *s, const struct model *model)
{
	struct definitions d = { .sink = s, .model = model };
	int error;

	d.writer = OTF2_Archive_GetGlobalDefWriter(s->archive);
	if (!d.writer)
		return otf2_fail_library(s, OTF2_ERROR_INTEGRITY_FAULT, "write the definitions");
	error = definitions_init(&d);
	if (!error) {
		define_clock(&d);
		define_names(&d);
		d.strings_only = true;
		otf2_defs_define_all(&d);
		d.strings_only = false;
		otf2_defs_define_all(&d);
	}
	if (d.code == OTF2_SUCCESS)
		d.code = otf2_library_checked(OTF2_Archive_CloseGlobalDefWriter(s->archive, d.writer));
	definitions_deinit(&d);
	if (error)
		return otf2_fail(s, error, "%s: out of memory for the definitions", s->dir);
	return d.code == OTF2_SUCCESS ? 0 : otf2_fail_library(s, d.code, "write the definitions");
}
