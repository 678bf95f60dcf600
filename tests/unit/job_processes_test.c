/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Finds a job's processes by environment and by cgroup; children of the test stand in for them.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "proc/job_processes.h"

static void test_ids(void **state)
{
	struct members members;

	(void)state;
	assert_int_equal(job_processes_of_slurm(&members, "123", NULL), 0);
	assert_int_equal(members.nentries, 1);
	assert_string_equal(members.entries[0], "SLURM_JOB_ID=123");
	assert_int_equal(job_processes_of_slurm(&members, "123", "n1"), 0);
	assert_string_equal(members.entries[1], "SLURMD_NODENAME=n1");
	assert_int_not_equal(job_processes_of_slurm(&members, "", NULL), 0);
	assert_int_not_equal(job_processes_of_slurm(&members, "12a", NULL), 0);
	assert_int_not_equal(job_processes_of_slurm(&members, "-1", NULL), 0);
	assert_int_not_equal(job_processes_of_slurm(&members, "12345678901", NULL), 0);
}

static void test_cgroups(void **state)
{
	static const struct { const char *node, *text; bool in; } cases[] = {
		{ NULL, "9:cpu:/\n7:freezer:/slurm/uid_5/job_12/step_0\n", true },
		{ NULL, "7:freezer:/slurm/uid_5/job_12", true },
		{ NULL, "7:freezer:/slurm/uid_5/job_123/step_0\n", false },
		{ NULL, "7:freezer:/other/job_12/x\n", false },
		{ NULL, "0::/system.slice/slurmstepd.scope/job_12/step_0/user/task_0\n", true },
		{ "n1", "7:freezer:/slurm_n1/uid_5/job_12/step_0\n", true },
		{ "n1", "7:freezer:/slurm_n2/uid_5/job_12/step_0\n", false },
		{ "n1", "7:freezer:/slurm_n12/uid_5/job_12/step_0\n", false },
		{ "n1", "0::/system.slice/n1_slurmstepd.scope/job_12/step_0\n", true },
		{ NULL, "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct members members;

		assert_int_equal(job_processes_of_slurm(&members, "12", cases[i].node), 0);
		if (job_processes_cgroup_has(&members, cases[i].text) != cases[i].in)
			fail_msg("node %s: %s", cases[i].node ? cases[i].node : "any", cases[i].text);
	}
}

static pid_t child_with(const char *const *env)
{
	pid_t pid = fork();

	if (!pid) {
		execle("/bin/sleep", "sleep", "30", NULL, env);
		_exit(127);
	}
	return pid;
}

static bool found(pid_t pid, const char *job, const char *node)
{
	struct members members;
	bool in = false;
	pid_t *pids;
	size_t n;

	assert_int_equal(job_processes_of_slurm(&members, job, node), 0);
	assert_int_equal(job_processes_find(&members, &pids, &n), 0);
	for (size_t i = 0; i < n; i++)
		in |= pids[i] == pid;
	if (in)
		assert_int_equal(members.uid, getuid());
	free(pids);
	return in;
}

static void test_environment(void **state)
{
	static const char *const env[] = { "X=1", "SLURM_JOB_ID=4100000077", "SLURMD_NODENAME=left", NULL };
	pid_t pid = child_with(env);

	(void)state;
	for (int i = 0; i < 200 && !found(pid, "4100000077", NULL); i++)
		usleep(10000);          /* until its exec */
	assert_true(found(pid, "4100000077", NULL));
	assert_true(found(pid, "4100000077", "left"));
	assert_false(found(pid, "4100000077", "right"));
	assert_false(found(pid, "410000007", NULL));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(found(pid, "4100000077", NULL));
}

static void test_job_matcher(void **state)
{
	struct iop_job_matcher job_matcher;
	struct members members;
	char entry[200];

	(void)state;
	assert_int_equal(job_processes_of_slurm(&members, "7", NULL), 0);
	memset(entry, 'x', sizeof(entry));
	entry[1] = '=';
	entry[126] = 0;
	assert_int_equal(job_processes_add_entry(&members, entry), 0);
	entry[126] = 'x';
	entry[127] = 0;
	assert_int_not_equal(job_processes_add_entry(&members, entry), 0);
	members_job_matcher(&members, &job_matcher);
	assert_true(job_matcher.on);
	assert_memory_equal(job_matcher.entry[0].text, "SLURM_JOB_ID=7", 15);
	assert_memory_equal(job_matcher.entry[0].mask, "\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\0", 16);
	assert_int_equal(job_matcher.entry[2].mask[0], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids), cmocka_unit_test(test_cgroups), cmocka_unit_test(test_environment),
			cmocka_unit_test(test_job_matcher),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
