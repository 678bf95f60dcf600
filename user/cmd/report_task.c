/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads an archive and writes its report, in an unprivileged process.
 */
#include "cmd/report_task.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/detail.h"
#include "cmd/trace_argument.h"
#include "privilege/worker.h"

void report_task_init(struct report_task *task, const char *name, int dir)
{
	*task = (struct report_task){ .name = name,
				      .anchor = TRACE_ANCHOR,
				      .dir = dir,
				      .format = &report_formats[0],
				      .severity = SEVERITY_HIGH,
				      .filter = { NULL, -1, 0, UINT64_MAX } };
	thresholds_default(&task->thresholds);
}

const struct report_format *report_format_find(const char *name)
{
	for (size_t i = 0; i < nreport_formats; i++)
		if (!strcmp(report_formats[i].name, name))
			return &report_formats[i];
	return NULL;
}

const struct report_format *report_format_of_file(const char *file)
{
	const char *end = strrchr(file, '.');
	const struct report_format *format = end ? report_format_find(end + 1) : NULL;

	return format ? format : &report_formats[0];
}

/* The first byte of the text shows whether a finding has at least the requested severity. */
static int make_report(void *arg, FILE *text, char *err, size_t err_len)
{
	const struct report_task *task = arg;
	struct analysis a = { .thresholds = task->thresholds };
	struct detail detail;
	struct trace trace;
	struct facts facts;
	char found = 'n';
	int ret = trace_open(&trace, task->name, task->anchor, err, err_len);

	if (!ret)
		ret = facts_read(&facts, &trace, &task->filter, trace_argument_workers(), err, err_len);
	if (!ret)
		ret = analysis_run(&a, &facts, err, err_len);
	if (!ret && (task->format->shows_figures || task->options.figures)) {
		ret = detail_read(&detail, &a, err, err_len);
		a.detail = &detail;
	}
	for (size_t i = 0; i < a.findings.n && !ret; i++)
		if (a.findings.v[i]->severity >= task->severity && !a.findings.v[i]->cause)
			found = 'y';
	if (ret)
		return ret;
	fputc(found, text);
	ret = task->format->write(text, &a, &task->options);
	if (ret)
		snprintf(err, err_len, "%s: cannot write the report: %s", task->name, strerror(-ret));
	return ret; /* the process ends here: nothing is freed */
}

int report_task_run(struct report_task *task, const struct identity *who, char *err, size_t err_len)
{
	struct worker worker = {
		.who = who, .dir = task->dir, .what = "reading the archive", .run = make_report, .arg = task, .threads = true
	};
	int ret = worker_run(&worker, &task->text, &task->len, err, err_len);

	if (ret || !task->len)
		return ret;
	task->found = task->text[0] == 'y';
	memmove(task->text, task->text + 1, --task->len);
	return 0;
}
