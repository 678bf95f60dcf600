/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What makes a record whole: for every type its length, and the payload that its struct announces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "spool/spool.h"

static union {
	struct iop_rec rec;
	struct iop_rec_call call;
	struct iop_rec_fd fd;
	struct iop_rec_exec exec;
	struct iop_rec_socket socket;
	struct iop_rec_constants constants;
	struct iop_rec_requests requests;
	struct iop_rec_text text;
	char room[70000];
} u;

static struct iop_rec *record(uint8_t type, uint16_t len)
{
	memset(&u, 0, sizeof(u));
	u.rec.type = type;
	u.rec.len = len;
	return &u.rec;
}

#define TYPE(name, number, type, payload) { number, sizeof(struct type), payload, #name },
static const struct { uint8_t number; uint16_t size; enum iop_payload payload; const char *name; } types[] = { IOP_RECORDS(TYPE) };
#define NTYPES (sizeof(types) / sizeof(types[0]))

static void lengths_of_every_type(void **state)
{
	(void)state;
	for (size_t i = 0; i < NTYPES; i++) {
		assert_true(iop_rec_valid(record(types[i].number, types[i].size), types[i].size));
		assert_true(iop_rec_valid(record(types[i].number, types[i].size + 8), sizeof(u)));
		assert_false(iop_rec_valid(record(types[i].number, types[i].size), types[i].size - 8));
		assert_false(iop_rec_valid(record(types[i].number, types[i].size + 4), sizeof(u)));
		assert_false(iop_rec_valid(record(types[i].number, types[i].size - 8), sizeof(u)));
		assert_int_equal(iop_rec_valid(record(types[i].number, 0), sizeof(u)), types[i].payload == IOP_PAYLOAD_TEXT);
		assert_string_equal(iop_rec_name(types[i].number), types[i].name);
	}
}

static void types_of_later_versions(void **state)
{
	(void)state;
	assert_null(iop_rec_name(50));
	assert_true(iop_rec_valid(record(50, 24), 24));
	assert_false(iop_rec_valid(record(50, 16), 24));
	assert_false(iop_rec_valid(record(50, 0), sizeof(u)));
	assert_true(iop_rec_valid(record(200, 0), sizeof(u)));
	assert_false(iop_rec_valid(record(200, 32), 24));
	assert_false(iop_rec_valid(record(IOP_REC_ROUND, 24), 23));
}

static void payloads(void **state)
{
	(void)state;
	record(IOP_REC_CALL, sizeof(u.call) + 16);
	u.call.nargs = 2;
	assert_true(iop_rec_valid(&u.rec, sizeof(u)));
	u.rec.flags = IOP_F_STRINGS;
	assert_false(iop_rec_valid(&u.rec, sizeof(u)));
	u.rec.flags = 0;
	u.call.nargs = 3;
	assert_false(iop_rec_valid(&u.rec, sizeof(u)));
	record(IOP_REC_EXIT, sizeof(u.call) + 8 * 200);
	u.call.nargs = IOP_MAX_ARGS + 1;
	assert_false(iop_rec_valid(&u.rec, sizeof(u)));

	record(IOP_REC_FILE, sizeof(u.fd) + 8);
	u.fd.path_len = 8;
	assert_true(iop_rec_valid(&u.rec, sizeof(u)));
	u.fd.path_len = 9;
	assert_false(iop_rec_valid(&u.rec, sizeof(u)));

	record(IOP_REC_EXEC, sizeof(u.exec) + 8);
	u.exec.path_len = UINT32_MAX;
	assert_false(iop_rec_valid(&u.rec, sizeof(u)));

	record(IOP_REC_SOCKET, sizeof(u.socket));
	u.socket.name_len = sizeof(u.socket.name) + 1;
	assert_false(iop_rec_valid(&u.rec, sizeof(u)));

	record(IOP_REC_CONSTANTS, sizeof(u.constants) + 16);
	u.constants.n = 2;
	assert_true(iop_rec_valid(&u.rec, sizeof(u)));
	u.constants.n = UINT32_MAX;
	assert_false(iop_rec_valid(&u.rec, sizeof(u)));

	record(IOP_REC_REQUESTS, sizeof(u.requests) + 32);
	u.requests.n = 2;
	assert_false(iop_rec_valid(&u.rec, sizeof(u)));
}

static void long_texts(void **state)
{
	(void)state;
	record(IOP_REC_TABLE, 0);
	u.text.text_len = 66000;
	assert_true(iop_rec_valid(&u.rec, sizeof(u)));
	assert_int_equal(iop_rec_size(&u.rec), 66032);
	assert_false(iop_rec_valid(&u.rec, 66024));
	u.text.text_len = UINT32_MAX;
	assert_false(iop_rec_valid(&u.rec, sizeof(u)));
	record(IOP_REC_TABLE, 40);
	u.text.text_len = 9;
	assert_false(iop_rec_valid(&u.rec, sizeof(u)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_of_every_type),
		cmocka_unit_test(types_of_later_versions),
		cmocka_unit_test(payloads),
		cmocka_unit_test(long_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
