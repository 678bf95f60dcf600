/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Plans and tables as bytes, malformed ones above all, and the pool of parser processes with processes that misbehave: this
 * executable plays them for files of user HOSTILE.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parse/parse.h"
#include "parse/parse_wire.h"
#include "parse/plan_wire.h"
#include "parse/tables_wire.h"
#include "elf/symbols.h"

#define HOSTILE 4242
#define FILE_SIZE 100000

static const char table[] =
	"layer demo\n  paradigm demo \"demo\" serial\n  libraries libdemo.so*\n  success zero\n  handles pointer\n\n"
	"demo_open open path -> handle\ndemo_read read handle -> status\ndemo_close close handle -> status\n"
	"layer other\n  libraries libother.so*\n  success zero\n\nother_call region - -> status\n"
	"layer calls\n  syscalls\n  success zero\n  handles fd int\n\nclose close handle -> status\n";

static struct table_set tables(void)
{
	struct table_set set;
	char err[256];

	table_set_init(&set);
	if (table_parse(&set, "demo.probes", table, err, sizeof(err)))
		fail_msg("%s", err);
	return set;
}

/* ---- plans ---- */

static const struct plan_point points[] = {
	{ 0, 5004, { PLACED_MOVED, 4, 0, 0, "a reason" }, 5000, 0, "demo_open" },
	{ 1, 6000, { PLACED_ENTRY, 0, 0, 0, NULL }, 6002, 8, "demo_read" },
	{ 2, 7010, { PLACED_INSIDE, 10, 90, 24, "a reason" }, 0, 0, "demo_close" },
};
static const struct plan_missing missing[] = { { 3, "another reason" } };
static const struct plan_layer layers[] = { { 0, true, false, false, "1.2.3" }, { 1, false, true, true, "" } };

static void encode(char **bytes, size_t *len)
{
	struct plan plan = {
		.points = (struct plan_point *)points,
		.npoints = 3,
		.missing = (struct plan_missing *)missing,
		.nmissing = 1,
		.layers = (struct plan_layer *)layers,
		.nlayers = 2,
		.comm_vaddr = { 1, 2, 3 },
		.known_abis = 5,
		.first_vaddr = 0x400000,
		.rendezvous_offset = 99,
		.stripped_static = true,
		.switching = SWITCHES_STACKS,
		.build_id = { 0xab, 0xcd },
		.build_id_len = 2,
	};
	void *out;

	assert_int_equal(plan_wire_encode(&plan, 1 << 20, &out, len), 0);
	*bytes = out;
}

static void test_plan_there_and_back(void **state)
{
	struct table_set set = tables();
	const char *wrong;
	struct plan plan;
	char *bytes;
	size_t len;

	(void)state;
	encode(&bytes, &len);
	assert_int_equal(plan_wire_decode(bytes, len, &set, FILE_SIZE, &plan, &wrong), 0);
	free(bytes);
	assert_int_equal(plan.npoints, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(plan.points[i].row, points[i].row);
		assert_int_equal(plan.points[i].file_offset, points[i].file_offset);
		assert_string_equal(plan.points[i].function, points[i].function);
		assert_int_equal(plan.points[i].placement.kind, points[i].placement.kind);
		assert_int_equal(plan.points[i].placement.offset, points[i].placement.offset);
		assert_int_equal(plan.points[i].placement.exit_offset, points[i].placement.exit_offset);
		assert_int_equal(plan.points[i].placement.frame, points[i].placement.frame);
		assert_int_equal(plan.points[i].second_offset, points[i].second_offset);
		assert_int_equal(plan.points[i].second_frame, points[i].second_frame);
	}
	assert_string_equal(plan.points[0].placement.reason, "a reason");
	assert_null(plan.points[1].placement.reason);
	assert_int_equal(plan.nmissing, 1);
	assert_string_equal(plan.missing[0].reason, "another reason");
	assert_int_equal(plan.nlayers, 2);
	assert_string_equal(plan.layers[0].version, "1.2.3");
	assert_true(plan.layers[0].parallel && plan.layers[1].known_abi && plan.stripped_static);
	assert_true(plan.layers[1].narrow && !plan.layers[0].narrow && plan.known_abis == 5);
	assert_int_equal(plan.switching, SWITCHES_STACKS);
	assert_int_equal(plan.comm_vaddr[2], 3);
	assert_int_equal(plan.first_vaddr, 0x400000);
	assert_int_equal(plan.rendezvous_offset, 99);
	assert_int_equal(plan.build_id_len, 2);
	assert_int_equal(plan.build_id[1], 0xcd);
	assert_null(plan.constants);
	plan_destroy(&plan);
	table_set_deinit(&set);
}

/* The plan with one number exchanged is refused. */
static void refused(size_t at, uint64_t value, size_t size, const char *expected)
{
	struct table_set set = tables();
	const char *wrong = NULL;
	struct plan plan;
	char *bytes;
	size_t len;

	encode(&bytes, &len);
	assert_true(at + size <= len);
	memcpy(bytes + at, &value, size);
	assert_int_equal(plan_wire_decode(bytes, len, &set, FILE_SIZE, &plan, &wrong), -EBADMSG);
	if (!strstr(wrong, expected))
		fail_msg("refused because %s, not %s", wrong, expected);
	assert_null(plan.points);
	free(bytes);
	table_set_deinit(&set);
}

static void test_malformed_plans(void **state)
{
	const size_t point = sizeof(struct plan_wire), gone = point + 3 * sizeof(struct plan_wire_point),
		     layer = gone + sizeof(struct plan_wire_missing), texts = layer + 2 * sizeof(struct plan_wire_layer);

	(void)state;
	refused(offsetof(struct plan_wire, npoints), UINT32_MAX, 4, "more entries");
	refused(offsetof(struct plan_wire, npoints), PLAN_MAX_POINTS, 4, "length");
	refused(offsetof(struct plan_wire, npoints), 2, 4, "length");
	refused(offsetof(struct plan_wire, nmissing), 100, 4, "more entries");
	refused(offsetof(struct plan_wire, nlayers), 4, 4, "more entries");
	refused(offsetof(struct plan_wire, nconstants), 1, 4, "more entries");
	refused(offsetof(struct plan_wire, texts_len), UINT32_MAX, 4, "more entries");
	refused(offsetof(struct plan_wire, stripped_static), 2, 4, "rendezvous");
	refused(offsetof(struct plan_wire, build_id_len), BUILD_ID_MAX + 1, 4, "build-id");
	refused(offsetof(struct plan_wire, switching), SHARES_STACK + 1, 4, "stack switching");
	refused(offsetof(struct plan_wire, rendezvous_offset), FILE_SIZE, 8, "rendezvous");
	refused(point + offsetof(struct plan_wire_point, row), 4 /* the system call */, 4, "not probed");
	refused(point + offsetof(struct plan_wire_point, row), 5, 4, "not probed");
	refused(point + offsetof(struct plan_wire_point, row), UINT32_MAX, 4, "not probed");
	refused(point + offsetof(struct plan_wire_point, kind), PLACED_IMPOSSIBLE, 4, "kind");
	refused(point + offsetof(struct plan_wire_point, kind), UINT32_MAX, 4, "kind");
	refused(point + offsetof(struct plan_wire_point, file_offset), FILE_SIZE, 8, "outside");
	refused(point + offsetof(struct plan_wire_point, file_offset), UINT64_MAX, 8, "outside");
	refused(point + offsetof(struct plan_wire_point, file_offset), 3 /* moved by 4 */, 8, "outside");
	refused(point + offsetof(struct plan_wire_point, second_offset), FILE_SIZE, 8, "outside");
	refused(point + offsetof(struct plan_wire_point, second_frame), UINT32_MAX, 4, "outside");
	refused(point + offsetof(struct plan_wire_point, offset), UINT32_MAX, 4, "outside");
	refused(point + offsetof(struct plan_wire_point, exit_offset), 8, 4, "exit");
	refused(point + offsetof(struct plan_wire_point, frame), 8, 4, "exit");
	refused(point + offsetof(struct plan_wire_point, reason), 1000, 4, "reason");
	refused(point + 2 * sizeof(struct plan_wire_point) + offsetof(struct plan_wire_point, exit_offset), FILE_SIZE, 4,
		"outside");
	refused(point + 2 * sizeof(struct plan_wire_point) + offsetof(struct plan_wire_point, exit_offset), 0, 4, "exit");
	refused(point + 2 * sizeof(struct plan_wire_point) + offsetof(struct plan_wire_point, frame), UINT32_MAX, 4, "outside");
	refused(gone, 5, 4, "row");
	refused(gone + 4, UINT32_MAX, 4, "reason");
	refused(layer, 2 /* system calls */, 4, "layer");
	refused(layer, UINT32_MAX, 4, "layer");
	refused(layer, 1 /* twice */, 4, "layer");
	refused(layer + offsetof(struct plan_wire_layer, parallel), 2, 1, "facts");
	refused(layer + offsetof(struct plan_wire_layer, version), '\n', 1, "facts");
	refused(texts + 1, '\n', 1, "printed");
	refused(texts + 1, 0xff, 1, "printed");
}

static void test_cut_plans(void **state)
{
	struct table_set set = tables();
	const char *wrong;
	struct plan plan;
	char *bytes;
	size_t len;

	(void)state;
	encode(&bytes, &len);
	for (size_t cut = 0; cut < len; cut++) {
		char *copy = malloc(cut + 1);   /* so that a sanitizer sees every byte behind it */

		memcpy(copy, bytes, cut);
		assert_int_equal(plan_wire_decode(copy, cut, &set, FILE_SIZE, &plan, &wrong), -EBADMSG);
		free(copy);
	}
	free(bytes);
	table_set_deinit(&set);
}

static void check_plan(const struct table_set *set, const struct plan *plan)
{
	for (size_t i = 0; i < plan->npoints; i++) {
		const struct plan_point *point = &plan->points[i];

		assert_true(point->row < set->nrows && point->file_offset < FILE_SIZE &&
			    point->placement.offset <= point->file_offset);
		assert_true(point->file_offset - point->placement.offset + point->placement.exit_offset < FILE_SIZE);
		assert_true(!point->placement.reason || strlen(point->placement.reason) < 1000);
	}
	for (size_t i = 0; i < plan->nmissing; i++)
		assert_true(plan->missing[i].row < set->nrows && strlen(plan->missing[i].reason) < 1000);
	for (size_t i = 0; i < plan->nlayers; i++)
		assert_true(plan->layers[i].layer < set->nlayers &&
			    strlen(plan->layers[i].version) < sizeof(plan->layers[i].version));
}

/* Whatever is accepted keeps the promise. */
static void test_random_plans(void **state)
{
	struct table_set set = tables();
	size_t len, accepted = 0;
	const char *wrong;
	struct plan plan;
	char *bytes;

	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		encode(&bytes, &len);
		for (int n = rand() % 3; n >= 0; n--)
			bytes[rand() % len] = rand() % 4 ? rand() : 0;
		if (!plan_wire_decode(bytes, len, &set, FILE_SIZE, &plan, &wrong)) {
			check_plan(&set, &plan);
			plan_destroy(&plan);
			accepted++;
		}
		free(bytes);
	}
	assert_in_range(accepted, 100, 19900);
	table_set_deinit(&set);
}

/* ---- tables ---- */

static void test_tables(void **state)
{
	struct table_set set = tables(), copy;
	int fd = memfd_create("tables", MFD_CLOEXEC);
	char err[256], garbage[64];

	(void)state;
	assert_int_equal(table_set_select(&set, "other", err, sizeof(err)), 0);
	assert_int_equal(tables_wire_write(&set, fd), 0);
	table_set_init(&copy);
	assert_int_equal(tables_wire_read(&copy, fd), 0);
	assert_int_equal(copy.nrows, set.nrows);
	assert_int_equal(copy.nlayers, set.nlayers);
	assert_true(copy.rows[0].off && copy.layers[0].off && !copy.rows[3].off && !copy.layers[1].off);
	for (size_t i = 0; i < set.nrows; i++)
		assert_memory_equal(&copy.rows[i], &set.rows[i], sizeof(set.rows[i]));
	table_set_deinit(&copy);
	memset(garbage, 'x', sizeof(garbage));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, garbage, sizeof(garbage), 0), sizeof(garbage));
	table_set_init(&copy);
	assert_int_equal(tables_wire_read(&copy, fd), -EBADMSG);
	table_set_deinit(&copy);
	table_set_deinit(&set);
	close(fd);
}

/* ---- a process that misbehaves: how is in the file's name ---- */

static void send_bytes(const void *bytes, size_t len)
{
	if (send(PARSE_SOCKET_FD, bytes, len, MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void answer(const struct parse_request *request, int32_t status, uint32_t len, const char *payload)
{
	struct parse_answer head = { .magic = PARSE_MAGIC, .status = status, .id = request->id, .len = len };

	send_bytes(&head, sizeof(head));
	if (payload)
		send_bytes(payload, strlen(payload));
}

static void misbehave(const struct parse_request *request)
{
	struct parse_answer head = { .magic = PARSE_MAGIC, .id = request->id - 1 };

	if (!strcmp(request->name, "killed"))
		raise(SIGKILL);
	else if (!strcmp(request->name, "exits"))
		_exit(7);
	else if (!strcmp(request->name, "cpu"))
		raise(SIGXCPU);
	else if (!strcmp(request->name, "other id"))
		send_bytes(&head, sizeof(head));
	else if (!strcmp(request->name, "long"))
		answer(request, 0, PARSE_MAX_PAYLOAD + 1, "x");
	else if (!strcmp(request->name, "short packet"))
		answer(request, 0, 100, "x");
	else if (!strcmp(request->name, "no answer"))
		send_bytes("x", 1);
	else if (!strcmp(request->name, "no plan"))
		answer(request, 0, 4, "plan");
	else if (!strcmp(request->name, "positive"))
		answer(request, 5, 1, "x");
	else if (!strcmp(request->name, "text"))
		answer(request, -EINVAL, 7, "a\nb\033[31");
}

static int hostile_main(void)
{
	struct parse_request request;

	while (recv(PARSE_SOCKET_FD, &request, sizeof(request), 0) == sizeof(request))
		if (request.kind != PARSE_TABLES)
			misbehave(&request);
	return 0;
}

static void expect_error(struct parse_pool *pool, const struct code_file *file, const char *name, int expected, const char *text)
{
	struct plan plan;
	char err[256] = "";

	assert_int_equal(parse_plan(pool, file, name, &plan, err, sizeof(err)), expected);
	if (!strstr(err, text))
		fail_msg("%s: error is '%s', without '%s'", name, err, text);
	assert_null(plan.points);
}

static void test_hostile_processes(void **state)
{
	static const struct { const char *name, *text; } cases[] = {
		{ "killed", "signal 9" }, { "exits", "status 7" }, { "cpu", "CPU time" }, { "other id", "malformed" },
		{ "long", "malformed" }, { "short packet", "malformed" }, { "no answer", "malformed" }, { "no plan", "refused" },
		{ "positive", "malformed" },
	};
	struct table_set set = tables();
	struct parse_pool *pool;
	struct code_file file;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse_pool_create(&pool, &set), 0);
		assert_int_equal(code_file_open(&file, "/proc/self/exe"), 0);
		file.uid = HOSTILE;
		expect_error(pool, &file, cases[i].name, -EIO, cases[i].text);
		expect_error(pool, &file, "text", -EINVAL, "a?b?[31");         /* a new process */
		code_file_close(&file);
		parse_pool_destroy(pool);
	}
	table_set_deinit(&set);
}

/* One owner's files cannot start processes for ever, and cost the files of others nothing. */
static void test_failures_are_bounded(void **state)
{
	struct table_set set = tables();
	struct parse_pool *pool;
	struct code_file file;
	struct plan plan;
	char err[256];

	(void)state;
	assert_int_equal(parse_pool_create(&pool, &set), 0);
	assert_int_equal(code_file_open(&file, "/proc/self/exe"), 0);
	file.uid = HOSTILE;
	for (int i = 0; i < 8; i++)
		expect_error(pool, &file, "killed", -EIO, "signal 9");
	expect_error(pool, &file, "killed", -EIO, "not started again");
	file.uid = 0;
	assert_int_equal(parse_plan(pool, &file, "x", &plan, err, sizeof(err)), 0);
	plan_destroy(&plan);
	code_file_close(&file);
	parse_pool_destroy(pool);
	table_set_deinit(&set);
}

/* ---- the real one ---- */

static void test_plan_of_libc(void **state)
{
	struct plan direct, parsed;
	struct parse_pool *pool;
	struct elf_names *names;
	struct code_file file;
	struct table_set set;
	char err[256], interpreter[256];
	int fd;

	(void)state;
	table_set_init(&set);
	assert_int_equal(table_parse_builtin(&set, err, sizeof(err)), 0);
	assert_int_equal(parse_pool_create(&pool, &set), 0);
	assert_int_equal(code_file_open(&file, "/lib/x86_64-linux-gnu/libc.so.6"), 0);
	fd = code_file_reader(&file);
	assert_int_equal(plan_names_create(&names, &set), 0);
	assert_int_equal(plan_create(&direct, &set, names, fd, "libc.so.6", err, sizeof(err)), 0);
	assert_int_equal(parse_plan(pool, &file, "libc.so.6", &parsed, err, sizeof(err)), 0);
	assert_int_equal(parsed.npoints, direct.npoints);
	for (size_t i = 0; i < direct.npoints; i++)
		assert_int_equal(parsed.points[i].file_offset, direct.points[i].file_offset);
	assert_int_equal(parsed.nmissing, direct.nmissing);
	assert_int_equal(parsed.nlayers, direct.nlayers);
	plan_destroy(&parsed);
	plan_destroy(&direct);
	elf_names_destroy(names);
	assert_int_equal(parse_interpreter(pool, &file, interpreter, sizeof(interpreter), err, sizeof(err)), 0);
	assert_non_null(strstr(interpreter, "ld-linux"));
	close(fd);
	code_file_close(&file);
	parse_pool_destroy(pool);
	table_set_deinit(&set);
}

static void test_files_that_are_none(void **state)
{
	char path[] = "/tmp/ioprobe-parse-XXXXXX";
	struct table_set set = tables();
	struct parse_pool *pool;
	struct code_file file;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(parse_pool_create(&pool, &set), 0);
	assert_int_equal(code_file_open(&file, path), 0);
	expect_error(pool, &file, "x", -ENOEXEC, "not an ELF file");
	assert_int_equal(write(fd, "\177ELF and nothing else", 22), 22);
	expect_error(pool, &file, "x", -EINVAL, "ELF file");
	code_file_close(&file);
	assert_int_equal(code_file_open(&file, "/dev/null"), -EMEDIUMTYPE);
	assert_int_equal(code_file_open(&file, "/"), -EISDIR);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(code_file_open(&file, path), -EMEDIUMTYPE);
	unlink(path);
	close(fd);
	parse_pool_destroy(pool);
	table_set_deinit(&set);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan_there_and_back),
		cmocka_unit_test(test_malformed_plans),
		cmocka_unit_test(test_cut_plans),
		cmocka_unit_test(test_random_plans),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_hostile_processes),
		cmocka_unit_test(test_failures_are_bounded),
		cmocka_unit_test(test_plan_of_libc),
		cmocka_unit_test(test_files_that_are_none),
	};

	if (argc == 3 && !strcmp(argv[1], PARSE_COMMAND))
		return atoi(argv[2]) == HOSTILE ? hostile_main() : parse_process_main(argc - 1, argv + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
