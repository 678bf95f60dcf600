/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One replay that waits for more data at the end of the file.
 */
#include "stream/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "replay/replay.h"
#include "spool/format.h"
#include "spool/spool.h"

#define SPOOL "spool"
#define HEAD_BYTES ((off_t)(sizeof(struct spool_file_header) + SPOOL_STATUS_BYTES))
#define BEGIN_TRIES 50 /* pauses that a new file may be without a head */
#define PAUSE_NS 100000000 /* the recorder writes a block every second, or when one is full */
#define KEPT_BYTES (16 << 20) /* of free memory: rows of thousands of files come and go */

static bool wait_for_more(void *arg)
{
	struct timespec pause = { 0, PAUSE_NS };
	bool had_writer = spool_reader_may_grow(arg);

	nanosleep(&pause, NULL);
	return had_writer || spool_reader_may_grow(arg); /* a starting recorder creates its file before it locks it */
}

static bool follow_is_over(void *spool)
{
	return !spool_reader_has_writer(spool);
}

/* A starting recorder creates its file before it writes the head. */
static int open_begun(struct spool_reader **spool, int dir)
{
	const struct timespec pause = { 0, PAUSE_NS };
	struct stat st;
	int ret = spool_reader_open_at(spool, dir, SPOOL);

	for (int i = 0;
	     i < BEGIN_TRIES && ret == -EINVAL && !fstatat(dir, SPOOL, &st, AT_SYMLINK_NOFOLLOW) && st.st_size < HEAD_BYTES; i++) {
		nanosleep(&pause, NULL);
		ret = spool_reader_open_at(spool, dir, SPOOL);
	}
	return ret;
}

static int follow_open_spool(struct spool_reader **spool, int dir, const char *name, char *err, size_t err_len)
{
	int ret = open_begun(spool, dir);

	if (!ret)
		return 0;
	if (ret == -ENOENT)
		snprintf(err, err_len,
			 "%s: cannot follow it: it has no records: it is not a recording, or it has ended (read its archive; "
			 "record with "
			 "--keep-spool to follow it later)",
			 name);
	else
		snprintf(err, err_len, "%s/" SPOOL ": cannot follow it: %s", name,
			 ret == -EINVAL  ? "it is not a spool of this version"
			 : ret == -ELOOP ? "it is a symbolic link"
					 : strerror(-ret));
	return ret;
}

/* What the output lacks. stopped: following ended with it, so that further intervals were not even counted. Outputs that deliver
 * to others have counted what these confirmed. */
static void report_failure(const struct live_output *output, bool stopped, char *err, size_t err_len)
{
	const char *reason = output->err[0] ? output->err : strerror(-output->failed);

	if (strstr(reason, "not delivered"))
		snprintf(err, err_len, "%s", reason);
	else
		snprintf(err, err_len, "%s; %llu intervals were %s, %s%llu were not", reason,
			 (unsigned long long)output->delivered,
			 output->unconfirmed ? "given to it, of which it may have lost some" : "written",
			 stopped ? "at least " : "", (unsigned long long)output->missed);
}

int follow_recording(int dir, const char *name, struct live_output **outputs, size_t noutputs, const struct live_options *options,
		     char *err, size_t err_len)
{
	struct spool_reader *spool = NULL;
	struct sink *sink = NULL;
	char reason[900] = "";
	struct model model;
	int ret = follow_open_spool(&spool, dir, name, err, err_len);

	if (ret)
		return ret;
	/* Memory that is given back to the kernel costs a page fault per page when it is needed again, for the next rows. With
	 * this limit set glibc does not adapt that of mappings either: blocks of 128 KiB and more always have one of their own.
	 * These are arrays that grow, which realloc then moves without a copy (mremap). */
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	spool_reader_follow(spool, wait_for_more, spool);
	for (size_t i = 0; i < noutputs; i++) {
		outputs[i]->recording_over = follow_is_over;
		outputs[i]->over_arg = spool;
	}
	ret = live_sink_create(&sink, outputs, noutputs, options);
	if (!ret) {
		ret = replay_run(spool, &model, &sink, 1, reason, sizeof(reason));
		model_deinit(&model);
	}
	if (ret)
		snprintf(err, err_len, "%s: %s", name, reason[0] ? reason : strerror(-ret));
	for (size_t i = 0; i < noutputs; i++)
		if (outputs[i]->failed) {
			report_failure(outputs[i], ret, err, err_len);
			ret = outputs[i]->failed;
		}
	live_sink_destroy(sink);
	spool_reader_destroy(spool);
	return ret;
}
