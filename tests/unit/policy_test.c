/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The site's policy: which jobs it wants, and which files it refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "service/policy.h"

static char path[] = "/tmp/policy_test.XXXXXX";

static int setup(void **state)
{
	(void)state;
	strcpy(strrchr(path, '.'), ".XXXXXX");
	close(mkstemp(path));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

static int read_text(struct policy *policy, const char *text, char *err, size_t err_len)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
	return policy_read(policy, path, err, err_len);
}

static bool wants(const struct policy *policy, const char *user, const char *account, const char *comment, const char **entry)
{
	json_t *job = json_pack("{s:s, s:s, s:s, s:s}", "job", "42", "user", user, "account", account, "comment", comment);
	char why[256];
	bool wanted = policy_wants(policy, job, entry, why, sizeof(why));

	assert_non_null(job);
	assert_true(*why);
	json_decref(job);
	return wanted;
}

static void test_first_rule_decides(void **state)
{
	struct policy policy;
	const char *entry;
	char err[256];

	(void)state;
	assert_int_equal(
		read_text(&policy,
			  "skip user root adm*\nrecord account hpc # all of it\nrecord comment ioprobe io-*\nrecord env A=b\n", err,
			  sizeof(err)),
		0);
	assert_false(wants(&policy, "root", "hpc", "ioprobe", &entry));
	assert_false(wants(&policy, "admin", "hpc", "", &entry));
	assert_true(wants(&policy, "eve", "hpc", "", &entry));
	assert_null(entry);
	assert_true(wants(&policy, "eve", "", "please, ioprobe", &entry));
	assert_null(entry);
	assert_true(wants(&policy, "eve", "", "io-all;x", &entry));
	assert_null(entry);
	assert_true(wants(&policy, "eve", "hpc2", "noioprobe", &entry));
	assert_string_equal(entry, "A=b");
	policy_deinit(&policy);
}

static void test_default_and_empty(void **state)
{
	struct policy policy;
	const char *entry;
	char err[256];

	(void)state;
	assert_int_equal(policy_init(&policy), 0);
	assert_true(wants(&policy, "eve", "", "ioprobe", &entry));
	assert_false(wants(&policy, "eve", "", "", &entry));
	policy_deinit(&policy);
	assert_int_equal(read_text(&policy, "# nothing\n\n", err, sizeof(err)), 0);
	assert_false(wants(&policy, "eve", "", "ioprobe", &entry));
	policy_deinit(&policy);
}

/* A share of consecutive job ids, within four standard deviations of what is asked; the same for every node. */
static void test_sample(void **state)
{
	struct policy policy, again;
	const char *entry;
	char err[256], why[256], id[16];
	int chosen = 0;

	(void)state;
	assert_int_equal(read_text(&policy, "record sample 5%\n", err, sizeof(err)), 0);
	assert_int_equal(read_text(&again, "record sample 5%\n", err, sizeof(err)), 0);
	for (int i = 1; i <= 10000; i++) {
		json_t *job;
		bool wanted;

		snprintf(id, sizeof(id), "%d", i);
		job = json_pack("{s:s, s:s}", "job", id, "cluster", "lab");
		wanted = policy_wants(&policy, job, &entry, why, sizeof(why));
		chosen += wanted;
		assert_true(wanted == policy_wants(&again, job, &entry, why, sizeof(why)));
		json_decref(job);
	}
	assert_in_range(chosen, 500 - 88, 500 + 88);
	policy_deinit(&policy);
	policy_deinit(&again);
}

static void test_settings(void **state)
{
	struct policy policy;
	char err[256];

	(void)state;
	assert_int_equal(read_text(&policy,
				   "output %w/io.%j\nmax-overhead 1.5\nidle-limit 7\nring-size 2\nstandby-recorders 3\nmax-jobs 4\n"
				   "users no\nprobes /a\nprobes /b\n",
				   err, sizeof(err)),
			 0);
	assert_string_equal(policy.output, "%w/io.%j");
	assert_true(policy.max_overhead_percent == 1.5 && policy.idle_limit_s == 7 && policy.ring_mib == 2);
	assert_true(policy.standby_recorder == 3 && policy.max_jobs == 4 && !policy.users && policy.ntables == 2);
	assert_string_equal(policy.tables[1], "/b");
	assert_true(policy.max_jobs_per_user == 4 && policy_user_jobs(&policy) == 2 && policy.user_idle_limit_s == 60);
	policy_deinit(&policy);
	assert_int_equal(read_text(&policy,
				   "max-jobs-per-user 2\nreserved-jobs 3\nuser-idle-limit 9\nmax-archive-time 8\ncluster lab\n",
				   err, sizeof(err)),
			 0);
	assert_true(policy.max_jobs_per_user == 2 && policy.reserved_jobs == 3 && policy_user_jobs(&policy) == 13);
	assert_true(policy.user_idle_limit_s == 9 && policy.max_archive_s == 8);
	assert_string_equal(policy.cluster, "lab");
	policy_deinit(&policy);
	assert_int_equal(read_text(&policy, "spare 5\n", err, sizeof(err)), 0);        /* the old word */
	assert_int_equal(policy.standby_recorder, 5);
	policy_deinit(&policy);
}

/* What recorders get, in the policy's order. */
static void test_recorder_settings(void **state)
{
	static const char *const wanted[] = {
		"max-size=1GiB", "min-free=10G", "max-duration=3600", "max-rate=1e6", "layers=posix,mpiio", "stream-calls=count",
		"lazy-streams=yes", "call-sites=4", "path=/a,/b",
		"stream=sqlite", "stream=ndjson:/a/b", "stream=ldms:ldmsd_stream_publish", "stream=prometheus:/a/b.prom",
		"stream=kafka:/etc/kafka", "stream-interval=500ms", "stream-names=hash", "stream-events=slow=10ms",
		"exclude-path=/a/x", "shared-mount=/lustre", "keep=yes",
	};
	struct policy policy;
	char text[1024] = "", err[512];

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		strcat(strcat(text, wanted[i]), "\n");
	for (char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (strchr(at, '='))
			*strchr(at, '=') = ' '; /* the first one of the line */
	assert_int_equal(read_text(&policy, text, err, sizeof(err)), 0);
	assert_int_equal(policy.nsettings, sizeof(wanted) / sizeof(wanted[0]));
	for (size_t i = 0; i < policy.nsettings; i++)
		assert_string_equal(policy.settings[i], wanted[i]);
	policy_deinit(&policy);
}

static void test_mistakes(void **state)
{
	static const char *const lines[] = {
		"record", "record some", "record all of", "record user", "record sample", "record sample 5", "record sample -1%",
		"record env A",
		"skip env A=1", "output a/%j", "output /a", "output /a/%", "output /a/%j/%w", "output", "users maybe", "spare x",
		"max-overhead 101",
		"max-size much", "max-size 1k", "min-free -1", "max-duration 0", "max-rate x", "layers nolayer", "layers",
		"stream-calls none", "lazy-streams maybe", "call-sites 0", "call-sites 33", "call-sites yes", "call-sites 4x",
		"path relative", "exclude-path /a,b", "shared-mount relative", "keep perhaps", "fd-kinds tape", "nothing 1",
		"cluster a/b", "cluster ..", "reserved-jobs -1", "max-jobs-per-user many", "max-archive-time",
		"metrics relative.prom", "metrics /a/b", "metrics",
		"collect-ca relative", "collect-secret x", "stream collect:host", "stream collect:host:0", "stream collect::1",
		"stream", "stream nowhere", "stream ndjson", "stream ndjson:relative", "stream ldms", "stream ldms:true",
		"stream kafka", "stream prometheus", "stream-interval 1", "stream-interval 1ms", "stream-names none",
		"stream-events some", "stream-events slow=x", "stream-events 1/0", "stream-events 1/x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct policy policy;
		char text[256], err[512] = "", where[64];

		snprintf(text, sizeof(text), "# first\n%s\n", lines[i]);
		if (!read_text(&policy, text, err, sizeof(err)))
			fail_msg("no mistake: %s", lines[i]);
		snprintf(where, sizeof(where), "%s:2: ", path);
		if (strncmp(err, where, strlen(where)))
			fail_msg("%s: %s", lines[i], err);
		policy_deinit(&policy);
	}
}

/* A collector needs a secret and a certificate, wherever in the policy they are. */
static void test_collector(void **state)
{
	static const char all[] = "stream collect:login1:4790\ncollect-secret /etc/secret\ncollect-ca /etc/ca.pem\n";
	struct policy policy;
	char err[512] = "";

	(void)state;
	assert_int_equal(read_text(&policy, all, err, sizeof(err)), 0);
	assert_int_equal(policy.nsettings, 3);
	policy_deinit(&policy);
	assert_int_not_equal(read_text(&policy, "collect-ca /etc/ca.pem\nstream collect:login1:4790\n", err, sizeof(err)), 0);
	assert_non_null(strstr(err, ": stream collect:login1:4790 needs collect-secret and collect-ca"));
	policy_deinit(&policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_rule_decides), cmocka_unit_test(test_default_and_empty), cmocka_unit_test(test_sample),
		cmocka_unit_test(test_settings), cmocka_unit_test(test_recorder_settings), cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_collector),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
