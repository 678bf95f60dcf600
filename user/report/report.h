/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes an analysis as text, JSON, HTML, SARIF or CSV.
 */
#ifndef IOPROBE_REPORT_REPORT_H
#define IOPROBE_REPORT_REPORT_H

#include <stdio.h>

#include "analysis/analysis.h"

struct report_options { bool all, color, figures; };      /* figures: append those of views.h to the text */

struct report_format {
	const char *name, *help;
	/* Returns 0 or -errno; the output is then incomplete and must be discarded. */
	int (*write)(FILE *out, const struct analysis *a, const struct report_options *options);
	bool shows_figures;             /* always; text only with the option */
};
extern const struct report_format report_formats[];
extern const size_t nreport_formats;

int report_write_text(FILE *out, const struct analysis *a, const struct report_options *options);
int report_write_html(FILE *out, const struct analysis *a, const struct report_options *options);
int report_write_sarif(FILE *out, const struct analysis *a, const struct report_options *options);
int report_write_csv(FILE *out, const struct analysis *a, const struct report_options *options);
int report_write_json(FILE *out, const struct analysis *a, const struct report_options *options);

/* The page of --explain: of one detector, or the list of all (code NULL), or of the thresholds ("thresholds"), or what tests them
 * ("tests"). Returns 0, or -ENOENT. */
int report_explain(FILE *out, const char *code);

#endif
