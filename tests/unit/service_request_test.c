/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What of a start request is believed, of root and of users, and which processes a user may name.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "service/request.h"
#include "service/wire.h"

static const struct ucred root = { 1, 0, 0 }, user = { 1, 1000, 100 };
static const struct request_site site = { NULL, "host", "" };
static char why[512];

static json_t *ask(const char *text, const struct ucred *peer, const struct request_site *at)
{
	json_t *message = json_loads(text, 0, NULL), *job;

	assert_non_null(message);
	*why = 0;
	job = request_job(message, peer, at, why, sizeof(why));
	json_decref(message);
	return job;
}

static void assert_keys(const json_t *job, const char *keys)
{
	const char *key;
	json_t *value;
	size_t n = 0;

	json_object_foreach((json_t *)job, key, value) {
		char word[64];

		snprintf(word, sizeof(word), " %s ", key);
		if (!strstr(keys, word))
			fail_msg("field %s is kept", key);
		n++;
	}
	for (const char *at = keys + 1; *at; at++)
		n -= *at == ' ';
	assert_int_equal(n, 0);
}

static void test_user_chooses_little(void **state)
{
	json_t *job = ask("{\"request\": \"start\", \"job\": \"7\", \"pids\": [12], \"cluster\": \"secret\", \"node\": \"evil\", "
			  "\"uid\": 0, \"gid\": 0,\"user\": \"root\", \"account\": \"a\", \"comment\": \"b\", \"work_dir\": "
			  "\"/root\", \"output\": \"/etc/%j\",\"log\": \"/etc/passwd\", \"id\": \"8\", \"by\": 0, \"state\": "
			  "\"x\", \"idle_limit\": 1, \"recovered\": true}",
			  &user, &site);

	(void)state;
	assert_non_null(job);
	assert_keys(job, " id job by uid gid node entries pids ");
	assert_string_equal(wire_text(job, "id"), "u1000.7");
	assert_string_equal(wire_text(job, "node"), "host");
	assert_int_equal(json_integer_value(json_object_get(job, "uid")), 1000);
	assert_int_equal(json_integer_value(json_object_get(job, "gid")), 100);
	assert_int_equal(json_integer_value(json_object_get(job, "by")), 1000);
	json_decref(job);
}

static void test_root_chooses(void **state)
{
	json_t *job = ask("{\"job\": \"7\", \"uid\": 5, \"gid\": 60, \"user\": \"games\", \"account\": \"a\", \"comment\": \"b\", "
			  "\"cluster\": \"c\",\"node\": \"n\", \"work_dir\": \"/w\", \"output\": \"/etc/%j\", \"log\": \"/x\", "
			  "\"id\": \"8\", \"by\": 9}",
			  &root, &site);

	(void)state;
	assert_non_null(job);
	assert_keys(job, " id job by uid gid user account comment cluster node work_dir entries pids ");
	assert_string_equal(wire_text(job, "id"), "7");
	assert_int_equal(json_integer_value(json_object_get(job, "by")), 0);
	assert_string_equal(json_string_value(json_array_get(json_object_get(job, "entries"), 0)), "SLURM_JOB_ID=7");
	json_decref(job);
}

/* The service's own options win over both. */
static void test_site(void **state)
{
	const struct request_site named = { "n1", "host", "lab" };
	const struct ucred *const peers[] = { &root, &user };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		json_t *job = ask("{\"job\": \"7\", \"uid\": 5, \"gid\": 60, \"node\": \"evil\", \"cluster\": \"evil\"}", peers[i],
				  &named);

		assert_non_null(job);
		assert_string_equal(wire_text(job, "node"), "n1");
		assert_string_equal(wire_text(job, "cluster"), "lab");
		assert_int_equal(json_array_size(json_object_get(job, "entries")), 2);
		json_decref(job);
	}
}

static void test_refusals(void **state)
{
	static const struct { const char *text; const struct ucred *peer; const char *why; } cases[] = {
		{ "{\"job\": \"7\", \"pids\": [1], \"always\": true}", &user, "--always is for root" },
		{ "{\"pids\": [1]}", &user, "is not a job id" },
		{ "{\"job\": 7}", &user, "its job is not a text" },
		{ "{\"job\": \"a\\nb\"}", &user, "'a?b' is not a job id" },
		{ "{\"job\": \"../x\"}", &root, "is not a job id" },
		{ "{\"job\": \"0123456789012345678901234567890123456789012345678901234567890123\"}", &root, "is not a job id" },
		{ "{\"job\": \"0123456789012345678901234567890123456789012345678901234567\"}", &user, "is not a job id" },
		{ "{\"job\": \"7\"}", &root, "user and group are missing" },
		{ "{\"job\": \"7\", \"uid\": \"5\", \"gid\": 60}", &root, "user and group are missing" },
		{ "{\"job\": \"7\", \"uid\": 4294967295, \"gid\": 60}", &root, "user and group are missing" },
		{ "{\"job\": \"7\", \"uid\": 5, \"gid\": -1}", &root, "user and group are missing" },
		{ "{\"job\": \"7\", \"uid\": 5, \"gid\": 60, \"cluster\": []}", &root, "its cluster is not a text" },
		{ "{\"job\": \"7\", \"entries\": [\"A=1\", \"A=1\", \"A=1\", \"A=1\", \"A=1\"]}", &user, "5 entries" },
		{ "{\"job\": \"7\", \"entries\": [\"A\"]}", &user, "entry 1 is not NAME=VALUE" },
		{ "{\"job\": \"7\", \"entries\": [\"=1\"]}", &user, "entry 1 is not NAME=VALUE" },
		{ "{\"job\": \"7\", \"entries\": [\"A=1\", 2]}", &user, "entry 2 is not NAME=VALUE" },
		{ "{\"job\": \"7\", \"pids\": [0]}", &user, "process 1 has no valid number" },
		{ "{\"job\": \"7\", \"pids\": [1, \"2\"]}", &user, "process 2 has no valid number" },
		{ "{\"job\": \"7\", \"pids\": [4294967297]}", &user, "process 1 has no valid number" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (ask(cases[i].text, cases[i].peer, &site))
			fail_msg("accepted: %s", cases[i].text);
		if (!strstr(why, cases[i].why) || strchr(why, '\n'))
			fail_msg("%s: %s", cases[i].text, why);
	}
}

static void test_number_of_processes(void **state)
{
	char text[2048] = "{\"job\": \"7\", \"pids\": [1";

	(void)state;
	for (int i = 1; i < REQUEST_MAX_USER_PIDS; i++)
		strcat(text, ",1");
	strcat(text, "]}");
	json_decref(ask(text, &user, &site));
	assert_string_equal(why, "out of memory");      /* as it began: nothing was refused */
	strcpy(strrchr(text, ']'), ",1]}");
	assert_null(ask(text, &user, &site));
	assert_non_null(strstr(why, "65 processes, at most 64"));
}

/* ---- processes ---- */

static int check(const char *text, uid_t uid, char *work_dir, size_t len)
{
	const struct ucred peer = { 1, uid, uid };
	json_t *job = ask(text, &peer, &site);
	int err;

	assert_non_null(job);
	err = request_check_processes(job, uid, why, sizeof(why));
	if (work_dir)
		snprintf(work_dir, len, "%s", wire_text(job, "work_dir"));
	json_decref(job);
	return err;
}

/* As this test runs as root too: a child with a user's ids, which has reported that it has them. */
static pid_t run_as(uid_t uid, const char *dir, const char *entry)
{
	char *const argv[] = { "sleep", "60", NULL }, *const envp[] = { (char *)entry, NULL };
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (uid != getuid() && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
			_exit(1);
		close(ready[0]);
		close(0), close(1), close(2);
		if (chdir(dir) || prctl(PR_SET_PDEATHSIG, SIGKILL))
			_exit(1);
		fcntl(ready[1], F_SETFD, FD_CLOEXEC);
		execve("/bin/sleep", argv, envp);
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0);          /* closed by exec */
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* In the place of libc's: whether a pidfd was open each time that a process' directory in /proc was looked at. */
static unsigned looks, unguarded_looks;

static bool has_pidfd(void)
{
	char name[32], target[64];
	ssize_t len;

	for (int fd = 3; fd < 256; fd++) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		len = readlink(name, target, sizeof(target));
		if (len > 0 && (memmem(target, len, "[pidfd]", 7) || !strncmp(target, "pidfd:", 6)))
			return true;
	}
	return false;
}

int stat(const char *path, struct stat *st)
{
	int pid, end = 0;

	if (sscanf(path, "/proc/%d%n", &pid, &end) == 1 && end && !path[end]) {
		looks++;
		unguarded_looks += !has_pidfd();
	}
	return fstatat(AT_FDCWD, path, st, 0);
}

static void test_own_processes(void **state)
{
	uid_t uid = getuid() ? getuid() : 65534;
	pid_t pid = run_as(uid, "/usr", "SLURM_JOB_ID=4242");
	char text[128], work_dir[128];

	(void)state;
	snprintf(text, sizeof(text), "{\"job\": \"7\", \"pids\": [%d]}", pid);
	assert_int_equal(check(text, uid, work_dir, sizeof(work_dir)), 0);
	assert_string_equal(work_dir, "/usr");
	assert_int_equal(check(text, uid + 1, NULL, 0), -EPERM);
	snprintf(text, sizeof(text), "{\"job\": \"7\", \"pids\": [%d, 1]}", pid);
	assert_int_equal(check(text, uid, NULL, 0), -EPERM);
	assert_int_equal(check("{\"job\": \"4242\"}", uid, work_dir, sizeof(work_dir)), 0);
	assert_string_equal(work_dir, "/usr");
	assert_int_equal(check("{\"job\": \"4243\"}", uid, NULL, 0), -ESRCH);
	assert_int_equal(check("{\"job\": \"4242\"}", uid + 1, NULL, 0), -ESRCH);
	end(pid);
	assert_int_equal(check("{\"job\": \"4242\"}", uid, NULL, 0), -ESRCH);
	snprintf(text, sizeof(text), "{\"job\": \"7\", \"pids\": [%d]}", pid);
	assert_int_equal(check(text, uid, NULL, 0), -EPERM);
	/* otherwise the number could be given to another process between the look and the pidfd */
	assert_true(looks);
	assert_int_equal(unguarded_looks, 0);
}

/* A prolog's job has no process yet. */
static void test_root_needs_none(void **state)
{
	json_t *job = ask("{\"job\": \"4244\", \"uid\": 5, \"gid\": 60}", &root, &site);

	(void)state;
	assert_non_null(job);
	assert_int_equal(request_check_processes(job, 0, why, sizeof(why)), 0);
	json_decref(job);
	job = ask("{\"job\": \"4244\", \"uid\": 5, \"gid\": 60, \"pids\": [2147483647]}", &root, &site);
	assert_int_equal(request_check_processes(job, 0, why, sizeof(why)), -EPERM);
	json_decref(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user_chooses_little), cmocka_unit_test(test_root_chooses), cmocka_unit_test(test_site),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_number_of_processes), cmocka_unit_test(test_own_processes),
		cmocka_unit_test(test_root_needs_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
