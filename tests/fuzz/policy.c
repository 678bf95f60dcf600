/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A site's policy, and a job that it is asked about.
 */
#include "fuzz.h"

#include "service/policy.h"

int fuzz_policy(const uint8_t *data, size_t size)
{
	struct policy policy;
	char err[256], why[256];
	const char *entry;
	json_t *job;

	if (!policy_read(&policy, fuzz_file("policy", data, size), err, sizeof(err))) {
		job = json_pack("{s:s, s:s, s:s, s:s, s:s}", "job", "4711", "user", "alice", "account", "physics", "comment",
				"ioprobe", "cluster", "c");
		policy_wants(&policy, job, &entry, why, sizeof(why));
		policy_user_jobs(&policy);
		json_decref(job);
	}
	policy_deinit(&policy);
	return 0;
}
