/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Prints a policy as the service interprets it, for its author.
 */
#include "service/policy.h"

#include <stdio.h>
#include <string.h>

static void print_rule(const struct policy_rule *rule, size_t number, FILE *out)
{
	fprintf(out, "%4zu  %-6s %s", number, rule->record ? "record" : "skip", policy_test_name(rule->test));
	for (size_t i = 0; i < rule->nwords; i++)
		fprintf(out, " %s", rule->words[i]);
	fputc('\n', out);
}

static bool matches_every_job(const struct policy_rule *rule)
{
	return rule->test == TEST_ALL || rule->test == TEST_ENV || (rule->test == TEST_SAMPLE && rule->percent >= 100);
}

static void print_rules(const struct policy *policy, FILE *out)
{
	size_t all = 0;

	fprintf(out, "Rules (the first that matches a job decides):\n");
	for (size_t i = 0; i < policy->nrules; i++) {
		print_rule(&policy->rules[i], i + 1, out);
		if (all)
			fprintf(out, "      note: never used: rule %zu matches every job\n", all);
		else if (matches_every_job(&policy->rules[i]))
			all = i + 1;
	}
	if (!policy->nrules)
		fprintf(out, "      note: there is no rule: no job is recorded, except those started with --always or by users\n");
	else if (!all)
		fprintf(out, "      a job that no rule matches is not recorded\n");
}

static void print_limit(const char *name, double seconds, FILE *out)
{
	if (seconds > 0)
		fprintf(out, "  %-18s %g s\n", name, seconds);
	else
		fprintf(out, "  %-18s none\n", name);
}

static void print_jobs(const struct policy *policy, FILE *out)
{
	fprintf(out, "  %-18s %u (%u of them for users)\n", "max-jobs", policy->max_jobs,
		policy->users ? policy_user_jobs(policy) : 0);
	if (policy->users)
		fprintf(out, "  %-18s yes, at most %u each\n", "users", policy->max_jobs_per_user);
	else
		fprintf(out, "  %-18s no\n", "users");
	fprintf(out, "  %-18s %u\n", "standby-recorders", policy->standby_recorder);
	print_limit("idle-limit", policy->idle_limit_s, out);
	print_limit("user-idle-limit", policy->user_idle_limit_s, out);
	print_limit("max-archive-time", policy->max_archive_s, out);
}

void policy_print(const struct policy *policy, FILE *out)
{
	print_rules(policy, out);
	fprintf(out, "Settings:\n  %-18s %s\n", "output", policy->output);
	if (policy->cluster[0])
		fprintf(out, "  %-18s %s\n", "cluster", policy->cluster);
	if (policy->metrics[0])
		fprintf(out, "  %-18s %s\n", "metrics", policy->metrics);
	print_jobs(policy, out);
	if (policy->max_overhead_percent > 0)
		fprintf(out, "  %-18s %g %%\n", "max-overhead", policy->max_overhead_percent);
	else
		fprintf(out, "  %-18s none\n", "max-overhead");
	if (policy->ring_mib > 0)
		fprintf(out, "  %-18s %g MiB\n", "ring-size", policy->ring_mib);
	for (size_t i = 0; i < policy->ntables; i++)
		fprintf(out, "  %-18s %s\n", "probes", policy->tables[i]);
	for (size_t i = 0; i < policy->nsettings; i++) {
		int len = strcspn(policy->settings[i], "=");

		fprintf(out, "  %-18.*s %s\n", len, policy->settings[i], policy->settings[i] + len + 1);
	}
}
