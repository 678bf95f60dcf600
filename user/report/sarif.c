/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Findings as SARIF 2.1.0, which code review tools show next to the source lines. A finding without a known line has no location.
 */
#include "report/report.h"

#include <errno.h>
#include <jansson.h>

#include "report/facts.h"
#include "util/utf8.h"

static json_t *sarif_text(const char *from)
{
	char *printable = utf8_printable(from ? from : "");
	json_t *value = json_string(printable ? printable : "");

	free(printable);
	return value;
}

static json_t *sarif_rules(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ndetectors; i++)
		json_array_append_new(list, json_pack("{s:s, s:{s:s}, s:{s:s}, s:{s:s}}", "id", detectors[i]->code,
						      "shortDescription", "text", detectors[i]->title, "fullDescription", "text",
						      detectors[i]->when, "help", "text", detectors[i]->why));
	return list;
}

/* SARIF requires a URI reference: reserved characters are escaped. */
static json_t *sarif_uri(const char *path)
{
	char out[1024];
	size_t n = 0;

	for (; *path && n + 4 < sizeof(out); path++) {
		unsigned char c = *path;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
		    c == '_' || c == '-' || c == '+')
			out[n++] = c;
		else
			n += snprintf(out + n, sizeof(out) - n, "%%%02X", c);
	}
	out[n] = 0;
	return json_string(out);
}

static json_t *sarif_locations(const struct analysis *a, const struct finding *f)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < f->ncalls; i++) {
		const struct trace_site *site = site_source(a->trace, f->calls[i].site);

		if (site && site->file && site->line)
			json_array_append_new(list,
					      json_pack("{s:{s:{s:o}, s:{s:I}}}", "physicalLocation", "artifactLocation", "uri",
							sarif_uri(site->file), "region", "startLine", (json_int_t)site->line));
	}
	return list;
}

static json_t *sarif_result(const struct analysis *a, const struct finding *f)
{
	static const char *const levels[] = { "note", "warning", "error" };
	char saving[120], message[1200], file[300];
	char *name = utf8_printable(f->nfiles ? file_name(a, f->files[0].file) : "");

	snprintf(file, sizeof(file), "%s", name ? name : "");
	free(name);
	report_saving(f, saving, sizeof(saving));
	snprintf(message, sizeof(message), "%s: %s%s%s; costs %.3f s, %s", f->detector->title, f->evidence, file[0] ? "; " : "",
		 file, f->cost_ns / 1e9, saving);
	return json_pack("{s:s, s:s, s:{s:o}, s:o}", "ruleId", f->detector->code, "level", levels[f->severity], "message", "text",
			 sarif_text(message), "locations", sarif_locations(a, f));
}

int report_write_sarif(FILE *out, const struct analysis *a, const struct report_options *options)
{
	json_t *results = json_array(), *root;
	int ret = -ENOMEM;

	for (size_t i = 0; i < a->findings.n; i++)
		if (options->all || (a->findings.v[i]->severity > SEVERITY_NOTE && !a->findings.v[i]->cause))
			json_array_append_new(results, sarif_result(a, a->findings.v[i]));
	root = json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:o}}, s:o}]}", "$schema", "https://json.schemastore.org/sarif-2.1.0.json",
			 "version", "2.1.0", "runs", "tool", "driver", "name", "ioprobe", "rules", sarif_rules(), "results",
			 results);
	if (root)
		ret = json_dumpf(root, out, JSON_INDENT(2)) || fputc('\n', out) == EOF ? -EIO : 0;
	json_decref(root);
	return ret;
}
