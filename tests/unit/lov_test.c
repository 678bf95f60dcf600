/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Lustre's layouts, from bytes built field by field as in lustre_user.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "capture/lov.h"

#define V1 0x0bd10bd0u
#define V3 0x0bd30bd0u
#define COMPOSITE 0x0bd60bd0u
#define RAID0 1u
#define MIB (1u << 20)

static unsigned char bytes[65536];
static size_t len;

static void lov_put(size_t at, uint64_t value, size_t size)
{
	memcpy(bytes + at, &value, size);
	len = at + size > len ? at + size : len;
}

/* Targets 10, 11, … unless fixed. Returns the length. */
static size_t lov_put_stripes(size_t at, uint32_t magic, uint32_t pattern, uint32_t size, unsigned count, const char *pool)
{
	size_t header = magic == V3 ? 48 : 32;

	lov_put(at, magic, 4);
	lov_put(at + 4, pattern, 4);
	lov_put(at + 8, 0x1122334455667788, 8);
	lov_put(at + 16, 0x99, 8);
	lov_put(at + 24, size, 4);
	lov_put(at + 28, count, 2);
	lov_put(at + 30, 5, 2);
	if (magic == V3) {
		lov_put(at + 40, 0, 8);
		memcpy(bytes + at + 32, pool, strlen(pool));
	}
	for (unsigned i = 0; i < count && !(pattern & 0x80000000u); i++) {
		lov_put(at + header + 24 * i, 0x7777, 8);
		lov_put(at + header + 24 * i + 8, 0, 8);
		lov_put(at + header + 24 * i + 16, 3, 4);
		lov_put(at + header + 24 * i + 20, 10 + i, 4);
	}
	return header + (pattern & 0x80000000u ? 0 : 24 * count);
}

static void lov_put_composite(unsigned n, unsigned mirrors)
{
	lov_put(0, COMPOSITE, 4);
	lov_put(8, 7, 4);
	lov_put(12, 0, 2);
	lov_put(14, n, 2);
	lov_put(16, mirrors, 2);
	lov_put(32 + 48 * n - 1, 0, 1);
}

static void lov_put_entry(unsigned i, uint32_t id, uint32_t flags, uint64_t start, uint64_t end, size_t offset, size_t size)
{
	size_t at = 32 + 48 * i;

	lov_put(at, id, 4);
	lov_put(at + 4, flags, 4);
	lov_put(at + 8, start, 8);
	lov_put(at + 16, end, 8);
	lov_put(at + 24, offset, 4);
	lov_put(at + 28, size, 4);
}

static int setup(void **state)
{
	(void)state;
	memset(bytes, 0, sizeof(bytes));
	len = 0;
	return 0;
}

static void plain(void **state)
{
	struct lov_layout l;

	(void)state;
	lov_put_stripes(0, V1, RAID0, 4 * MIB, 3, NULL);
	lov_put(32 + 24 + 20, 7, 4);            /* the second stripe's target */
	assert_int_equal(lov_layout_parse(bytes, len, &l), 0);
	assert_int_equal(l.stripe_bytes, 4 * MIB);
	assert_int_equal(l.stripe_count, 3);
	assert_string_equal(l.devices, "10,7,12");
	assert_string_equal(l.pool, "");
	assert_string_equal(l.components, "");
}

/* A name of 15 characters, and one that fills its field without a NUL. */
static void pooled(void **state)
{
	struct lov_layout l;

	(void)state;
	lov_put_stripes(0, V3, RAID0, MIB, 2, "abcdefghijklmno");
	assert_int_equal(lov_layout_parse(bytes, len, &l), 0);
	assert_string_equal(l.pool, "abcdefghijklmno");
	assert_string_equal(l.devices, "10,11");
	bytes[47] = 'p';
	assert_int_equal(lov_layout_parse(bytes, len, &l), 0);
	assert_string_equal(l.pool, "abcdefghijklmnop");
}

/* Two stripes on one target count twice; the target is named once. */
static void overstriped(void **state)
{
	struct lov_layout l;

	(void)state;
	lov_put_stripes(0, V1, RAID0 | 0x200, MIB, 3, NULL);
	lov_put(32 + 24 + 20, 10, 4);
	assert_int_equal(lov_layout_parse(bytes, len, &l), 0);
	assert_int_equal(l.stripe_count, 3);
	assert_string_equal(l.devices, "10,12");
}

/* Progressive: data on the metadata server, one allocated component, one that is not. */
static void progressive(void **state)
{
	struct lov_layout l;
	size_t at = 32 + 3 * 48, dom, data;

	(void)state;
	lov_put_composite(3, 0);
	dom = lov_put_stripes(at, V1, 0x100, 65536, 0, NULL);
	data = lov_put_stripes(at + dom, V3, RAID0, MIB, 2, "fast");
	lov_put_stripes(at + dom + data, V1, RAID0, 4 * MIB, 0, NULL);
	lov_put_entry(0, 1, 0x10, 0, 65536, at, dom);
	lov_put_entry(1, 2, 0x10, 65536, 1ull << 30, at + dom, data);
	lov_put_entry(2, 3, 0, 1ull << 30, UINT64_MAX, at + dom + data, 32);
	assert_int_equal(lov_layout_parse(bytes, len, &l), 0);
	assert_int_equal(l.stripe_bytes, 0);    /* the last one's are not known */
	assert_int_equal(l.stripe_count, 0);
	assert_string_equal(l.devices, "10,11");
	assert_string_equal(l.pool, "");
	assert_string_equal(l.components,
			    "0-65536: on the metadata server; 65536-1073741824: 2 x 1048576 on 10,11; 1073741824-: not allocated");
}

/* The stripes of one component are not those of the data on the metadata server. */
static void metadata_server(void **state)
{
	struct lov_layout l;
	size_t at = 32 + 2 * 48, dom, data;

	(void)state;
	lov_put_composite(2, 0);
	dom = lov_put_stripes(at, V1, 0x100, 65536, 0, NULL);
	data = lov_put_stripes(at + dom, V3, RAID0, MIB, 2, "fast");
	lov_put_entry(0, 1, 0x10, 0, 65536, at, dom);
	lov_put_entry(1, 2, 0x10, 65536, UINT64_MAX, at + dom, data);
	assert_int_equal(lov_layout_parse(bytes, len, &l), 0);
	assert_int_equal(l.stripe_bytes, 0);
	assert_int_equal(l.stripe_count, 0);
	assert_string_equal(l.pool, "");
	assert_string_equal(l.components, "0-65536: on the metadata server; 65536-: 2 x 1048576 on 10,11");
}

/* What components do not have in common is unknown. */
static void differing(void **state)
{
	struct lov_layout l;
	size_t at = 32 + 2 * 48, one;

	(void)state;
	lov_put_composite(2, 1);
	one = lov_put_stripes(at, V3, RAID0, MIB, 1, "a");
	lov_put_stripes(at + one, V3, RAID0, MIB, 4, "b");
	lov_put_entry(0, 1 << 16 | 1, 0x10, 0, UINT64_MAX, at, one);
	lov_put_entry(1, 2 << 16 | 2, 0x11, 0, UINT64_MAX, at + one, len - at - one);
	assert_int_equal(lov_layout_parse(bytes, len, &l), 0);
	assert_int_equal(l.stripe_bytes, MIB);
	assert_int_equal(l.stripe_count, 0);
	assert_string_equal(l.pool, "");
	assert_string_equal(l.devices, "10,11,12,13");
	assert_string_equal(l.components, "mirror 1, 0-: 1 x 1048576 on 10; mirror 2, stale, 0-: 4 x 1048576 on 10,11,12,13");
}

/* An archived file has stripes and no objects. */
static void released(void **state)
{
	struct lov_layout l;

	(void)state;
	lov_put_stripes(0, V1, RAID0 | 0x80000000u, MIB, 4, NULL);
	assert_int_equal(lov_layout_parse(bytes, len, &l), 0);
	assert_int_equal(l.stripe_count, 4);
	assert_string_equal(l.devices, "");
}

static void many(void **state)
{
	struct lov_layout l;

	(void)state;
	lov_put_stripes(0, V1, RAID0, MIB, 2000, NULL);
	assert_int_equal(lov_layout_parse(bytes, len, &l), 0);
	assert_int_equal(l.stripe_count, 2000);
	assert_true(strlen(l.devices) < sizeof(l.devices));
	assert_string_equal(l.devices + strlen(l.devices) - 3, "...");
}

static void refused(void **state)
{
	struct lov_layout l;
	size_t whole, at = 32 + 48;

	(void)state;
	whole = lov_put_stripes(0, V1, RAID0, MIB, 3, NULL);
	for (size_t n = 0; n < whole; n++)
		assert_int_equal(lov_layout_parse(bytes, n, &l), -EINVAL);
	lov_put(28, 0, 2);
	assert_int_equal(lov_layout_parse(bytes, len, &l), -ENODATA);
	lov_put(28, 3, 2);
	lov_put(24, 0, 4);
	assert_int_equal(lov_layout_parse(bytes, len, &l), -EINVAL);
	lov_put(0, 0x0bd70bd0, 4);              /* a foreign layout */
	assert_int_equal(lov_layout_parse(bytes, len, &l), -EOPNOTSUPP);

	setup(NULL);
	lov_put_composite(1, 0);
	lov_put_stripes(at, V1, RAID0, MIB, 1, NULL);
	lov_put_entry(0, 1, 0x10, 0, UINT64_MAX, at, len - at);
	assert_int_equal(lov_layout_parse(bytes, len, &l), 0);
	lov_put_entry(0, 1, 0x10, 0, UINT64_MAX, at, 57);
	assert_int_equal(lov_layout_parse(bytes, len, &l), -EINVAL);            /* beyond the end */
	lov_put_entry(0, 1, 0x10, 0, UINT64_MAX, 0xfffffff0, 0x40);
	assert_int_equal(lov_layout_parse(bytes, len, &l), -EINVAL);
	lov_put_entry(0, 1, 0x10, 0, UINT64_MAX, 0, len);
	assert_int_equal(lov_layout_parse(bytes, len, &l), -EOPNOTSUPP);        /* a composite in itself */
	lov_put(14, 0xffff, 2);
	assert_int_equal(lov_layout_parse(bytes, len, &l), -EINVAL);
	assert_int_equal(l.stripe_bytes, 0);
	assert_string_equal(l.components, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(plain, setup),      cmocka_unit_test_setup(pooled, setup),
		cmocka_unit_test_setup(overstriped, setup), cmocka_unit_test_setup(progressive, setup),
		cmocka_unit_test_setup(metadata_server, setup),
		cmocka_unit_test_setup(differing, setup),  cmocka_unit_test_setup(released, setup),
		cmocka_unit_test_setup(many, setup),       cmocka_unit_test_setup(refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
