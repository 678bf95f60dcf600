/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Requests to the service by clients with made-up credentials. This program is its own recorder: the service executes
 * /proc/self/exe.
 */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "service/job_recorder.h"
#include "service/service.h"
#include "service/state.h"
#include "service/wire.h"

static char dir[] = "/tmp/service_test.XXXXXX";
static struct server_options options = { .state_dir = dir };
static struct service service;
static char text[4608];         /* of the last answer */

/* ---- as a recorder: says which job it got, and waits to be ended ---- */

static int be_recorder(void)
{
	json_t *message;

	alarm(60);
	if (wire_receive(0, WIRE_MAX_BYTES, &message) || !json_is_true(json_object_get(message, "own")))
		return 1;               /* no shared programs are loaded here */
	json_decref(message);
	if (wire_receive(0, WIRE_MAX_BYTES, &message))
		return 1;
	wire_answer(0, true, "recording %s", wire_text(json_object_get(message, "job"), "id"));
	pause();
	return 0;
}

/* ---- as its clients ---- */

static int setup(void **state)
{
	char path[64];

	(void)state;
	strcpy(strrchr(dir, '.'), ".XXXXXX");
	service = (struct service){ .options = &options, .host = "host" };
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/jobs", dir);
	return mkdir(path, 0700) || policy_init(&service.policy);
}

static int teardown(void **state)
{
	char command[96];

	(void)state;
	while (service.jobs.first) {
		pid_t pid = service.jobs.first->pid;

		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		jobs_remove(&service.jobs, service.jobs.first);
	}
	policy_deinit(&service.policy);
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command);
}

/* Sends no message: calls the service as its server does. Returns 1 for ok, 0 for refused, 2 if a recorder is to answer. */
static int ask_as(uid_t uid, json_t *message)
{
	const struct ucred peer = { 1, uid, uid };
	int pair[2], ret = 2;
	json_t *answer;

	assert_non_null(message);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	*text = 0;
	if (service_request(&service, message, &peer, pair[0])) {
		assert_int_equal(wire_receive(pair[1], WIRE_MAX_BYTES, &answer), 0);
		snprintf(text, sizeof(text), "%s", wire_text(answer, "message"));
		ret = json_is_true(json_object_get(answer, "ok"));
		json_decref(answer);
		close(pair[0]);
	}
	close(pair[1]);
	json_decref(message);
	return ret;
}

static json_t *start_of_pid(pid_t pid)
{
	return json_pack("{s:s, s:s+, s:[i]}", "request", "start", "job", "p", "", "pids", pid);
}

static json_t *start_of_job(const char *job)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:b}", "request", "start", "job", job, "uid", 5, "gid", 60, "always", 1);
}

static void assert_answer(const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in: %s", part, text);
}

/* The user's uid that owns this test, or for root one that owns nothing. */
static uid_t user(void)
{
	return getuid() ? getuid() : 12345;
}

static void test_unknown(void **state)
{
	(void)state;
	assert_int_equal(ask_as(user(), json_object()), 0);
	assert_int_equal(ask_as(0, json_pack("{s:s}", "request", "stop\nx")), 0);
	assert_answer("unknown request 'stop?x'");
	assert_int_equal(ask_as(user(), json_pack("{s:s}", "request", "version")), 1);
	assert_answer("0 jobs are being recorded");
	assert_int_equal(ask_as(user(), json_pack("{s:s, s:s}", "request", "stop", "job", "../x")), 0);
	assert_answer("is not being recorded");
}

static void test_users_must_be_allowed(void **state)
{
	(void)state;
	service.policy.users = false;
	assert_int_equal(ask_as(user(), start_of_pid(getpid())), 0);
	assert_answer("users yes");
	assert_int_equal(ask_as(0, start_of_job("1")), 2);
}

static void test_processes_must_be_own(void **state)
{
	(void)state;
	assert_int_equal(ask_as(user(), start_of_pid(1)), 0);
	assert_answer("process 1 does not exist or is not yours");
	assert_int_equal(ask_as(user(), json_pack("{s:s, s:s}", "request", "start", "job", "99991")), 0);
	assert_answer("no process of yours");
	assert_int_equal(service.jobs.n, 0);
}

/* The recorder gets the job and answers; the state says that it starts. */
static void test_hand_over(void **state)
{
	struct pollfd answered;
	char path[4200];
	json_t *message;

	(void)state;
	assert_int_equal(ask_as(0, start_of_job("7")), 2);
	answered = (struct pollfd){ service.jobs.first->fd, POLLIN, 0 };
	assert_int_equal(poll(&answered, 1, 30000), 1);
	assert_int_equal(wire_receive(service.jobs.first->fd, WIRE_MAX_BYTES, &message), 0);
	assert_string_equal(wire_text(message, "message"), "recording 7");
	json_decref(message);
	assert_int_equal(wire_receive(service.jobs.first->fd, WIRE_MAX_BYTES, &message), -EAGAIN); /* never waits for a recorder */
	state_path(path, sizeof(path), dir, "7");
	message = state_load(path);
	assert_string_equal(wire_text(message, "phase"), "starting");
	json_decref(message);
	assert_int_equal(ask_as(0, start_of_job("7")), 0);
	assert_answer("job 7 is being recorded already");
}

/* A recorder that cannot be tracked could never be stopped: it is killed, and the client is told. */
static void test_untracked_is_killed(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	service.jobs.n = JOBS_MAX;      /* no further one can be added */
	service.policy.max_jobs = JOBS_MAX + 1;
	assert_int_equal(ask_as(0, start_of_job("7")), 0);
	assert_answer("job 7: cannot reach a recorder");
	service.jobs.n = 0;
	assert_null(service.jobs.first);
	pid = waitpid(-1, &status, 0);
	assert_true(pid > 0 && WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_policy_decides(void **state)
{
	json_t *message = start_of_job("7");

	(void)state;
	json_object_del(message, "always");
	assert_int_equal(ask_as(0, message), 1);
	assert_answer("job 7 is not recorded: no rule");
	assert_int_equal(service.jobs.n, 0);
}

/* ---- limits: jobs in the list whose recorders are asleep ---- */

static void add_job(const char *id, uid_t by, uid_t uid)
{
	json_t *object = json_pack("{s:s, s:i, s:i}", "id", id, "by", by, "uid", uid);
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	assert_int_equal(jobs_add_child(&service.jobs, object, pid, -1, -1), 0);
	json_decref(object);
}

static void test_limits(void **state)
{
	(void)state;
	service.policy.max_jobs = 4;
	service.policy.max_jobs_per_user = 2;
	add_job("u1.1", user(), user());
	add_job("u1.2", user(), user());
	assert_int_equal(ask_as(user(), start_of_pid(getpid())), 0);
	assert_answer("max-jobs-per-user");
	service.policy.max_jobs_per_user = 9;
	assert_int_equal(ask_as(user(), start_of_pid(getpid())), 0);
	assert_answer("reserved for root");
	assert_int_equal(ask_as(0, start_of_job("1")), 2);
	assert_int_equal(ask_as(0, start_of_job("2")), 2);
	assert_int_equal(ask_as(0, start_of_job("3")), 0);
	assert_answer("max-jobs");
}

static void test_reserved(void **state)
{
	struct policy *policy = &service.policy;

	(void)state;
	policy->max_jobs = 5;
	assert_int_equal(policy_user_jobs(policy), 3);
	policy->reserved_jobs = 1;
	assert_int_equal(policy_user_jobs(policy), 4);
	policy->reserved_jobs = 0;
	assert_int_equal(policy_user_jobs(policy), 5);
	policy->reserved_jobs = 9;
	assert_int_equal(policy_user_jobs(policy), 0);
}

/* ---- stop ---- */

static bool is_signalled(const char *id)
{
	const struct job *job = jobs_find(&service.jobs, id);
	struct pollfd ended = { job->pid_fd, POLLIN, 0 };

	return poll(&ended, 1, 5000) == 1;
}

static json_t *stop_of(const char *job)
{
	return json_pack("{s:s, s:s}", "request", "stop", "job", job);
}

/* His own recording comes before root's of the same job. */
static void test_stop(void **state)
{
	(void)state;
	add_job("123", 0, 5);
	add_job("u7.123", 7, 7);
	assert_int_equal(ask_as(8, stop_of("123")), 0);
	assert_answer("another user's");
	assert_int_equal(ask_as(8, stop_of("u7.123")), 0);
	assert_int_equal(ask_as(7, stop_of("123")), 1);
	assert_true(is_signalled("u7.123"));
	assert_int_equal(ask_as(5, stop_of("123")), 1);         /* recorded by root, but his */
	assert_true(is_signalled("123"));
}

static void test_stop_of_a_dead_recorder(void **state)
{
	char line[128];

	(void)state;
	add_job("9", 0, 5);
	kill(service.jobs.first->pid, SIGKILL);
	waitpid(service.jobs.first->pid, NULL, 0);
	assert_int_equal(ask_as(0, stop_of("9")), 0);
	snprintf(line, sizeof(line), "job 9: cannot signal its recorder (pid %d): No such process", service.jobs.first->pid);
	assert_string_equal(text, line);
}

/* ---- status ---- */

static size_t count_status(uid_t uid, const char *job)
{
	const struct ucred peer = { 1, uid, uid };
	json_t *message = json_pack("{s:s, s:s}", "request", "status", "job", job), *answer;
	bool ended = false;
	size_t n = 0;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	assert_true(service_request(&service, message, &peer, pair[0]));
	while (!ended) {
		assert_int_equal(wire_receive(pair[1], WIRE_MAX_BYTES, &answer), 0);
		ended = json_is_true(json_object_get(answer, "end"));
		n += !ended;
		json_decref(answer);
	}
	close(pair[0]);
	close(pair[1]);
	json_decref(message);
	return n;
}

static void test_status(void **state)
{
	static const struct { const char *id, *job; uid_t uid; } jobs[] = { { "1", "1", 5 }, { "2", "2", 6 }, { "u5.1", "1", 5 } };
	char path[4200];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		json_t *job = json_pack("{s:s, s:s, s:i}", "id", jobs[i].id, "job", jobs[i].job, "uid", jobs[i].uid);

		state_path(path, sizeof(path), dir, jobs[i].id);
		assert_int_equal(state_save(path, job), 0);
		json_decref(job);
	}
	state_path(path, sizeof(path), dir, "damaged");
	fclose(fopen(path, "w"));
	assert_int_equal(count_status(0, ""), 3);
	assert_int_equal(count_status(5, ""), 2);
	assert_int_equal(count_status(6, ""), 1);
	assert_int_equal(count_status(7, ""), 0);
	assert_int_equal(count_status(5, "1"), 2);
	assert_int_equal(count_status(5, "2"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_users_must_be_allowed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_processes_must_be_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hand_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_untracked_is_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_policy_decides, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reserved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_of_a_dead_recorder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_status, setup, teardown),
	};

	if (argc > 1 && !strcmp(argv[1], RECORDER_COMMAND))
		return be_recorder();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
