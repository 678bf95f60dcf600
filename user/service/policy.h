/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The site's policy: which jobs are recorded, where the output goes, and limits on the cost. tools/slurm/policy.md has the grammar.
 */
#ifndef IOPROBE_POLICY_H
#define IOPROBE_POLICY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "service/state.h"

#define POLICY_HALF UINT32_MAX
#define POLICY_MAX_SETTINGS 256

enum policy_test { TEST_ALL, TEST_USER, TEST_ACCOUNT, TEST_COMMENT, TEST_SAMPLE, TEST_ENV };

struct policy_rule {
	bool record;                    /* else skip */
	enum policy_test test;
	char **words;                   /* patterns as in the shell; for TEST_ENV the entry NAME=VALUE */
	size_t nwords;
	double percent;                 /* for TEST_SAMPLE */
};

struct policy {
	struct policy_rule *rules;      /* the first matching rule decides; without a match the job is not recorded */
	size_t nrules;
	char output[4096];              /* pattern: %u %j %n %c %w */
	char cluster[STATE_NAME_ROOM];  /* the site's name for %c; "": the name in root's requests */
	char metrics[4096];             /* file for the service's own metrics; "": none */
	double max_overhead_percent, ring_mib;
	double idle_limit_s, user_idle_limit_s, max_archive_s;  /* 0: no limit */
	unsigned standby_recorder;
	unsigned max_jobs;              /* at the same time */
	unsigned max_jobs_per_user;     /* of these, started by one user */
	unsigned reserved_jobs;         /* of max_jobs, reserved for root; POLICY_HALF: half of them */
	bool users;                     /* users may start recordings of their own processes */
	char **tables;                  /* files with further probes */
	size_t ntables;
	char **settings;                /* "WORD=VALUE" for settings_set, validated */
	size_t nsettings;
};

/* Sets the defaults: record jobs with the comment "ioprobe". */
int policy_init(struct policy *policy);
/* Returns 0, or -errno with one line in err: FILE:LINE and the error. The policy is then unusable but must still be
 * deinitialised. */
int policy_read(struct policy *policy, const char *path, char *err, size_t err_len);
void policy_deinit(struct policy *policy);

/* "all", "user", … */
const char *policy_test_name(enum policy_test test);
/* Prints rules and settings as the service interprets them, with notes on rules that cannot match. */
void policy_print(const struct policy *policy, FILE *out);

/* Returns how many recordings started by users may run at the same time. */
unsigned policy_user_jobs(const struct policy *policy);

/* Returns whether to record a job (an object with "job", "user", "account", "comment", "cluster"). *entry: the entry that its
 * programs' environment must have, owned by the policy; NULL: none. why: one line. */
bool policy_wants(const struct policy *policy, const json_t *job, const char **entry, char *why, size_t why_len);

#endif
