/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The course of a merge: the definitions of all nodes are read and unified, the global definitions are written, then the local
 * files of each node, in a directory beside the output that is renamed at the end. One process does it: two need more CPU time in
 * all (tests/bench/merge.py measured it when there were several), and the time goes into the links of the local files.
 */
#include "merge/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/archive.h"
#include "merge/job_summary.h"
#include "merge/merge.h"
#include "merge/report.h"
#include "merge/workdir.h"

struct run {
	const struct merge_options *options;
	struct workdir workdir;
	struct merge merge;
	char out[4096], err[9000];
};

static int run_fail(struct run *r, int error, const char *what)
{
	if (!r->err[0])
		snprintf(r->err, sizeof(r->err), "cannot merge: %s: %s", what, strerror(-error));
	return error;
}

static int run_interrupted(struct run *r)
{
	if (!workdir_interrupted())
		return 0;
	snprintf(r->err, sizeof(r->err), "interrupted; nothing was written to %s", r->out);
	return -EINTR;
}

/* ---- the output ---- */

static bool run_is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	bool empty = d;

	while (d && (entry = readdir(d)))
		empty &= !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (d)
		closedir(d);
	return empty;
}

static int run_check_output(struct run *r)
{
	struct stat st;

	snprintf(r->out, sizeof(r->out), "%s", r->options->out);
	for (size_t len = strlen(r->out); len > 1 && r->out[len - 1] == '/'; len--)
		r->out[len - 1] = 0;
	r->merge.out = r->out;
	if (lstat(r->out, &st)) {
		if (errno == ENOENT)
			return 0;
		snprintf(r->err, sizeof(r->err), "cannot merge to %s: %s", r->out, strerror(errno));
		return -errno;
	}
	if (S_ISDIR(st.st_mode) && run_is_empty(r->out))
		return 0;
	snprintf(r->err, sizeof(r->err), "cannot merge to %s: it exists and is not an empty directory", r->out);
	return -EEXIST;
}

static int run_make_dir(struct run *r, const char *name, char *path, size_t len)
{
	snprintf(path, len, "%s/%s", r->workdir.path, name);
	return mkdir(path, 0777) && errno != EEXIST ? run_fail(r, -errno, path) : 0;
}

/* ---- reading ---- */

static int read_nodes(struct run *r)
{
	int ret = 0;

	for (size_t i = 0; i < r->merge.nnodes && !ret; i++) {
		r->merge.nodes[i].dir = r->options->dirs[i];
		ret = run_interrupted(r) ?: node_read(&r->merge.nodes[i], r->options->dirs[i], r->err, sizeof(r->err));
		ret = ret ?: job_summary_add(r->merge.summary, r->options->dirs[i], r->err, sizeof(r->err));
	}
	return ret;
}

static void map_deinit(struct node_map *map)
{
	free(map->strings);
	free(map->regions);
	free(map->lines);
	free(map->contexts);
	free(map->attributes);
	free(map->groups);
	free(map->comms);
	free(map->files);
	free(map->handles);
	free(map->fileless);
}

/* ---- writing ---- */

/* The local files of a node. The directory scratch is empty before and full afterwards. */
static int write_node(struct run *r, size_t i, const char *dir, uint64_t chunk_bytes)
{
	char name[64], scratch[4300];
	int ret = run_interrupted(r);

	snprintf(name, sizeof(name), "scratch-%zu", i);
	ret = ret ?: run_make_dir(r, name, scratch, sizeof(scratch));
	return ret ?: locals_write(&r->merge.nodes[i], &r->merge.maps[i], dir, scratch, chunk_bytes, &r->merge.locations, r->err,
				   sizeof(r->err));
}

/* The global definitions first: with them, OTF2 makes the directory for the local files. */
static int run_write_archive(struct run *r)
{
	char dir[4300];
	int ret = run_make_dir(r, "archive", dir, sizeof(dir));

	ret = ret ?: archive_merge(&r->merge, dir);
	for (size_t i = 0; i < r->merge.nnodes && !ret; i++)
		ret = write_node(r, i, dir, archive_chunk_bytes(&r->merge));
	if (!ret && (ret = job_summary_finish(r->merge.summary, &r->merge, dir)))
		run_fail(r, ret, "summary.json");
	return ret;
}

static int take_place(struct run *r)
{
	char dir[4300];

	snprintf(dir, sizeof(dir), "%s/archive", r->workdir.path);
	if (run_interrupted(r))
		return -EINTR;
	if (rename(dir, r->out)) {
		snprintf(r->err, sizeof(r->err), "cannot merge to %s: %s", r->out, strerror(errno));
		return -errno;
	}
	return 0;
}

static int merge_all(struct run *r)
{
	int ret = job_summary_create(&r->merge.summary, r->workdir.path);

	if (ret)
		return run_fail(r, ret, "summary.json");
	ret = read_nodes(r);
	ret = ret ?: job_check(&r->merge, r->options->same_job);
	ret = ret ?: merge_unify(&r->merge);
	ret = ret ?: clocks_check(&r->merge);
	ret = ret ?: run_write_archive(r);
	ret = ret ?: take_place(r);
	if (ret)
		return ret;
	report_warnings(stderr, &r->merge);
	if ((r->options->json ? report_json : report_text)(stdout, &r->merge) || fflush(stdout))
		fprintf(stderr, "ioprobe: the summary cannot be written: %s\n", strerror(errno));
	return 0;
}

/* ---- all ---- */

static void run_deinit(struct run *r)
{
	struct merge *m = &r->merge;

	for (size_t i = 0; i < m->nnodes; i++) {
		node_deinit(&m->nodes[i]);
		if (m->maps)
			map_deinit(&m->maps[i]);
	}
	free(m->nodes);
	free(m->maps);
	texts_deinit(&m->strings);
	job_summary_destroy(m->summary);
	free(m->launches.v);
	for (size_t i = 0; i < m->comms.n; i++)
		free(m->comms.v[i].members);
	free(m->comms.v);
	free(m->groups.v);
}

int merge_run(const struct merge_options *options)
{
	struct run r = { .options = options, .workdir.lock = -1 };
	int ret = run_check_output(&r);

	r.merge.err = r.err;
	r.merge.err_len = sizeof(r.err);
	r.merge.nnodes = options->ndirs;
	r.merge.nodes = calloc(options->ndirs, sizeof(*r.merge.nodes));
	if (!r.merge.nodes)
		ret = run_fail(&r, -ENOMEM, "archives");
	ret = ret ?: workdir_create(&r.workdir, r.out, r.err, sizeof(r.err));
	ret = ret ?: merge_all(&r);
	workdir_destroy(&r.workdir);
	if (ret)
		fprintf(stderr, "ioprobe: %s\n", r.err);
	run_deinit(&r);
	return ret ? 1 : 0;
}
