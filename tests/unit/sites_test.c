/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Call sites without a kernel: rules and symbols of this very program, which packages are looked through, names of symbols.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "parse/code_parser.h"
#include "symbol/demangle.h"
#include "symbol/packages.h"
#include "symbol/symbols_of_file.h"
#include "symbol/unwind.h"

/* The place in this program's file of an address. */
static uint64_t offset_of(const void *address)
{
	unsigned long long start, end, offset, wanted = (uintptr_t)address;
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t found = 0;
	char line[512];

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3 && wanted >= start && wanted < end)
			found = wanted - start + offset;
	fclose(maps);
	assert_true(found > 0);
	return found;
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static __attribute__((noinline)) uint64_t place_here(void)
{
	return offset_of(__builtin_return_address(0));
}

static void rules_of_functions(void **state)
{
	struct unwind_file *file;
	const char *reason;
	struct iop_site_rule rule;
	int fd = open_self();
	uint8_t id[SYMBOL_MAX_BUILD_ID];

	(void)state;
	assert_int_equal(unwind_file_open(&file, fd, &reason), 0);
	close(fd);
	rule = unwind_file_rule(file, place_here());
	assert_true(rule.kind == IOP_RULE_SP || rule.kind == IOP_RULE_BP);
	assert_true(rule.cfa >= 16);
	assert_int_equal(rule.flags, 0);
	rule = unwind_file_rule(file, 8);       /* no code */
	assert_int_equal(rule.kind, IOP_RULE_END);
	assert_int_equal(rule.flags, IOP_RULE_TRUNCATED);
	rule = unwind_file_rule(file, UINT64_MAX);
	assert_int_equal(rule.flags, IOP_RULE_TRUNCATED);
	assert_true(unwind_file_build_id(file, id, sizeof(id)) >= 16);
	unwind_file_destroy(file);
}

static void no_elf_file(void **state)
{
	struct symbols_of_file *symbols;
	struct unwind_file *file;
	const char *reason = NULL;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(unwind_file_open(&file, fd, &reason), -ENOEXEC);
	assert_non_null(reason);
	assert_int_equal(symbols_of_file_open(&symbols, fd, NULL, NULL), -ENOEXEC);     /* takes fd over */
}

static void lines_of_functions(void **state)
{
	struct symbol_frame frames[SYMBOL_MAX_FRAMES];
	struct symbols_of_file *symbols;
	size_t n;

	(void)state;
	assert_int_equal(symbols_of_file_open(&symbols, open_self(), NULL, NULL), 0);
	n = symbols_of_file_at(symbols, place_here() - 1, frames);
	assert_true(n >= 1);
	assert_string_equal(frames[n - 1].function, __func__);
	assert_non_null(strstr(frames[n - 1].file, "sites_test.c"));
	assert_true(frames[n - 1].line >= __LINE__ - 5 && frames[n - 1].line <= __LINE__);
	assert_int_equal(symbols_of_file_at(symbols, 8, frames), 0);
	symbols_of_file_destroy(symbols);
}

/* What the parser process answers. */
static void answers(void **state)
{
	struct code_parser parser = { 0 };
	char offsets[64];
	const char *reason;
	void *payload;
	int fd = open_self();
	size_t len;

	(void)state;
	snprintf(offsets, sizeof(offsets), "%llx,8", (unsigned long long)place_here() - 1);
	assert_int_equal(code_parser_symbols(&parser, fd, offsets, &payload, &len, &reason), 0);
	assert_int_equal(strlen(payload), len);
	assert_non_null(strstr(payload, "frame\tanswers\t"));
	assert_non_null(strstr(payload, "at\t8\t1\t"));
	free(payload);
	assert_int_equal(code_parser_rule(&parser, fd, "8", &payload, &len, &reason), 0);
	assert_int_equal(len, sizeof(struct iop_site_rule));
	free(payload);
	assert_int_equal(code_parser_build_id(&parser, fd, &payload, &len, &reason), 0);
	assert_true(len >= 32);
	free(payload);
	close(fd);
	unwind_file_destroy(parser.files[0].unwind);
	symbols_of_file_destroy(parser.symbols);
}

/* The parser opens a file again whose symbols take too much memory, and answers the same. */
static void answers_with_little_memory(void **state)
{
	struct code_parser parser = { 0 };
	char offsets[64], *first, *second;
	const char *reason;
	int fd = open_self();
	size_t len;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip();         /* its allocator does not count */
#endif
	snprintf(offsets, sizeof(offsets), "%llx", (unsigned long long)place_here() - 1);
	assert_int_equal(code_parser_symbols(&parser, fd, offsets, (void **)&first, &len, &reason), 0);
	assert_non_null(parser.symbols);
	parser.symbols_max_bytes = 1;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(code_parser_symbols(&parser, fd, offsets, (void **)&second, &len, &reason), 0);
		assert_null(parser.symbols);
		assert_string_equal(first, second);
		free(second);
	}
	free(first);
	close(fd);
}

static void looked_through(void **state)
{
	struct table_set set;

	(void)state;
	table_set_init(&set);
	assert_true(packages_look_through(&set, "/usr/lib/x86_64-linux-gnu/libc.so.6"));
	assert_true(packages_look_through(&set, "/lib64/libgfortran.so.5.0.0"));
	assert_true(packages_look_through(&set, "/usr/lib/python3/dist-packages/h5py/_hl/defs.so"));
	assert_true(packages_look_through(&set, "/usr/bin/python3.11"));
	assert_false(packages_look_through(&set, "/home/user/libcode.so"));
	assert_false(packages_look_through(&set, "/home/user/app"));
	table_set_deinit(&set);
}

static void check_name(const char *symbol, const char *wanted)
{
	char *name = symbol_demangle(symbol);

	assert_non_null(name);
	assert_string_equal(name, wanted);
	free(name);
}

static void names_of_symbols(void **state)
{
	(void)state;
	check_name("main", "main");
	check_name("__writer_MOD_write_field", "writer::write_field");
	check_name("__MOD_", "__MOD_");
	check_name("_Znonsense", "_Znonsense");
	check_name("", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_of_functions), cmocka_unit_test(no_elf_file), cmocka_unit_test(lines_of_functions),
		cmocka_unit_test(answers), cmocka_unit_test(answers_with_little_memory), cmocka_unit_test(looked_through),
		cmocka_unit_test(names_of_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
