/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A launched program's process, between fork and exec, makes system calls only: any lock of the C library may have been held by
 * another thread at the fork. What takes one is here in the C library's place, and ends the child.
 */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "proc/launch.h"

#define UNSAFE 99

static pid_t parent;

static void not_in_the_child(void)
{
	if (parent && getpid() != parent)
		_exit(UNSAFE);
}

extern void *__libc_malloc(size_t size), *__libc_calloc(size_t n, size_t size), *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *memory);

#ifndef __SANITIZE_ADDRESS__
void *malloc(size_t size) { not_in_the_child(); return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { not_in_the_child(); return __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { not_in_the_child(); return __libc_realloc(old, size); }
void free(void *memory) { not_in_the_child(); __libc_free(memory); }
#endif

/* Reads /etc/group; the others signal all threads of the process. */
int initgroups(const char *user, gid_t group) { (void)user, (void)group, not_in_the_child(); return 0; }
int setgroups(size_t n, const gid_t *groups) { (void)n, (void)groups, not_in_the_child(); return 0; }
int setresgid(gid_t real, gid_t effective, gid_t saved) { (void)real, (void)effective, (void)saved, not_in_the_child(); return 0; }
int setresuid(uid_t real, uid_t effective, uid_t saved) { (void)real, (void)effective, (void)saved, not_in_the_child(); return 0; }

static void launches(const char *path, char *const *argv, const struct identity *who, int expected_err, int expected_status)
{
	char *environment[] = { "PATH=/bin:/usr/bin", NULL };
	const struct launch_program program = { path, argv, environment, who };
	struct launch launch;
	int status = -1, err;

	parent = getpid();
	launch_keep_inherited();
	assert_int_equal(launch_prepare(&launch, &program), 0);
	err = launch_go(&launch);
	if (!err)
		assert_int_equal(waitpid(launch.pid, &status, 0), launch.pid);
	parent = 0;
	assert_int_equal(err, expected_err);
	if (!err)
		assert_int_equal(WEXITSTATUS(status), expected_status);
}

static void system_calls_only(void **state)
{
	const struct identity own = { .uid = getuid(), .gid = getgid(), .own = true };
	gid_t group = 65534;
	const struct identity nobody = { .uid = 65534, .gid = 65534, .groups = &group, .ngroups = 1 };
	char *argv[] = { "sh", "-c", "exit 7", NULL }, *script[] = { "script", "8", NULL };
	char path[] = "/tmp/launch_test.XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0 && write(fd, "exit $1\n", 8) == 8 && !fchmod(fd, 0755));
	close(fd);
	launches("/bin/sh", argv, &own, 0, 7);
	launches(path, script, &own, 0, 8);             /* without a format that the kernel knows */
	launches("/nowhere", argv, &own, -ENOENT, 0);
	if (!getuid())
		launches("/bin/sh", argv, &nobody, 0, 7);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(system_calls_only) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
