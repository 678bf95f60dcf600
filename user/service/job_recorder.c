/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Prepares a recording, waits for the job, records it into a directory of its user, and makes the archive with that user's rights
 * and at idle priority.
 */
#include "service/job_recorder.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/recorder.h"
#include "capture/settings.h"
#include "archive/archive.h"
#include "service/owner.h"
#include "service/request.h"
#include "service/service.h"
#include "service/state.h"
#include "service/wire.h"
#include "sink/otf2/otf2.h"
#include "spool/spool.h"
#include "stream/follower.h"
#include "stream/token.h"
#include "util/limits.h"

#define STREAM_WAIT_MS 1000             /* for the last interval of a stream, when the archive is written */

struct job_recorder {
	double ring_mib, max_overhead;
	const char *tables[RECORDER_MAX_TABLES], *recover;
	size_t ntables;
	unsigned slots;                 /* load programs for this many recordings; 0: record */
	struct settings settings;
	struct table_set set;
	struct programs *programs;      /* shared ones, with this recording's id in them; NULL: none */
	uint32_t id;
	bool answered_programs, own;    /* answered_programs: they came, or will not; own: this job must not use them */
	json_t *job;
	char *state;
	struct identity owner;
	struct output out;
	struct follower follower;
	struct owner_place place;
	char spool[4200];
	struct members members;
	pid_t pids[REQUEST_MAX_PIDS];
	size_t npids;
	bool answered;
};

/* WORD=VALUE; the service has checked it. */
static error_t set_setting(struct job_recorder *r, const char *arg)
{
	char word[32], err[600] = "unknown word";
	const char *value = strchr(arg, '=');

	snprintf(word, sizeof(word), "%.*s", value ? (int)(value - arg) : 0, arg);
	if (value && !settings_set(&r->settings, word, value + 1, err, sizeof(err)))
		return 0;
	fprintf(stderr, "ioprobe: --set %s: %s\n", arg, err);
	return EINVAL;
}

static error_t job_recorder_parse(int key, char *arg, struct argp_state *argp_state)
{
	struct job_recorder *r = argp_state->input;

	switch (key) {
	case 'r': r->ring_mib = atof(arg); return 0;
	case 'm': r->max_overhead = atof(arg); return 0;
	case 'R': r->recover = arg; return 0;
	case 's': return set_setting(r, arg);
	case 'l': r->slots = atoi(arg); return 0;
	case 'p':
		if (r->ntables < RECORDER_MAX_TABLES)
			r->tables[r->ntables++] = arg;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void job_recorder_answer(struct job_recorder *r, bool ok, const char *message)
{
	if (!r->answered)
		wire_answer(RECORDER_SOCKET_FD, ok, "%s", message);
	r->answered = true;
	service_say("%s", message);
}

static int job_recorder_failed(struct job_recorder *r, const char *message)
{
	job_recorder_answer(r, false, message);
	if (r->job)
		state_set(r->state, r->job, "failed", message);
	return 1;
}

/* ---- before the job is known ---- */

static int load_tables(struct job_recorder *r, char *err, size_t err_len)
{
	int ret = table_parse_builtin(&r->set, err, err_len);

	for (size_t i = 0; i < r->ntables && !ret; i++)
		ret = table_parse_file(&r->set, r->tables[i], err, err_len);
	if (!ret && r->settings.filter.layers[0])
		ret = table_set_select(&r->set, r->settings.filter.layers, err, err_len);
	return ret;
}

static struct program_options program_options(const struct job_recorder *r)
{
	return (struct program_options){
		.ring_bytes = r->ring_mib * (1 << 20), .filter = &r->settings.filter, .slots = r->slots, .recognise = true,
		.call_sites = r->settings.call_sites
	};
}

/* The tables may have been changed since the shared programs were loaded. */
static struct programs *usable_programs(struct job_recorder *r)
{
	struct programs *programs = r->programs;

	r->programs = NULL;
	if (r->settings.call_sites) {   /* shared ones have none: their requests would have to be told apart */
		programs_destroy(programs);
		return NULL;
	}
	if (!programs || programs->facts.tables == programs_checksum(&r->set))
		return programs;
	fprintf(stderr, "ioprobe: the site's probe tables have changed: this recording loads BPF programs of its own until the "
			"service reads its policy again (SIGHUP)\n");
	programs_destroy(programs);
	return NULL;
}

static void say_loaded(void)
{
	json_t *message = json_pack("{s:b}", "loaded", 1);

	wire_send(RECORDER_SOCKET_FD, message);
	json_decref(message);
}

/* A stop request before or after the recording is deferred. */
static void block_signals(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* ---- the job ---- */

static void open_log(const json_t *job)
{
	int fd = open(wire_text(job, "log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
}

static int take_job(struct job_recorder *r, const json_t *message)
{
	int err;

	r->own = json_is_true(json_object_get(message, "own"));
	r->job = json_incref(json_object_get(message, "job"));
	r->state = strdup(wire_text(message, "state"));
	if (!json_is_object(r->job) || !r->state)
		return -EBADMSG;
	open_log(r->job);
	err = owner_of(&r->owner, r->job);
	if (err)
		return err;
	json_object_set_new(r->job, "user", json_string(r->owner.name));
	return 0;
}

static int take_message(struct job_recorder *r)
{
	json_t *message;
	int err = wire_receive(RECORDER_SOCKET_FD, WIRE_MAX_BYTES, &message);

	if (err)
		return err;
	if (json_object_get(message, "job"))
		err = take_job(r, message);
	else
		r->answered_programs = true;
	json_decref(message);
	return err;
}

/* The set of programs is sent without JSON. Returns 0, or -ENODATA: the service closed the connection. */
static int receive_one(struct job_recorder *r)
{
	char first;
	ssize_t n = recv(RECORDER_SOCKET_FD, &first, 1, MSG_PEEK);

	if (n <= 0)
		return n ? -errno : -ENODATA;
	if (first == '{')
		return take_message(r);
	r->answered_programs = true;
	return programs_receive(RECORDER_SOCKET_FD, &r->programs, &r->id);
}

static int name_members(struct job_recorder *r)
{
	const json_t *entries = json_object_get(r->job, "entries"), *pids = json_object_get(r->job, "pids");

	for (size_t i = 0; i < json_array_size(pids) && i < REQUEST_MAX_PIDS; i++)
		r->pids[r->npids++] = json_integer_value(json_array_get(pids, i));
	r->members = (struct members){ .uid = r->owner.uid };
	snprintf(r->members.job, sizeof(r->members.job), "%s", wire_text(r->job, "job"));
	for (size_t i = 0; i < json_array_size(entries); i++)
		if (job_processes_add_entry(&r->members, json_string_value(json_array_get(entries, i)) ?: ""))
			return -E2BIG;
	return 0;
}

/* Nothing was recorded: removes the output, and the directory from the state. */
static void discard_output(struct job_recorder *r)
{
	follower_discard(&r->follower, &r->out);
	output_discard(&r->out);
	owner_remove_empty(&r->owner, r->out.path, &r->place);
	json_object_del(r->job, "output");
}

static int make_output(struct job_recorder *r, struct spool_writer **spool, char *err_text, size_t err_len)
{
	int err = owner_make_directory(&r->owner, r->job, &r->out, &r->place, err_text, err_len);

	if (err)
		return err;
	json_object_set_new(r->job, "output", json_string(r->out.path));
	json_object_set_new(r->job, "site_len", json_integer(r->place.site));
	json_object_set_new(r->job, "made_len", json_integer(r->place.made));
	snprintf(r->spool, sizeof(r->spool), "%s/" OUTPUT_SPOOL, r->out.path);
	err = output_create_spool(&r->out, spool, err_text, err_len);
	if (err)
		discard_output(r);
	return err;
}

/* The follower's environment proves to a collector which job it belongs to; the follower is the user's and never reads the
 * secret. */
static void set_token(const struct job_recorder *r)
{
	char name[TOKEN_ROOM], token[TOKEN_ROOM] = "", err[512] = "its cluster or job is no name that can be part of a path";
	const char *cluster = wire_text(r->job, "cluster");
	struct token_secret secret;

	if (!r->settings.collect_secret[0])
		return;
	snprintf(name, sizeof(name), "%s/%s/%u", *cluster ? cluster : "-", wire_text(r->job, "job"), r->owner.uid);
	if (token_secret_read(&secret, r->settings.collect_secret, err, sizeof(err)) ||
	    !token_make(token, sizeof(token), &secret, name))
		fprintf(stderr, "ioprobe: stream: the job gets no token for the collector: %s\n", err);
	setenv(TOKEN_VARIABLE, token, 1);
	setenv(TOKEN_CA_VARIABLE, r->settings.collect_ca, 1);
	explicit_bzero(&secret, sizeof(secret));
}

/* A stream that cannot be made costs a message. */
static void start_stream(struct job_recorder *r)
{
	const struct settings *s = &r->settings;
	const struct follower_options options = { (const char *const *)s->streams, s->nstreams,
						  s->stream_interval[0] ? s->stream_interval : NULL,
						  s->stream_names[0] ? s->stream_names : NULL,
						  s->stream_events[0] ? s->stream_events : NULL };
	int ret;

	set_token(r);
	ret = s->nstreams ? follower_start(&r->follower, &options, &r->out) : 0;

	if (ret)
		fprintf(stderr, "ioprobe: stream: no process can be started: %s; the recording goes on\n", strerror(-ret));
}

static void on_ready(void *arg, size_t processes, size_t probes)
{
	struct job_recorder *r = arg;
	char message[4200];

	(void)processes, (void)probes;
	start_stream(r);
	snprintf(message, sizeof(message), "recording to %s", r->out.path);
	job_recorder_answer(r, true, message);
	state_set(r->state, r->job, "recording", "");
}

/* ---- after the recording ---- */

/* Each of these may fail; then the archiver only competes more with other programs. */
static void step_back(void)
{
	struct sched_param none = { 0 };

	setpriority(PRIO_PROCESS, 0, 19);
	sched_setscheduler(0, SCHED_IDLE, &none);
	syscall(SYS_ioprio_set, 1, 0, 3 << 13);         /* IOPRIO_WHO_PROCESS, IOPRIO_CLASS_IDLE */
}

/* Describes where the records of a failed attempt are at present: their user may have removed or replaced them. */
static void describe_records(const struct job_recorder *r, char *text, size_t len)
{
	struct identity_saved saved;
	struct stat named, held;
	int err = identity_begin(&r->owner, &saved);

	if (!err) {
		err = fstatat(r->out.dir, OUTPUT_SPOOL, &held, AT_SYMLINK_NOFOLLOW) || lstat(r->spool, &named) ? -errno : 0;
		identity_end(&saved);
	}
	if (!err && S_ISREG(named.st_mode) && named.st_ino == held.st_ino && named.st_dev == held.st_dev)
		snprintf(text, len, "the records are kept: 'ioprobe recover %s' tries again", r->out.path);
	else
		snprintf(text, len, "the records are gone: %s %s", r->spool,
			 err ? strerror(-err) : "is not the recording's file any more");
}

/* As far as the stream has come then; a slow one goes on without the recorder. */
static void note_stream(struct job_recorder *r)
{
	struct live_report report;
	bool reported;

	follower_await(&r->follower, STREAM_WAIT_MS);   /* the last intervals are delivered after the recording */
	reported = follower_report(&r->follower, &report);
	if (follower_finish(&r->follower, 0) == -EIO)
		json_object_set_new(r->job, "stream_failed", json_true());
	if (!reported)
		return;
	json_object_set_new(r->job, "stream_intervals", json_integer((json_int_t)report.intervals));
	json_object_set_new(r->job, "stream_lag_ns", json_integer((json_int_t)report.lag_ns));
	json_object_set_new(r->job, "stream_missed", json_integer((json_int_t)report.missed));
}

static int job_recorder_finish(struct job_recorder *r, const char *recording_error)
{
	const struct archive_options options = {
		.summary_file = "summary.txt", .keep_spool = json_is_true(json_object_get(r->job, "keep_spool")), .replace = true,
		.limit_s = json_number_value(json_object_get(r->job, "archive_limit")),
	};
	char err[1024] = "", records[8600], message[11000];
	int ret;

	state_set(r->state, r->job, "archiving", recording_error);
	step_back();
	umask(077);
	ret = archive_write(&r->out, &options, err, sizeof(err));
	note_stream(r);
	if (!ret) {
		state_set(r->state, r->job, "done", recording_error);
		return 0;
	}
	describe_records(r, records, sizeof(records));
	snprintf(message, sizeof(message), "%s%s%s%s; %s", recording_error, *recording_error ? "; " : "", err,
		 ret == -ETIMEDOUT ? ", the policy's max-archive-time" : "", records);
	return job_recorder_failed(r, message);
}

static void note_result(struct job_recorder *r, const struct recorder_result *result)
{
	struct identity_saved saved;
	struct stat st;

	json_object_set_new(r->job, "records", json_integer(result->records));
	json_object_set_new(r->job, "lost", json_integer(result->lost));
	if (identity_begin(&r->owner, &saved))
		return;
	if (!fstatat(r->out.dir, OUTPUT_SPOOL, &st, AT_SYMLINK_NOFOLLOW))
		json_object_set_new(r->job, "record_bytes", json_integer(st.st_size));
	identity_end(&saved);
}

/* Processes that belong to another recording of the shared programs can only be recorded with a set of its own. */
static void leave_shared(const struct job_recorder *r, struct recorder_options *options)
{
	if (!options->prepared->shared || (!r->own && !recorder_has_foreign(options, options->prepared)))
		return;
	fprintf(stderr, "ioprobe: another recording has processes of this job: this one loads BPF programs of its own\n");
	recorder_discard(options->prepared);
	options->prepared = NULL;
}

static int job_recorder_record(struct job_recorder *r, struct recorder_options *options)
{
	char err[1024] = "";
	struct recorder_result result = { 0 };
	int ret;

	ret = name_members(r);
	if (ret)
		snprintf(err, sizeof(err), "the entries of the environment are too many or too long");
	else
		ret = make_output(r, &options->spool, err, sizeof(err));
	if (ret) {
		recorder_discard(options->prepared);
		return job_recorder_failed(r, err);
	}
	options->spool_path = r->spool;
	options->followed = r->settings.nstreams > 0;
	options->job = r->npids ? NULL : &r->members;
	options->pids = r->pids;
	options->npids = r->npids;
	options->idle_limit_s = json_number_value(json_object_get(r->job, "idle_limit"));
	options->only_of = r->owner.uid;
	options->host = *wire_text(r->job, "node") ? wire_text(r->job, "node") : NULL;
	options->cluster = wire_text(r->job, "cluster");
	json_object_set_new(r->job, "keep_spool", json_boolean(r->settings.keep_spool));        /* for a later recovery */
	leave_shared(r, options);
	ret = recorder_run(options, &result, err, sizeof(err));
	if (!ret && recorder_stopped_early(&result))
		snprintf(err, sizeof(err), "the recording ended before the job: %s", result.reason);
	if (!(ret ? result.records : result.processes))
		discard_output(r);
	if (ret && !result.records)
		return job_recorder_failed(r, err);
	if (!ret && !result.processes) {
		snprintf(err, sizeof(err), "no process of the job was seen on this node: %s", result.reason);
		state_set(r->state, r->job, "empty", err);
		return 0;
	}
	note_result(r, &result);
	return job_recorder_finish(r, err);
}

static int serve_one_job(struct job_recorder *r)
{
	struct recorder_prepared prepared = { 0 };
	struct recorder_options options = {
		.set = &r->set,
		.filter = &r->settings.filter,
		.bounds = &r->settings.bounds,
		.duration_s = r->settings.duration_s,
		.shared_mounts = (const char *const *)r->settings.shared_mounts,
		.nshared_mounts = r->settings.nshared_mounts,
		.no_shared_links = r->settings.no_shared_links,
		.lazy_streams = r->settings.lazy_streams,
		.max_overhead_percent = r->max_overhead,
		.kernel = program_options(r),
		.job = &r->members,
		.prepared = &prepared,
		.only_of = -1 /* not known yet */,
		.ready = on_ready,
		.ready_arg = r,
	};
	char err[1024] = "";
	int ret = load_tables(r, err, sizeof(err)), ended = 0;

	while (!ended && !r->answered_programs)
		ended = receive_one(r);
	if (!ended && !ret)
		ret = recorder_prepare(&options, usable_programs(r), r->id, &prepared, err, sizeof(err));
	if (!ended)
		say_loaded();
	while (!ended && !r->job)
		ended = receive_one(r);
	if (ended) {
		recorder_discard(&prepared);
		return 0;
	}
	return ret ? job_recorder_failed(r, err) : job_recorder_record(r, &options);
}

/* ---- loading shared programs ---- */

static int load_shared(struct job_recorder *r)
{
	struct program_options options = program_options(r);
	struct programs *programs = NULL;
	char err[1024] = "";
	int ret = load_tables(r, err, sizeof(err));

	options.call_sites = 0;
	if (!ret)
		ret = programs_create(&programs, &options);
	if (!ret)
		ret = programs_load(programs, &r->set, &options, err, sizeof(err));
	if (!ret)
		ret = programs_send(RECORDER_SOCKET_FD, programs, 0);
	if (ret)
		fprintf(stderr, "ioprobe: cannot load the shared BPF programs: %s\n", err[0] ? err : strerror(-ret));
	programs_destroy(programs);
	return ret != 0;
}

/* ---- recovery after the death of a recorder ---- */

/* The spool is removed last: an archive without a spool was complete before its recorder was killed. */
static int recover_without_spool(struct job_recorder *r)
{
	struct stat st;

	if (!fstatat(r->out.dir, OTF2_ARCHIVE_NAME ".otf2", &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode)) {
		state_set(r->state, r->job, "done", "the recorder was ended from outside after it had made the archive");
		return 0;
	}
	owner_remove_empty(&r->owner, r->out.path, &r->place);
	return job_recorder_failed(r, "the recorder was ended from outside before it had recorded anything: there is no archive");
}

static int open_recorded(struct job_recorder *r)
{
	const char *path = wire_text(r->job, "output");
	const json_t *made = json_object_get(r->job, "made_len");
	char err[1024] = "";
	struct stat st;

	if (owner_of(&r->owner, r->job))
		return job_recorder_failed(r, "cannot find the groups of the job's user: out of memory");
	if (output_open(&r->out, &r->owner, path, err, sizeof(err)))
		return job_recorder_failed(r, err);
	snprintf(r->spool, sizeof(r->spool), "%s/" OUTPUT_SPOOL, path);
	r->place.site = json_integer_value(json_object_get(r->job, "site_len"));
	r->place.made = json_is_integer(made) ? (size_t)json_integer_value(made) : SIZE_MAX;
	if (fstatat(r->out.dir, OUTPUT_SPOOL, &st, AT_SYMLINK_NOFOLLOW))
		return recover_without_spool(r);
	return job_recorder_finish(r, "the recorder was ended from outside: the records until then are in the archive");
}

static int job_recorder_make_archive(struct job_recorder *r)
{
	r->answered = true;     /* there is no client */
	r->state = strdup(r->recover);
	r->job = state_load(r->recover);
	if (!r->job || !r->state)
		return 1;
	open_log(r->job);
	if (!*wire_text(r->job, "output") || strchr(wire_text(r->job, "output"), '%'))
		return job_recorder_failed(
			r, "the recorder was ended from outside before it had recorded anything: there is no archive");
	return open_recorded(r);
}

int job_recorder_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "ring-size", 'r', "MIB", 0, "", 0 }, { "max-overhead", 'm', "PERCENT", 0, "", 0 },
		{ "probes", 'p', "FILE", 0, "", 0 }, { "set", 's', "WORD=VALUE", 0, "", 0 },
		{ "recover", 'R', "STATE", 0, "", 0 }, { "load", 'l', "SLOTS", 0, "", 0 }, { 0 }
	};
	static const struct argp argp = { options, job_recorder_parse, NULL, "A process of ioprobe serve.", NULL, NULL, NULL };
	struct job_recorder *r = calloc(1, sizeof(*r));
	char reason[256];
	int ret;

	limits_raise_files(reason, sizeof(reason));     /* the service has refused to start with too few */
	if (!r || argp_parse(&argp, argc, argv, 0, NULL, r))
		return 1;
	r->out.dir = r->out.above = -1;
	block_signals();
	table_set_init(&r->set);
	ret = r->recover ? job_recorder_make_archive(r) : r->slots ? load_shared(r) : serve_one_job(r);
	table_set_deinit(&r->set);
	output_close(&r->out);
	identity_deinit(&r->owner);
	json_decref(r->job);
	free(r->state);
	settings_deinit(&r->settings);
	free(r);
	return ret;
}
