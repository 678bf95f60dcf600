/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The directory of a job: its name, which parts of it are created, and as which user, and what is left after a failure. As root the
 * job's user is nobody, else the user who runs this.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "service/owner.h"

static char dir[] = "/tmp/owner_test.XXXXXX";
static struct identity owner;
static struct owner_place place;
static struct output out;
static char err[1024];

static int setup(void **state)
{
	json_t *job = json_pack("{s:i, s:i}", "uid", getuid() ? getuid() : 65534, "gid", getgid() ? getgid() : 65534);
	int ret;

	(void)state;
	strcpy(strrchr(dir, '.'), ".XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 0755))
		return -1;
	ret = owner_of(&owner, job);
	json_decref(job);
	return ret;
}

static int teardown(void **state)
{
	char command[96];

	(void)state;
	identity_deinit(&owner);
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command);
}

/* Makes the directory for recording "u7.1" of job "1" by a pattern below the test's directory. */
static int make(const char *pattern, const char *cluster, const char *work_dir)
{
	char output[512];
	json_t *job;
	int ret;

	if (!strncmp(pattern, "%w", 2))
		snprintf(output, sizeof(output), "%s", pattern);
	else
		snprintf(output, sizeof(output), "%s/%s", dir, pattern);
	job = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "output", output, "job", "1", "id", "u7.1", "node", "n1", "cluster",
			cluster, "work_dir", work_dir);
	assert_non_null(job);
	*err = 0;
	ret = owner_make_directory(&owner, job, &out, &place, err, sizeof(err));
	json_decref(job);
	return ret;
}

static void assert_made(const char *name)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_string_equal(out.path, path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(st.st_uid, owner.uid);
	output_close(&out);
}

static void assert_mode(const char *name, uid_t uid, mode_t mode)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
	assert_int_equal(st.st_uid, uid);
}

static bool exists(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, F_OK);
}

static void test_names(void **state)
{
	char name[512];

	(void)state;
	umask(022);
	assert_int_equal(make("%u/%j.%n", "", ""), 0);
	snprintf(name, sizeof(name), "%s/u7.1.n1", owner.name);
	assert_made(name);
	assert_mode(owner.name, owner.uid, 0700);
	assert_int_equal(make("%u/%j.%n", "", ""), 0);          /* a new one each time */
	strcat(name, ".1");
	assert_made(name);
	assert_int_equal(make("100%%.%j", "", ""), 0);
	assert_made("100%.u7.1");
}

/* Directories that all users share are the site's. */
static void test_shared_directories(void **state)
{
	char name[512];

	(void)state;
	umask(022);
	assert_int_equal(make("%c/%n/%u/%j", "lab", ""), 0);
	snprintf(name, sizeof(name), "lab/n1/%s/u7.1", owner.name);
	assert_made(name);
	assert_mode("lab", geteuid(), 0755);
	assert_mode("lab/n1", geteuid(), 0755);
	snprintf(name, sizeof(name), "lab/n1/%s", owner.name);
	assert_mode(name, owner.uid, 0700);
}

static void test_bad_values(void **state)
{
	static const struct { const char *pattern, *cluster, *work_dir, *why; } cases[] = {
		{ "%c/%j", "", "", "the cluster's name is missing" },
		{ "%c/%j", "../x", "", "the cluster's name is missing or cannot" },
		{ "%c/%j", "a/b", "", "cannot be part of a path" }, { "%w/%j", "", "", "the working directory is missing" },
		{ "%w/%j", "", "relative", "the working directory" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!make(cases[i].pattern, cases[i].cluster, cases[i].work_dir))
			fail_msg("made: %s", cases[i].pattern);
		if (!strstr(err, cases[i].why) || strchr(err, '\n'))
			fail_msg("%s: %s", cases[i].pattern, err);
	}
}

/* A user's name of 200 characters is neither cut nor refused. */
static void test_long_names(void **state)
{
	char name[300], saved[sizeof(owner.name)];

	(void)state;
	strcpy(saved, owner.name);
	memset(owner.name, 'a', 200);
	owner.name[200] = 0;
	assert_int_equal(make("%u/%j", "", ""), 0);
	snprintf(name, sizeof(name), "%s/u7.1", owner.name);
	assert_made(name);
	strcpy(owner.name, saved);
}

static void test_links_are_not_followed(void **state)
{
	char link[512], target[512];

	(void)state;
	snprintf(target, sizeof(target), "%s/target", dir);
	snprintf(link, sizeof(link), "%s/%s", dir, owner.name);
	assert_int_equal(mkdir(target, 0777), 0);
	assert_int_equal(symlink(target, link), 0);
	assert_true(make("%u/%j", "", "") < 0);
	assert_non_null(strstr(err, "cannot make the directory"));
	assert_int_equal(rmdir(target), 0);     /* empty */
	unlink(link);
}

/* The owner of a directory on the way could exchange the recording. */
static void test_another_users_directory(void **state)
{
	char path[512];

	(void)state;
	if (geteuid())
		skip();
	snprintf(path, sizeof(path), "%s/%s", dir, owner.name);
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(make("%u/%j", "", ""), -EPERM);
	assert_non_null(strstr(err, "belongs to another user"));
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/lab", dir);            /* a shared one must be the site's */
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(chown(path, owner.uid, owner.gid), 0);
	assert_int_equal(make("%c/%u/%j", "lab", ""), -EPERM);
	assert_int_equal(rmdir(path), 0);
}

/* Of a start that failed nothing is left; what was there stays. */
static void test_nothing_is_left(void **state)
{
	char path[512];

	(void)state;
	assert_int_equal(make("%c/%u/%j/%n/deep", "lab", ""), 0);
	strcpy(path, out.path);
	output_close(&out);
	owner_remove_empty(&owner, path, &place);
	assert_false(exists("lab"));
	snprintf(path, sizeof(path), "%s/lab", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(make("%c/%u/%j", "lab", ""), 0);
	strcpy(path, out.path);
	output_close(&out);
	owner_remove_empty(&owner, path, &place);
	assert_true(exists("lab"));
	snprintf(path, sizeof(path), "lab/%s", owner.name);
	assert_false(exists(path));
}

/* A directory that another recording uses meanwhile stays, with all above it. */
static void test_used_directories_stay(void **state)
{
	char path[512], other[600];

	(void)state;
	assert_int_equal(make("%u/%j", "", ""), 0);
	strcpy(path, out.path);
	output_close(&out);
	snprintf(other, sizeof(other), "%s.other", path);
	assert_int_equal(mkdir(other, 0700), 0);
	owner_remove_empty(&owner, path, &place);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(other, F_OK), 0);
	rmdir(other);
}

/* What cannot be finished is undone: the last name is too long for a file. */
static void test_failure_is_undone(void **state)
{
	char pattern[400] = "%c/%u/%j.";

	(void)state;
	memset(pattern + strlen(pattern), 'a', 300);
	assert_int_equal(make(pattern, "lab", ""), -ENAMETOOLONG);
	assert_false(exists("lab"));
}

static void test_working_directory(void **state)
{
	char work[512], name[64];

	(void)state;
	snprintf(work, sizeof(work), "%s/work", dir);
	assert_int_equal(mkdir(work, 0755), 0);
	if (!geteuid()) {
		assert_true(make("%w/io-%j", "", work) < 0);    /* root creates nothing in a directory that is not the site's */
		assert_int_equal(chown(work, owner.uid, owner.gid), 0);
	}
	assert_int_equal(make("%w/io-%j/%n", "", work), 0);
	snprintf(name, sizeof(name), "work/io-u7.1/n1");
	assert_made(name);
	snprintf(work, sizeof(work), "%s/work/io-u7.1/n1", dir);
	owner_remove_empty(&owner, work, &place);
	assert_false(exists("work/io-u7.1"));
	assert_true(exists("work"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared_directories, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_values, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_are_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_users_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_left, setup, teardown),
		cmocka_unit_test_setup_teardown(test_used_directories_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failure_is_undone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_working_directory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
