/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What processes have mapped: records of it in the model, and our own mappings with their build-ids.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/procfs.h"
#include "elf/build_id.h"
#include "replay_fixture.h"

#define LIBC "start=1000\nend=3000\noffset=800\npath=/lib/libc.so\ndev=8\nino=77\nbuild_id=00ff\nsince_ns=5\n"
#define TOOL "start=a000\nend=b000\noffset=0\npath=/bin/t\\x0a\ndeleted=1\ndev=8\nino=78\n"

static void records(void **state)
{
	const struct model_mapping *mapping;
	const struct model_code_file *file;

	(void)state;
	sb_text(&sb, IOP_REC_MAPPING, 100, 10, LIBC, NULL);
	sb_text(&sb, IOP_REC_MAPPING, 100, 10, TOOL, NULL);
	sb_text(&sb, IOP_REC_MAPPING, 200, 11, LIBC, NULL);
	sb_text(&sb, IOP_REC_MAPPING, 200, 12, "start=5000\nend=4000\noffset=0\npath=/x\n", NULL);
	sb_text(&sb, IOP_REC_MAPPING, 200, 12, "start=5000\nend=6z00\noffset=0\npath=/x\n", NULL);
	sb_text(&sb, IOP_REC_MAPPING, 200, 12, "start=5000\nend=6000\noffset=0\n", NULL);
	replay();
	assert_int_equal(sb.model.mappings.n, 3);
	assert_int_equal(sb.model.code_files.n, 2);
	mapping = &sb.model.mappings.v[0];
	assert_int_equal(mapping->start, 0x1000);
	assert_int_equal(mapping->end, 0x3000);
	assert_int_equal(mapping->offset, 0x800);
	assert_int_equal(mapping->since_ns, 5);
	assert_int_equal(mapping->noted_ns, 10);
	assert_int_equal(sb.model.groups.v[mapping->group].tgid, 100);
	assert_int_equal(sb.model.groups.v[sb.model.mappings.v[2].group].tgid, 200);
	assert_int_equal(sb.model.mappings.v[2].code_file, mapping->code_file);
	file = &sb.model.code_files.v[mapping->code_file];
	assert_string_equal(file->path, "/lib/libc.so");
	assert_string_equal(file->build_id, "00ff");
	assert_int_equal(file->ino, 77);
	file = &sb.model.code_files.v[1];
	assert_string_equal(file->path, "/bin/t\n");
	assert_null(file->build_id);
	assert_true(file->deleted);
}

/* Our own program, as readelf shows it. */
static void own_build_id(void **state)
{
	char expected[2 * BUILD_ID_MAX + 1] = "", text[2 * BUILD_ID_MAX + 1] = "";
	FILE *readelf = popen("readelf -n /proc/$PPID/exe 2>&1 | sed -n 's/.*Build ID: //p'", "r");
	int fd = open("/proc/self/exe", O_RDONLY);
	uint8_t id[BUILD_ID_MAX];
	struct elf_file *file;
	const char *reason;
	size_t len;

	(void)state;
	assert_non_null(readelf);
	if (!fgets(expected, sizeof(expected), readelf))
		expected[0] = 0;
	pclose(readelf);
	expected[strcspn(expected, "\n")] = 0;
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(&file, fd, &reason), 0);
	len = elf_file_build_id(file, id);
	elf_file_destroy(file);
	close(fd);
	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", id[i]);
	assert_string_equal(text, expected);
}

/* Every mapping with PROT_EXEC of a file is there, with the file that it is of. */
static void own_mappings(void **state)
{
	const uint64_t here = (uint64_t)(uintptr_t)own_mappings, libc = (uint64_t)(uintptr_t)strtoull;
	struct proc_modules modules;
	int found = 0;

	(void)state;
	assert_int_equal(proc_modules_read(getpid(), &modules), 0);
	assert_true(modules.nmappings >= modules.n);
	for (size_t i = 0; i < modules.nmappings; i++) {
		const struct proc_mapping *mapping = &modules.mappings[i];

		assert_true(mapping->module < modules.n && mapping->start < mapping->end);
		found += here >= mapping->start && here < mapping->end;
		found += libc >= mapping->start && libc < mapping->end;
	}
	assert_int_equal(found, 2);
	proc_modules_free(&modules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records, sb_setup, sb_teardown),
		cmocka_unit_test(own_build_id),
		cmocka_unit_test(own_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
