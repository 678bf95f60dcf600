/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Lines of words; "#" begins a comment. A file with an error is rejected as a whole.
 */
#include "service/policy.h"

#include <errno.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/settings.h"
#include "stream/follower.h"
#include "stream/outputs.h"
#include "table/table.h"

#define MAX_WORDS 64
#define DEFAULT_OUTPUT "/var/lib/ioprobe/archives/%u/%j.%n"

struct words { char *v[MAX_WORDS]; size_t n; };

/* All settings for recorders so far, to check their combination. */
struct sum { struct settings settings; unsigned layers_line; };

struct context { struct policy *policy; const char *path; unsigned line; char *err; size_t err_len; struct sum *sum; };

static int policy_wrong(const struct context *c, const char *what, const char *word)
{
	snprintf(c->err, c->err_len, "%s:%u: %s%s%s", c->path, c->line, what, *word ? ": " : "", word);
	return -EINVAL;
}

/* ---- rules ---- */

static const struct { const char *name; bool words; } tests[] = {
	[TEST_ALL] = { "all", false }, [TEST_USER] = { "user", true }, [TEST_ACCOUNT] = { "account", true },
	[TEST_COMMENT] = { "comment", true }, [TEST_SAMPLE] = { "sample", true }, [TEST_ENV] = { "env", true },
};

const char *policy_test_name(enum policy_test test)
{
	return tests[test].name;
}

static int add_rule(struct policy *policy, const struct policy_rule *rule)
{
	struct policy_rule *grown = realloc(policy->rules, (policy->nrules + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	policy->rules = grown;
	grown[policy->nrules++] = *rule;
	return 0;
}

static int keep_words(char ***out, size_t *n, char *const *words, size_t nwords)
{
	for (size_t i = 0; i < nwords; i++) {
		char **grown = realloc(*out, (*n + 1) * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		*out = grown;
		grown[*n] = strdup(words[i]);
		if (!grown[*n])
			return -ENOMEM;
		(*n)++;
	}
	return 0;
}

static int policy_parse_number(const struct context *c, const char *text, const char *unit, double max, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || strcmp(end, unit) || !(*out >= 0 && *out <= max))
		return policy_wrong(c, "not a number of the allowed range", text);
	return 0;
}

static int check_rule(const struct context *c, struct policy_rule *rule, const struct words *words)
{
	if (tests[rule->test].words != (words->n > 2))
		return policy_wrong(c, words->n > 2 ? "nothing may follow" : "something must follow", words->v[1]);
	if (rule->test == TEST_ENV && (words->n != 3 || !strchr(words->v[2], '=') || strlen(words->v[2]) > 126))
		return policy_wrong(c, "env needs one NAME=VALUE of at most 126 bytes", "");
	if (rule->test == TEST_ENV && !rule->record)
		return policy_wrong(c, "jobs cannot be skipped by env: their environment is not known before they run", "");
	if (rule->test == TEST_SAMPLE)
		return words->n == 3 ? policy_parse_number(c, words->v[2], "%", 100, &rule->percent) :
				       policy_wrong(c, "sample needs one PERCENT%", "");
	return 0;
}

static int policy_parse_rule(const struct context *c, const struct words *words)
{
	struct policy_rule rule = { .record = !strcmp(words->v[0], "record") };
	size_t test, ntests = sizeof(tests) / sizeof(tests[0]);
	int err;

	for (test = 0; test < ntests && words->n > 1; test++)
		if (!strcmp(words->v[1], tests[test].name))
			break;
	if (words->n < 2 || test == ntests)
		return policy_wrong(c, "needs one of all, user, account, comment, sample, env", words->v[words->n > 1]);
	rule.test = test;
	err = check_rule(c, &rule, words);
	if (!err)
		err = keep_words(&rule.words, &rule.nwords, words->v + 2, words->n - 2);
	return err ? err : add_rule(c->policy, &rule);
}

/* ---- settings ---- */

static int parse_output(const struct context *c, const char *pattern)
{
	if (*pattern != '/' && strncmp(pattern, "%w/", 3))
		return policy_wrong(c, "output must begin with / or %w/", pattern);
	for (const char *at = strchr(pattern, '%'); at; at = strchr(at + 2, '%'))
		if (!at[1] || !strchr("ujncw%", at[1]) || (at[1] == 'w' && at != pattern))
			return policy_wrong(c, "output knows %u %j %n %c, and %w at its beginning", pattern);
	if (!strstr(pattern, "%j"))
		return policy_wrong(c, "output needs %j: each job has its own directory", pattern);
	if (strlen(pattern) >= sizeof(c->policy->output))
		return policy_wrong(c, "output is too long", "");
	strcpy(c->policy->output, pattern);
	return 0;
}

/* Settings with one number; whole: an unsigned, else a double. */
static const struct { const char *name; size_t at; double max; bool whole; } numbers[] = {
	{ "max-overhead", offsetof(struct policy, max_overhead_percent), 100, false },
	{ "idle-limit", offsetof(struct policy, idle_limit_s), 1e9, false },
	{ "user-idle-limit", offsetof(struct policy, user_idle_limit_s), 1e9, false },
	{ "max-archive-time", offsetof(struct policy, max_archive_s), 1e9, false },
	{ "ring-size", offsetof(struct policy, ring_mib), 4096, false },
	{ "standby-recorders", offsetof(struct policy, standby_recorder), 1000, true },
	{ "spare", offsetof(struct policy, standby_recorder), 1000, true },     /* its name until 28 November 2026 */
	{ "max-jobs", offsetof(struct policy, max_jobs), 1000, true },
	{ "max-jobs-per-user", offsetof(struct policy, max_jobs_per_user), 1000, true },
	{ "reserved-jobs", offsetof(struct policy, reserved_jobs), 1000, true },
};

/* Returns 0, -ENOENT if the setting is not a number, or -EINVAL with a line in err. */
static int policy_parse_numbers(const struct context *c, const char *name, const char *value)
{
	double number;
	size_t i = 0;
	void *field;
	int err;

	while (i < sizeof(numbers) / sizeof(numbers[0]) && strcmp(name, numbers[i].name))
		i++;
	if (i == sizeof(numbers) / sizeof(numbers[0]))
		return -ENOENT;
	field = (char *)c->policy + numbers[i].at;
	err = policy_parse_number(c, value, "", numbers[i].max, &number);
	if (err)
		return err;
	if (numbers[i].whole)
		*(unsigned *)field = number;
	else
		*(double *)field = number;
	return 0;
}

static int parse_cluster(const struct context *c, const char *value)
{
	if (!state_valid_name(value))
		return policy_wrong(c, "cluster is not a name that can be part of a path", value);
	strcpy(c->policy->cluster, value);
	return 0;
}

static int parse_metrics(const struct context *c, const char *value)
{
	size_t len = strlen(value);

	if (*value != '/' || len < 7 || len >= sizeof(c->policy->metrics) || strcmp(value + len - 5, ".prom"))
		return policy_wrong(c, "metrics needs the absolute path of a file *.prom", value);
	strcpy(c->policy->metrics, value);
	return 0;
}

/* Recorders start in another directory. */
static bool all_absolute(const char *paths)
{
	for (const char *at = paths; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (*at != '/')
			return false;
	return true;
}

static bool valid_stream(const char *name, const char *value, char *why, size_t why_len)
{
	enum live_names names;
	uint64_t ns;

	snprintf(why, why_len, "not a value of %s: %.100s", name, value);
	if (!strcmp(name, "stream"))
		return live_output_valid(value, why, why_len) && !live_output_is_stdout(value);
	if (!strcmp(name, "stream-events"))
		return follower_events(value, &(struct live_options){ 0 });
	return strcmp(name, "stream-interval") ? strcmp(name, "stream-names") || follower_names(value, &names)
					       : follower_interval(value, &ns);
}

/* What the command line knows as options of the same names. Each recorder gets the words as they are. */
static int parse_recorder_setting(const struct context *c, const char *name, const char *value)
{
	struct policy *p = c->policy;
	char why[600] = "", *both;
	int err = settings_set(&c->sum->settings, name, value, why, sizeof(why));

	if (err == -ENOENT)
		return policy_wrong(c, "unknown word", name);
	if (err)
		return policy_wrong(c, why + 2, "");   /* without the hyphens of the option */
	if (!valid_stream(name, value, why, sizeof(why)))
		return policy_wrong(c, why, "");
	if ((!strcmp(name, "path") || !strcmp(name, "exclude-path")) && !all_absolute(value))
		return policy_wrong(c, "not an absolute path", value);
	if (!strcmp(name, "layers"))
		c->sum->layers_line = c->line;
	if (p->nsettings == POLICY_MAX_SETTINGS)
		return policy_wrong(c, "too many lines of this kind", name);
	if (asprintf(&both, "%s=%s", name, value) < 0)
		return -ENOMEM;
	err = keep_words(&p->settings, &p->nsettings, &both, 1);
	free(both);
	return err;
}

static int parse_setting(const struct context *c, const char *name, const char *value)
{
	struct policy *p = c->policy;
	int err = policy_parse_numbers(c, name, value);

	if (err != -ENOENT)
		return err;
	if (!strcmp(name, "output"))
		return parse_output(c, value);
	if (!strcmp(name, "cluster"))
		return parse_cluster(c, value);
	if (!strcmp(name, "metrics"))
		return parse_metrics(c, value);
	if (!strcmp(name, "users")) {
		p->users = !strcmp(value, "yes");
		return p->users || !strcmp(value, "no") ? 0 : policy_wrong(c, "users is yes or no", value);
	}
	if (!strcmp(name, "probes"))
		return keep_words(&p->tables, &p->ntables, (char *[]){ (char *)value }, 1);
	return parse_recorder_setting(c, name, value);
}

/* Layers may be defined by the policy's own tables: checked at the end. */
static int policy_check_layers(const struct context *c)
{
	const struct policy *p = c->policy;
	struct table_set set;
	char why[512] = "";
	int err;

	if (!c->sum->layers_line)
		return 0;
	table_set_init(&set);
	err = table_parse_builtin(&set, why, sizeof(why));
	for (size_t t = 0; t < p->ntables && !err; t++)
		err = table_parse_file(&set, p->tables[t], why, sizeof(why));
	if (!err)
		err = table_set_select(&set, c->sum->settings.filter.layers, why, sizeof(why));
	table_set_deinit(&set);
	if (err)
		snprintf(c->err, c->err_len, "%s:%u: %s", c->path, c->sum->layers_line, why);
	return err;
}

/* A collector is given what proves the job and what it is recognised by. */
static int check_collect(const struct context *c)
{
	const struct settings *s = &c->sum->settings;

	for (size_t i = 0; i < s->nstreams; i++)
		if (!strncmp(s->streams[i], "collect:", 8) && (!s->collect_secret[0] || !s->collect_ca[0])) {
			snprintf(c->err, c->err_len, "%s: stream %.200s needs collect-secret and collect-ca", c->path,
				 s->streams[i]);
			return -EINVAL;
		}
	return 0;
}

static int policy_parse_line(const struct context *c, char *line)
{
	struct words words = { .n = 0 };
	char *save = NULL;

	line[strcspn(line, "#\n")] = 0;
	for (char *word = strtok_r(line, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (words.n == MAX_WORDS)
			return policy_wrong(c, "too many words", "");
		words.v[words.n++] = word;
	}
	if (!words.n)
		return 0;
	if (!strcmp(words.v[0], "record") || !strcmp(words.v[0], "skip"))
		return policy_parse_rule(c, &words);
	if (words.n != 2)
		return policy_wrong(c, "needs one value", words.v[0]);
	return parse_setting(c, words.v[0], words.v[1]);
}

/* ---- public: life ---- */

static void set_defaults(struct policy *policy)
{
	*policy = (struct policy){ .output = DEFAULT_OUTPUT,
				   .max_overhead_percent = 2,
				   .idle_limit_s = 3600,
				   .user_idle_limit_s = 60,
				   .max_archive_s = 3600,
				   .standby_recorder = 1,
				   .max_jobs = 16,
				   .max_jobs_per_user = 4,
				   .reserved_jobs = POLICY_HALF,
				   .users = true };
}

int policy_init(struct policy *policy)
{
	struct policy_rule rule = { .record = true, .test = TEST_COMMENT };
	char word[] = "ioprobe", *words[] = { word };
	int err;

	set_defaults(policy);
	err = keep_words(&rule.words, &rule.nwords, words, 1);
	return err ? err : add_rule(policy, &rule);
}

int policy_read(struct policy *policy, const char *path, char *err_text, size_t err_len)
{
	struct sum sum = { 0 };
	struct context c = { policy, path, 0, err_text, err_len, &sum };
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	int err = 0;

	set_defaults(policy);
	if (!file) {
		err = -errno;
		snprintf(err_text, err_len, "%s cannot be read: %s", path, strerror(errno));
		return err;
	}
	while (!err && getline(&line, &cap, file) >= 0) {
		c.line++;
		err = policy_parse_line(&c, line);
	}
	if (!err)
		err = policy_check_layers(&c);
	if (!err)
		err = check_collect(&c);
	if (!err && ferror(file)) {
		err = -EIO;
		snprintf(err_text, err_len, "%s cannot be read: %s", path, strerror(errno));
	} else if (err == -ENOMEM) {
		snprintf(err_text, err_len, "%s: out of memory", path);
	}
	settings_deinit(&sum.settings);
	free(line);
	fclose(file);
	return err;
}

unsigned policy_user_jobs(const struct policy *policy)
{
	unsigned reserved = policy->reserved_jobs == POLICY_HALF ? policy->max_jobs / 2 : policy->reserved_jobs;

	return reserved < policy->max_jobs ? policy->max_jobs - reserved : 0;
}

static void free_words(char **words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(words[i]);
	free(words);
}

void policy_deinit(struct policy *policy)
{
	for (size_t i = 0; i < policy->nrules; i++)
		free_words(policy->rules[i].words, policy->rules[i].nwords);
	free(policy->rules);
	free_words(policy->tables, policy->ntables);
	free_words(policy->settings, policy->nsettings);
	*policy = (struct policy){ 0 };
}

/* ---- public: decide ---- */

static const char *policy_text_of(const json_t *job, const char *key)
{
	const char *text = json_string_value(json_object_get(job, key));

	return text ? text : "";
}

static bool matches_word(const struct policy_rule *rule, const char *text)
{
	for (size_t i = 0; i < rule->nwords; i++)
		if (*text && !fnmatch(rule->words[i], text, 0))
			return true;
	return false;
}

/* A comment consists of words separated by blanks, commas or semicolons. */
static bool matches_comment(const struct policy_rule *rule, const char *comment)
{
	char *copy = strdup(comment), *save = NULL;
	bool found = false;

	for (char *word = copy ? strtok_r(copy, " ,;\t", &save) : NULL; word && !found; word = strtok_r(NULL, " ,;\t", &save))
		found = matches_word(rule, word);
	free(copy);
	return found;
}

/* FNV-1a with a final mix: consecutive job ids are spread evenly, and all nodes of a job decide alike. */
static double share_of(const json_t *job)
{
	const char *texts[] = { policy_text_of(job, "cluster"), "/", policy_text_of(job, "job") };
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < 3; i++)
		for (const char *at = texts[i]; *at; at++)
			hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdull;
	hash ^= hash >> 33;
	return (hash >> 11) * 100.0 / (1ull << 53);
}

static bool policy_matches(const struct policy_rule *rule, const json_t *job)
{
	switch (rule->test) {
	case TEST_ALL: return true;
	case TEST_USER: return matches_word(rule, policy_text_of(job, "user"));
	case TEST_ACCOUNT: return matches_word(rule, policy_text_of(job, "account"));
	case TEST_COMMENT: return matches_comment(rule, policy_text_of(job, "comment"));
	case TEST_SAMPLE: return share_of(job) < rule->percent;
	case TEST_ENV: return true;     /* checked when its programs start */
	}
	return false;
}

bool policy_wants(const struct policy *policy, const json_t *job, const char **entry, char *why, size_t why_len)
{
	*entry = NULL;
	for (size_t i = 0; i < policy->nrules; i++) {
		const struct policy_rule *rule = &policy->rules[i];

		if (!policy_matches(rule, job))
			continue;
		if (rule->test == TEST_ENV)
			*entry = rule->words[0];
		snprintf(why, why_len, "by the policy's rule %zu: %s %s", i + 1, rule->record ? "record" : "skip",
			 tests[rule->test].name);
		return rule->record;
	}
	snprintf(why, why_len, "no rule of the policy matches");
	return false;
}
