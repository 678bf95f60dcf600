/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Headers of classic netCDF files: whole, cut off at every byte, and damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay/sizes/classic.h"

static uint8_t header[1024];
static size_t header_len;
static char told[1024];

/* ---- a header, by the format's rules ---- */

static void put_number(uint64_t value, unsigned bytes)
{
	while (bytes--)
		header[header_len++] = value >> 8 * bytes;
}

static unsigned count_bytes;    /* of counts, lengths and ids */

static void put_count(uint64_t value)
{
	put_number(value, count_bytes);
}

static void put_name(const char *name)
{
	size_t len = strlen(name);

	put_count(len);
	memcpy(header + header_len, name, len);
	header_len += (len + 3) & ~3ul;
}

static void put_list(uint32_t tag, uint64_t n)
{
	put_number(tag, 4);
	put_count(n);
}

static void put_variable(unsigned version, const char *name, uint32_t type, unsigned ndims, uint64_t first)
{
	put_name(name);
	put_count(ndims);
	for (unsigned i = 0; i < ndims; i++)
		put_count(first + i);
	put_list(12, 1);
	put_name("units");
	put_number(2, 4);       /* text */
	put_count(5);
	memcpy(header + header_len, "m s-1", 5);
	header_len += 8;
	put_number(type, 4);
	put_count(1234);
	put_number(4096, version == 1 ? 4 : 8);
}

static void make_header(unsigned version)
{
	memset(header, 0, sizeof(header));
	header_len = 0;
	count_bytes = version == 5 ? 8 : 4;
	memcpy(header, "CDF", 3);
	header[3] = version;
	header_len = 4;
	put_count(7);           /* records */
	put_list(10, 3);
	put_name("time");
	put_count(0);
	put_name("y");
	put_count(4);
	put_name("x");
	put_count(600000);
	put_list(0, 0);         /* no attributes of the file */
	put_list(11, 3);
	put_variable(version, "field", 6, 3, 0);
	put_variable(version, "one", 4, 0, 0);
	put_variable(version, "many", 1, 10, 0);
}

/* ---- what is read ---- */

static int on_dimension(void *arg, int64_t id, uint64_t length, bool unlimited)
{
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "d%lld=%llu%s ", (long long)id, (unsigned long long)length,
		 unlimited ? "*" : "");
	(*(unsigned *)arg)++;
	return 0;
}

static int on_variable(void *arg, const struct classic_variable *v)
{
	size_t n = strlen(told);

	n += snprintf(told + n, sizeof(told) - n, "%.*s:%lld(", (int)v->name_len, v->name, (long long)v->type);
	for (uint64_t i = 0; i < v->ndims && i < CLASSIC_DIMENSIONS; i++)
		n += snprintf(told + n, sizeof(told) - n, "%lld,", (long long)v->dims[i]);
	snprintf(told + n, sizeof(told) - n, ") ");
	(*(unsigned *)arg)++;
	return 0;
}

/* The bytes are at the end of their allocation: a sanitizer or valgrind sees a read beyond. Returns the number of definitions. */
static unsigned read_header(const uint8_t *bytes, size_t len)
{
	unsigned n = 0;
	struct classic_user user = { .arg = &n, .dimension = on_dimension, .variable = on_variable };
	uint8_t *copy = malloc(len + !len);

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	told[0] = '\0';
	assert_int_equal(classic_read(copy, len, &user), 0);
	free(copy);
	return n;
}

#define WHOLE "d0=7* d1=4 d2=600000 field:6(0,1,2,) one:4() many:1(0,1,2,3,4,5,6,7,) "

static void whole_headers(void **state)
{
	(void)state;
	for (unsigned version = 1; version <= 5; version += version == 2 ? 3 : 1) {
		make_header(version);
		assert_int_equal(read_header(header, header_len), 6);
		assert_string_equal(told, WHOLE);
	}
	make_header(1);
	header[3] = 3;
	assert_int_equal(read_header(header, header_len), 0);
	assert_int_equal(read_header((const uint8_t *)"\211HDF\r\n\032\n", 8), 0);
}

/* A file that is written as a stream has no number of records. */
static void streaming(void **state)
{
	(void)state;
	make_header(2);
	memset(header + 4, 0xff, 4);
	assert_int_equal(read_header(header, header_len), 5);
	assert_null(strstr(told, "d0="));
}

static void cut_off(void **state)
{
	unsigned last = 0;

	(void)state;
	for (unsigned version = 1; version <= 5; version += version == 2 ? 3 : 1) {
		last = 0;
		make_header(version);
		for (size_t len = 0; len <= header_len; len++) {
			unsigned n = read_header(header, len);

			assert_true(n >= last);
			assert_memory_equal(told, WHOLE, strlen(told));
			last = n;
		}
	}
}

/* Counts and lengths beyond the header's end, tags of other lists: nothing is read outside, and nothing takes long. */
static void damaged(void **state)
{
	(void)state;
	srand(1);
	for (unsigned round = 0; round < 20000; round++) {
		make_header(round % 3 == 2 ? 5 : 1 + round % 3);
		for (int i = rand() % 4; i >= 0; i--)
			header[4 + rand() % (header_len - 4)] = rand() % 3 ? rand() : 0xff;
		read_header(header, header_len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_headers), cmocka_unit_test(streaming), cmocka_unit_test(cut_off), cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
