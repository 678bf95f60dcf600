/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What a parser process answers: a plan as bytes, once as it is, and once with counts that fit its length, so that what follows the
 * header is looked at, too.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "parse/plan_wire.h"

#define FILE_SIZE 1000000

static const struct table_set *tables(void)
{
	static struct table_set set;
	char err[256];

	if (!set.nrows && table_parse(&set, "fuzz", fuzz_tables(), err, sizeof(err)))
		abort();
	return &set;
}

/* What is accepted keeps the promise of plan_wire.h. */
static void use(const struct table_set *set, const struct plan *plan)
{
	size_t len = 0;

	for (size_t i = 0; i < plan->npoints; i++) {
		const struct plan_point *point = &plan->points[i];

		if (point->row >= set->nrows || point->file_offset >= FILE_SIZE || point->placement.offset > point->file_offset)
			abort();
		len += strlen(point->function) + (point->placement.reason ? strlen(point->placement.reason) : 0);
	}
	for (size_t i = 0; i < plan->nmissing; i++)
		len += strlen(set->rows[plan->missing[i].row].name) + strlen(plan->missing[i].reason);
	for (size_t i = 0; i < plan->nlayers; i++)
		len += strlen(set->layers[plan->layers[i].layer].name) + strlen(plan->layers[i].version);
	if (len > 1ull << 32)
		abort();
}

static void decode(const void *bytes, size_t len)
{
	const char *wrong;
	struct plan plan;

	if (plan_wire_decode(bytes, len, tables(), FILE_SIZE, &plan, &wrong))
		return;
	use(tables(), &plan);
	plan_destroy(&plan);
}

static void fit(struct plan_wire *head, size_t left)
{
	head->npoints %= left / sizeof(struct plan_wire_point) + 1;
	left -= head->npoints * sizeof(struct plan_wire_point);
	head->nmissing %= left / sizeof(struct plan_wire_missing) + 1;
	left -= head->nmissing * sizeof(struct plan_wire_missing);
	head->nlayers %= left / sizeof(struct plan_wire_layer) + 1;
	left -= head->nlayers * sizeof(struct plan_wire_layer);
	head->nconstants = 0;
	head->texts_len = left;
	head->stripped_static &= 1;
	head->rendezvous_offset %= FILE_SIZE;
}

int fuzz_plan(const uint8_t *data, size_t size)
{
	struct plan_wire head;
	uint8_t *copy;

	decode(data, size);
	if (size < sizeof(head))
		return 0;
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	memcpy(&head, data, sizeof(head));
	fit(&head, size - sizeof(head));
	memcpy(copy, &head, sizeof(head));
	decode(copy, size);
	free(copy);
	return 0;
}
