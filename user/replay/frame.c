/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The arguments of an open call: values, strings and arrays, by the role that the table row assigns.
 */
#include "replay/frame.h"

#include <string.h>

struct str frame_string(const struct replay *r, const struct frame *f, enum table_role role)
{
	int arg = frame_info(r, f)->arg[role];

	return arg < 0 ? (struct str){ 0 } : f->str[arg];
}

struct array frame_array(const struct replay *r, const struct frame *f, enum table_role role)
{
	int arg = frame_info(r, f)->arg[role];
	unsigned element = arg < 0 ? 0 : frame_info(r, f)->element[arg];

	if (!element || !f->str[arg].p)
		return (struct array){ 0 };
	return (struct array){ .p = f->str[arg].p, .n = f->str[arg].len / element, .element = element };
}

int64_t array_value(const struct array *array, size_t i)
{
	int64_t value;
	int32_t narrow;

	if (array->element == sizeof(value)) {
		memcpy(&value, array->p + i * sizeof(value), sizeof(value));
		return value;
	}
	memcpy(&narrow, array->p + i * sizeof(narrow), sizeof(narrow));
	return narrow;
}

uint64_t size_product(uint64_t a, uint64_t b)
{
	uint64_t result;

	return a == BYTES_UNKNOWN || b == BYTES_UNKNOWN || __builtin_mul_overflow(a, b, &result) ? BYTES_UNKNOWN : result;
}

uint64_t array_product(const struct array *array, uint64_t n, uint64_t product)
{
	if (n > array->n)
		return BYTES_UNKNOWN;
	for (size_t i = 0; i < n; i++)
		product = size_product(product, array_value(array, i));
	return product;
}
