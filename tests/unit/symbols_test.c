/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ELF symbols: the C library's against what the dynamic linker says, with and without section headers; this executable's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "elf/switchers.h"

#define COUNT(names) (sizeof(names) / sizeof((names)[0]))

/* ---- the C library ---- */

/* By its handle: a sanitizer's library stands before it in the global scope. */
static void *libc_handle(void)
{
	void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	assert_non_null(handle);
	dlclose(handle);        /* it stays anyway */
	return handle;
}

static uintptr_t libc_bias(const char **path)
{
	struct link_map *map;

	assert_int_equal(dlinfo(libc_handle(), RTLD_DI_LINKMAP, &map), 0);
	*path = map->l_name;
	return map->l_addr;
}

/* The descriptor stays open as long as the test runs. */
static int open_elf(struct elf_file **file, const char *path)
{
	const char *reason = NULL;
	int err = elf_file_open(file, open(path, O_RDONLY | O_CLOEXEC), &reason);

	assert_true(!err || reason);
	return err;
}

static struct elf_file *open_libc(uintptr_t *bias)
{
	struct elf_file *file;
	const char *path;

	*bias = libc_bias(&path);
	assert_int_equal(open_elf(&file, path), 0);
	return file;
}

static void test_versions(void **state)
{
	const char *names[] = { "realpath", "no_such_function_here", "fopen", "realpath" };
	struct elf_function *functions;
	struct elf_file *file;
	uintptr_t bias;
	size_t n;

	(void)state;
	file = open_libc(&bias);
	assert_int_equal(elf_file_functions(file, names, COUNT(names), &functions, &n), 0);
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++) {
		assert_true(functions[i].dynamic && functions[i].size && !functions[i].ifunc);
		if (functions[i].old_version)
			assert_int_equal(i, 2);         /* behind the default ones */
	}
	assert_string_equal(functions[2].name, "realpath");
	assert_true(functions[2].old_version);
	assert_int_equal(functions[2].vaddr + bias, (uintptr_t)dlvsym(libc_handle(), "realpath", "GLIBC_2.2.5"));
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(functions[i].vaddr + bias, (uintptr_t)dlsym(libc_handle(), functions[i].name));
	free(functions);
	elf_file_destroy(file);
}

static void test_ifunc(void **state)
{
	const char *names[] = { "strlen" };
	struct elf_function *functions;
	struct elf_file *file;
	uintptr_t bias;
	size_t n;

	(void)state;
	file = open_libc(&bias);
	assert_int_equal(elf_file_functions(file, names, COUNT(names), &functions, &n), 0);
	assert_int_equal(n, 1);
	assert_true(functions[0].ifunc);
	free(functions);
	elf_file_destroy(file);
}

/* The offset's bytes in the file are those of the running code. */
static void test_offsets(void **state)
{
	const char *names[] = { "fopen", "fputs", "fclose", "getdelim" }, *path;
	uintptr_t bias = libc_bias(&path);
	struct elf_function *functions;
	struct elf_file *file;
	uint8_t code[32], read_code[32];
	size_t n;
	int fd = open(path, O_RDONLY);

	(void)state;
	assert_int_equal(open_elf(&file, path), 0);
	assert_int_equal(elf_file_functions(file, names, COUNT(names), &functions, &n), 0);
	assert_true(n >= COUNT(names));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(pread(fd, code, sizeof(code), functions[i].file_offset), sizeof(code));
		assert_memory_equal(code, (void *)(bias + functions[i].vaddr), sizeof(code));
		assert_int_equal(elf_file_read(file, functions[i].vaddr, read_code, sizeof(read_code)), sizeof(read_code));
		assert_memory_equal(code, read_code, sizeof(code));
		assert_true(elf_file_code_begins_in(file, functions[i].vaddr - 1, functions[i].vaddr));
	}
	assert_int_equal(elf_file_read(file, UINT64_MAX - 100, code, sizeof(code)), -EFAULT);
	close(fd);
	free(functions);
	elf_file_destroy(file);
}

static void test_properties(void **state)
{
	const char *const *needed;
	struct elf_file *file;
	uint64_t vaddr, size;
	uintptr_t bias;

	(void)state;
	file = open_libc(&bias);
	assert_string_equal(elf_file_soname(file), "libc.so.6");
	assert_false(elf_file_is_static(file));
	assert_int_equal(elf_file_first_vaddr(file), 0);
	assert_int_equal(elf_file_needed(file, &needed), 1);
	assert_non_null(strstr(needed[0], "ld-linux"));
	assert_true(elf_file_object(file, "stdout", &vaddr, &size));
	assert_int_equal(vaddr + bias, (uintptr_t)dlsym(libc_handle(), "stdout"));
	assert_int_equal(size, sizeof(stdout));
	assert_false(elf_file_object(file, "stdou", &vaddr, &size));
	assert_false(elf_file_object(file, "fopen", &vaddr, &size));    /* a function */
	elf_file_destroy(file);
}

/* ---- without section headers ---- */

static void copy_without_sections(const char *path, const char *copy)
{
	int in = open(path, O_RDONLY), out = open(copy, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char buf[65536];
	Elf64_Ehdr header;
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		assert_int_equal(write(out, buf, n), n);
	assert_int_equal(pread(out, &header, sizeof(header), 0), sizeof(header));
	header.e_shoff = 0;
	header.e_shnum = header.e_shstrndx = 0;
	assert_int_equal(pwrite(out, &header, sizeof(header), 0), sizeof(header));
	close(in);
	close(out);
}

static void test_without_sections(void **state)
{
	static const char *const names[] = { "realpath", "fopen", "fputs", "strlen", "getc" };
	char copy[] = "/tmp/ioprobe-symbols-XXXXXX";
	struct elf_function *whole, *stripped;
	struct elf_file *file;
	const char *path;
	size_t nwhole, nstripped;

	(void)state;
	close(mkstemp(copy));
	libc_bias(&path);
	copy_without_sections(path, copy);
	assert_int_equal(open_elf(&file, path), 0);
	assert_int_equal(elf_file_functions(file, names, COUNT(names), &whole, &nwhole), 0);
	elf_file_destroy(file);
	assert_int_equal(open_elf(&file, copy), 0);
	assert_int_equal(elf_file_functions(file, names, COUNT(names), &stripped, &nstripped), 0);
	assert_string_equal(elf_file_soname(file), "libc.so.6");
	assert_false(elf_file_has_symtab(file));
	elf_file_destroy(file);
	assert_int_equal(nstripped, nwhole);
	for (size_t i = 0; i < nwhole; i++) {
		assert_string_equal(stripped[i].name, whole[i].name);
		assert_int_equal(stripped[i].file_offset, whole[i].file_offset);
		assert_int_equal(stripped[i].old_version, whole[i].old_version);
	}
	free(whole);
	free(stripped);
	unlink(copy);
}

/* Cut off anywhere, a file is read as far as it goes or refused, and nothing is read behind its end. */
static void test_truncated(void **state)
{
	static const char *const names[] = { "fopen" };
	char copy[] = "/tmp/ioprobe-symbols-XXXXXX";
	struct elf_function *functions;
	struct elf_file *file;
	const char *path;
	struct stat st;
	size_t n;

	(void)state;
	close(mkstemp(copy));
	libc_bias(&path);
	copy_without_sections(path, copy);
	assert_int_equal(stat(copy, &st), 0);
	for (off_t len = st.st_size; len > 16; len = len * 4 / 5) {
		assert_int_equal(truncate(copy, len), 0);
		if (open_elf(&file, copy))
			continue;
		if (!elf_file_functions(file, names, 1, &functions, &n))
			free(functions);
		elf_file_destroy(file);
	}
	unlink(copy);
}

/* ---- this executable ---- */

static int __attribute__((noinline, used)) local_of_this_test(int x) { return x + 1; }
int __attribute__((noinline)) global_of_this_test(int x);
int global_of_this_test(int x) { return x + 2; }
int alias_of_this_test(int x) __attribute__((alias("global_of_this_test")));
int object_of_this_test = 7;

static void test_own_executable(void **state)
{
	const char *names[] = { "local_of_this_test", "global_of_this_test", "alias_of_this_test", "object_of_this_test", "close" };
	struct elf_function *functions;
	struct elf_file *file;
	uint64_t vaddr, size, of_global = 0, of_alias = 0;
	size_t n;

	(void)state;
	assert_int_equal(open_elf(&file, "/proc/self/exe"), 0);
	assert_true(elf_file_has_symtab(file));
	assert_non_null(elf_file_interpreter(file));
	assert_false(elf_file_is_static(file));
	assert_null(elf_file_soname(file));
	assert_int_equal(elf_file_functions(file, names, COUNT(names) - 1, &functions, &n), 0);
	assert_int_equal(n, 3);         /* the object is no function */
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(functions[i].name, "global_of_this_test"))
			of_global = functions[i].vaddr;
		if (!strcmp(functions[i].name, "alias_of_this_test"))
			of_alias = functions[i].vaddr;
	}
	assert_true(of_global);
	assert_int_equal(of_global, of_alias);
	free(functions);
	assert_int_equal(elf_file_functions(file, names + 4, 1, &functions, &n), 0);
#ifndef __SANITIZE_ADDRESS__            /* whose run-time library defines close itself where it is linked in */
	assert_int_equal(n, 0);         /* imported only */
#endif
	free(functions);
	assert_true(elf_file_object(file, "object_of_this_test", &vaddr, &size));
	assert_int_equal(size, sizeof(int));
	elf_file_destroy(file);
}

/* What was found in one file must not hide the functions of the next one: a local function counts if it is the only one of its
 * name, and if no global one has it. */
static void test_names_of_many_files(void **state)
{
	const char *names[] = { "local_of_this_test", "global_of_this_test" };
	struct elf_function *functions;
	struct elf_names *set;
	struct elf_file *file;
	size_t n;

	(void)state;
	assert_int_equal(open_elf(&file, "/proc/self/exe"), 0);
	assert_int_equal(elf_names_create(&set, names, COUNT(names)), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(elf_file_find_functions(file, set, &functions, &n), 0);
		assert_int_equal(n, 2);
		free(functions);
	}
	elf_names_destroy(set);
	elf_file_destroy(file);
}

static void test_static_executable(void **state)
{
	struct elf_file *file, *linker;

	(void)state;
	if (open_elf(&file, "/sbin/ldconfig")) {
		print_message("no /sbin/ldconfig here, which is a static executable elsewhere\n");
		skip();
	}
	assert_int_equal(elf_file_is_static(file), !elf_file_interpreter(file));
	elf_file_destroy(file);
	assert_int_equal(open_elf(&file, "/proc/self/exe"), 0);
	assert_int_equal(open_elf(&linker, elf_file_interpreter(file)), 0);
	assert_false(elf_file_is_static(linker));       /* the dynamic linker needs nothing, too */
	elf_file_destroy(linker);
	elf_file_destroy(file);
}

static void test_no_elf_file(void **state)
{
	char path[] = "/tmp/ioprobe-symbols-XXXXXX";
	struct elf_file *file;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(open_elf(&file, "/nonexistent"), -EBADF);
	assert_int_equal(open_elf(&file, path), -ENOEXEC);
	assert_int_equal(write(fd, "\177ELF\001\001\001 and more of nothing, at least as long as a header is", 60), 60);
	assert_int_equal(open_elf(&file, path), -EINVAL);       /* of the 32-bit class */
	close(fd);
	unlink(path);
}

/* ---- stack switchers ---- */

void (*volatile imported)(ucontext_t *, void (*)(void), int, ...) = makecontext;

static void test_switchers(void **state)
{
	const char *const names[] = { "makecontext", "swapcontext", "no_such_function_here" };
	bool mentioned[COUNT(names)];
	struct elf_file *libc, *own;
	uintptr_t bias;

	(void)state;
	libc = open_libc(&bias);
	assert_int_equal(open_elf(&own, "/proc/self/exe"), 0);
	elf_file_mentions(own, names, COUNT(names), mentioned);
	assert_true(mentioned[0] && !mentioned[1] && !mentioned[2]);
	elf_file_mentions(libc, names, COUNT(names), mentioned);
	assert_true(mentioned[0] && mentioned[1] && !mentioned[2]);
	assert_int_equal(elf_file_switching(own, "program"), SHARES_STACK);
	assert_int_equal(elf_file_switching(own, "libcrypto.so.3"), SWITCHES_NO_STACKS);
	assert_int_equal(elf_file_switching(libc, "libc.so.6"), SWITCHES_NO_STACKS);
	assert_int_equal(elf_file_switching(libc, "_greenlet.cpython-311-x86_64-linux-gnu.so"), SHARES_STACK);
	elf_file_destroy(own);
	elf_file_destroy(libc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_ifunc),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_without_sections),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_own_executable),
		cmocka_unit_test(test_names_of_many_files),
		cmocka_unit_test(test_static_executable),
		cmocka_unit_test(test_no_elf_file),
		cmocka_unit_test(test_switchers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
