/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Identities, output directories and workers. What needs another user is skipped without root.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "privilege/capabilities.h"
#include "privilege/environment.h"
#include "privilege/output.h"
#include "privilege/worker.h"
#include "spool/spool.h"

#define NOBODY 65534

static char dir[64];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/ioprobe-privilege-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static const char *in_dir(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void need_root(void)
{
	if (geteuid())
		skip();
}

/* ---- the caller ---- */

static void caller_of_sudo(void **state)
{
	struct identity who;
	char err[256];

	(void)state;
	need_root();
	unsetenv("SUDO_GID");
	unsetenv("SUDO_USER");
	unsetenv("SUDO_UID");
	assert_int_equal(identity_caller(&who, err, sizeof(err)), 0);
	assert_true(who.own && !who.uid);
	identity_deinit(&who);
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "0", 1);             /* none of his */
	assert_int_equal(identity_caller(&who, err, sizeof(err)), 0);
	assert_true(!who.own && who.uid == NOBODY && who.gid && who.ngroups);
	for (size_t i = 0; i < who.ngroups; i++)
		assert_int_not_equal(who.groups[i], 0);
	identity_deinit(&who);
}

static void caller_who_is_none(void **state)
{
	static const char *const values[] = { "",     "-1", "1x", "0x10", " 1", "4294967295", "4294967296", "99999999999999999999",
					      "54321" };
	struct identity who;
	char err[256];

	(void)state;
	need_root();
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		setenv("SUDO_UID", values[i], 1);
		assert_int_not_equal(identity_caller(&who, err, sizeof(err)), 0);
		assert_non_null(strstr(err, "SUDO_UID"));
	}
	unsetenv("SUDO_UID");
}

static void user_without_entry(void **state)
{
	struct identity who;

	(void)state;
	need_root();
	assert_int_equal(identity_user(&who, 54321, -1), 0);
	assert_string_equal(who.name, "54321");
	assert_int_equal(who.gid, 65534);
	assert_int_equal(who.ngroups, 1);
	identity_deinit(&who);
}

/* ---- one step as somebody ---- */

static void step_as_user(void **state)
{
	struct __user_cap_data_struct before[_LINUX_CAPABILITY_U32S_3], after[_LINUX_CAPABILITY_U32S_3];
	struct identity_saved saved;
	struct identity who;
	struct stat st;
	int fd;

	(void)state;
	need_root();
	assert_int_equal(identity_user(&who, NOBODY, -1), 0);
	assert_int_equal(capabilities_get(before), 0);
	assert_int_equal(identity_begin(&who, &saved), 0);
	assert_int_equal(open("/etc/shadow", O_RDONLY), -1);
	assert_int_equal(mkdir(in_dir("his"), 0700), -1);
	assert_false(capability_has(CAP_DAC_OVERRIDE));
	identity_end(&saved);
	assert_int_equal(capabilities_get(after), 0);
	assert_memory_equal(before, after, sizeof(before));
	chmod(dir, 0777);
	assert_int_equal(identity_begin(&who, &saved), 0);
	fd = open(in_dir("file"), O_WRONLY | O_CREAT | O_EXCL, 0600);
	identity_end(&saved);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_uid, NOBODY);
	close(fd);
	identity_deinit(&who);
}

/* ---- output ---- */

static void output_is_made_and_discarded(void **state)
{
	struct spool_writer *spool, *second = NULL;
	struct identity who;
	struct output out;
	char err[512];

	(void)state;
	identity_self(&who);
	assert_int_equal(output_create(&out, &who, in_dir("new"), err, sizeof(err)), 0);
	assert_int_equal(output_create_spool(&out, &spool, err, sizeof(err)), 0);
	assert_int_equal(output_create_spool(&out, &second, err, sizeof(err)), -EEXIST);
	assert_null(second);
	spool_writer_destroy(spool);
	output_discard(&out);
	output_close(&out);
	assert_int_equal(access(in_dir("new"), F_OK), -1);
	mkdir(in_dir("there"), 0700);
	assert_int_equal(output_create(&out, &who, in_dir("there/"), err, sizeof(err)), 0);
	output_discard(&out);
	output_close(&out);
	assert_int_equal(access(in_dir("there"), F_OK), 0);
	identity_deinit(&who);
}

/* A directory that was in use is not touched by the refusal. */
static void output_is_refused(void **state)
{
	struct identity who;
	struct output out;
	char err[512];

	(void)state;
	identity_self(&who);
	mkdir(in_dir("full"), 0700);
	close(open(in_dir("full/spool"), O_WRONLY | O_CREAT, 0600));
	assert_int_not_equal(output_create(&out, &who, in_dir("full"), err, sizeof(err)), 0);
	assert_non_null(strstr(err, "not empty"));
	assert_int_equal(access(in_dir("full/spool"), F_OK), 0);
	(void)!symlink("full", in_dir("link"));
	assert_int_not_equal(output_create(&out, &who, in_dir("link"), err, sizeof(err)), 0);
	assert_int_not_equal(output_create(&out, &who, in_dir("link/"), err, sizeof(err)), 0);
	assert_int_not_equal(output_create(&out, &who, in_dir("absent/x"), err, sizeof(err)), 0);
	assert_int_not_equal(output_create(&out, &who, "", err, sizeof(err)), 0);
	assert_int_not_equal(output_open(&out, &who, in_dir("link/"), err, sizeof(err)), 0);
	output_close(&out);
	identity_deinit(&who);
}

static void output_of_others(void **state)
{
	struct identity who, owner;
	struct output out;
	char err[512];

	(void)state;
	need_root();
	identity_self(&who);
	mkdir(in_dir("his"), 0755);
	assert_int_equal(chown(in_dir("his"), NOBODY, NOBODY), 0);
	assert_int_equal(output_create(&out, &who, in_dir("his"), err, sizeof(err)), -EPERM);
	assert_int_equal(output_open_as_owner(&out, &owner, in_dir("his"), err, sizeof(err)), 0);
	assert_int_equal(owner.uid, NOBODY);
	output_close(&out);
	identity_deinit(&owner);
	mkdir(in_dir("open"), 0700);
	chmod(in_dir("open"), 0777);
	assert_int_equal(output_create(&out, &who, in_dir("open"), err, sizeof(err)), -EPERM);
	assert_int_equal(output_open_as_owner(&out, &owner, in_dir("open"), err, sizeof(err)), -EPERM);
	output_close(&out);
	identity_deinit(&owner);
	umask(0);
	assert_int_equal(output_create(&out, &who, in_dir("roots"), err, sizeof(err)), 0);
	umask(022);
	output_close(&out);
	identity_deinit(&who);
}

/* ---- workers ---- */

static int report_rights(void *arg, FILE *text, char *err, size_t err_len)
{
	char status[4096] = "";
	int fd = open("/proc/self/status", O_RDONLY);

	(void)arg, (void)err, (void)err_len;
	if (fd >= 0 && read(fd, status, sizeof(status) - 1) < 0)
		return -EIO;
	fprintf(text, "uid %d open %d fork %d setuid %d\n%s", getuid(), access("made-there", F_OK), fork() < 0 ? -1 : 0, setuid(0),
		status);
	return 0;
}

static int fail_so(void *arg, FILE *text, char *err, size_t err_len)
{
	(void)arg, (void)text;
	snprintf(err, err_len, "so it failed");
	return -ENOSPC;
}

static int crash(void *arg, FILE *text, char *err, size_t err_len)
{
	(void)arg, (void)text, (void)err, (void)err_len;
	signal(SIGABRT, SIG_DFL);
	raise(SIGKILL);
	return 0;
}

static int linger(void *arg, FILE *text, char *err, size_t err_len)
{
	(void)arg, (void)text, (void)err, (void)err_len;
	sleep(100);
	return 0;
}

static int run(const struct identity *who, int (*work)(void *, FILE *, char *, size_t), unsigned limit_s, char **text, char *err)
{
	struct worker worker = { .who = who, .limit_s = limit_s, .what = "the work", .run = work };
	size_t len;
	int ret;

	worker.dir = open(dir, O_RDONLY | O_DIRECTORY);
	err[0] = 0;
	ret = worker_run(&worker, text, &len, err, 256);
	close(worker.dir);
	return ret;
}

static void worker_has_no_rights(void **state)
{
	struct identity who;
	char err[256], *text;

	(void)state;
	need_root();
	close(open(in_dir("made-there"), O_WRONLY | O_CREAT, 0644));
	chmod(dir, 0755);
	identity_user(&who, NOBODY, -1);
	assert_int_equal(run(&who, report_rights, 0, &text, err), 0);
	assert_non_null(strstr(text, "uid 65534 open 0 fork -1 setuid -1\n"));
	assert_non_null(strstr(text, "NoNewPrivs:\t1\n"));
	assert_non_null(strstr(text, "CapEff:\t0000000000000000\n"));
	assert_non_null(strstr(text, "CapPrm:\t0000000000000000\n"));
	free(text);
	identity_deinit(&who);
}

static void worker_fails(void **state)
{
	struct identity who;
	char err[256], *text;

	(void)state;
	identity_self(&who);
	assert_int_equal(run(&who, fail_so, 0, &text, err), -ENOSPC);
	assert_string_equal(err, "so it failed");
	assert_null(text);
	assert_int_equal(run(&who, crash, 0, &text, err), -ECANCELED);
	assert_non_null(strstr(err, "signal 9"));
	assert_int_equal(run(&who, linger, 1, &text, err), -ETIMEDOUT);
	assert_non_null(strstr(err, "longer than 1 s"));
	identity_deinit(&who);
}

/* ---- environment ---- */

static void environment_of_process(void **state)
{
	struct identity who;
	char err[256], **environment;

	(void)state;
	identity_self(&who);
	assert_int_equal(environment_create(&environment, &who, getpid(), err, sizeof(err)), 0);
	assert_non_null(environment_value(environment, "PATH"));
	assert_null(environment_value(environment, "PAT"));
	environment_free(environment);
	assert_int_equal(environment_create(&environment, &who, 4194303, err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "no such process"));
	assert_null(environment);
	identity_deinit(&who);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(caller_of_sudo, setup, teardown),
		cmocka_unit_test_setup_teardown(caller_who_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(user_without_entry, setup, teardown),
		cmocka_unit_test_setup_teardown(step_as_user, setup, teardown),
		cmocka_unit_test_setup_teardown(output_is_made_and_discarded, setup, teardown),
		cmocka_unit_test_setup_teardown(output_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(output_of_others, setup, teardown),
		cmocka_unit_test_setup_teardown(worker_has_no_rights, setup, teardown),
		cmocka_unit_test_setup_teardown(worker_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(environment_of_process, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
