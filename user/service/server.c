/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One thread, one poll(2) loop: the socket, clients that have not sent a request, recorders that have not answered, recorders that
 * may end.
 */
#include "service/server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/rings.h"
#include "service/clients.h"
#include "service/job_recorder.h"
#include "service/manager.h"
#include "service/service.h"
#include "service/state.h"
#include "service/wire.h"

#define MAX_ACCEPTED 1024       /* connections per turn of the loop: more than the backlog */
#define MAX_USER_REQUESTS 4     /* per turn of the loop */
#define METRICS_INTERVAL_NS 1000000000ull
#define FORGET_INTERVAL_NS 600000000000ull

struct server {
	struct service service;
	struct clients clients;
	int listen_fd, signal_fd;
	bool own_socket;        /* opened here, not by the service manager */
	uint64_t forgot_ns, metrics_ns;
	size_t metrics_jobs, metrics_standby;   /* in the file of metrics */
	int metrics_failed;
	bool stop;
};

/* ---- clients ---- */

static void server_accept_one(struct server *s, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int err =
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? -errno : clients_add(&s->clients, fd, &peer, monotonic_ns());

	if (!err)
		return;
	if (err == -EUSERS)
		wire_answer(fd, false, "uid %u has too many open connections to the service: close one of them", peer.uid);
	close(fd);
}

/* Accepts all waiting connections, up to a limit: users' connections must not delay root's. */
static void on_connections(struct server *s)
{
	for (int i = 0; i < MAX_ACCEPTED; i++) {
		int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		server_accept_one(s, fd);
	}
}

static bool server_on_request(struct server *s, const json_t *message, const struct ucred *peer, int fd)
{
	double tokens = strcmp(wire_text(message, "request"), "start") ? 1 : 4;

	if (clients_charge(&s->clients, peer->uid, tokens, monotonic_ns()))
		return service_request(&s->service, message, peer, fd);
	wire_answer(fd, false, "uid %u asks more often than the service answers a user: try again in some seconds", peer->uid);
	return true;
}

static void on_client(struct server *s, const struct ucred *peer, int fd)
{
	size_t limit = peer->uid ? WIRE_MAX_USER_BYTES : WIRE_MAX_BYTES;
	json_t *message;
	int err = wire_receive(fd, limit, &message);
	bool done = true;

	if (err == -EMSGSIZE)
		wire_answer(fd, false, "the request is longer than %zu bytes: name fewer processes", limit);
	else if (err)
		wire_answer(fd, false, "the request is not a message of this version: use the ioprobe of the service's version");
	else
		done = server_on_request(s, message, peer, fd);
	json_decref(message);
	if (done)
		close(fd);
}

/* Each client sends one request. Root's requests are answered first, then a few of users'; root's requests that arrive meanwhile
 * are seen in the next turn. */
static void serve_clients(struct server *s)
{
	struct ucred peer;
	int fd;

	while ((fd = clients_take_ready(&s->clients, true, &peer)) >= 0)
		on_client(s, &peer, fd);
	for (int i = 0; i < MAX_USER_REQUESTS && (fd = clients_take_ready(&s->clients, false, &peer)) >= 0; i++)
		on_client(s, &peer, fd);
	clients_expire(&s->clients, monotonic_ns());
}

/* ---- recorders ---- */

/* The socket is non-blocking: a child of a dead recorder may keep its other end open. */
static void on_answer(struct job *job)
{
	json_t *message = NULL;
	int err = wire_receive(job->fd, WIRE_MAX_BYTES, &message);

	if (!err && json_is_true(json_object_get(message, "loaded"))) {
		json_decref(message);   /* it got its job before this was read */
		return;
	}
	if (err)
		wire_answer(job->client_fd, false, "job %s: its recorder ended without an answer: see %s", job->id,
			    wire_text(job->object, "log"));
	else
		wire_send(job->client_fd, message);
	service_say("job %s: %s", job->id, err ? "its recorder ended without an answer" : wire_text(message, "message"));
	json_decref(message);
	job_answered(job);
}

/* A child that cannot be tracked is killed: it could not be stopped later. */
static void run_recovery(struct server *s, json_t *state, const char *path)
{
	pid_t pid = job_recorder_recover(path, STDERR_FILENO);
	int err;

	if (pid < 0) {
		service_say("job %s: cannot start the recovery of its archive: %s: restart the service to try again",
			    wire_text(state, "id"), strerror(-pid));
		return;
	}
	service_say("job %s: its recorder died; its archive is being made", wire_text(state, "id"));
	state_set_process(state, pid);
	state_save(path, state);
	err = jobs_add_child(&s->service.jobs, state, pid, -1, -1);
	if (!err)
		return;
	kill(pid, SIGKILL);
	service_say("job %s: cannot watch the recovery of its archive: %s: restart the service to try again",
		    wire_text(state, "id"), strerror(-err));
}

static void start_recovery(struct server *s, json_t *state, const char *path)
{
	if (json_is_true(json_object_get(state, "recovered"))) {
		state_set(path, state, "failed", "making the archive failed twice: ioprobe recover tries again");
		return;
	}
	json_object_set_new(state, "recovered", json_true());
	run_recovery(s, state, path);
}

/* The recorder's state file contains how it ended. */
static void server_on_end(struct server *s, struct job *job)
{
	char path[4200];
	json_t *state;

	while (job->fd >= 0)
		on_answer(job);
	state_path(path, sizeof(path), s->service.options->state_dir, job->id);
	jobs_remove(&s->service.jobs, job);
	state = state_load(path);
	if (!state)
		service_say("%s: cannot read the state: it is damaged or removed: its recording is not known any more", path);
	else if (!state_is_final(state))
		start_recovery(s, state, path);
	else
		service_say("job %s: %s %s", wire_text(state, "id"), wire_text(state, "phase"), wire_text(state, "message"));
	if (state && state_is_final(state))
		service_counts_end(&s->service.counts, state);
	json_decref(state);
}

static void server_reap(struct server *s)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		standby_ended(&s->service.standby, pid);
		shared_ended(&s->service.shared, pid);
	}
}

static void serve_recorders(struct server *s)
{
	struct job *next;

	for (struct job *job = s->service.jobs.first; job; job = next) {
		struct pollfd ready[] = { { job->fd, POLLIN, 0 }, { job->pid_fd, POLLIN, 0 } };

		next = job->next;
		if (poll(ready, 2, 0) <= 0)
			continue;
		if (job->fd >= 0 && ready[0].revents)
			on_answer(job);
		if (ready[1].revents)
			server_on_end(s, job);
	}
}

/* ---- the loop ---- */

/* A file that cannot be written is reported once. */
static void server_write_metrics(struct server *s)
{
	struct service *service = &s->service;
	size_t standby = standby_loaded(&service->standby);
	char err[4700];
	int ret;

	service->counts.changed |= service->jobs.n != s->metrics_jobs || standby != s->metrics_standby;
	if (!service->policy.metrics[0] || !service->counts.changed || monotonic_ns() - s->metrics_ns < METRICS_INTERVAL_NS)
		return;
	s->metrics_ns = monotonic_ns();
	s->metrics_jobs = service->jobs.n;
	s->metrics_standby = standby;
	service->counts.changed = false;
	ret = service_metrics_write(service->policy.metrics, service->options->node ? service->options->node : service->host,
				    &service->counts, service->jobs.n, standby, err, sizeof(err));
	if (ret && !s->metrics_failed)
		service_say("%s", err);
	s->metrics_failed = ret;
}

/* Milliseconds until something is to be done without an event. */
static int longest_wait(const struct server *s)
{
	if (s->clients.first)
		return 250;
	return s->service.policy.metrics[0] && s->service.counts.changed ? METRICS_INTERVAL_NS / 1000000 : 60000;
}

static void server_reload(struct server *s)
{
	struct policy policy = { 0 };
	char err[512];

	if (!s->service.options->policy_path)
		return;
	if (policy_read(&policy, s->service.options->policy_path, err, sizeof(err))) {
		service_say("the old policy stays: %s", err);
		policy_deinit(&policy);
		return;
	}
	policy_deinit(&s->service.policy);
	s->service.policy = policy;
	standby_drop(&s->service.standby);
	shared_load(&s->service.shared, &s->service.policy);
	s->service.counts.changed = true;
	s->metrics_failed = 0;
	service_say("the policy was read again");
}

static void server_on_signals(struct server *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			manager_reloading();
			server_reload(s);
			manager_ready();
		} else if (info.ssi_signo != SIGCHLD) {
			s->stop = true;
		}
	}
}

static void wait_for_something(struct server *s)
{
	struct pollfd fds[3 + CLIENTS_MAX + MAX_STANDBY + 2 * JOBS_MAX];
	size_t n = 0;

	fds[n++] = (struct pollfd){ s->signal_fd, POLLIN, 0 };
	fds[n++] = (struct pollfd){ s->listen_fd, POLLIN, 0 };
	fds[n++] = shared_poll(&s->service.shared);
	for (struct client *client = s->clients.first; client; client = client->next)
		fds[n++] = (struct pollfd){ client->fd, POLLIN, 0 };
	n += standby_poll(&s->service.standby, fds + n);
	for (struct job *job = s->service.jobs.first; job; job = job->next) {
		fds[n++] = (struct pollfd){ job->pid_fd, POLLIN, 0 };
		fds[n++] = (struct pollfd){ job->fd, POLLIN, 0 };
	}
	poll(fds, n, longest_wait(s));
}

static bool server_starting(const struct server *s)
{
	for (const struct job *job = s->service.jobs.first; job; job = job->next)
		if (job->client_fd >= 0)
			return true;
	return false;
}

static void server_loop(struct server *s)
{
	while (!s->stop) {
		if (!server_starting(s))
			/* not while a job waits for its recorder */
			standby_fill(&s->service.standby, &s->service.policy, &s->service.shared);
		wait_for_something(s);
		on_connections(s);
		serve_clients(s);
		serve_recorders(s);
		server_on_signals(s);
		server_reap(s);
		shared_check(&s->service.shared);
		standby_check(&s->service.standby);
		server_write_metrics(s);
		if (monotonic_ns() - s->forgot_ns > FORGET_INTERVAL_NS) {
			jobs_forget(s->service.options->state_dir);
			s->forgot_ns = monotonic_ns();
		}
	}
}

/* ---- start and end ---- */

static void set_aside(const char *path)
{
	char aside[4300];

	snprintf(aside, sizeof(aside), "%s.damaged", path);
	service_say("%s: cannot read the state, it is damaged: its recording is not known any more: %s", path,
		    rename(path, aside) ? "remove the file" : "the file is renamed to .damaged");
}

static void server_readopt(struct server *s, json_t *state, pid_t pid, int pid_fd)
{
	int err = jobs_add(&s->service.jobs, state, pid, pid_fd, -1, -1);

	if (!err) {
		service_say("job %s: its recorder, process %d, goes on", wire_text(state, "id"), pid);
		return;
	}
	close(pid_fd);
	service_say("job %s: cannot watch its recorder (pid %d): %s: restart the service to try again", wire_text(state, "id"), pid,
		    strerror(-err));
}

/* Recorders of an earlier service that still run are adopted; recordings of dead ones are recovered. */
static int take_over(void *arg, const char *path, json_t *state)
{
	struct server *s = arg;
	int pid_fd;
	pid_t pid;

	if (!state) {
		set_aside(path);
		return 0;
	}
	if (state_is_final(state))
		return 0;
	pid = state_open_process(state, &pid_fd);
	if (pid)
		server_readopt(s, state, pid, pid_fd);
	else
		start_recovery(s, state, path);
	return 0;
}

static int server_open_signals(struct server *s)
{
	sigset_t mask;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	s->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? -errno : 0;
}

static int make_directories(const char *state_dir, char *err_text, size_t err_len)
{
	static const struct { const char *name; mode_t mode; } directories[] = {
		{ "", 0755 }, { "/jobs", 0700 }, { "/log", 0700 }, { "/archives", 0755 }
	};
	char path[4200];

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", state_dir, directories[i].name);
		if (!mkdir(path, directories[i].mode) || errno == EEXIST)
			continue;
		snprintf(err_text, err_len, "cannot make the directory %s: %s: give another one with --state", path,
			 strerror(errno));
		return -errno;
	}
	return 0;
}

static int server_open_socket(struct server *s, char *err_text, size_t err_len)
{
	const char *path = s->service.options->socket_path;

	s->listen_fd = manager_take_socket(err_text, err_len);
	if (s->listen_fd != -ENOENT)
		return s->listen_fd < 0 ? s->listen_fd : 0;
	s->own_socket = true;
	s->listen_fd = wire_listen(path);
	if (s->listen_fd >= 0)
		return 0;
	snprintf(err_text, err_len, "cannot listen on %s: %s: give another one with --socket", path,
		 s->listen_fd == -EADDRINUSE ? "another service does" : strerror(-s->listen_fd));
	return s->listen_fd;
}

/* *broken: the policy has an error. */
static int open_all(struct server *s, bool *broken, char *err_text, size_t err_len)
{
	const struct server_options *options = s->service.options;
	int err = options->policy_path ? policy_read(&s->service.policy, options->policy_path, err_text, err_len) :
		  policy_init(&s->service.policy);

	*broken = err && options->policy_path;
	if (!err)
		err = make_directories(options->state_dir, err_text, err_len);
	if (err)
		return err;
	gethostname(s->service.host, sizeof(s->service.host) - 1);
	s->service.host[strcspn(s->service.host, ".")] = 0;
	err = server_open_signals(s);
	if (!err)
		return server_open_socket(s, err_text, err_len);
	snprintf(err_text, err_len, "cannot serve: signalfd: %s: raise the limit of open files", strerror(-err));
	return err;
}

int server_run(const struct server_options *options, bool *broken_policy, char *err_text, size_t err_len)
{
	struct server s = { .service.options = options, .listen_fd = -1, .signal_fd = -1 };
	int err = open_all(&s, broken_policy, err_text, err_len);

	s.service.counts.changed = true;
	if (!err) {
		jobs_states(options->state_dir, take_over, &s);
		shared_load(&s.service.shared, &s.service.policy);
		service_say("serving on %s", s.own_socket ? options->socket_path : "the service manager's socket");
		manager_ready();
		server_loop(&s);
		manager_stopping();
		if (s.own_socket)
			unlink(options->socket_path);
		service_say("ends; %zu recordings go on", s.service.jobs.n);
	}
	standby_drop(&s.service.standby);
	shared_deinit(&s.service.shared);
	clients_deinit(&s.clients);
	jobs_deinit(&s.service.jobs);
	policy_deinit(&s.service.policy);
	if (s.listen_fd >= 0)
		close(s.listen_fd);
	if (s.signal_fd >= 0)
		close(s.signal_fd);
	return err;
}
