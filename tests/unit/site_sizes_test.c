/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the texts of Python's code objects add to the archive: numbers of code objects are not used again, they become larger than
 * the number of objects for which there is room at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <ioprobe/sites.h>

#include "capture/site_sizes.h"

#define TEXT_BYTES 400

/* Returns what the first call at a frame of this code object adds. */
static uint64_t row_bytes(uint32_t code)
{
	const struct iop_rec_python_code file = { .rec = { .type = IOP_REC_PYTHON_CODE }, .id = code, .len = TEXT_BYTES,
						  .piece = IOP_PYTHON_FILE };
	const struct iop_rec_site site = { .rec = { .type = IOP_REC_SITE }, .id = 1, .image = code, .flags = IOP_SITE_PYTHON };
	const struct iop_rec_call call = { .rec = { .type = IOP_REC_CALL }, .site = { 1 } };
	struct site_sizes sizes = { 0 };
	uint64_t bytes;

	site_sizes_add(&sizes, &file.rec);
	site_sizes_add(&sizes, &site.rec);
	bytes = site_sizes_add(&sizes, &call.rec);
	assert_int_equal(site_sizes_add(&sizes, &call.rec), 0);         /* the second call has the same row */
	site_sizes_deinit(&sizes);
	return bytes;
}

static void numbers_of_code_objects(void **state)
{
	const uint64_t bytes = row_bytes(1);

	(void)state;
	assert_true(bytes > 2 * TEXT_BYTES);
	assert_int_equal(row_bytes(IOP_SITE_MAX_CODES + 1), bytes);
	assert_int_equal(row_bytes(IOP_SITE_MAX_CODE_ID), bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_of_code_objects) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
