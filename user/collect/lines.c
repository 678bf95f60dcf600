/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Lines come from another host: every member is checked. A type that is not known is of a later version, and is skipped.
 */
#include "collect/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads members; bad: one was missing or of another type. */
struct members {
	const json_t *line;
	bool bad;
};

static uint64_t lines_number(struct members *m, const char *key)
{
	const json_t *value = json_object_get(m->line, key);

	m->bad |= !json_is_integer(value);
	return (uint64_t)json_integer_value(value);
}

static uint64_t number_or(struct members *m, const char *key, uint64_t otherwise)
{
	return json_is_null(json_object_get(m->line, key)) ? otherwise : lines_number(m, key);
}

static bool lines_boolean(struct members *m, const char *key)
{
	const json_t *value = json_object_get(m->line, key);

	m->bad |= !json_is_boolean(value);
	return json_is_true(value);
}

static const char *lines_text(struct members *m, const char *key)
{
	const char *value = json_string_value(json_object_get(m->line, key));

	m->bad |= !value;
	return value ? value : "";
}

static const char *text_or_null(struct members *m, const char *key)
{
	return json_is_null(json_object_get(m->line, key)) ? NULL : lines_text(m, key);
}

/* Seconds with nine digits behind the point. */
static uint64_t time_ns(struct members *m, const char *key)
{
	unsigned long long seconds = 0;
	unsigned nanoseconds = 0;

	m->bad |= sscanf(lines_text(m, key), "%10llu.%9u", &seconds, &nanoseconds) != 2 || seconds > 9000000000ull;
	return seconds * 1000000000ull + nanoseconds;
}

/* ---- one function per type ---- */

typedef int take_fn(struct live_output *output, const struct live_interval *now, struct members *m);

static int lines_take_begin(struct live_output *output, const struct live_interval *now, struct members *m)
{
	struct live_job job = { text_or_null(m, "host"),      text_or_null(m, "kernel"),       text_or_null(m, "version"),
				text_or_null(m, "batch_job"), text_or_null(m, "command_line"), time_ns(m, "time"),
				lines_number(m, "interval_ns"),     lines_number(m, "recording") };

	(void)now;
	return m->bad || !job.interval_ns ? -EBADMSG : output->begin(output, &job) ?: LINES_BEGIN;
}

static int take_process(struct live_output *output, const struct live_interval *now, struct members *m)
{
	struct live_process p = { .id = lines_number(m, "process"),
				  .pid = lines_number(m, "pid"),
				  .rank = (int64_t)number_or(m, "rank", -1),
				  .name = text_or_null(m, "name"),
				  .executable = text_or_null(m, "executable"),
				  .uid = (int64_t)number_or(m, "uid", -1) };

	(void)now;
	if (!json_is_null(json_object_get(m->line, "begin")))
		p.begin_ns = time_ns(m, "begin");
	return m->bad ? -EBADMSG : output->process(output, &p) ?: LINES_OTHER;
}

static int take_file(struct live_output *output, const struct live_interval *now, struct members *m)
{
	struct live_file f = { lines_number(m, "file"),
			       text_or_null(m, "path"),
			       text_or_null(m, "mount_point"),
			       text_or_null(m, "mount_source"),
			       text_or_null(m, "file_system"),
			       text_or_null(m, "scope"),
			       lines_boolean(m, "special") };

	(void)now;
	return m->bad ? -EBADMSG : output->file(output, &f) ?: LINES_OTHER;
}

static void read_array(struct members *m, const json_t *array, uint64_t *sizes)
{
	m->bad |= json_array_size(array) != SUMMARY_SIZES;
	for (size_t i = 0; i < SUMMARY_SIZES; i++) {
		m->bad |= !json_is_integer(json_array_get(array, i));
		sizes[i] = json_integer_value(json_array_get(array, i));
	}
}

/* Older senders have no classes. sizes: NULL if they are elsewhere. */
static void lines_read_classes(struct members *m, struct summary_class *classes, struct summary_sizes *sizes)
{
	const json_t *object = json_object_get(m->line, "classes");

	for (int i = 0; i < MODEL_CLASSES && object; i++) {
		struct members c = { json_object_get(object, summary_class_name(i)), false };
		const json_t *list = json_object_get(c.line, "sizes");

		if (!c.line)
			continue;
		classes[i] = (struct summary_class){ lines_number(&c, "calls"), lines_number(&c, "failed"),
						     lines_number(&c, "time_ns"), lines_number(&c, "longest_call_ns") };
		if (list && sizes && i <= MODEL_CLASS_WRITE)
			read_array(&c, list, i == MODEL_CLASS_READ ? sizes->read : sizes->written);
		m->bad |= c.bad;
	}
}

static int lines_take_calls(struct live_output *output, const struct live_interval *now, struct members *m)
{
	struct live_process p = { .id = lines_number(m, "process") };
	struct summary_calls a = { .calls = lines_number(m, "calls"),
				   .failed = lines_number(m, "failed"),
				   .time_ns = lines_number(m, "time_ns"),
				   .system_ns = lines_number(m, "system_time_ns"),
				   .longest_ns = lines_number(m, "longest_call_ns"),
				   .open_calls = lines_number(m, "open_calls") };
	struct live_calls c = { lines_number(m, "interval"), &p, lines_text(m, "layer"), &a };

	read_array(m, json_object_get(m->line, "read_sizes"), a.sizes.read);
	read_array(m, json_object_get(m->line, "write_sizes"), a.sizes.written);
	lines_read_classes(m, a.classes, NULL);
	return m->bad ? -EBADMSG : output->calls(output, now, &c) ?: LINES_OTHER;
}

static int lines_take_operations(struct live_output *output, const struct live_interval *now, struct members *m)
{
	struct live_process p = { .id = lines_number(m, "process") };
	struct live_file f = { .id = lines_number(m, "file") };
	struct summary_operations a = { .longest_ns = lines_number(m, "longest_call_ns") };
	struct live_operations o = { lines_number(m, "interval"), &p, &f, lines_text(m, "layer"), &a };

	a.counts = (struct summary_counts){ .reads = lines_number(m, "reads"),
					    .writes = lines_number(m, "writes"),
					    .bytes_read = lines_number(m, "bytes_read"),
					    .bytes_written = lines_number(m, "bytes_written"),
					    .known_reads = lines_number(m, "reads_of_known_size"),
					    .known_writes = lines_number(m, "writes_of_known_size"),
					    .unknown_reads = lines_number(m, "reads_of_unknown_size"),
					    .unknown_writes = lines_number(m, "writes_of_unknown_size"),
					    .failed_reads = lines_number(m, "reads_failed"),
					    .failed_writes = lines_number(m, "writes_failed"),
					    .opens = lines_number(m, "opens"),
					    .time_ns = lines_number(m, "time_ns"),
					    .metadata_ns = lines_number(m, "metadata_time_ns") };
	lines_read_classes(m, a.classes, &a.sizes);
	return m->bad ? -EBADMSG : output->operations(output, now, &o) ?: LINES_OTHER;
}

static enum live_op op_of(const char *name)
{
	for (enum live_op op = LIVE_OP_OTHER; op <= LIVE_OP_FLUSH; op++)
		if (!strcmp(name, live_op_name(op)))
			return op;
	return LIVE_OP_OTHER;
}

static void read_darshan(struct members *m, struct live_darshan *darshan)
{
	struct members d = { json_object_get(m->line, "darshan"), false };

	if (!d.line)
		return;
	*darshan = (struct live_darshan){ .module = lines_text(&d, "module"),
					  .record = text_or_null(&d, "record"),
					  .record_id = strtoull(lines_text(&d, "record_id"), NULL, 10),
					  .max_byte = (int64_t)lines_number(&d, "max_byte"),
					  .switches = (int64_t)lines_number(&d, "switches"),
					  .flushes = (int64_t)lines_number(&d, "flushes"),
					  .cnt = lines_number(&d, "cnt"),
					  .total_ns = lines_number(&d, "total_ns") };
	m->bad |= d.bad;
}

static int take_event(struct live_output *output, const struct live_interval *now, struct members *m)
{
	struct live_process p = { .id = lines_number(m, "process") };
	struct live_file f = { .id = number_or(m, "file", 0) };
	struct live_event e = { .process = &p,
				.file = json_is_null(json_object_get(m->line, "file")) ? NULL : &f,
				.name = text_or_null(m, "name"),
				.tid = lines_number(m, "tid"),
				.layer = lines_text(m, "layer"),
				.call = lines_text(m, "call"),
				.op = op_of(lines_text(m, "op")),
				.begin_ns = time_ns(m, "begin"),
				.offset = number_or(m, "offset", OFFSET_UNKNOWN),
				.asked = number_or(m, "asked", BYTES_UNKNOWN),
				.moved = number_or(m, "moved", BYTES_UNKNOWN),
				.failed = lines_boolean(m, "failed"),
				.error = number_or(m, "error", 0),
				.weight = lines_number(m, "weight") };

	e.end_ns = e.begin_ns + lines_number(m, "duration_ns");
	read_darshan(m, &e.darshan);
	return m->bad ? -EBADMSG : output->event(output, now, &e) ?: LINES_OTHER;
}

static int take_skipped(struct live_output *output, const struct live_interval *now, struct members *m)
{
	const json_t *process = json_object_get(m->line, "process"); /* older senders have none */
	struct live_process p = { .id = json_integer_value(process) };
	struct live_skipped s = { json_is_integer(process) ? &p : NULL,
				  text_or_null(m, "filter"),
				  text_or_null(m, "layer"),
				  lines_number(m, "calls"),
				  lines_number(m, "bytes_read"),
				  lines_number(m, "bytes_written"),
				  lines_number(m, "calls_of_unknown_size"),
				  lines_number(m, "time_ns") };

	return m->bad ? -EBADMSG : output->skipped(output, now, &s) ?: LINES_OTHER;
}

static int take_gap(struct live_output *output, const struct live_interval *now, struct members *m)
{
	struct live_gap g = { lines_number(m, "pid"), text_or_null(m, "layer"), text_or_null(m, "reason"), time_ns(m, "begin"),
			      time_ns(m, "end") };

	return m->bad ? -EBADMSG : output->gap(output, now, &g) ?: LINES_OTHER;
}

static int take_clock_step(struct live_output *output, const struct live_interval *now, struct members *m)
{
	struct live_clock_step s = { time_ns(m, "time"), (int64_t)lines_number(m, "step_ns"), lines_number(m, "uncertain_ns") };

	return m->bad ? -EBADMSG : output->clock_step(output, now, &s) ?: LINES_OTHER;
}

static int lines_take_interval(struct live_output *output, const struct live_interval *now, struct members *m)
{
	struct live_interval i;

	(void)now;
	return !lines_interval(&i, m->line) ? -EBADMSG : output->interval(output, &i) ?: LINES_INTERVAL;
}

static int take_end(struct live_output *output, const struct live_interval *now, struct members *m)
{
	struct live_end e = { lines_boolean(m, "complete"), lines_number(m, "records_lost"), lines_number(m, "records_after_bound"),
			      time_ns(m, "time"), text_or_null(m, "stopped_by") };

	(void)now;
	return m->bad ? -EBADMSG : output->end(output, &e) ?: LINES_END;
}

bool lines_interval(struct live_interval *interval, const json_t *line)
{
	struct members m = { line, false };

	if (strcmp(lines_text(&m, "type"), "interval"))
		return false;
	*interval = (struct live_interval){ lines_number(&m, "interval"),
					    time_ns(&m, "begin"),
					    time_ns(&m, "end"),
					    lines_number(&m, "open_calls"),
					    lines_number(&m, "records_lost"),
					    lines_number(&m, "lag_ns"),
					    lines_boolean(&m, "last") };
	return !m.bad;
}

int lines_take(struct live_output *output, const struct live_interval *now, const json_t *line)
{
	static const struct {
		const char *type;
		take_fn *take;
	} types[] = { { "begin", lines_take_begin },
		      { "process", take_process },
		      { "file", take_file },
		      { "calls", lines_take_calls },
		      { "operations", lines_take_operations },
		      { "event", take_event },
		      { "skipped", take_skipped },
		      { "gap", take_gap },
		      { "clock_step", take_clock_step },
		      { "interval", lines_take_interval },
		      { "end", take_end } };
	struct members m = { line, false };
	const char *type = lines_text(&m, "type");

	if (m.bad)
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(type, types[i].type))
			return types[i].take(output, now, &m);
	return LINES_OTHER;
}
