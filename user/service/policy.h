/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The site's policy: which jobs are recorded, where to, and how much that may cost. tools/slurm/policy.md has the grammar.
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
	char **words;                   /* patterns as in the shell; of TEST_ENV the entry NAME=VALUE */
	size_t nwords;
	double percent;                 /* of TEST_SAMPLE */
};

struct policy {
	struct policy_rule *rules;      /* the first that matches decides; none: not recorded */
	size_t nrules;
	char output[4096];              /* pattern: %u %j %n %c %w */
	char cluster[STATE_NAME_ROOM];  /* the site's name for %c; "": what root's requests name */
	double max_overhead_percent, ring_mib;
	double idle_limit_s, user_idle_limit_s, max_archive_s;  /* 0: no limit */
	unsigned spare;
	unsigned max_jobs;              /* at once */
	unsigned max_jobs_per_user;     /* of them, started by one user */
	unsigned reserved_jobs;         /* of max_jobs, for root; POLICY_HALF: half of them */
	bool users;                     /* may start recordings of their own processes */
	char **tables;                  /* files of further probes */
	size_t ntables;
	char **settings;                /* "WORD=VALUE" of settings_set, valid */
	size_t nsettings;
};

/* The defaults: jobs with the comment "ioprobe". */
int policy_init(struct policy *policy);
/* Returns 0, or -errno with one line in err: FILE:LINE: what is wrong. Then the policy is unusable and must be deinitialised all
 * the same. */
int policy_read(struct policy *policy, const char *path, char *err, size_t err_len);
void policy_deinit(struct policy *policy);

/* "all", "user", … */
const char *policy_test_name(enum policy_test test);
/* Rules and settings as the service uses them, with notes on rules that cannot match. */
void policy_print(const struct policy *policy, FILE *out);

/* How many recordings that users started may run at once. */
unsigned policy_user_jobs(const struct policy *policy);

/* Whether to record a job (an object with "job", "user", "account", "comment", "cluster"). *entry: what its programs'
 * environment must have for that, NULL: nothing; the policy's. why: one line. */
bool policy_wants(const struct policy *policy, const json_t *job, const char **entry, char *why, size_t why_len);

#endif
