/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Common part of all detectors that examine one data file after the other.
 */
#include "analysis/analysis.h"

static bool detect_files_is_data(const struct analysis *a, const struct file_layer *f)
{
	return a->facts->file_class[f->file] == FILE_DATA;
}

struct builder *detect_files(struct analysis *a, const struct detector *d, const struct file_rule *rule)
{
	struct builder *b = NULL;

	for (size_t i = 0; i < a->files.n; i++) {
		const struct file_layer *f = &a->files.v[i];

		if (f->layer != rule->layer || !detect_files_is_data(a, f) || !rule->fires(a, f))
			continue;
		if (!b && !(b = builder_new(a, d)))
			return NULL;
		for (size_t s = 0; s < f->n; s++) {
			struct evidence e = rule->evidence(a, f, f->v[s]);

			builder_add(b, f->file, f->v[s]->key.location, &e);
		}
	}
	return b;
}
