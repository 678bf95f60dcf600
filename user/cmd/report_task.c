/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads an archive and writes its report, in an unprivileged process or together with peers.
 */
#include "cmd/report_task.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

const struct peers *report_peers;

static bool is_peer(void)
{
	return report_peers && report_peers->index;
}

/* Opens the archive and reads it, with the peers if there are any. */
static int read_archive(const struct report_task *task, struct trace *trace, struct facts *facts, char *err, size_t err_len)
{
	int ret = trace_open(trace, task->name, task->anchor, err, err_len);

	if (report_peers)
		ret = report_peers->agree(report_peers, ret, err);
	return ret ? ret : facts_read(facts, trace, &task->filter, trace_argument_workers(), report_peers, err, err_len);
}

/* The first byte of the text shows whether a finding has at least the requested severity. */
static int report_task_make_report(void *arg, FILE *text, char *err, size_t err_len)
{
	const struct report_task *task = arg;
	struct analysis a = { .thresholds = task->thresholds };
	struct detail detail;
	struct trace trace;
	struct facts facts;
	char found = 'n';
	int ret = read_archive(task, &trace, &facts, err, err_len);

	if (ret || is_peer())
		return ret;
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

/* With peers there is no other process, since MPI cannot be used in one; ioprobe-mpi never runs as root. */
static int run_here(struct report_task *task, char *err, size_t err_len)
{
	FILE *text = open_memstream(&task->text, &task->len);
	int ret = !text ? -ENOMEM : fchdir(task->dir) ? -errno : 0;

	if (ret)
		snprintf(err, err_len, "%s: cannot read the archive: %s", task->name, strerror(-ret));
	ret = report_peers->agree(report_peers, ret, err);
	if (!ret)
		ret = report_task_make_report(task, text, err, err_len);
	if (text && fclose(text) && !ret) {
		snprintf(err, err_len, "%s: out of memory", task->name);
		ret = -ENOMEM;
	}
	return ret;
}

static int run_in_worker(struct report_task *task, const struct identity *who, char *err, size_t err_len)
{
	struct worker worker = { .who = who,
				 .dir = task->dir,
				 .what = "reading the archive",
				 .run = report_task_make_report,
				 .arg = task,
				 .threads = true };

	return worker_run(&worker, &task->text, &task->len, err, err_len);
}

int report_task_run(struct report_task *task, const struct identity *who, char *err, size_t err_len)
{
	int ret = report_peers ? run_here(task, err, err_len) : run_in_worker(task, who, err, err_len);

	if (ret || !task->len)
		return ret;
	task->found = task->text[0] == 'y';
	memmove(task->text, task->text + 1, --task->len);
	return 0;
}
