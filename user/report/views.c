/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The list of views, and all of them in each format.
 */
#include "report/views.h"

#include "report/view_list.h"

const struct report_view *const report_views[] = { &view_accesses, &view_handles, &view_stacks, &view_nodes };
const size_t nreport_views = sizeof(report_views) / sizeof(*report_views);

void report_views_text(FILE *out, const struct analysis *a)
{
	for (size_t i = 0; i < nreport_views; i++) {
		if (!report_views[i]->has(a))
			continue;
		fprintf(out, "\n-- %s\n", report_views[i]->title);
		report_views[i]->text(out, a);
	}
}

json_t *report_views_json(const struct analysis *a)
{
	json_t *object = json_object();

	for (size_t i = 0; i < nreport_views; i++)
		json_object_set_new(object, report_views[i]->name,
				    report_views[i]->has(a) ? report_views[i]->json(a) : json_null());
	return object;
}

void report_views_html(FILE *out, const struct analysis *a)
{
	for (size_t i = 0; i < nreport_views; i++) {
		if (!report_views[i]->has(a))
			continue;
		fprintf(out, "<section id=%s><h2>%s</h2>\n", report_views[i]->name, report_views[i]->title);
		report_views[i]->html(out, a);
		fputs("</section>\n", out);
	}
}
