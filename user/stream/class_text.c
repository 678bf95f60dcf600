/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * By hand: with snprintf it was a tenth of a follower's time where files are many.
 */
#include "stream/class_text.h"

#include <string.h>

_Static_assert(sizeof(((struct class_text *)0)->v) / MODEL_CLASSES >= 32 + (4 + SUMMARY_SIZES) * 21, "room for all numbers");

static void class_text_add(struct class_text *text, const char *word)
{
	size_t len = strlen(word);

	memcpy(text->v + text->len, word, len);
	text->len += len;
}

static void class_text_add_number(struct class_text *text, uint64_t number)
{
	char digits[20];
	unsigned n = 0;

	do
		digits[n++] = '0' + number % 10;
	while (number /= 10);
	while (n)
		text->v[text->len++] = digits[--n];
}

/* Time may be negative: what was counted in intervals before is taken back. */
static void class_text_add_time(struct class_text *text, uint64_t ns)
{
	if ((int64_t)ns < 0)
		text->v[text->len++] = '-';
	class_text_add_number(text, (int64_t)ns < 0 ? -ns : ns);
}

/* Returns the number of sizes up to the last one with operations. */
static unsigned class_text_nsizes(const uint64_t *sizes)
{
	unsigned n = sizes ? SUMMARY_SIZES : 0;

	while (n && !sizes[n - 1])
		n--;
	return n;
}

static void class_text_add_class(struct class_text *text, const char *name, const struct summary_class *c, const uint64_t *sizes,
				 unsigned nsizes)
{
	class_text_add(text, text->len ? ",\"" : "{\"");
	class_text_add(text, name);
	class_text_add(text, "\":[");
	class_text_add_number(text, c->calls);
	class_text_add(text, ",");
	class_text_add_number(text, c->failed);
	class_text_add(text, ",");
	class_text_add_time(text, c->time_ns);
	class_text_add(text, ",");
	class_text_add_number(text, c->longest_ns);
	for (unsigned i = 0; i < nsizes; i++) {
		class_text_add(text, ",");
		class_text_add_number(text, sizes[i]);
	}
	class_text_add(text, "]");
}

const char *class_text_format(const struct summary_operations *o, struct class_text *text)
{
	text->len = 0;
	for (int i = 0; i < MODEL_CLASSES; i++) {
		const struct summary_class *c = &o->classes[i];
		const uint64_t *sizes = i == MODEL_CLASS_READ ? o->sizes.read : i == MODEL_CLASS_WRITE ? o->sizes.written : NULL;
		unsigned nsizes = class_text_nsizes(sizes);

		if (c->calls || c->time_ns || nsizes)
			class_text_add_class(text, summary_class_name(i), c, sizes, nsizes);
	}
	class_text_add(text, text->len ? "}" : "{}");
	text->v[text->len] = 0;
	return text->v;
}
