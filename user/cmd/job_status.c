/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Prints the table of jobs.
 */
#include "cmd/job_status.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "service/state.h"
#include "service/wire.h"
#include "util/quantity.h"

static int64_t phase_time(const json_t *job, const char *phase)
{
	return json_integer_value(json_object_get(json_object_get(job, "times"), phase));
}

/* Returns when the recording began; before that, when it was requested. 0: written by an older version of the service. */
static int64_t start_time(const json_t *job)
{
	int64_t recording = phase_time(job, "recording");

	return recording ? recording : phase_time(job, "starting");
}

static int64_t end_time(const json_t *job)
{
	static const char *const phases[] = { "archiving", "empty", "failed", "done" };

	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		if (phase_time(job, phases[i]))
			return phase_time(job, phases[i]);
	return state_is_final(job) ? 0 : time(NULL);
}

static const char *format_start(const json_t *job, char *text, size_t len)
{
	time_t start = start_time(job);
	struct tm tm;

	if (!start || !localtime_r(&start, &tm) || !strftime(text, len, "%Y-%m-%d %H:%M:%S", &tm))
		return "-";
	return text;
}

/* Formats the duration of the recording so far. */
static const char *format_duration(const json_t *job, char *text, size_t len)
{
	int64_t start = start_time(job), end = end_time(job), seconds = end - start;

	if (!start || !end || seconds < 0)
		return "-";
	snprintf(text, len, "%lld:%02d:%02d", (long long)seconds / 3600, (int)(seconds / 60 % 60), (int)(seconds % 60));
	return text;
}

static const char *format_records(const json_t *job, char *text, size_t len)
{
	const json_t *records = json_object_get(job, "records");

	if (!records)
		return "-";
	snprintf(text, len, "%lld", (long long)json_integer_value(records));
	return text;
}

static const char *format_size(const json_t *job, char *text, size_t len)
{
	const json_t *bytes = json_object_get(job, "record_bytes");

	return bytes ? quantity_format_bytes(json_integer_value(bytes), text, len) : "-";
}

/* Paths and messages contain names chosen by users: their control characters must not reach the terminal. */
static char *job_status_printable(const json_t *job, const char *key, char *text, size_t len)
{
	snprintf(text, len, "%s", wire_text(job, key));
	wire_make_printable(text);
	return text;
}

void job_status_print(const json_t *job, bool first)
{
	char output[4200], message[8600];
	long long lost = json_integer_value(json_object_get(job, "lost"));
	char start[32], duration[32], records[32], size[32];

	if (first)
		printf("%-12s %-10s %-10s %-19s %9s %11s %10s  %s\n", "JOB", "USER", "PHASE", "STARTED", "TIME", "RECORDS", "SIZE",
		       "OUTPUT");
	printf("%-12s %-10s %-10s %-19s %9s %11s %10s  %s\n", wire_text(job, "id"), wire_text(job, "user"), wire_text(job, "phase"),
	       format_start(job, start, sizeof(start)), format_duration(job, duration, sizeof(duration)),
	       format_records(job, records, sizeof(records)), format_size(job, size, sizeof(size)),
	       strchr(wire_text(job, "output"), '%') ? "-" : job_status_printable(job, "output", output, sizeof(output)));
	if (lost)
		printf("%-12s %lld records lost\n", "", lost);
	if (*job_status_printable(job, "message", message, sizeof(message)))
		printf("%-12s %s\n", "", message);
}
