/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Processes and files: each is reported before its first row, and again when more is known.
 */
#include "stream/live_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_FILE 0x80000000u /* or'ed to a handle's number: the id of an unknown file */

int live_grow(void **v, size_t *n, size_t *cap, size_t size, size_t index)
{
	size_t wanted = *cap ? *cap : 64;
	void *grown;

	if (index < *n)
		return 0;
	while (wanted <= index)
		wanted *= 2;
	grown = wanted > *cap ? reallocarray(*v, wanted, size) : *v;
	if (!grown)
		return -ENOMEM;
	memset((char *)grown + *n * size, 0, (wanted - *n) * size);
	*v = grown;
	*n = *cap = wanted;
	return 0;
}

/* Names and ranks are final at the end of the recording; until then: the program's name, and the rank assigned by the launcher. */
static void name_process(struct live_process *process, const struct model_process *life, char *name, size_t len)
{
	const char *program = process->executable ? strrchr(process->executable, '/') : NULL;

	if (process->name || !life)
		return;
	process->rank = life->rank_claim - 1;
	process->name = name;
	if (process->rank >= 0)
		snprintf(name, len, "MPI Rank %lld", (long long)process->rank);
	else
		snprintf(name, len, "%.200s (pid %u)", program ? program + 1 : process->executable ?: "process", process->pid);
}

struct live_process live_describe_process(const struct live_sink *s, uint32_t group, char *name, size_t len)
{
	const struct model_group *g = group < s->model->groups.n ? &s->model->groups.v[group] : NULL;
	const struct model_process *life = group < s->model->processes.n ? &s->model->processes.v[group] : NULL;
	struct live_process process = { .id = group, .rank = -1, .uid = -1 };

	if (life) {
		process.executable = life->executable;
		process.uid = life->has_uid ? (int64_t)life->uid : -1;
		process.begin_ns = life->begin_ns ? model_realtime_ns(s->model, life->begin_ns) : 0;
		process.batch_job = life->batch_job;
	}
	if (!g)
		return process;
	process.pid = g->tgid;
	process.rank = g->rank;
	process.name = g->name;
	name_process(&process, life, name, len);
	if (s->options.names != LIVE_NAMES_FULL && process.executable)
		process.executable = strrchr(process.executable, '/') ? strrchr(process.executable, '/') + 1 : process.executable;
	return process;
}

int live_report_process(struct live_sink *s, const struct live_process *process)
{
	const char *name = process->id < s->model->groups.n ? s->model->groups.v[process->id].name : NULL;
	struct known_process *known;
	int ret = GROW(s->processes, process->id);

	if (ret)
		return ret;
	known = &s->processes.v[process->id];
	if (known->reported && known->name == name && known->rank == process->rank && known->executable == process->executable &&
	    known->uid == process->uid && known->batch_job == process->batch_job)
		return 0;
	*known = (struct known_process){ name, process->executable, process->batch_job, process->rank, process->uid, true };
	if (!ret)
		ret = REPORT(s, process, process);
	return ret;
}

/* A hash distinguishes names without disclosing them; a guessed name can be verified with it. text: buffer for the name. */
static const char *hide_name(enum live_names names, const struct model_file *f, char *text, size_t len)
{
	const char *mount = f->mount_point && strcmp(f->mount_point, "/") ? f->mount_point : "";
	uint64_t hash = 0xcbf29ce484222325ull;

	if (names == LIVE_NAMES_FULL || !f->path || f->special)
		return f->path;
	for (const char *c = f->path; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
	if (names == LIVE_NAMES_HASH)
		snprintf(text, len, "%s/%016llx", mount, (unsigned long long)hash);
	else
		snprintf(text, len, "%s/", mount);
	return text;
}

struct live_file live_describe_file(const struct live_sink *s, uint32_t id, uint32_t ref, char *name, size_t len)
{
	const struct model_file *f = ref < s->model->files.n ? &s->model->files.v[ref] : NULL;
	struct live_file file = { .id = id };

	if (f)
		file = (struct live_file){ id,
					   hide_name(s->options.names, f, name, len),
					   f->mount_point,
					   f->mount_source,
					   f->fs_type,
					   summary_scope_name(f->scope),
					   f->special };
	return file;
}

/* FNV-1a, of a text and its end. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (const char *c = text ? text : "\xff"; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
	return hash * 0x100000001b3ull;
}

/* Never 0. */
static uint64_t hash_definition(const struct live_file *f)
{
	const char *const texts[] = { f->path, f->mount_point, f->mount_source, f->fs_type, f->scope };
	uint64_t hash = 0xcbf29ce484222325ull ^ f->special;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		hash = hash_text(hash, texts[i]);
	return hash ? hash : 1;
}

/* known: what was reported under this id. Nothing is reported twice. */
static int report_file_as(struct live_sink *s, uint32_t id, uint32_t ref, uint64_t *known)
{
	char path[FILE_NAME_ROOM];
	struct live_file file = live_describe_file(s, id, ref, path, sizeof(path));
	uint64_t hash = hash_definition(&file);
	int ret = 0;

	if (hash == *known)
		return 0;
	*known = hash;
	if (!ret)
		ret = REPORT(s, file, &file);
	return ret;
}

int live_file_of(struct live_sink *s, uint32_t handle, uint32_t *id)
{
	uint32_t ref = s->model->handles.v[handle].file;
	int ret;

	if (ref >= s->model->files.n) {
		*id = NO_FILE | handle;
		ret = GROW(s->handles, handle);
		if (ret || s->handles.v[handle])
			return ret;
		return report_file_as(s, *id, REF_NONE, &s->handles.v[handle]);
	}
	*id = ref;
	ret = GROW(s->files, ref);
	if (ret || s->files.v[ref])
		return ret;
	return report_file_as(s, ref, ref, &s->files.v[ref]);
}

static int revise_process(struct live_sink *s, uint32_t group)
{
	char name[256];
	struct live_process process = live_describe_process(s, group, name, sizeof(name));

	return live_report_process(s, &process);
}

/* Files whose path or mount became known at the end, and handles whose file did. */
static int revise_files(struct live_sink *s)
{
	int ret = 0;

	for (size_t i = 0; i < s->files.n && !ret; i++)
		if (s->files.v[i])
			ret = report_file_as(s, i, i, &s->files.v[i]);
	for (size_t i = 0; i < s->handles.n && i < s->model->handles.n && !ret; i++)
		if (s->handles.v[i] && s->model->handles.v[i].file < s->model->files.n)
			ret = report_file_as(s, NO_FILE | i, s->model->handles.v[i].file, &s->handles.v[i]);
	return ret;
}

int live_revise(struct live_sink *s)
{
	int ret = revise_files(s);

	for (size_t g = 0; g < s->processes.n && g < s->model->groups.n && !ret; g++)
		if (s->processes.v[g].reported)
			ret = revise_process(s, g);
	return ret;
}
