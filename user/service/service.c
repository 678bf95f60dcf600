/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Handles requests: checks permissions and carries them out.
 */
#include "service/service.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/job_processes.h"
#include "service/request.h"
#include "service/state.h"
#include "service/wire.h"
#include "util/version.h"

void service_say(const char *format, ...)
{
	char text[4608];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wire_make_printable(text);
	fprintf(stderr, "ioprobe: %s\n", text);
}

/* ---- start ---- */

/* Adds the fields that only the service sets. A variable that the policy's rule requires is one more entry. */
static int service_complete(const struct service *s, json_t *job, const char *wanted, char *why, size_t why_len)
{
	bool by_user = json_integer_value(json_object_get(job, "by"));
	json_t *entries = json_object_get(job, "entries");
	char log[4200];

	if (wanted && !json_array_size(json_object_get(job, "pids")))
		json_array_append_new(entries, json_string(wanted));
	if (json_array_size(entries) > IOP_MAX_AWAITED) {
		snprintf(why, why_len, "job %s: with the policy's rule it has more than %d entries of the environment: name fewer",
			 wire_text(job, "job"), IOP_MAX_AWAITED);
		return -E2BIG;
	}
	snprintf(log, sizeof(log), "%s/log/%s", s->options->state_dir, wire_text(job, "id"));
	json_object_set_new(job, "log", json_string(log));
	json_object_set_new(job, "output", json_string(s->policy.output));
	json_object_set_new(job, "idle_limit", json_real(by_user ? s->policy.user_idle_limit_s : s->policy.idle_limit_s));
	json_object_set_new(job, "archive_limit", json_real(s->policy.max_archive_s));
	return 0;
}

/* The last standby recorder is kept for root: a prolog waits for the answer; a user's command can wait longer. */
static pid_t take_recorder(struct service *s, bool by_user, int *fd)
{
	if (by_user && s->standby.n < 2)
		return shared_start_recorder(&s->shared, &s->policy, fd);
	return standby_take(&s->standby, &s->policy, &s->shared, fd);
}

/* A user's own recording beside another one of the same job needs its own programs: a process can be in only one recording of the
 * shared programs. */
static bool needs_own_programs(const struct service *s, const json_t *job)
{
	for (const struct job *other = s->jobs.first; other; other = other->next)
		if (!strcmp(wire_text(other->object, "job"), wire_text(job, "job")) && strcmp(other->id, wire_text(job, "id")) &&
		    json_equal(json_object_get(other->object, "uid"), json_object_get(job, "uid")))
			return true;
	return false;
}

/* The recorder is tracked before it gets the job: every recorder can be stopped. */
static int service_hand_over(struct service *s, json_t *job, pid_t pid, int fd, int client_fd)
{
	bool own = needs_own_programs(s, job);
	json_t *message;
	char path[4200];
	int err = jobs_add_child(&s->jobs, job, pid, fd, client_fd);

	if (err) {
		kill(pid, SIGKILL);
		close(fd);
		return err;
	}
	state_path(path, sizeof(path), s->options->state_dir, wire_text(job, "id"));
	state_set_process(job, pid);
	state_begin(path, job);
	message = json_pack("{s:s, s:O, s:b}", "state", path, "job", job, "own", own);
	err = message ? wire_send(fd, message) : -ENOMEM;
	json_decref(message);
	if (err) {
		struct job *tracked = jobs_find(&s->jobs, wire_text(job, "id"));

		kill(pid, SIGKILL);
		tracked->client_fd = -1;        /* the caller answers */
		jobs_remove(&s->jobs, tracked);
		state_set(path, job, "failed", "the service could not reach its recorder");
	}
	return err;
}

static int run_recorder(struct service *s, json_t *job, int client_fd, char *why, size_t why_len)
{
	int fd = -1, err;
	pid_t pid = take_recorder(s, json_integer_value(json_object_get(job, "by")), &fd);

	err = pid < 0 ? pid : service_hand_over(s, job, pid, fd, client_fd);
	if (err)
		snprintf(why, why_len, "job %s: cannot %s a recorder: %s: try again later", wire_text(job, "job"),
			 pid < 0 ? "start" : "reach", strerror(-err));
	return err;
}

static int check_room(const struct service *s, const json_t *job, uid_t uid, char *why, size_t why_len)
{
	const char *id = wire_text(job, "job");
	int err = -EBUSY;

	if (jobs_find(&s->jobs, wire_text(job, "id"))) {
		snprintf(why, why_len, "job %s is being recorded already: stop that recording first", id);
		err = -EEXIST;
	} else if (s->jobs.n >= s->policy.max_jobs) {
		snprintf(why, why_len, "job %s: %zu jobs are being recorded, the policy's max-jobs: wait until one ends", id,
			 s->jobs.n);
	} else if (uid && jobs_count_by(&s->jobs, uid) >= s->policy.max_jobs_per_user) {
		snprintf(why, why_len,
			 "job %s: %zu recordings of yours run, the policy's max-jobs-per-user: stop one, or wait until one ends",
			 id, jobs_count_by(&s->jobs, uid));
	} else if (uid && jobs_count_users(&s->jobs) >= policy_user_jobs(&s->policy)) {
		snprintf(why, why_len,
			 "job %s: %zu recordings of users run, the rest is reserved for root by the policy: wait until one ends",
			 id, jobs_count_users(&s->jobs));
	} else {
		err = 0;
	}
	return err;
}

/* Clients other than root may only name their own processes. Returns the job, or NULL with a line in why; *declined: by the
 * policy's rules, which is not an error. */
static json_t *accept_job(struct service *s, const json_t *message, const struct ucred *peer, bool *declined, char *why,
			  size_t why_len)
{
	const struct request_site site = { s->options->node, s->host, s->policy.cluster };
	json_t *job = request_job(message, peer, &site, why, why_len);
	const char *wanted = NULL;
	int err = job ? check_room(s, job, peer->uid, why, why_len) : -EINVAL;

	if (!err)
		err = request_check_processes(job, peer->uid, why, why_len);
	if (!err && !peer->uid && !json_is_true(json_object_get(message, "always")))
		*declined = !policy_wants(&s->policy, job, &wanted, why, why_len);
	if (!err && !*declined)
		err = service_complete(s, job, wanted, why, why_len);
	if (!err && !*declined)
		return job;
	json_decref(job);
	return NULL;
}

/* Answers at once, unless a recorder will. */
static bool on_start(struct service *s, const json_t *message, const struct ucred *peer, int fd)
{
	char why[512] = "the site's policy lets only root start recordings: ask its administrator for 'users yes'";
	bool declined = false, answered = true;
	json_t *job = peer->uid && !s->policy.users ? NULL : accept_job(s, message, peer, &declined, why, sizeof(why));

	if (declined)
		wire_answer(fd, true, "job %s is not recorded: %s", wire_text(message, "job"), why);
	else if (job && !run_recorder(s, job, fd, why, sizeof(why)))
		answered = false;
	else
		wire_answer(fd, false, "%s", why);
	*(declined ? &s->counts.declined : answered ? &s->counts.refused : &s->counts.accepted) += 1;
	s->counts.changed = true;
	if (answered && !declined)
		service_say("uid %u: cannot start a recording: %s", peer->uid, why);
	json_decref(job);
	return answered;
}

/* ---- stop, status ---- */

static bool service_may(const struct ucred *peer, const json_t *job)
{
	return !peer->uid || peer->uid == (uid_t)json_integer_value(json_object_get(job, "uid"));
}

/* A user's own recording takes precedence over root's of the same job. */
static struct job *find_for(const struct service *s, const char *id, const struct ucred *peer)
{
	char own[2 * STATE_ID_ROOM];
	struct job *job;

	if (!state_valid_id(id))
		return NULL;
	request_recording_id(own, sizeof(own), id, peer->uid);
	job = jobs_find(&s->jobs, own);
	return job ? job : jobs_find(&s->jobs, id);
}

static void on_stop(struct service *s, const char *id, const struct ucred *peer, int fd)
{
	struct job *job = find_for(s, id, peer);

	if (!job) {
		wire_answer(fd, false, "job %.64s is not being recorded", id);
	} else if (!service_may(peer, job->object)) {
		wire_answer(fd, false, "job %s is another user's: only root may stop it", id);
	} else if (syscall(SYS_pidfd_send_signal, job->pid_fd, SIGTERM, NULL, 0)) {
		wire_answer(fd, false, "job %s: cannot signal its recorder (pid %d): %s", id, job->pid, strerror(errno));
	} else {
		wire_answer(fd, true, "job %s: the recording ends", id);
		service_say("uid %u: job %s: stop", peer->uid, job->id);
	}
}

static int send_status(void *arg, const char *path, json_t *job)
{
	const struct { const char *id; const struct ucred *peer; int fd; } *to = arg;

	(void)path;
	if (!job || (*to->id && strcmp(to->id, wire_text(job, "job")) && strcmp(to->id, wire_text(job, "id"))) ||
	    !service_may(to->peer, job))
		return 0;
	json_object_set_new(job, "ok", json_true());
	return wire_send(to->fd, job);
}

/* Without it a client cannot distinguish the end from a service that died. */
static void send_end(int fd)
{
	json_t *end = json_pack("{s:b, s:b}", "ok", 1, "end", 1);

	wire_send(fd, end);
	json_decref(end);
}

static void on_status(struct service *s, const char *id, const struct ucred *peer, int fd)
{
	struct { const char *id; const struct ucred *peer; int fd; } to = { id, peer, fd };
	int room = 1 << 20;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (jobs_states(s->options->state_dir, send_status, &to))
		wire_answer(fd, false, "the status of all jobs does not fit into an answer: ask for one job with --job");
	else
		send_end(fd);
}

bool service_request(struct service *s, const json_t *message, const struct ucred *peer, int fd)
{
	const char *request = wire_text(message, "request");

	if (!strcmp(request, "start"))
		return on_start(s, message, peer, fd);
	if (!strcmp(request, "stop"))
		on_stop(s, wire_text(message, "job"), peer, fd);
	else if (!strcmp(request, "status"))
		on_status(s, wire_text(message, "job"), peer, fd);
	else if (!strcmp(request, "version"))
		wire_answer(fd, true, "ioprobe %s: %zu jobs are being recorded, %zu recorders are loaded and wait", ioprobe_version,
			    s->jobs.n, standby_loaded(&s->standby));
	else
		wire_answer(fd, false, "unknown request '%.64s': this service knows start, stop, status and version", request);
	return true;
}
