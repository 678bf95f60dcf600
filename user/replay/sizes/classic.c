/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads headers of classic netCDF files. Every number is checked against the bytes that are left; each element of a list takes some
 * of these, so loops end.
 */
#include "replay/sizes/classic.h"

#include <string.h>

#define TAG_DIMENSIONS 10
#define TAG_VARIABLES 11
#define TAG_ATTRIBUTES 12
#define STREAMING UINT64_MAX    /* the number of records is not in the header */

struct header { const uint8_t *at, *end; unsigned version; bool cut; };

static uint64_t take_number(struct header *h, unsigned bytes)
{
	uint64_t value = 0;

	if ((size_t)(h->end - h->at) < bytes)
		h->cut = true;
	for (unsigned i = 0; i < bytes && !h->cut; i++)
		value = value << 8 | *h->at++;
	return h->cut ? 0 : value;
}

static uint64_t take_word(struct header *h)
{
	return take_number(h, 4);
}

/* A count, a length or an id: 64 bits in CDF-5. */
static uint64_t take_count(struct header *h)
{
	return take_number(h, h->version == 5 ? 8 : 4);
}

/* Skips bytes and their padding to a multiple of 4. */
static const uint8_t *take_bytes(struct header *h, uint64_t n)
{
	const uint8_t *at = h->at;
	uint64_t left = h->end - h->at, padded = (n + 3) & ~(uint64_t)3;

	if (n > left || padded > left)
		h->cut = true;
	else
		h->at += padded;
	return at;
}

/* Returns the number of elements of a list; 0 if it is empty, cut off or no list with this tag. */
static uint64_t take_list(struct header *h, uint64_t tag)
{
	uint64_t found = take_word(h), n = take_count(h);

	if (!h->cut && (found ? found != tag : n != 0))
		h->cut = true;  /* no such header */
	return h->cut ? 0 : n;
}

/* Bytes of a value of an nc_type; 0: there is none. */
static unsigned classic_type_bytes(uint64_t type)
{
	static const uint8_t bytes[] = { 0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8 };

	return type < sizeof(bytes) ? bytes[type] : 0;
}

static int classic_dimensions(struct header *h, uint64_t records, const struct classic_user *user)
{
	uint64_t n = take_list(h, TAG_DIMENSIONS);
	int ret = 0;

	for (uint64_t i = 0; i < n && !h->cut && !ret; i++) {
		uint64_t length;

		take_bytes(h, take_count(h));
		length = take_count(h);
		if (!h->cut && (length || records != STREAMING))
			ret = user->dimension(user->arg, i, length ? length : records, !length);
	}
	return ret;
}

static void skip_attributes(struct header *h)
{
	uint64_t n = take_list(h, TAG_ATTRIBUTES);

	for (uint64_t i = 0; i < n && !h->cut; i++) {
		uint64_t values, bytes;

		take_bytes(h, take_count(h));
		bytes = classic_type_bytes(take_word(h));
		values = take_count(h);
		if (!bytes || __builtin_mul_overflow(values, bytes, &bytes))
			h->cut = true;
		else
			take_bytes(h, bytes);
	}
}

static int classic_variables(struct header *h, const struct classic_user *user)
{
	uint64_t n = take_list(h, TAG_VARIABLES);
	int ret = 0;

	for (uint64_t i = 0; i < n && !h->cut && !ret; i++) {
		struct classic_variable variable = { .id = i };

		variable.name_len = take_count(h);
		variable.name = (const char *)take_bytes(h, variable.name_len);
		variable.ndims = take_count(h);
		for (uint64_t d = 0; d < variable.ndims && !h->cut; d++) {
			int64_t dim = take_count(h);

			if (d < CLASSIC_DIMENSIONS)
				variable.dims[d] = dim;
		}
		skip_attributes(h);
		variable.type = take_word(h);
		if (!h->cut && classic_type_bytes(variable.type))
			ret = user->variable(user->arg, &variable);
		take_count(h);                                  /* its size, which follows from the others */
		take_number(h, h->version == 1 ? 4 : 8);        /* where it begins */
	}
	return ret;
}

int classic_read(const void *header, size_t len, const struct classic_user *user)
{
	struct header h = { .at = header, .end = (const uint8_t *)header + len };
	uint64_t records;
	int ret;

	if (len < 4 || memcmp(h.at, "CDF", 3) || (h.at[3] != 1 && h.at[3] != 2 && h.at[3] != 5))
		return 0;
	h.version = h.at[3];
	h.at += 4;
	records = take_count(&h);
	if (records == (h.version == 5 ? UINT64_MAX : UINT32_MAX))
		records = STREAMING;
	ret = classic_dimensions(&h, records, user);
	skip_attributes(&h);
	return ret ? ret : classic_variables(&h, user);
}
