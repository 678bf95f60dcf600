/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Strings that events refer to by number, each once.
 */
#include "replay/names.h"

#include <stdlib.h>

uint32_t name_number(struct replay *r, const char *text, size_t len)
{
	struct event_name *known;
	const char **slot;

	HASH_FIND(hh, r->names, text, len, known);
	if (known)
		return known->number;
	known = calloc(1, sizeof(*known));
	slot = known ? MODEL_ADD(r->model->names) : NULL;
	if (!slot || !(known->name = *slot = model_string(r->model, text, len))) {
		r->model->names.n -= slot != NULL;
		free(known);
		return 0;
	}
	known->number = r->model->names.n;
	HASH_ADD_KEYPTR(hh, r->names, known->name, len, known);
	if (hash_added(known))
		return known->number;
	free(known);
	r->model->names.n--;
	return 0;
}

void names_free(struct replay *r)
{
	struct event_name *known, *next;

	HASH_ITER(hh, r->names, known, next) {
		HASH_DEL(r->names, known);
		free(known);
	}
}
