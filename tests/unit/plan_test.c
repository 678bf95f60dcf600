/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Probe plans of this executable, whose functions below play a library, and of the C library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/plan.h"
#include "elf/symbols.h"

/* ---- the library ---- */

/* demo_open: endbr64 before the push. demo_close: ditto, but jumped into. demo_jump: a thunk. demo_old: another name of
 * demo_open. */
__asm__(".text\n"
	".globl demo_open, demo_old\n.type demo_open, @function\n.type demo_old, @function\n"
	"demo_open: demo_old:\n\tendbr64\n\tpush %rbx\n\tpop %rbx\n\tret\n"
	".size demo_open, .-demo_open\n.size demo_old, .-demo_old\n"
	".globl demo_close\n.type demo_close, @function\n"
	"demo_close:\n\tendbr64\n1:\n\tpush %rbx\n\tpop %rbx\n\tjne 1b\n\tret\n.size demo_close, .-demo_close\n"
	".globl demo_jump\n.type demo_jump, @function\n"
	"demo_jump:\n\tendbr64\n\tjmp demo_read\n.size demo_jump, .-demo_jump\n"
	".globl demo_read\n.type demo_read, @function\n"
	"demo_read:\n\tpush %rbx\n\tpop %rbx\n\tret\n.size demo_read, .-demo_read\n"
	".globl demo_write\n.type demo_write, @function\n"
	"demo_write:\n\tmov %esi, %edi\n\tpush %rbx\n\tpop %rbx\n\tret\n.size demo_write, .-demo_write\n"
	".globl demo_trap\n.type demo_trap, @function\n"
	"demo_trap:\n\tint3\n\tret\n.size demo_trap, .-demo_trap\n"
	".globl demo_two, demo_two_inner\n.type demo_two, @function\n.type demo_two_inner, @function\n"
	"demo_two:\n\txor %eax, %eax\ndemo_two_inner:\n\tpush %rbx\n\tpop %rbx\n\tret\n"
	".size demo_two, .-demo_two\n.size demo_two_inner, .-demo_two_inner\n");

int demo_world, demo_parallel_build_symbol(void);
int demo_stream[4];
void *demo_pointer = (void *)0x1234, *demo_empty;
int demo_parallel_build_symbol(void) { return 1; }
const char demo_version[] = "DEMO3 library version 3.14.1-2, a good one";

#define ROWS \
	"demo_open open path -> handle\n" \
	"demo_close close handle -> status\n" \
	"demo_jump read handle -> status\n" \
	"demo_read read handle -> status\n" \
	"demo_write write handle offset -> status\n" \
	"demo_old open path -> handle\n" \
	"demo_trap sync handle -> status\n" \
	"demo_two sync handle -> status\n" \
	"demo_not_there sync handle -> status\n"

static struct table_set parse(const char *head)
{
	struct table_set set;
	char *text, err[256];

	table_set_init(&set);
	assert_true(asprintf(&text, "layer demo\n  paradigm demo \"demo\" %s\n  success zero\n  handles pointer\n\n" ROWS, head) >
		    0);
	if (table_parse(&set, "demo.probes", text, err, sizeof(err)))
		fail_msg("%s", err);
	free(text);
	return set;
}

static int plan_path(struct plan *plan, const struct table_set *set, const char *path, const char *name, char *err, size_t err_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;
	struct elf_names *names;

	assert_int_equal(plan_names_create(&names, set), 0);
	ret = plan_create(plan, set, names, fd, name, err, err_len);
	elf_names_destroy(names);
	close(fd);
	return ret;
}

static struct plan plan_self(const struct table_set *set, const char *name)
{
	struct plan plan;
	char err[256];

	if (plan_path(&plan, set, "/proc/self/exe", name, err, sizeof(err)))
		fail_msg("%s", err);
	return plan;
}

static const struct plan_point *point_of(const struct plan *plan, const char *function)
{
	for (size_t i = 0; i < plan->npoints; i++)
		if (!strcmp(plan->points[i].function, function))
			return &plan->points[i];
	return NULL;
}

static const char *missing_reason(const struct table_set *set, const struct plan *plan, const char *function)
{
	for (size_t i = 0; i < plan->nmissing; i++)
		if (!strcmp(set->rows[plan->missing[i].row].name, function))
			return plan->missing[i].reason;
	return NULL;
}

static void expect_point(const struct plan *plan, const char *function, enum placement_kind kind, uint32_t offset,
			 const void *address)
{
	const struct plan_point *point = point_of(plan, function);
	uint8_t code[4], in_file[4];
	int fd = open("/proc/self/exe", O_RDONLY);

	assert_non_null(point);
	assert_int_equal(point->placement.kind, kind);
	assert_int_equal(point->placement.offset, offset);
	assert_int_equal(pread(fd, in_file, sizeof(in_file), point->file_offset), sizeof(in_file));
	memcpy(code, (const char *)address + offset, sizeof(code));
	assert_memory_equal(in_file, code, sizeof(code));
	close(fd);
}

void demo_open(void), demo_close(void), demo_read(void), demo_write(void), demo_two(void);

static void test_points(void **state)
{
	struct table_set set = parse("serial\n  libraries libdemo.so*");
	struct plan plan = plan_self(&set, "libdemo.so.3");

	(void)state;
	assert_int_equal(plan.npoints, 5);
	expect_point(&plan, "demo_open", PLACED_MOVED, 4, demo_open);
	expect_point(&plan, "demo_close", PLACED_SINGLE_STEP, 0, demo_close);
	expect_point(&plan, "demo_read", PLACED_ENTRY, 0, demo_read);
	expect_point(&plan, "demo_write", PLACED_SINGLE_STEP, 0, demo_write);
	expect_point(&plan, "demo_two", PLACED_SINGLE_STEP, 0, demo_two);
	assert_string_equal(point_of(&plan, "demo_two")->placement.reason, "another symbol inside");
	assert_null(point_of(&plan, "demo_old"));       /* an alias */
	assert_null(point_of(&plan, "demo_jump"));      /* goes on to demo_read, which has a point */
	assert_int_equal(plan.nmissing, 3);
	assert_string_equal(missing_reason(&set, &plan, "demo_jump"), PLAN_JUMPS);
	assert_string_equal(missing_reason(&set, &plan, "demo_not_there"), "not in this file");
	assert_non_null(strstr(missing_reason(&set, &plan, "demo_trap"), "refuses"));
	plan_destroy(&plan);
	table_set_deinit(&set);
}

static void test_layer_facts(void **state)
{
	struct table_set set = parse(
		"parallel-if defines:demo_parallel_build_symbol\n  libraries libdemo.so*\n  version demo_version\n"
		"  comm world symbol:demo_world\n  comm self symbol:demo_nowhere\n"
		"  stream stdin symbol:demo_stream\n  stream stdout pointer:demo_pointer\n  stream stderr pointer:demo_empty");
	struct plan plan = plan_self(&set, "libdemo.so.3");
	struct link_map *map;
	Dl_info info;

	(void)state;
	assert_true(dladdr1(&demo_world, &info, (void **)&map, RTLD_DL_LINKMAP) != 0);
	assert_int_equal(plan.nlayers, 1);
	assert_true(plan.layers[0].parallel);
	assert_string_equal(plan.layers[0].version, "3.14.1-2");
	assert_int_equal(plan.comm_vaddr[TABLE_COMM_WORLD], (uintptr_t)&demo_world - map->l_addr);
	assert_int_equal(plan.comm_vaddr[TABLE_COMM_SELF], 0);
	assert_int_equal(plan.stream_vaddr[TABLE_STDIN], (uintptr_t)demo_stream - map->l_addr);
	assert_int_equal(plan.stream_vaddr[TABLE_STDOUT], 0x1234);
	assert_int_equal(plan.stream_vaddr[TABLE_STDERR], 0);
	assert_false(plan.stripped_static);
	assert_int_equal(plan.rendezvous_offset, 0);
	plan_destroy(&plan);
	table_set_deinit(&set);

	set = parse("parallel-if defines:demo_nowhere\n  libraries libdemo.so*");
	plan = plan_self(&set, "libdemo.so.3");
	assert_false(plan.layers[0].parallel);
	plan_destroy(&plan);
	table_set_deinit(&set);
}

/* ---- which files provide a layer ---- */

/* Under another name by content, and then without a word on what was not linked in. */
static void test_by_content(void **state)
{
	struct table_set set = parse("serial\n  libraries libdemo.so*");
	struct plan plan = plan_self(&set, "application");

	(void)state;
	assert_int_equal(plan.npoints, 5);
	assert_int_equal(plan.nmissing, 2);     /* demo_trap and demo_jump */
	assert_null(missing_reason(&set, &plan, "demo_not_there"));
	plan_destroy(&plan);
	table_set_deinit(&set);
}

/* Not a file that needs the layer's library itself: it wraps its functions. */
static void test_wrapper(void **state)
{
	struct table_set set = parse("serial\n  libraries libdemo.so* libc.so.*");
	struct plan plan = plan_self(&set, "libtool.so");

	(void)state;
	assert_int_equal(plan.npoints + plan.nlayers + plan.nmissing, 0);
	plan_destroy(&plan);
	table_set_deinit(&set);
}

/* Nor a dynamic file that defines some of the functions of what everybody maps. */
static void test_per_process_layer_by_content(void **state)
{
	struct table_set set = parse("serial\n  libraries libdemo.so*\n  per-process");
	struct plan plan = plan_self(&set, "application");

	(void)state;
	assert_int_equal(plan.npoints + plan.nlayers + plan.nmissing, 0);
	plan_destroy(&plan);
	plan = plan_self(&set, "libdemo.so");
	assert_int_equal(plan.npoints, 5);
	plan_destroy(&plan);
	table_set_deinit(&set);
}

/* A file that only imports a layer's functions. */
static void test_importer(void **state)
{
	static const char text[] =
		"layer c\n  paradigm c \"c\" serial\n  libraries libc.so.6\n  success zero\n  handles pointer\n\n"
		"fopen64 open path -> handle\nfclose close handle -> status\n";
	struct table_set set;
	struct plan plan;
	char err[256];

	(void)state;
	table_set_init(&set);
	assert_int_equal(table_parse(&set, "c.probes", text, err, sizeof(err)), 0);
	plan = plan_self(&set, "libc.so.6");
	assert_int_equal(plan.npoints + plan.nlayers, 0);
	plan_destroy(&plan);
	table_set_deinit(&set);
}

/* ---- real libraries with the tables of this program ---- */

static struct plan plan_loaded(const struct table_set *set, const char *library)
{
	void *handle = dlopen(library, RTLD_LAZY);
	const char *slash;
	struct link_map *map;
	struct plan plan;
	char err[256];

	assert_non_null(handle);
	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	slash = strrchr(map->l_name, '/');
	if (plan_path(&plan, set, map->l_name, slash ? slash + 1 : map->l_name, err, sizeof(err)))
		fail_msg("%s", err);
	return plan;
}

static void test_builtin_tables(void **state)
{
	struct table_set set;
	struct plan plan;
	char err[256];

	(void)state;
	table_set_init(&set);
	assert_int_equal(table_parse_builtin(&set, err, sizeof(err)), 0);
	plan = plan_loaded(&set, "libc.so.6");
	assert_non_null(point_of(&plan, "fopen"));
	assert_null(point_of(&plan, "fopen64"));        /* the same code */
	assert_int_equal(plan.nlayers,
			 point_of(&plan, "aio_read") ? 3 : 2); /* streams, longjmp, since glibc 2.34 asynchronous I/O */
	for (size_t i = 0; i < plan.npoints; i++)
		for (size_t j = 0; j < i; j++)
			assert_true(plan.points[i].file_offset != plan.points[j].file_offset);
	plan_destroy(&plan);
	plan = plan_loaded(&set, "ld-linux-x86-64.so.2");
	assert_int_equal(plan.npoints, 0);
	assert_true(plan.rendezvous_offset > 0);
	plan_destroy(&plan);
	table_set_deinit(&set);
}

static void test_files_that_are_none(void **state)
{
	struct table_set set = parse("serial\n  libraries libdemo.so*");
	char path[] = "/tmp/ioprobe-plan-XXXXXX", err[256];
	int fd = mkstemp(path);
	struct plan plan;

	(void)state;
	assert_int_equal(plan_path(&plan, &set, path, "x", err, sizeof(err)), -ENOEXEC);
	assert_string_equal(err, "not an ELF file");
	assert_int_equal(plan.npoints + plan.nlayers + plan.nmissing, 0);
	plan_destroy(&plan);
	assert_int_equal(write(fd, "\177ELF and nothing else", 22), 22);
	assert_int_equal(plan_path(&plan, &set, path, "x", err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "ELF file"));
	unlink(path);
	assert_int_equal(plan_path(&plan, &set, path, "x", err, sizeof(err)), -EBADF);
	plan_destroy(&plan);
	close(fd);
	table_set_deinit(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_points),
		cmocka_unit_test(test_layer_facts),
		cmocka_unit_test(test_by_content),
		cmocka_unit_test(test_wrapper),
		cmocka_unit_test(test_per_process_layer_by_content),
		cmocka_unit_test(test_importer),
		cmocka_unit_test(test_builtin_tables),
		cmocka_unit_test(test_files_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
