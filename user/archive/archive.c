/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Makes the archive at the end of every recording: one replay feeds the archive and the summary. It runs in a worker whose current
 * directory is that of the recording: libotf2 opens files by name, and all names here are relative.
 */
#include "archive/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "archive/symbolize.h"
#include "replay/preview.h"
#include "replay/replay.h"
#include "replay/sites.h"
#include "privilege/worker.h"
#include "sink/otf2/archive_size.h"
#include "sink/otf2/otf2.h"
#include "sink/sides.h"
#include "sink/summary/summary.h"
#include "spool/spool.h"
#include "util/relay.h"

#define LOCK_TRIES 100  /* 50 ms each */

struct attempt { const struct output *out; const struct archive_options *options; volatile struct worker_progress *progress; };

static void set_progress(void *arg, uint64_t done, uint64_t total)
{
	const struct attempt *attempt = arg;

	attempt->progress->done = done;
	attempt->progress->total = total;
}

/* ---- files beside an archive: merge reads them instead of events; the summary's text, if it is wanted ---- */

#define SIDE_POINTER(name) &side_##name,
static const struct side_output *const side_outputs[] = { SIDE_OUTPUTS(SIDE_POINTER) };
#undef SIDE_POINTER

#define NSIDES (sizeof(side_outputs) / sizeof(side_outputs[0]))
enum { SUMMARY = NSIDES, TEXT, NFILES };

struct side_files { FILE *v[NFILES]; const char *names[NFILES]; };

/* Returns 0, or the -errno of the first file that could not be written. */
static int side_files_close(struct side_files *sides, bool keep)
{
	int error = 0;

	for (size_t i = 0; i < NFILES; i++) {
		if (!sides->v[i])
			continue;
		if ((ferror(sides->v[i]) | fclose(sides->v[i])) && !error)
			error = errno ? -errno : -EIO;
		if (!keep || error)
			unlink(sides->names[i]);
	}
	return error;
}

/* Files left by a killed ioprobe are replaced; links are not followed. */
static int side_files_open(struct side_files *sides, const struct attempt *attempt, char *err, size_t err_len)
{
	*sides = (struct side_files){ .names = { [SUMMARY] = "summary.json", [TEXT] = attempt->options->summary_file } };
	for (size_t i = 0; i < NSIDES; i++)
		sides->names[i] = side_outputs[i]->file;
	for (size_t i = 0; i < NFILES && sides->names[i]; i++) {
		unlink(sides->names[i]);
		sides->v[i] = fopen(sides->names[i], "w+xe");
		if (!sides->v[i]) {
			int error = -errno;

			snprintf(err, err_len, "%s/%s: cannot create it: %s", attempt->out->path, sides->names[i],
				 strerror(-error));
			return error;
		}
	}
	return 0;
}

/* ---- replay ---- */

/* size: NULL if there is no limit; relay: to the replay */
struct sinks { struct sink *size, *otf2, *summary, *sides[NSIDES]; struct relay *relay; };

/* Computes the size that is compared with the recording's limits; the spool is kept until the archive is complete. */
static int size_sink_create(struct sink **out, bool whole_job)
{
	struct statvfs fs;
	struct stat st;

	return archive_size_sink_create(out, stat(OUTPUT_SPOOL, &st) ? 0 : st.st_size,
					statvfs(".", &fs) ? UINT64_MAX : (uint64_t)fs.f_bavail * fs.f_frsize, whole_job);
}

static int create_sinks(struct sinks *sinks, const struct attempt *attempt, const struct replay_preview *preview,
			struct side_files *sides, FILE *text, char *err, size_t err_len)
{
	int ret = otf2_sink_create_here(&sinks->otf2, attempt->out->path, err, err_len);

	if (ret)
		return ret;
	ret = summary_sink_create(&sinks->summary, sides->v[TEXT] ? sides->v[TEXT] : text, false);
	if (!ret && preview->bounded)
		ret = size_sink_create(&sinks->size, preview->whole_job);
	for (size_t i = 0; i < NSIDES && !ret; i++)
		ret = side_outputs[i]->create(&sinks->sides[i], sides->v[i]);
	if (ret)
		snprintf(err, err_len, "%s: the summary cannot be made: %s", attempt->out->path, strerror(-ret));
	else
		summary_sink_also_json(sinks->summary, sides->v[SUMMARY]);
	if (!ret && attempt->options->all_files)
		summary_sink_all_files(sinks->summary);
	return ret;
}

/* Three threads: this one reads the spool, one replays it, one writes the events. Afterwards the worker needs no process or thread
 * any more: its input is a user's. */
static void start_threads(struct sinks *sinks)
{
	const struct rlimit none = { 0, 0 };

	sinks->relay = relay_create();
	if (sinks->relay)
		relay_start(sinks->relay);
	otf2_sink_start_thread(sinks->otf2);
	setrlimit(RLIMIT_NPROC, &none);
}

/* The archive is finished last: if it exists, all files are complete. */
static int replay_into(struct spool_reader *spool, struct call_sites *sites, struct sinks *sinks, const char *dir, char *err,
		       size_t err_len)
{
	struct sink *order[3 + NSIDES];
	char reason[900] = "";
	struct model model;
	size_t n = 0;
	int ret;

	if (sinks->size)
		order[n++] = sinks->size;
	order[n++] = sinks->summary;
	for (size_t i = 0; i < NSIDES; i++)
		order[n++] = sinks->sides[i];
	order[n++] = sinks->otf2;
	ret = replay_run_relayed(spool, sinks->relay, sites, &model, order, n, reason, sizeof(reason));
	if (ret == -ENOSPC && model.end.cut)
		snprintf(err, err_len, "%s: no archive can be made: --%s leaves no room for it", dir, model.end.stopped_by);
	else if (ret && otf2_sink_error(sinks->otf2))
		snprintf(err, err_len, "%s", otf2_sink_error(sinks->otf2));
	else if (ret)
		snprintf(err, err_len, "%s: %s", dir, reason);
	model_deinit(&model);
	return ret;
}

/* The worker's output: the text, and if requested a NUL and the contents of summary.json. */
static int add_json(FILE *text, FILE *json)
{
	char part[8192];
	size_t n;

	errno = 0;
	if (fputc(0, text) == EOF || fflush(json) || fseek(json, 0, SEEK_SET))
		return errno ? -errno : -EIO;
	while ((n = fread(part, 1, sizeof(part), json)))
		if (fwrite(part, 1, n, text) != n)
			return errno ? -errno : -EIO;
	return ferror(json) ? -EIO : 0;
}

static int archive_write_all(struct spool_reader *spool, const struct replay_preview *preview, const struct attempt *attempt,
			     FILE *text, char *err, size_t err_len)
{
	struct side_files sides = { 0 };
	struct sinks sinks = { 0 };
	int ret = side_files_open(&sides, attempt, err, err_len), closed;

	if (!ret)
		ret = create_sinks(&sinks, attempt, preview, &sides, text, err, err_len);
	if (!ret && preview->whole_job)
		otf2_sink_whole_job(sinks.otf2);
	if (!ret)
		start_threads(&sinks);
	if (!ret)
		ret = replay_into(spool, preview->sites, &sinks, attempt->out->path, err, err_len);
	if (!ret && attempt->options->json && add_json(text, sides.v[SUMMARY]))
		fprintf(stderr, "ioprobe: %s/summary.json cannot be read\n", attempt->out->path);
	closed = side_files_close(&sides, !ret);
	if (!ret && closed) {
		snprintf(err, err_len, "%s: the files beside the archive cannot be written: %s", attempt->out->path,
			 strerror(-closed));
		otf2_archive_remove(AT_FDCWD);
		ret = closed;
	}
	relay_destroy(sinks.relay);
	archive_size_sink_destroy(sinks.size);
	otf2_sink_destroy(sinks.otf2);
	summary_sink_destroy(sinks.summary);
	for (size_t i = 0; i < NSIDES; i++)
		side_outputs[i]->destroy(sinks.sides[i]);
	return ret;
}

/* ---- in the worker ---- */

/* The archive keeps a file open for each thread of the job, possibly more than the usual limit. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);       /* if it fails, the sink reports which file could not be opened */
}

/* An extra pass over the spool: the first event depends on properties of the last process, and symbols of call sites are at the
 * spool's end. */
static int archive_preview(struct replay_preview *preview, const struct attempt *attempt, char *err, size_t err_len)
{
	struct spool_reader *spool = NULL, *symbols = NULL;
	int ret = spool_reader_open(&spool, OUTPUT_SPOOL);

	if (!ret)
		ret = replay_preview(spool, preview);
	if (!ret && preview->sites && !spool_reader_open(&symbols, SYMBOLIZE_FILE))
		ret = call_sites_read_symbols(preview->sites, symbols);
	spool_reader_destroy(symbols);
	if (ret)
		snprintf(err, err_len, "%s/" OUTPUT_SPOOL " cannot be read: %s", attempt->out->path, strerror(-ret));
	spool_reader_destroy(spool);
	return ret;
}

static int archive_open_spool(struct spool_reader **spool, const struct attempt *attempt, char *err, size_t err_len)
{
	int ret = spool_reader_open(spool, OUTPUT_SPOOL);

	if (ret == -ENOENT)
		snprintf(err, err_len, "%s/" OUTPUT_SPOOL " does not exist: a recording that has ended in order keeps its records "
			 "only with --keep-spool", attempt->out->path);
	else if (ret)
		snprintf(err, err_len, "%s/" OUTPUT_SPOOL " cannot be read: %s", attempt->out->path,
			 ret == -EINVAL ? "it is not a spool of this version" : ret == -ELOOP ? "it is a symbolic "
				"link" : strerror(-ret));
	return ret;
}

/* The anchor file is written last: without a readable one, the other files are left over from an interrupted attempt. */
static int clear_leftovers(const struct attempt *attempt, char *err, size_t err_len)
{
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = here < 0 ? -errno : 0;

	if (!ret && !attempt->options->replace && otf2_archive_is_complete(here)) {
		snprintf(err, err_len,
			 "%s/" OTF2_ARCHIVE_NAME ".otf2 exists and is complete: there is nothing to recover; to make it again from "
						 "the spool, remove that file",
			 attempt->out->path);
		ret = -EEXIST;
	} else {
		ret = ret ? ret : otf2_archive_remove(here);
		if (ret)
			snprintf(err, err_len, "%s: cannot remove the files of an interrupted attempt: %s", attempt->out->path,
				 strerror(-ret));
	}
	if (here >= 0)
		close(here);
	return ret;
}

/* A process that makes an archive here holds the lock until it ends: that of a killed recorder, or another user's command. Some
 * shared file systems have no such locks: then it is not locked. */
static int lock_directory(int here, const struct attempt *attempt, char *err, size_t err_len)
{
	const struct timespec pause = { 0, 50000000 };

	for (int i = 0; flock(here, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK; i++) {
		if (i == LOCK_TRIES) {
			snprintf(err, err_len,
				 "%s: cannot make the archive: another process makes it, or holds a lock on the directory: wait "
				 "until that has ended",
				 attempt->out->path);
			return -EBUSY;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int run_attempt(void *arg, FILE *text, char *err, size_t err_len)
{
	const struct attempt *attempt = arg;
	struct spool_reader *spool = NULL;
	struct replay_preview preview = { 0 };
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* open, and therefore locked, for the lifetime of this process */
	int ret = lock_directory(here, attempt, err, err_len);

	if (!ret)
		ret = archive_open_spool(&spool, attempt, err, err_len);
	allow_many_files();
	if (!ret && attempt->progress)
		spool_reader_watch(spool, set_progress, arg);
	if (!ret)
		ret = clear_leftovers(attempt, err, err_len);
	if (!ret)
		ret = archive_preview(&preview, attempt, err, err_len);
	if (!ret)
		ret = archive_write_all(spool, &preview, attempt, text, err, err_len);
	call_sites_destroy(preview.sites);
	spool_reader_destroy(spool);
	if (!ret && !attempt->options->keep_spool)
		unlink(OUTPUT_SPOOL);
	return ret;
}

/* An error stays in the stream (ferror) and is reported by its owner. */
static void archive_hand_over(FILE *to, const char *text, size_t len)
{
	if (to && fwrite(text, 1, len, to) == len)
		fflush(to);
}

int archive_write(const struct output *out, const struct archive_options *options, char *err, size_t err_len)
{
	struct worker_progress *progress = options->progress ? mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
								    MAP_SHARED | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
	struct attempt attempt = { out, options, progress == MAP_FAILED ? NULL : progress };
	struct worker worker = { .who = out->owner, .dir = out->dir, .limit_s = options->limit_s, .threads = true,
				 .what = "making the archive", .run = run_attempt, .arg = &attempt,
				 .progress = attempt.progress };
	char *text;
	size_t len;
	int ret = worker_run(&worker, &text, &len, err, err_len);

	if (!ret) {
		size_t text_len = strnlen(text, len);

		archive_hand_over(options->text, text, text_len);
		if (text_len < len)
			archive_hand_over(options->json, text + text_len + 1, len - text_len - 1);
	}
	free(text);
	if (progress != MAP_FAILED)
		munmap(progress, sizeof(*progress));
	return ret;
}
