/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * State files of the service: names, replacement as a whole, damaged files, the recorder's process; which of them are forgotten;
 * and the list of jobs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "service/jobs.h"
#include "service/state.h"
#include "service/wire.h"

/* In the place of libc's: in which order state_save makes things durable. */
static char synced[16];

int fsync(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	strncat(synced, S_ISDIR(st.st_mode) ? "d" : st.st_size ? "f" : "-", sizeof(synced) - strlen(synced) - 1);
	return 0;
}

int rename(const char *from, const char *to)
{
	strncat(synced, "r", sizeof(synced) - strlen(synced) - 1);
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static char dir[] = "/tmp/state_test.XXXXXX";

static int setup(void **state)
{
	char path[64];

	(void)state;
	strcpy(strrchr(dir, '.'), ".XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/jobs", dir);
	return mkdir(path, 0700);
}

static int teardown(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command);
}

static const char *path_of(const char *id)
{
	static char path[4200];

	state_path(path, sizeof(path), dir, id);
	return path;
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_names(void **state)
{
	static const char *const good[] = { "1", "4711_3", "u1000.123", "pid-7", "a@b+[c]" };
	static const char *const bad[] = { "", ".", "..", ".x", "a/b", "a b", "a\nb", "a%b", "a\xc3\xbc", "a\033" };
	char longest[300];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(state_valid_id(good[i]) && state_valid_name(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(state_valid_id(bad[i]) || state_valid_name(bad[i]));
	memset(longest, 'a', sizeof(longest));
	longest[STATE_NAME_ROOM] = 0;
	assert_false(state_valid_name(longest));
	longest[STATE_NAME_ROOM - 1] = 0;
	assert_true(state_valid_name(longest));
	assert_false(state_valid_id(longest));
	longest[STATE_ID_ROOM - 1] = 0;
	assert_true(state_valid_id(longest));
}

static void test_save_and_load(void **state)
{
	json_t *job = json_pack("{s:s}", "id", "7"), *loaded;
	struct stat st;

	(void)state;
	*synced = 0;
	state_set(path_of("7"), job, "recording", "a\xff");
	assert_string_equal(synced, "frd");
	*synced = 0;
	state_begin(path_of("6"), job);
	assert_string_equal(synced, "r");       /* a prolog does not wait for the disk */
	loaded = state_load(path_of("7"));
	assert_string_equal(wire_text(loaded, "id"), "7");
	assert_string_equal(wire_text(loaded, "phase"), "recording");
	assert_string_equal(wire_text(loaded, "message"), "(not UTF-8)");
	assert_false(state_is_final(loaded));
	json_decref(loaded);
	assert_int_equal(stat(path_of("7"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	state_set(path_of("7"), job, "done", "");
	assert_true(state_is_final(job));
	assert_int_equal(access(path_of("7.json.new"), F_OK), -1);
	json_decref(job);
}

/* What cannot be saved leaves the old file as it was, and nothing else. */
static void test_failed_save(void **state)
{
	json_t *job = json_pack("{s:s}", "id", "8"), *loaded;
	char temporary[4300];

	(void)state;
	assert_int_equal(state_save(path_of("8"), job), 0);
	snprintf(temporary, sizeof(temporary), "%s.new", path_of("8"));
	assert_int_equal(symlink("/dev/full", temporary), 0);
	json_object_set_new(job, "id", json_string("9"));
	assert_int_equal(state_save(path_of("8"), job), -ELOOP);        /* links are not followed */
	loaded = state_load(path_of("8"));
	assert_string_equal(wire_text(loaded, "id"), "8");
	json_decref(loaded);
	assert_int_equal(state_save("/nowhere/at/all.json", job), -ENOENT);
	json_decref(job);
}

static int count(void *arg, const char *path, json_t *job)
{
	size_t *n = arg;

	(void)path;
	n[job ? 0 : 1]++;
	return 0;
}

static void test_damaged(void **state)
{
	static const char *const texts[] = { "", "{", "[1]", "{\"a\":1,\"a\":2}", "{\"id\": \"\xff\"}" };
	size_t n[2] = { 0 };
	char id[16];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(id, sizeof(id), "d%zu", i);
		write_text(path_of(id), texts[i]);
		assert_null(state_load(path_of(id)));
	}
	assert_null(state_load(path_of("none")));
	write_text(path_of("whole"), "{\"id\": \"whole\"}");
	jobs_states(dir, count, n);
	assert_int_equal(n[0], 1);
	assert_int_equal(n[1], sizeof(texts) / sizeof(texts[0]));
}

static void test_process(void **state)
{
	json_t *job = json_object();
	pid_t pid = fork();
	int fd;

	(void)state;
	if (!pid) {
		pause();
		_exit(0);
	}
	state_set_process(job, pid);
	assert_int_equal(state_open_process(job, &fd), pid);
	close(fd);
	json_object_set_new(job, "start_ticks", json_integer(json_integer_value(json_object_get(job, "start_ticks")) + 1));
	assert_int_equal(state_open_process(job, &fd), 0);      /* the number is another process's now */
	assert_int_equal(fd, -1);
	state_set_process(job, pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_int_equal(state_open_process(job, &fd), 0);      /* a zombie records nothing */
	waitpid(pid, NULL, 0);
	assert_int_equal(state_open_process(job, &fd), 0);
	json_object_clear(job);
	assert_int_equal(state_open_process(job, &fd), 0);
	json_decref(job);
}

static void test_list(void **state)
{
	json_t *first = json_pack("{s:s, s:i}", "id", "7", "by", 0), *second = json_pack("{s:s, s:i}", "id", "u5.7", "by", 5);
	struct jobs jobs = { 0 };

	(void)state;
	assert_int_equal(jobs_add_child(&jobs, first, getpid(), -1, -1), 0);
	assert_int_equal(jobs_add_child(&jobs, second, getpid(), dup(0), dup(0)), 0);
	assert_int_equal(jobs_add_child(&jobs, second, 0x7ffffff, -1, -1), -ESRCH);
	assert_int_equal(jobs.n, 2);
	assert_int_equal(jobs_count_by(&jobs, 5), 1);
	assert_int_equal(jobs_count_by(&jobs, 6), 0);
	assert_int_equal(jobs_count_users(&jobs), 1);
	assert_null(jobs_find(&jobs, "5"));
	assert_int_equal(jobs_find(&jobs, "u5.7")->by, 5);
	job_answered(jobs_find(&jobs, "u5.7"));
	assert_int_equal(jobs_find(&jobs, "u5.7")->client_fd, -1);
	jobs_remove(&jobs, jobs_find(&jobs, "7"));
	assert_null(jobs_find(&jobs, "7"));
	jobs_deinit(&jobs);
	assert_int_equal(jobs.n, 0);
	json_decref(first);
	json_decref(second);
}

/* A user who has many recordings makes the service forget his own old ones, not root's. */
static void test_forget(void **state)
{
	size_t n[2] = { 0 };
	char id[32];

	(void)state;
	for (int i = 0; i < 30; i++) {
		json_t *job = json_pack("{s:s, s:i}", "phase", "done", "by", 1000);

		snprintf(id, sizeof(id), "u1000.%d", i);
		state_save(path_of(id), job);
		json_object_set_new(job, "by", json_integer(0));
		snprintf(id, sizeof(id), "%d", i);
		state_save(path_of(id), job);
		json_object_set_new(job, "phase", json_string("recording"));
		snprintf(id, sizeof(id), "r%d", i);
		state_save(path_of(id), job);
		json_decref(job);
	}
	jobs_forget(dir);
	jobs_states(dir, count, n);
	assert_int_equal(n[0], 30 + 30 + 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test_setup_teardown(test_save_and_load, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_save, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_list),
		cmocka_unit_test_setup_teardown(test_forget, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
