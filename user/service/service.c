/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Requests: who may ask for what, and what comes of it.
 */
#include "service/service.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "service/state.h"
#include "service/wire.h"

void service_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("ioprobe: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

/* ---- start ---- */

static bool own_process(pid_t pid, uid_t uid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return !stat(path, &st) && (!uid || st.st_uid == uid);  /* a process with other rights than its user's is root's there */
}

static int check_pids(const json_t *job, uid_t uid, char *why, size_t why_len)
{
	const json_t *pids = json_object_get(job, "pids");

	for (size_t i = 0; i < json_array_size(pids); i++) {
		pid_t pid = json_integer_value(json_array_get(pids, i));

		if (pid > 0 && own_process(pid, uid))
			continue;
		snprintf(why, why_len, "process %d does not exist or is not yours", pid);
		return -EPERM;
	}
	return 0;
}

/* By what its programs are recognised, unless the request says it. */
static void name_entries(const struct service *s, json_t *job, const char *wanted)
{
	json_t *entries = json_object_get(job, "entries");

	if (json_array_size(json_object_get(job, "pids")))
		return;
	if (!json_array_size(entries)) {
		entries = json_array();
		json_array_append_new(entries, json_sprintf("SLURM_JOB_ID=%s", wire_text(job, "job")));
		if (s->options->node)
			json_array_append_new(entries, json_sprintf("SLURMD_NODENAME=%s", s->options->node));
		json_object_set_new(job, "entries", entries);
	}
	if (wanted)
		json_array_append_new(entries, json_string(wanted));
}

/* What only we say of a job. */
static void complete(const struct service *s, json_t *job, const char *wanted)
{
	char log[4200];

	name_entries(s, job, wanted);
	if (s->options->node)
		json_object_set_new(job, "node", json_string(s->options->node));
	snprintf(log, sizeof(log), "%s/log/%s", s->options->state_dir, wire_text(job, "id"));
	json_object_set_new(job, "log", json_string(log));
	json_object_set_new(job, "output", json_string(s->policy.output));
	json_object_set_new(job, "idle_limit", json_real(s->policy.idle_limit_s));
}

static int run_recorder(struct service *s, json_t *job, int client_fd, char *why, size_t why_len)
{
	char path[4200];
	json_t *message;
	int fd = -1, err;
	pid_t pid = spares_take(&s->spares, &s->policy, &fd);

	if (pid < 0) {
		snprintf(why, why_len, "cannot start a recorder: %s", strerror(-pid));
		return pid;
	}
	state_path(path, sizeof(path), s->options->state_dir, wire_text(job, "id"));
	json_object_del(job, "recovered");
	state_set_process(job, pid);
	state_set(path, job, "starting", "");
	message = json_pack("{s:s, s:O}", "state", path, "job", job);
	err = message ? wire_send(fd, message) : -ENOMEM;
	json_decref(message);
	if (!err)
		err = jobs_add(&s->jobs, job, pid, fd, client_fd);
	if (!err)
		return 0;
	snprintf(why, why_len, "cannot reach the recorder: %s", strerror(-err));
	state_set(path, job, "failed", why);
	close(fd);
	return err;
}

/* The name of a recording: the job's id if root wants it, else one that is in nobody's way. */
static void recording_id(char *id, size_t len, const char *job, const struct ucred *peer)
{
	if (peer->uid)
		snprintf(id, len, "u%u.%s", peer->uid, job);
	else
		snprintf(id, len, "%s", job);
}

/* Who is not root speaks for himself, and only of his own processes. */
static int check_start(struct service *s, json_t *job, const struct ucred *peer, const char **wanted, char *why, size_t why_len)
{
	bool by_policy = !json_is_true(json_object_get(job, "always"));
	char id[128];

	*wanted = NULL;
	if (!state_valid_id(wire_text(job, "job"))) {
		snprintf(why, why_len, "'%s' is no job id", wire_text(job, "job"));
		return -EINVAL;
	}
	if (peer->uid && !s->policy.users) {
		snprintf(why, why_len, "the site's policy lets only root start recordings");
		return -EPERM;
	}
	recording_id(id, sizeof(id), wire_text(job, "job"), peer);
	if (!state_valid_id(id)) {
		snprintf(why, why_len, "the job id %s is too long", wire_text(job, "job"));
		return -EINVAL;
	}
	json_object_set_new(job, "id", json_string(id));
	if (jobs_find(&s->jobs, id)) {
		snprintf(why, why_len, "job %s is being recorded already", wire_text(job, "job"));
		return -EEXIST;
	}
	if (s->jobs.n >= s->policy.max_jobs) {
		snprintf(why, why_len, "%zu jobs are being recorded, as many as the policy allows", s->jobs.n);
		return -EBUSY;
	}
	if (check_pids(job, peer->uid, why, why_len))
		return -EPERM;
	if (peer->uid) {
		json_object_set_new(job, "uid", json_integer(peer->uid));
		json_object_set_new(job, "gid", json_integer(peer->gid));
		json_object_del(job, "user");
	}
	if (!json_is_integer(json_object_get(job, "uid")) || !json_is_integer(json_object_get(job, "gid"))) {
		snprintf(why, why_len, "the job's user and group are missing");
		return -EINVAL;
	}
	return !by_policy || peer->uid || policy_wants(&s->policy, job, wanted, why, why_len) ? 0 : -ECANCELED;
}

/* Answers at once, unless a recorder will. */
static bool on_start(struct service *s, json_t *job, const struct ucred *peer, int fd)
{
	char why[512] = "";
	const char *wanted;
	int err = check_start(s, job, peer, &wanted, why, sizeof(why));

	if (err == -ECANCELED) {
		wire_answer(fd, true, "job %s is not recorded: %s", wire_text(job, "job"), why);
		return true;
	}
	if (!err) {
		complete(s, job, wanted);
		err = run_recorder(s, job, fd, why, sizeof(why));
	}
	if (!err)
		return false;
	service_say("job %s cannot be recorded: %s", wire_text(job, "job"), why);
	wire_answer(fd, false, "%s", why);
	return true;
}

/* ---- stop, status ---- */

static bool may(const struct ucred *peer, const json_t *job)
{
	return !peer->uid || peer->uid == (uid_t)json_integer_value(json_object_get(job, "uid"));
}

static void on_stop(struct service *s, const char *id, const struct ucred *peer, int fd)
{
	struct job *job = jobs_find(&s->jobs, id);
	char own[128];

	recording_id(own, sizeof(own), id, peer);
	if (!job)
		job = jobs_find(&s->jobs, own);

	if (!job) {
		wire_answer(fd, false, "job %s is not being recorded", id);
	} else if (!may(peer, job->object)) {
		wire_answer(fd, false, "job %s is another user's", id);
	} else if (syscall(SYS_pidfd_send_signal, job->pid_fd, SIGTERM, NULL, 0)) {
		wire_answer(fd, false, "job %s: its recorder cannot be told: %s", id, strerror(errno));
	} else {
		wire_answer(fd, true, "job %s: the recording ends", id);
		service_say("job %s: stop", id);
	}
}

static int send_status(void *arg, const char *path, json_t *job)
{
	const struct { const char *id; const struct ucred *peer; int fd; } *to = arg;

	(void)path;
	if ((*to->id && strcmp(to->id, wire_text(job, "job")) && strcmp(to->id, wire_text(job, "id"))) || !may(to->peer, job))
		return 0;
	json_object_set_new(job, "ok", json_true());
	return wire_send(to->fd, job);
}

static void on_status(struct service *s, const char *id, const struct ucred *peer, int fd)
{
	struct { const char *id; const struct ucred *peer; int fd; } to = { id, peer, fd };
	int room = 1 << 20;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (jobs_states(s->options->state_dir, send_status, &to))
		wire_answer(fd, false, "there are more than fit into an answer: ask for one job");
}

bool service_request(struct service *s, json_t *message, const struct ucred *peer, int fd)
{
	const char *request = wire_text(message, "request");

	if (!strcmp(request, "start")) {
		json_object_del(message, "request");
		return on_start(s, message, peer, fd);
	}
	if (!strcmp(request, "stop"))
		on_stop(s, wire_text(message, "job"), peer, fd);
	else if (!strcmp(request, "status"))
		on_status(s, wire_text(message, "job"), peer, fd);
	else if (!strcmp(request, "version"))
		wire_answer(fd, true, "%s: %zu jobs are being recorded, %zu recorders are loaded and wait", argp_program_version,
			    s->jobs.n, spares_loaded(&s->spares));
	else
		wire_answer(fd, false, "unknown request '%s'", request);
	return true;
}
