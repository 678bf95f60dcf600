/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The path is walked without following links, component by component: what is checked is what is written to.
 */
#include "service/metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/replace.h"

void service_counts_end(struct service_counts *counts, const json_t *state)
{
	const char *phase = json_string_value(json_object_get(state, "phase"));

	counts->changed = true;
	if (!phase)
		return;
	*(!strcmp(phase, "done") ? &counts->done : !strcmp(phase, "empty") ? &counts->empty : &counts->failed) += 1;
	counts->records += json_integer_value(json_object_get(state, "records"));
	counts->lost += json_integer_value(json_object_get(state, "lost"));
	counts->record_bytes += json_integer_value(json_object_get(state, "record_bytes"));
	counts->streams_failed += json_is_true(json_object_get(state, "stream_failed"));
	counts->stream_intervals += json_integer_value(json_object_get(state, "stream_intervals"));
	counts->stream_lag_ns += json_integer_value(json_object_get(state, "stream_lag_ns"));
	counts->stream_missed += json_integer_value(json_object_get(state, "stream_missed"));
}

/* ---- the directory ---- */

/* In a directory with the sticky bit others can make files of their own, but not replace root's. */
static bool is_safe(int fd, bool last)
{
	struct stat st;

	if (fstat(fd, &st) || st.st_uid)
		return false;
	return !(st.st_mode & 022) || (!last && (st.st_mode & S_ISVTX));
}

/* Returns the file's directory, or -errno; *name: the file's name in it. */
static int metrics_file_open_directory(const char *file, const char **name)
{
	int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *slash;

	for (file++; dir >= 0 && (slash = strchr(file, '/')); file = slash + 1) {
		char part[256];
		int above = dir;

		if (slash == file)
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)(slash - file), file);
		dir = is_safe(above, false) ? openat(above, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (dir < 0 && !is_safe(above, false))
			errno = EPERM;
		close(above);
	}
	if (dir < 0)
		return -errno;
	*name = file;
	if (is_safe(dir, true))
		return dir;
	close(dir);
	return -EPERM;
}

/* ---- the file ---- */

static void metrics_file_metric(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP ioprobe_service_%s %s\n# TYPE ioprobe_service_%s %s\n", name, help, name, type);
}

static void metrics_file_value(FILE *out, const char *name, const char *node, const char *label, uint64_t number)
{
	fprintf(out, "ioprobe_service_%s{node=\"%s\"%s} %" PRIu64 "\n", name, node, label, number);
}

static void metrics_file_print_streams(FILE *out, const char *node, const struct service_counts *c)
{
	metrics_file_metric(out, "stream_lag_seconds", "summary",
			    "From the end of an interval until it was handed to all outputs, in recordings that have ended; as "
			    "reported by the users' followers.");
	fprintf(out, "ioprobe_service_stream_lag_seconds_sum{node=\"%s\"} %.9g\n", node, c->stream_lag_ns / 1e9);
	metrics_file_value(out, "stream_lag_seconds_count", node, "", c->stream_intervals);
	metrics_file_metric(out, "stream_missed_intervals_total", "counter",
			    "Intervals that a failed output of these streams did not get, as reported by their followers.");
	metrics_file_value(out, "stream_missed_intervals_total", node, "", c->stream_missed);
	metrics_file_metric(out, "streams_failed_total", "counter",
			    "Streams whose follower ended with an error or by a signal; the intervals that they missed are not all "
			    "counted.");
	metrics_file_value(out, "streams_failed_total", node, "", c->streams_failed);
}

static void metrics_file_print(FILE *out, const char *node, const struct service_counts *c, size_t recordings, size_t standby)
{
	metrics_file_metric(out, "recordings", "gauge", "Jobs that are being recorded or archived.");
	metrics_file_value(out, "recordings", node, "", recordings);
	metrics_file_metric(out, "standby_recorders", "gauge", "Recorders that are loaded and wait for a job.");
	metrics_file_value(out, "standby_recorders", node, "", standby);
	metrics_file_metric(out, "requests_total", "counter", "Requests to record a job; declined: by the policy's rules.");
	metrics_file_value(out, "requests_total", node, ",result=\"accepted\"", c->accepted);
	metrics_file_value(out, "requests_total", node, ",result=\"declined\"", c->declined);
	metrics_file_value(out, "requests_total", node, ",result=\"refused\"", c->refused);
	metrics_file_metric(out, "recordings_total", "counter",
			    "Recordings that have ended; empty: no process of the job was seen.");
	metrics_file_value(out, "recordings_total", node, ",result=\"done\"", c->done);
	metrics_file_value(out, "recordings_total", node, ",result=\"empty\"", c->empty);
	metrics_file_value(out, "recordings_total", node, ",result=\"failed\"", c->failed);
	metrics_file_metric(out, "records_total", "counter", "Records of recordings that have ended.");
	metrics_file_value(out, "records_total", node, "", c->records);
	metrics_file_metric(out, "lost_records_total", "counter", "Records that were lost in these.");
	metrics_file_value(out, "lost_records_total", node, "", c->lost);
	metrics_file_metric(out, "record_bytes_total", "counter",
			    "Bytes of these records on disk, before the archives were made of them.");
	metrics_file_value(out, "record_bytes_total", node, "", c->record_bytes);
	metrics_file_print_streams(out, node, c);
}

static char *metrics_file_text_of(const char *node, const struct service_counts *counts, size_t recordings, size_t standby,
				  size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (!out)
		return NULL;
	metrics_file_print(out, node, counts, recordings, standby);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

static int metrics_file_fail(const char *file, int error, char *err, size_t err_len)
{
	snprintf(err, err_len, "%s: cannot write the service's metrics: %s", file,
		 error == -EPERM ? "its directory, or one above it, can be changed by others than root: give another one" :
				   strerror(-error));
	return error;
}

int service_metrics_write(const char *file, const char *node, const struct service_counts *counts, size_t recordings,
			  size_t standby, char *err, size_t err_len)
{
	size_t len = 0;
	char *text = metrics_file_text_of(node, counts, recordings, standby, &len);
	const char *name;
	int dir = text ? metrics_file_open_directory(file, &name) : -ENOMEM,
	    ret = dir < 0 ? dir : file_replace(dir, name, text, len);

	if (dir >= 0)
		close(dir);
	free(text);
	return ret ? metrics_file_fail(file, ret, err, err_len) : 0;
}
