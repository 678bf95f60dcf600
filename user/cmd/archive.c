/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The end of every recording: one replay feeds the archive and the summary.
 */
#include "cmd/archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "model/replay.h"
#include "sink/collectives.h"
#include "sink/otf2.h"
#include "sink/summary.h"

/* The files beside an archive by which merge need not read events. */
enum { COLLECTIVES, SUMMARY, NSIDES };
static const char *const side_names[NSIDES] = { "collectives.json", "summary.json" };

struct side_files { FILE *v[NSIDES]; char paths[NSIDES][4200]; };

static void side_files_close(struct side_files *sides, bool keep)
{
	for (size_t i = 0; i < NSIDES; i++) {
		if (!sides->v[i])
			continue;
		fclose(sides->v[i]);
		if (!keep)
			unlink(sides->paths[i]);
	}
}

/* What a killed ioprobe left is replaced; links are not followed. */
static int side_files_open(struct side_files *sides, const char *dir, char *err, size_t err_len)
{
	for (size_t i = 0; i < NSIDES; i++) {
		snprintf(sides->paths[i], sizeof(sides->paths[i]), "%s/%s", dir, side_names[i]);
		unlink(sides->paths[i]);
		sides->v[i] = fopen(sides->paths[i], "wxe");
		if (!sides->v[i]) {
			int error = -errno;

			snprintf(err, err_len, "%s: cannot create it: %s", sides->paths[i], strerror(-error));
			return error;
		}
	}
	return 0;
}

/* The archive is finished last: where it is, all is. */
static int replay_into(struct spool_reader *spool, struct sink *otf2, struct sink *summary, struct sink *collectives, char *err,
		       size_t err_len)
{
	struct sink *sinks[] = { summary, collectives, otf2 };
	struct model model;
	int ret = replay_run(spool, &model, sinks, 3, err, err_len);

	if (ret && otf2_sink_error(otf2))
		snprintf(err, err_len, "%s", otf2_sink_error(otf2));
	model_deinit(&model);
	return ret;
}

/* out gets the summary only if there is an archive. */
static int write_all(struct spool_reader *spool, bool whole_job, const char *dir, FILE *out, bool json, char *err, size_t err_len)
{
	struct side_files sides = { 0 };
	struct sink *otf2 = NULL, *summary = NULL, *collectives = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);
	int ret = memory ? summary_sink_create(&summary, memory, json) : -ENOMEM;

	if (ret)
		snprintf(err, err_len, "the summary cannot be made: %s", strerror(-ret));
	else
		ret = otf2_sink_create(&otf2, dir, err, err_len);       /* first: it refuses where there is an archive */
	if (!ret)
		ret = side_files_open(&sides, dir, err, err_len);
	if (!ret && (ret = collectives_sink_create(&collectives, sides.v[COLLECTIVES])))
		snprintf(err, err_len, "%s: %s", sides.paths[COLLECTIVES], strerror(-ret));
	if (!ret) {
		if (whole_job)
			otf2_sink_whole_job(otf2);
		summary_sink_also_json(summary, sides.v[SUMMARY]);
		ret = replay_into(spool, otf2, summary, collectives, err, err_len);
	}
	side_files_close(&sides, !ret);
	otf2_sink_destroy(otf2);
	summary_sink_destroy(summary);
	collectives_sink_destroy(collectives);
	if (memory)
		fclose(memory);
	if (!ret && (fwrite(text, 1, len, out) != len || fflush(out)))
		fprintf(stderr, "ioprobe: the summary cannot be written: %s\n", strerror(errno));
	free(text);
	return ret;
}

/* The archive has a file for each thread of the job open, more than the usual limit where there are many. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);       /* if not, the sink says which file could not be opened */
}

/* Twice over the spool: the first event needs to know what the last process is. */
static bool is_whole_job(const char *path)
{
	struct spool_reader *spool = NULL;
	bool whole = false;

	if (!spool_reader_open(&spool, path) && replay_is_whole_job(spool, &whole))
		whole = false;
	spool_reader_destroy(spool);
	return whole;
}

int archive_write(const char *dir, FILE *summary_out, bool json, char *err, size_t err_len)
{
	struct spool_reader *spool = NULL;
	char path[4200];
	int ret;

	allow_many_files();
	snprintf(path, sizeof(path), "%s/spool", dir);
	ret = spool_reader_open(&spool, path);
	if (ret) {
		snprintf(err, err_len, "%s cannot be read: %s", path,
			 ret == -EINVAL ? "it is no spool of this version" : strerror(-ret));
		return ret;
	}
	ret = write_all(spool, is_whole_job(path), dir, summary_out, json, err, err_len);
	spool_reader_destroy(spool);
	return ret;
}
