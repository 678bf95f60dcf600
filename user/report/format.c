/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The formats by name, and the pages of --explain.
 */
#include "report/report.h"

#include <errno.h>
#include <string.h>

#include "report/advice.h"

const struct report_format report_formats[] = {
	{ "text", "a page for the terminal", report_write_text, false },
	{ "json", "for programs; its schema is installed beside it", report_write_json, true },
	{ "html", "one file for a browser, with figures", report_write_html, true },
	{ "sarif", "for code review tools", report_write_sarif, false },
	{ "csv", "statistics by file, rank and layer", report_write_csv, false },
};
const size_t nreport_formats = sizeof(report_formats) / sizeof(*report_formats);

static void explain_advice(FILE *out, const struct advice *advice)
{
	const char *line = advice->text, *end;

	fprintf(out, "  do      %s%s\n", advice_interface_name(advice), !strcmp(advice->language, "sh") ? ", in a shell" : "");
	for (; *line; line = end + 1) {
		end = strchr(line, '\n');
		fprintf(out, "          %.*s\n", (int)(end - line), line);
	}
}

static void explain_one(FILE *out, const struct detector *d)
{
	fprintf(out, "%s: %s\n  on      %s\n  when    %s\n  why     %s\n", d->code, d->title, d->on, d->when, d->why);
	if (d->explains)
		fprintf(out, "  causes  %s on the same files\n", d->explains);
	for (const struct advice *advice = advice_next(d->topic, NULL); advice; advice = advice_next(d->topic, advice))
		explain_advice(out, advice);
}

static void explain_thresholds(FILE *out)
{
	for (size_t i = 0; i < nthresholds; i++)
		fprintf(out, "%-20s %10g  %s\n", threshold_list[i].name, threshold_list[i].value, threshold_list[i].text);
}

int report_explain(FILE *out, const char *code)
{
	const struct detector *d = detector_by_code(code);

	if (d)
		explain_one(out, d);
	else if (!strcmp(code, "thresholds"))
		explain_thresholds(out);
	else if (!strcmp(code, "all"))
		for (size_t i = 0; i < ndetectors; i++)
			explain_one(out, detectors[i]);
	else if (!strcmp(code, "list"))
		for (size_t i = 0; i < ndetectors; i++)
			fprintf(out, "%s  %s\n", detectors[i]->code, detectors[i]->title);
	else if (!strcmp(code, "tests"))
		for (size_t i = 0; i < ndetectors; i++)
			fprintf(out, "%s %s%s%s\n", detectors[i]->code, detectors[i]->test[0] ? detectors[i]->test : "-",
				detectors[i]->explains ? " " : "", detectors[i]->explains ? detectors[i]->explains : "");
	else
		return -ENOENT;
	return 0;
}
