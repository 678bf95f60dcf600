/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Addresses of the kernel become numbers of the recording before anything is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "capture/object_numbers.h"

#define KERNEL 0xffff888000000000ull

static void same_address_same_number(void **state)
{
	struct object_numbers object_numbers = { 0 };

	(void)state;
	assert_int_equal(object_number(&object_numbers, 0), 0);
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(object_number(&object_numbers, KERNEL + 64 * i), i + 1);
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(object_number(&object_numbers, KERNEL + 64 * i), i + 1);
	object_numbers_deinit(&object_numbers);
}

/* Memory is bounded; a number is never given to a second address. */
static void many_addresses(void **state)
{
	struct object_numbers object_numbers = { 0 };

	(void)state;
	for (uint64_t i = 0; i <= OBJECT_NUMBERS_MAX; i++)
		assert_int_equal(object_number(&object_numbers, KERNEL + 64 * i), i + 1);
	assert_true(object_numbers.cap <= 2 * OBJECT_NUMBERS_MAX);
	assert_int_equal(object_number(&object_numbers, KERNEL), OBJECT_NUMBERS_MAX + 2);
	object_numbers_deinit(&object_numbers);
}

static void records(void **state)
{
	struct iop_rec_async begin = { .rec = { .len = sizeof(begin), .type = IOP_REC_ASYNC },
				       .key = KERNEL + 64,
				       .context = KERNEL + 128,
				       .user_data = 77,
				       .file = KERNEL + 192,
				       .interface = IOP_URING };
	struct iop_rec_async_end end = { .rec = { .len = sizeof(end), .type = IOP_REC_ASYNC_END }, .key = KERNEL + 64,
					 .context = KERNEL + 128, .user_data = 77, .interface = IOP_URING };
	struct iop_rec_fd file = { .rec = { .len = sizeof(file), .type = IOP_REC_FILE }, .pos = KERNEL + 192 };
	struct iop_rec_call other = { .rec = { .len = sizeof(other), .type = IOP_REC_CALL } };
	struct object_numbers object_numbers = { 0 };
	union object_numbers_room room;
	uint64_t request, ring, number;

	(void)state;
	assert_ptr_equal(object_numbers_hide(&object_numbers, &begin.rec, &room), &room.rec);
	request = room.async.key;
	ring = room.async.context;
	number = room.async.file;
	assert_true(request && ring && number && request < 10 && ring < 10 && number < 10);
	assert_true(request != ring && ring != number && request != number);
	assert_int_equal(room.async.user_data, 77);
	object_numbers_hide(&object_numbers, &end.rec, &room);
	assert_int_equal(room.end.key, request);
	assert_int_equal(room.end.context, ring);
	assert_ptr_equal(object_numbers_hide(&object_numbers, &file.rec, &room), &room.rec);
	assert_int_equal(room.file.pos, number);
	assert_ptr_equal(object_numbers_hide(&object_numbers, &other.rec, &room), &other.rec);

	begin.interface = IOP_LIBAIO;   /* the program's own addresses */
	begin.key = 0x7000;
	begin.context = 0x8000;
	begin.file = 0;
	object_numbers_hide(&object_numbers, &begin.rec, &room);
	assert_int_equal(room.async.key, 0x7000);
	assert_int_equal(room.async.context, 0x8000);
	object_numbers_deinit(&object_numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_address_same_number), cmocka_unit_test(many_addresses), cmocka_unit_test(records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
