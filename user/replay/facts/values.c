/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Values of static facts as text: numbers with the names that the table gives them, arrays ("16,32"), strings.
 */
#include "replay/facts/values.h"
#include "replay/frame.h"
#include "replay/sizes/shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void fact_number(const struct table_fact *fact, int64_t number, char *text, size_t len)
{
	for (unsigned i = 0; i < fact->nnames; i++)
		if (fact->names[i].number == number) {
			snprintf(text, len, "%s", fact->names[i].text);
			return;
		}
	if (fact->other[0])
		snprintf(text, len, "%s", fact->other);
	else
		snprintf(text, len, "%" PRId64, number);
}

/* How many elements an array has: as the call says, or as many as its variable has dimensions. */
static int64_t values_elements(const struct replay *r, const struct frame *f)
{
	int64_t n;

	if (frame_row(r, f)->result == RESULT_NDIMS)
		return (int32_t)f->ret;
	return frame_arg(r, f, ROLE_NDIMS, &n) ? n : shape_rank(r, f);
}

static bool array_text(const struct str *bytes, unsigned element, int64_t n, char *text, size_t len)
{
	struct array array = { bytes->p, bytes->len / element, element };
	size_t used = 0;

	if (n <= 0 || n > (int64_t)array.n)
		return false;
	for (int64_t i = 0; i < n && used < len; i++)
		used += snprintf(text + used, len - used, "%s%" PRId64, i ? "," : "", array_value(&array, i));
	return used < len;
}

/* Values at an offset have their meaning only in libraries of the known ABI. */
static bool values_believed(const struct replay *r, const struct thread *thread, const struct frame *f, const struct table_arg *arg)
{
	const struct library *library = &thread->process->libraries[r->abi_layer[frame_row(r, f)->layer]];

	return !arg->offset || (library->known_abi && !library->narrow);
}

bool fact_value(const struct replay *r, const struct thread *thread, const struct frame *f, const struct table_arg *arg, char *text,
		size_t len)
{
	const struct row_info *info = frame_info(r, f);
	unsigned capture = arg->capture;

	if (f->unread & 1 << capture || !values_believed(r, thread, f, arg))
		return false;
	if (!(table_kind_has(arg->kind) & IOP_HAS_PAYLOAD)) {
		fact_number(&frame_layer(r, f)->facts[arg->fact], f->args[capture], text, len);
		return true;
	}
	if (!f->str[capture].p)
		return false;
	if (info->element[capture])
		return array_text(&f->str[capture], info->element[capture], values_elements(r, f), text, len);
	snprintf(text, len, "%.*s", (int)f->str[capture].len, f->str[capture].p);
	return true;
}
