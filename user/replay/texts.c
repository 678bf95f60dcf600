/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The agent's text records: host, tables, processes, mounts, libraries, and notes on what was not observed.
 */
#include "replay/texts.h"
#include "replay/events.h"
#include "replay/excluded_calls.h"
#include "replay/file_stripes.h"
#include "replay/files.h"
#include "replay/library/streams.h"
#include "replay/mappings.h"
#include "replay/mpi/comms.h"
#include "replay/mpi/ranks.h"
#include "replay/notes.h"
#include "replay/registry.h"
#include "replay/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_ROOM 8192

/* Returns a value as a string of the model; NULL if it is absent or empty. */
static const char *value_string(struct replay *r, const struct iop_rec_text *rec, const char *key)
{
	char value[VALUE_ROOM];

	if (!text_value(rec, key, value, sizeof(value)) || !value[0])
		return NULL;
	return model_string(r->model, value, strlen(value));
}

/* ---- host and tables ---- */

static uint64_t texts_hash32(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 1099511628211ull;   /* FNV-1a */
	return hash;
}

static void read_clock(const struct iop_rec_text *rec, struct model_clock *clock)
{
	uint64_t synchronized;

	clock->read = text_number(rec, "monotonic_ns", &clock->monotonic_ns) &&
		      text_number(rec, "realtime_ns", &clock->realtime_ns);
	clock->width_ns = text_number_or_zero(rec, "clock_width_ns");
	clock->known = text_number(rec, "clock_synchronized", &synchronized);
	clock->synchronized = clock->known && synchronized;
	clock->error_ns = text_number_or_zero(rec, "clock_error_ns");
	clock->max_error_ns = text_number_or_zero(rec, "clock_max_error_ns");
}

/* The steps are in the model before any later event. */
static int clock_step(struct replay *r, const struct iop_rec_text *rec)
{
	struct model *model = r->model;
	struct model_clock_step step = { .since_ns = text_number_or_zero(rec, "since_ns") }, *added;

	read_clock(rec, &step.at);
	if (!step.at.read || !model->clock_start.read)
		return 0;
	step.step_ns = (int64_t)(step.at.realtime_ns - model_realtime_ns(model, step.at.monotonic_ns));
	added = MODEL_ADD(model->clock_steps);
	if (!added)
		return -ENOMEM;
	*added = step;
	return 0;
}

static int read_shared_mounts(struct replay *r, const struct iop_rec_text *rec)
{
	char key[32];

	for (unsigned i = 0;; i++) {
		const char *path, **slot;

		snprintf(key, sizeof(key), "shared_mount_%u", i);
		path = value_string(r, rec, key);
		if (!path)
			return 0;
		slot = MODEL_ADD(r->model->shared_mounts);
		if (!slot)
			return -ENOMEM;
		*slot = path;
	}
}

static int texts_host(struct replay *r, const struct iop_rec_text *rec)
{
	struct model *model = r->model;
	uint64_t hash = 14695981039346656037ull;

	model->host_name = value_string(r, rec, "host");
	model->machine_name = value_string(r, rec, "machine");
	model->version = value_string(r, rec, "version");
	model->kernel = value_string(r, rec, "kernel");
	model->command_line = value_string(r, rec, "command");
	read_clock(rec, &model->clock_start);
	model->cpu_time = text_number_or_zero(rec, "cpu_time");
	model->buffer_alignment = text_number_or_zero(rec, "buffer_alignment");
	model->end.max_bytes = text_number_or_zero(rec, "max_size");
	model->end.min_free_bytes = text_number_or_zero(rec, "min_free");
	if (model->host_name)
		hash = texts_hash32(hash, model->host_name, strlen(model->host_name));
	hash = texts_hash32(hash, &model->clock_start.realtime_ns, sizeof(model->clock_start.realtime_ns));
	hash = texts_hash32(hash, &model->clock_start.monotonic_ns, sizeof(model->clock_start.monotonic_ns));
	/* never all ones, which OTF2 reserves for "undefined" */
	model->recording_tag = (hash >> 32 ^ hash) & 0x7fffffff;
	r->location_base = (uint64_t)model->recording_tag << 32;
	return read_shared_mounts(r, rec);
}

static int texts_table(struct replay *r, const struct iop_rec_text *rec)
{
	char name[256] = "table", *text;
	size_t len;
	const char *raw = text_raw(rec, &len);
	int ret;

	text_value(rec, "name", name, sizeof(name));
	if (!raw)
		return replay_fail(r, -EINVAL, "the table record '%s' of the recording has no text", name);
	text = strndup(raw, len);
	if (!text)
		return -ENOMEM;
	ret = rows_read(r, name, text);
	free(text);
	return ret;
}

/* ---- processes ---- */

/* On a shared node the processes may belong to several batch jobs: then the recording is assigned to none. */
static void note_batch_job(struct replay *r, const char *job)
{
	if (!job || r->many_batch_jobs)
		return;
	r->many_batch_jobs = r->model->batch_job && strcmp(r->model->batch_job, job) != 0;
	r->model->batch_job = r->many_batch_jobs ? NULL : job;
}

/* A key that is absent from the record of an ended process does not erase the value of an earlier record. */
static void read_life(struct replay *r, const struct iop_rec_text *rec, struct model_process *life)
{
	const struct { const char *key, **to; } texts[] = {
		{ "exe", &life->executable }, { "cmdline", &life->command_line }, { "cwd", &life->directory },
		{ "batch_job", &life->batch_job },
	};
	uint64_t number;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = value_string(r, rec, texts[i].key);

		*texts[i].to = text ? text : *texts[i].to;
	}
	if (text_number(rec, "ppid", &number))
		life->ppid = number;
	if (text_number(rec, "uid", &number)) {
		life->uid = number;
		life->has_uid = true;
	}
}

static int texts_process(struct replay *r, const struct iop_rec_text *rec)
{
	struct process *process = process_get(r, rec->rec.tgid);
	struct group_info *info;
	char cwd[VALUE_ROOM];
	const char *text;
	uint64_t number;

	if (!process)
		return -ENOMEM;
	info = &r->infos.v[process->group];
	text = value_string(r, rec, "comm");
	info->comm = text ? text : info->comm;
	text = value_string(r, rec, "mntns");
	info->mntns = text ? text : info->mntns;
	text = value_string(r, rec, "job");
	info->job = text ? text : info->job;
	if (text_number(rec, "size", &number)) {
		struct job *job = job_of(r, process->group);

		if (!job)
			return -ENOMEM;
		job->size = number;
	}
	if (text_number(rec, "rank", &number))
		info->rank = number;
	if (text_number(rec, "size", &number) && number)
		info->size = number;
	read_life(r, rec, &r->model->processes.v[process->group]);
	note_batch_job(r, r->model->processes.v[process->group].batch_job);
	if (text_number(rec, "ppid", &number))
		info->ppid = number;
	if (text_number(rec, "mpi", &number))
		info->mpi |= number;
	r->model->processes.v[process->group].rank_claim = info->mpi ? info->rank + 1 : 0;
	/* a cwd set by the process' own chdir is newer than the one read from /proc */
	if (!process->cwd && !process->dead && text_value(rec, "cwd", cwd, sizeof(cwd)) && cwd[0] == '/') {
		process->cwd = strdup(cwd);
		return process->cwd ? 0 : -ENOMEM;
	}
	return 0;
}

static bool value_hex(const struct iop_rec_text *rec, const char *key, uint64_t *number)
{
	char value[64], *end;

	if (!text_value(rec, key, value, sizeof(value)) || !value[0] || value[0] == '-')
		return false;
	*number = strtoull(value, &end, 16);
	return !*end;
}

/* A mapping that cannot be read is ignored: addresses in it stay unknown. */
static int texts_mapping(struct replay *r, const struct iop_rec_text *rec)
{
	struct process *process = process_get(r, rec->rec.tgid);
	char path[VALUE_ROOM], build_id[256];
	bool has_id = text_value(rec, "build_id", build_id, sizeof(build_id));
	struct model_mapping mapping = { .since_ns = text_number_or_zero(rec, "since_ns"), .noted_ns = rec->rec.time_ns };
	struct model_code_file file = {
		.path = text_value(rec, "path", path, sizeof(path)) ? path : NULL,
		.build_id = has_id ? build_id : NULL,
		.dev = text_number_or_zero(rec, "dev"),
		.ino = text_number_or_zero(rec, "ino"),
		.deleted = text_number_or_zero(rec, "deleted") != 0,
	};

	if (!process)
		return -ENOMEM;
	if (process->dead || !file.path || !value_hex(rec, "start", &mapping.start) || !value_hex(rec, "end", &mapping.end) ||
	    !value_hex(rec, "offset", &mapping.offset) || mapping.start >= mapping.end)
		return 0;
	return mapping_add(r, process, &file, &mapping);
}

static int texts_mounts(struct replay *r, const struct iop_rec_text *rec)
{
	const char *ns = value_string(r, rec, "mntns"), *raw;
	struct mount_table *entry;
	struct mounts parsed;
	size_t len;
	int ret;

	raw = text_raw(rec, &len);
	ret = raw ? mounts_parse(&parsed, raw, len) : -EINVAL;
	if (ret == -ENOMEM)
		return ret;
	if (ret)
		return model_note(r->model, "the mount table of process %u cannot be read", rec->rec.tgid);
	entry = MODEL_ADD(r->mounts);
	if (!entry) {
		mounts_deinit(&parsed);
		return -ENOMEM;
	}
	entry->ns = ns ? ns : "";
	entry->time_ns = rec->rec.time_ns;
	entry->mounts = parsed;
	return 0;
}

static int layer_index(const struct replay *r, const char *name)
{
	for (size_t i = 0; i < r->set.nlayers; i++)
		if (!strcmp(r->set.layers[i].name, name))
			return i;
	return -1;
}

static int library_comm(struct replay *r, const struct iop_rec_text *rec, struct process *process, const char *key,
			enum table_comm_kind kind)
{
	uint64_t value;

	return text_number(rec, key, &value) ? comm_known(r, process, value, kind) : 0;
}

static void library_streams(struct replay *r, const struct iop_rec_text *rec, struct process *process, uint32_t layer)
{
	static const char *const keys[TABLE_STREAMS] = { "stdin", "stdout", "stderr" };
	uint64_t address;

	for (unsigned n = 0; n < TABLE_STREAMS; n++)
		if (text_number(rec, keys[n], &address))
			stream_learn(r, process, layer, n, address, rec->rec.time_ns);
}

static int texts_library(struct replay *r, const struct iop_rec_text *rec)
{
	struct process *process = process_get(r, rec->rec.tgid);
	char name[64];
	const char *version = value_string(r, rec, "version");
	uint32_t paradigm;
	int layer, ret;

	if (!process)
		return -ENOMEM;
	if (process->dead || !text_value(rec, "layer", name, sizeof(name)) || (layer = layer_index(r, name)) < 0)
		return 0;
	process->libraries[layer].seen = true;
	process->libraries[layer].file = value_string(r, rec, "file");
	process->libraries[layer].version = version;
	process->libraries[layer].parallel |= text_number_or_zero(rec, "parallel") != 0;
	process->libraries[layer].known_abi |= text_number_or_zero(rec, "abi") != 0;
	library_streams(r, rec, process, layer);
	process->libraries[layer].narrow |= text_number_or_zero(rec, "narrow") != 0;
	paradigm = r->layer_paradigm[layer];
	if (paradigm != REF_NONE) {
		r->model->paradigms.v[paradigm].parallel |= process->libraries[layer].parallel;
		if (version)
			r->model->paradigms.v[paradigm].version = version;
	}
	ret = library_comm(r, rec, process, "comm_world", TABLE_COMM_WORLD);
	if (!ret)
		ret = library_comm(r, rec, process, "comm_self", TABLE_COMM_SELF);
	return ret ? ret : library_comm(r, rec, process, "comm_null", TABLE_COMM_NULL);
}

/* ---- what recorded calls cost ---- */

static uint64_t cost_part(const struct iop_rec_text *rec, const char *part, unsigned layer)
{
	char key[24], value[32];

	snprintf(key, sizeof(key), "%s_%u", part, layer);
	return text_value(rec, key, value, sizeof(value)) ? strtoull(value, NULL, 10) : MODEL_COST_UNKNOWN;
}

/* Parts that are longer than the whole were measured on a disturbed machine: then what is left for the third is unknown. */
static void cost_parts(const struct iop_rec_text *rec, unsigned layer, struct model_cost *cost)
{
	cost->record_ns = cost_part(rec, "record", layer);
	cost->site_ns = cost_part(rec, "site", layer);
	cost->entry_return_ns = MODEL_COST_UNKNOWN;
	if (cost->record_ns <= cost->total_ns && cost->site_ns <= cost->total_ns - cost->record_ns)
		cost->entry_return_ns = cost->total_ns - cost->record_ns - cost->site_ns;
}

static int texts_costs(struct replay *r, const struct iop_rec_text *rec)
{
	for (unsigned i = 0; i < MAX_LAYERS; i++) {
		unsigned long long total_ns, inside_ns;
		struct model_cost *cost;
		char key[16], value[256];
		int used;

		snprintf(key, sizeof(key), "layer_%u", i);
		if (!text_value(rec, key, value, sizeof(value)) || sscanf(value, "%llu %llu %n", &total_ns, &inside_ns, &used) < 2)
			continue;
		cost = MODEL_ADD(r->model->costs);
		if (!cost || !(cost->layer = model_string(r->model, value + used, strlen(value + used))))
			return -ENOMEM;
		cost->total_ns = total_ns;
		cost->inside_ns = inside_ns;
		cost_parts(rec, i, cost);
	}
	r->model->nested_cost_ns = text_number_or_zero(rec, "nested_ns");
	r->model->single_step_cost_ns = text_number_or_zero(rec, "single_step_ns");
	return 0;
}

/* ---- what could not be seen ---- */

static int texts_missing(struct replay *r, const struct iop_rec_text *rec)
{
	char layer[64] = "?", library[VALUE_ROOM] = "?", function[256] = "?", reason[1024] = "unknown reason";

	text_value(rec, "layer", layer, sizeof(layer));
	text_value(rec, "library", library, sizeof(library));
	text_value(rec, "function", function, sizeof(function));
	text_value(rec, "reason", reason, sizeof(reason));
	return note_missing_found(r, layer, library, function, reason);
}

/* Returns whether a layer of libraries carries out its operations with system calls of threads of its own (POSIX aio). */
static bool needs_threads(const struct replay *r, const char *layer)
{
	for (size_t i = 0; i < r->set.nlayers; i++)
		if (!strcmp(r->set.layers[i].name, layer))
			return r->set.layers[i].handle_kind == HANDLE_FD && !r->set.layers[i].syscalls;
	return false;
}

/* The end of a gap is before the time of its record: all threads that it may have begun are known. A process that never had a
 * second thread had no operation of such a layer. */
static bool missed_nothing(const struct replay *r, const char *layer, uint32_t pid)
{
	struct process *process;

	HASH_FIND(hh, r->processes, &pid, sizeof(pid), process);
	return process && !process->threaded && !r->lost_records && !r->gap_records && needs_threads(r, layer);
}

static int texts_gap(struct replay *r, const struct iop_rec_text *rec)
{
	char layer[64] = "?", reason[1024] = "unknown reason";

	text_value(rec, "layer", layer, sizeof(layer));
	text_value(rec, "reason", reason, sizeof(reason));
	if (missed_nothing(r, layer, text_number_or_zero(rec, "pid")))
		return 0;
	return note_gap_found(r, layer, text_number_or_zero(rec, "pid"), text_number_or_zero(rec, "from_ns"),
			      text_number_or_zero(rec, "to_ns"), reason);
}

/* The file is already known: it was described when it was first used. */
static int texts_mapped(struct replay *r, const struct iop_rec_text *rec)
{
	uint32_t file = file_of_inode(r, text_number_or_zero(rec, "dev"), text_number_or_zero(rec, "ino"));
	unsigned long long reads = text_number_or_zero(rec, "read_faults"), writes = text_number_or_zero(rec, "write_faults");
	struct model_file *f;

	if (file == REF_NONE) {
		r->unnamed_mapped++;
		r->unnamed_faults += reads + writes;
		return 0;
	}
	f = &r->model->files.v[file];
	f->mapped = true;
	f->read_faults += reads;        /* a file that was replaced has several inodes */
	f->write_faults += writes;
	f->pages_written_back += text_number_or_zero(rec, "written_back");
	return 0;
}

static int end_count(struct replay *r, const struct iop_rec_text *rec, const char *key, const char *what)
{
	unsigned long long n = text_number_or_zero(rec, key);

	return n ? model_note(r->model, "%llu %s", n, what) : 0;
}

/* If the archive ended before the spool, that reason is kept. */
static void texts_read_end(struct replay *r, const struct iop_rec_text *rec)
{
	struct model_end *end = &r->model->end;

	end->after_bound += text_number_or_zero(rec, "after_bound");
	if (end->stopped_by)
		return;
	end->stopped_by = value_string(r, rec, "stopped_by");
	end->reason = value_string(r, rec, "reason");
}

/* Numbers of records that the recorder had written and lost at this time. */
static int texts_status(struct replay *r, const struct iop_rec_text *rec)
{
	r->counted = true;
	if (text_number(rec, "begin_ns", &r->model->recording_begin_ns) && !text_number_or_zero(rec, "end_ns"))
		r->model->recording_end_ns = rec->rec.time_ns;
	r->written_records = text_number_or_zero(rec, "records");
	r->counted_lost = text_number_or_zero(rec, "lost");
	r->dropped_records = text_number_or_zero(rec, "spool_dropped");
	return 0;
}

static int texts_end(struct replay *r, const struct iop_rec_text *rec)
{
	static const struct { const char *key, *what;
	} counts[] = {
		{ "spool_dropped", "records could not be written to the spool" },
		{ "untracked_threads", "threads could not be traced for want of memory" },
		{ "no_process_slot", "processes found no free slot: their descriptors were described at most when they were made" },
		{ "missed_programs", "runs of probe programs were missed by the kernel" },
		{ "unwinds_late", "unwinders did not get the return addresses in time" },
		{ "returns_failed", "return addresses could not be given back to an unwinder" },
		{ "mapped_faults_left_out", "page faults were on files that a filter excludes" },
		{ "mapped_faults_missed", "page faults could not be attributed to a file" },
		{ "waits_not_followed", "calls that wait for requests were not inspected" },
		{ "fd_unordered", "calls could not be put in order with another thread's close or dup2 of their descriptor: their "
				  "file may be the one before or after" },
		{ "compat_programs",
		  "32-bit programs (i386, x32) ran: neither their system calls nor their library calls are recorded" },
		{ "compat_calls", "or more system calls by the kernel's 32-bit entry are not recorded" }, /* of older spools */
		{ "compat_entries", "system calls by the 32-bit ABIs (i386, x32) are not recorded" },
		{ "entry_only", "library calls have no end, result or duration: their programs switch stacks (coroutines), or "
				"may" },
		{ "holds_late", "processes ran on before their probes were in place" },
		{ "unreported_ends", "processes ended without a record of their end: when is not known" },
		{ "processes_running", "processes ran on when the recording ended" },
		{ "probes_single_stepped", "probes were on instructions that the kernel single-steps: their calls cost more" },
		{ "no_memory", "processes or events were not tracked for want of memory: probes or their overhead limit may be "
			       "missing" },
		{ "late", "processes of the job ran already when its recording began" },
		{ "foreign", "processes belong to another recording of the service, and are in its archive" },
		{ "privileged", "programs with more rights than the user's (setuid and the like) were not recorded" },
		{ "unread_environments", "new programs of the job's owner could not be assigned to a job" },
	};
	char remark[256];
	int ret = 0;

	r->model->complete = true;
	r->model->recording_end_ns = text_number_or_zero(rec, "end_ns");
	texts_read_end(r, rec);
	r->model->device = text_number_or_zero(rec, "device");
	read_clock(rec, &r->model->clock_end);
	texts_status(r, rec);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && !ret; i++)
		ret = end_count(r, rec, counts[i].key, counts[i].what);
	if (!ret && text_value(rec, "remark", remark, sizeof(remark)))
		ret = model_note(r->model, "%s", remark);
	return ret;
}

uint64_t text_bound_ns(const struct iop_rec_text *end)
{
	return text_number_or_zero(end, "bound_ns");
}

int text_record(struct replay *r, const struct iop_rec_text *rec)
{
	switch (rec->rec.type) {
	case IOP_REC_HOST: return texts_host(r, rec);
	case IOP_REC_TABLE: return texts_table(r, rec);
	case IOP_REC_PROCESS: return texts_process(r, rec);
	case IOP_REC_MOUNTS: return texts_mounts(r, rec);
	case IOP_REC_LIBRARY: return texts_library(r, rec);
	case IOP_REC_COSTS: return r->model->costs.n ? 0 : texts_costs(r, rec);
	case IOP_REC_MISSING: return texts_missing(r, rec);
	case IOP_REC_GAP: return texts_gap(r, rec);
	case IOP_REC_MAPPING: return texts_mapping(r, rec);
	case IOP_REC_MAPPED: return texts_mapped(r, rec);
	case IOP_REC_STATUS: return texts_status(r, rec);
	case IOP_REC_END: return texts_end(r, rec);
	case IOP_REC_LEFT_OUT: return excluded_calls_record(r, rec);
	case IOP_REC_CLOCK: return clock_step(r, rec);
	case IOP_REC_STRIPES: return file_stripes_record(r, rec);
	default: return 0;
	}
}
