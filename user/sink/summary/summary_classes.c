/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls by class. A handle has few classes: only those that occur take memory.
 */
#include "sink/summary/summary.h"

#include <errno.h>
#include <stdlib.h>

const char *summary_class_name(enum model_class class)
{
	static const char *const names[MODEL_CLASSES] = {
		[MODEL_CLASS_READ] = "read",   [MODEL_CLASS_WRITE] = "write", [MODEL_CLASS_METADATA] = "metadata",
		[MODEL_CLASS_SYNC] = "sync",   [MODEL_CLASS_LOCK] = "lock",   [MODEL_CLASS_REQUEST] = "request",
		[MODEL_CLASS_OTHER] = "other",
	};

	return names[class];
}

struct summary_class *summary_class_of(struct summary_classes *classes, enum model_class class)
{
	struct summary_class *grown;

	if (classes->at[class])
		return &classes->v[classes->at[class] - 1];
	grown = reallocarray(classes->v, classes->n + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	classes->v = grown;
	grown[classes->n] = (struct summary_class){ 0 };
	classes->at[class] = ++classes->n;
	return &grown[classes->n - 1];
}

void summary_class_add(struct summary_class *to, const struct summary_class *from)
{
	to->calls += from->calls;
	to->failed += from->failed;
	to->time_ns += from->time_ns;
	to->longest_ns = from->longest_ns > to->longest_ns ? from->longest_ns : to->longest_ns;
}

void summary_calls_add(struct summary_calls *to, const struct summary_calls *from)
{
	to->calls += from->calls;
	to->failed += from->failed;
	to->time_ns += from->time_ns;
	to->system_ns += from->system_ns;
	to->longest_ns = from->longest_ns > to->longest_ns ? from->longest_ns : to->longest_ns;
	to->open_calls += from->open_calls;
	for (int i = 0; i < SUMMARY_SIZES; i++) {
		to->sizes.read[i] += from->sizes.read[i];
		to->sizes.written[i] += from->sizes.written[i];
	}
	for (int i = 0; i < MODEL_CLASSES; i++)
		summary_class_add(&to->classes[i], &from->classes[i]);
}

int summary_classes_add(struct summary_classes *to, const struct summary_classes *from)
{
	for (int i = 0; i < MODEL_CLASSES; i++) {
		struct summary_class *class = from->at[i] ? summary_class_of(to, i) : NULL;

		if (class)
			summary_class_add(class, &from->v[from->at[i] - 1]);
		else if (from->at[i])
			return -ENOMEM;
	}
	return 0;
}

void summary_classes_clear(struct summary_classes *classes)
{
	free(classes->v);
	*classes = (struct summary_classes){ 0 };
}
