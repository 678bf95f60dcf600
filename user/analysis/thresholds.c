/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Default thresholds, and reading them from a file: JSON, in the form of the JSON report.
 */
#include "analysis/thresholds.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

const struct threshold threshold_list[] = {
#define X(name, value, text) { #name, text, value, offsetof(struct thresholds, name) },
	THRESHOLDS(X)
#undef X
};
const size_t nthresholds = sizeof(threshold_list) / sizeof(*threshold_list);

static double *threshold_at(struct thresholds *t, size_t i)
{
	return (void *)((char *)t + threshold_list[i].offset);
}

void thresholds_default(struct thresholds *t)
{
	for (size_t i = 0; i < nthresholds; i++)
		*threshold_at(t, i) = threshold_list[i].value;
}

static int thresholds_set(struct thresholds *t, const char *key, const json_t *value)
{
	for (size_t i = 0; i < nthresholds; i++)
		if (!strcmp(threshold_list[i].name, key)) {
			if (!json_is_number(value) || json_number_value(value) < 0)
				return -EINVAL;
			*threshold_at(t, i) = json_number_value(value);
			return 0;
		}
	return -ENOENT;
}

int thresholds_read(struct thresholds *t, const char *text, size_t len, const char *name, char *err, size_t err_len)
{
	json_error_t why;
	json_t *root = json_loadb(text, len, 0, &why), *inner, *value;
	const char *key;
	int ret = 0;

	if (!json_is_object(root)) {
		snprintf(err, err_len, "%.200s: cannot read the thresholds: line %d: %.100s", name, root ? 1 : why.line,
			 root ? "an object is expected" : why.text);
		json_decref(root);
		return -EINVAL;
	}
	inner = json_object_get(root, "thresholds");
	json_object_foreach(inner ? inner : root, key, value) {
		if (json_is_object(value))      /* the JSON report has {"value": …, "text": …} */
			value = json_object_get(value, "value");
		ret = thresholds_set(t, key, value);
		if (ret)
			break;
	}
	if (ret)
		snprintf(err, err_len, "%.200s: threshold %.60s: %s", name, key,
			 ret == -ENOENT ? "no threshold has this name; 'ioprobe report --explain thresholds' lists them"
					: "a number of at least 0 is expected");
	json_decref(root);
	return ret;
}
