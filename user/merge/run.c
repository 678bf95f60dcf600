/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The course of a merge. Every process reads its share of the archives; rank 0 unifies what all of them define and writes what
 * there is once; then every process writes the local files of the nodes that it has read. In a folder beside the output, renamed at
 * the end.
 */
#include "merge/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/archive.h"
#include "merge/merge.h"
#include "merge/report.h"
#include "merge/team.h"

struct run {
	const struct merge_options *options;
	struct team *team;
	struct merge merge;
	char out[4096], err[9000];
};

static int fail(struct run *r, int error, const char *what)
{
	if (!r->err[0])
		snprintf(r->err, sizeof(r->err), "cannot merge: %s: %s", what, strerror(-error));
	return error;
}

static int interrupted(struct run *r)
{
	if (!team_interrupted())
		return 0;
	snprintf(r->err, sizeof(r->err), "interrupted; nothing was written to %s", r->out);
	return -EINTR;
}

static bool is_mine(const struct run *r, size_t node)
{
	return node % team_size(r->team) == team_rank(r->team);
}

/* ---- the output ---- */

static bool is_empty(const char *dir)
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

static int check_output(struct run *r)
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
	if (S_ISDIR(st.st_mode) && is_empty(r->out))
		return 0;
	snprintf(r->err, sizeof(r->err), "cannot merge to %s: it exists and is not an empty folder", r->out);
	return -EEXIST;
}

static int make_dir(struct run *r, const char *format, unsigned number, char *path, size_t len)
{
	char name[64];

	snprintf(name, sizeof(name), format, number);
	snprintf(path, len, "%s/%s", team_dir(r->team), name);
	return mkdir(path, 0777) && errno != EEXIST ? fail(r, -errno, path) : 0;
}

/* ---- reading ---- */

static int publish_node(struct run *r, size_t i)
{
	char name[32];
	FILE *file;
	int saved, published;

	snprintf(name, sizeof(name), "node-%zu", i);
	file = team_open(r->team, name);
	if (!file)
		return fail(r, -errno, team_dir(r->team));
	saved = node_save(&r->merge.nodes[i], file);
	published = team_publish(r->team, file, name);
	return saved || published ? fail(r, published ? published : saved, team_dir(r->team)) : 0;
}

static int read_share(struct run *r)
{
	int ret = 0;

	for (size_t i = 0; i < r->merge.nnodes && !ret; i++) {
		r->merge.nodes[i].dir = r->options->dirs[i];
		if (!is_mine(r, i))
			continue;
		ret = interrupted(r) ?: node_read(&r->merge.nodes[i], r->options->dirs[i], r->err, sizeof(r->err));
		if (!ret && team_rank(r->team))
			ret = publish_node(r, i);
	}
	return ret;
}

static int gather(struct run *r)
{
	int ret = 0;

	for (size_t i = 0; i < r->merge.nnodes && !ret; i++) {
		char name[32];
		FILE *file;

		if (is_mine(r, i))
			continue;
		snprintf(name, sizeof(name), "node-%zu", i);
		file = team_await(r->team, i % team_size(r->team), name, r->err, sizeof(r->err));
		if (!file)
			return interrupted(r) ?: -ECANCELED;
		ret = node_load(&r->merge.nodes[i], file);
		r->merge.nodes[i].dir = r->options->dirs[i];
		fclose(file);
		if (ret)
			ret = fail(r, ret, name);
	}
	return ret;
}

/* ---- maps, from rank 0 to who writes the local files ---- */

struct map_head { int64_t offset_start_ns, offset_end_ns; uint64_t chunk_bytes; };

/* The arrays of a map that local files need, with their lengths. */
#define MAP_ARRAYS(map, node) { \
	{ &(map)->strings, (node)->strings.n }, { &(map)->regions, (node)->regions.n }, { &(map)->lines, (node)->lines.n }, \
	{ &(map)->contexts, (node)->contexts.n }, { &(map)->attributes, (node)->attributes.n }, \
	{ &(map)->comms, (node)->comms.n }, { &(map)->files, (node)->files.n }, { &(map)->handles, (node)->handles.n } }
struct map_array { uint32_t **v; size_t n; };

static int publish_map(struct run *r, size_t i)
{
	struct node_map *map = &r->merge.maps[i];
	struct map_array arrays[] = MAP_ARRAYS(map, &r->merge.nodes[i]);
	struct map_head head = { map->offset_start_ns, map->offset_end_ns, archive_chunk_bytes(&r->merge) };
	char name[32];
	FILE *file;
	bool good;

	snprintf(name, sizeof(name), "map-%zu", i);
	file = team_open(r->team, name);
	if (!file)
		return fail(r, -errno, team_dir(r->team));
	good = fwrite(&head, sizeof(head), 1, file) == 1;
	for (size_t k = 0; k < sizeof(arrays) / sizeof(arrays[0]); k++)
		good &= fwrite(*arrays[k].v, sizeof(uint32_t), arrays[k].n, file) == arrays[k].n;
	if (team_publish(r->team, file, name) || !good)
		return fail(r, -EIO, team_dir(r->team));
	return 0;
}

static int await_map(struct run *r, size_t i, struct node_map *map, uint64_t *chunk_bytes)
{
	struct map_array arrays[] = MAP_ARRAYS(map, &r->merge.nodes[i]);
	struct map_head head;
	char name[32];
	FILE *file;
	bool good;

	snprintf(name, sizeof(name), "map-%zu", i);
	file = team_await(r->team, 0, name, r->err, sizeof(r->err));
	if (!file)
		return -ECANCELED;
	good = fread(&head, sizeof(head), 1, file) == 1;
	for (size_t k = 0; k < sizeof(arrays) / sizeof(arrays[0]) && good; k++) {
		*arrays[k].v = calloc(arrays[k].n + 1, sizeof(uint32_t));
		good = *arrays[k].v && fread(*arrays[k].v, sizeof(uint32_t), arrays[k].n, file) == arrays[k].n;
	}
	fclose(file);
	map->offset_start_ns = head.offset_start_ns;
	map->offset_end_ns = head.offset_end_ns;
	*chunk_bytes = head.chunk_bytes;
	return good ? 0 : fail(r, -EBADMSG, name);
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

/* ---- local files ---- */

/* scratch is emptied for the next node. */
static int write_node(struct run *r, size_t i, const struct node_map *map, uint64_t chunk_bytes)
{
	char dir[4300], scratch[4300];
	int ret = interrupted(r);

	snprintf(dir, sizeof(dir), "%s/archive", team_dir(r->team));
	ret = ret ?: make_dir(r, "scratch-%u", i, scratch, sizeof(scratch));
	return ret ?: locals_write(&r->merge.nodes[i], map, dir, scratch, chunk_bytes, &r->merge.locations, r->err, sizeof(r->err));
}

static int write_share(struct run *r)
{
	uint64_t chunk_bytes = archive_chunk_bytes(&r->merge);
	int ret = 0;

	for (size_t i = 0; i < r->merge.nnodes && !ret; i++)
		if (is_mine(r, i))
			ret = write_node(r, i, &r->merge.maps[i], chunk_bytes);
	return ret;
}

static int count_share(struct run *r, unsigned rank)
{
	struct location_counts counts = { 0 };
	char name[32];
	FILE *file;
	bool good;

	snprintf(name, sizeof(name), "done-%u", rank);
	file = team_await(r->team, rank, name, r->err, sizeof(r->err));
	if (!file)
		return interrupted(r) ?: -ECANCELED;
	good = fread(&counts, sizeof(counts), 1, file) == 1;
	fclose(file);
	r->merge.locations.linked += counts.linked;
	r->merge.locations.cloned += counts.cloned;
	r->merge.locations.copied += counts.copied;
	r->merge.locations.bytes_copied += counts.bytes_copied;
	return good ? 0 : fail(r, -EBADMSG, name);
}

/* ---- rank 0 ---- */

static int publish_all(struct run *r)
{
	int ret = 0;

	for (size_t i = 0; i < r->merge.nnodes && !ret; i++)
		if (!is_mine(r, i))
			ret = publish_map(r, i);
	return ret;
}

/* The archive first: with it, OTF2 makes the folder for the local files. */
static int write_archive(struct run *r)
{
	char dir[4300];
	int ret = make_dir(r, "archive", 0, dir, sizeof(dir));

	ret = ret ?: archive_merge(&r->merge, dir);
	ret = ret ?: publish_all(r);
	ret = ret ?: write_share(r);
	for (unsigned rank = 1; rank < team_size(r->team) && !ret; rank++)
		ret = count_share(r, rank);
	return ret;
}

static int take_place(struct run *r)
{
	char dir[4300];

	snprintf(dir, sizeof(dir), "%s/archive", team_dir(r->team));
	if (interrupted(r))
		return -EINTR;
	if (rename(dir, r->out)) {
		snprintf(r->err, sizeof(r->err), "cannot merge to %s: %s", r->out, strerror(errno));
		return -errno;
	}
	return 0;
}

static int lead(struct run *r)
{
	int ret = read_share(r);

	ret = ret ?: gather(r);
	ret = ret ?: job_check(&r->merge, r->options->same_job);
	ret = ret ?: unify(&r->merge);
	ret = ret ?: clocks_check(&r->merge);
	ret = ret ?: write_archive(r);
	ret = ret ?: take_place(r);
	if (ret)
		return ret;
	report_warnings(stderr, &r->merge);
	if ((r->options->json ? report_json : report_text)(stdout, &r->merge) || fflush(stdout))
		fprintf(stderr, "ioprobe: the summary cannot be written: %s\n", strerror(errno));
	return 0;
}

/* ---- the others ---- */

static int follow(struct run *r)
{
	char name[32];
	FILE *file;
	int ret = read_share(r);

	for (size_t i = 0; i < r->merge.nnodes && !ret; i++) {
		struct node_map map = { 0 };
		uint64_t chunk_bytes = 0;

		if (!is_mine(r, i))
			continue;
		ret = await_map(r, i, &map, &chunk_bytes) ?: write_node(r, i, &map, chunk_bytes);
		map_deinit(&map);
	}
	if (ret)
		return ret;
	snprintf(name, sizeof(name), "done-%u", team_rank(r->team));
	file = team_open(r->team, name);
	if (!file || fwrite(&r->merge.locations, sizeof(r->merge.locations), 1, file) != 1 || team_publish(r->team, file, name))
		return fail(r, -EIO, team_dir(r->team));
	return 0;
}

/* ---- all ---- */

static void deinit(struct run *r)
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
	free(m->launches.v);
	for (size_t i = 0; i < m->comms.n; i++)
		free(m->comms.v[i].members);
	free(m->comms.v);
	free(m->groups.v);
}

int merge_run(const struct merge_options *options)
{
	struct run r = { .options = options };
	bool alone;
	int ret = check_output(&r);

	r.merge.err = r.err;
	r.merge.err_len = sizeof(r.err);
	r.merge.nnodes = options->ndirs;
	r.merge.nodes = calloc(options->ndirs, sizeof(*r.merge.nodes));
	if (!r.merge.nodes)
		ret = fail(&r, -ENOMEM, "archives");
	ret = ret ?: team_create(&r.team, r.out, r.err, sizeof(r.err));
	alone = !r.team || !team_rank(r.team);
	if (!ret)
		ret = alone ? lead(&r) : follow(&r);
	if (ret)
		team_fail(r.team, r.err);
	team_destroy(r.team);
	/* of several processes only the first one speaks; what it was not told, it cannot say */
	if (ret && alone)
		fprintf(stderr, "ioprobe: %s\n", r.err[0] ? r.err : "cannot merge: another process has failed");
	deinit(&r);
	return ret ? 1 : 0;
}
