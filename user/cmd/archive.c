/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The end of every recording: one replay feeds the archive and the summary.
 */
#include "cmd/archive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "model/replay.h"
#include "sink/otf2.h"
#include "sink/summary.h"

static int replay_into(struct spool_reader *spool, struct sink *otf2, struct sink *summary, char *err, size_t err_len)
{
	struct sink *sinks[] = { otf2, summary };
	struct model model;
	int ret = replay_run(spool, &model, sinks, 2, err, err_len);

	if (ret && otf2_sink_error(otf2))
		snprintf(err, err_len, "%s", otf2_sink_error(otf2));
	model_deinit(&model);
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

int archive_write(const char *dir, FILE *summary_out, bool json, char *err, size_t err_len)
{
	struct spool_reader *spool = NULL;
	struct sink *otf2 = NULL, *summary = NULL;
	char path[4200];
	int ret;

	allow_many_files();
	snprintf(path, sizeof(path), "%s/spool", dir);
	ret = spool_reader_open(&spool, path);
	if (ret) {
		snprintf(err, err_len, "%s cannot be read: %s", path, ret == -EINVAL ? "it is no spool of this version" : strerror(-ret));
		return ret;
	}
	ret = summary_sink_create(&summary, summary_out, json);
	if (ret)
		snprintf(err, err_len, "the summary cannot be made: %s", strerror(-ret));
	else
		ret = otf2_sink_create(&otf2, dir, err, err_len);
	if (!ret)
		ret = replay_into(spool, otf2, summary, err, err_len);
	otf2_sink_destroy(otf2);
	summary_sink_destroy(summary);
	spool_reader_destroy(spool);
	return ret;
}
