/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Views of a run that name no mistake: the figures of Tschüter et al., "A Methodology for Performance Analysis of Applications
 * Using Multi-layer I/O" (Euro-Par 2018), each as text, JSON and HTML with SVG.
 */
#ifndef IOPROBE_REPORT_VIEWS_H
#define IOPROBE_REPORT_VIEWS_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/analysis.h"

struct report_view {
	const char *name, *title; /* name: its key in JSON */
	bool (*has)(const struct analysis *a); /* false: the archive contains nothing for it */
	void (*text)(FILE *out, const struct analysis *a);
	json_t *(*json)(const struct analysis *a);
	void (*html)(FILE *out, const struct analysis *a); /* without the heading */
};
extern const struct report_view *const report_views[];
extern const size_t nreport_views;

void report_views_text(FILE *out, const struct analysis *a);
json_t *report_views_json(const struct analysis *a);
void report_views_html(FILE *out, const struct analysis *a);

#endif
