/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Inputs that once failed a fuzz target (tests/data/fuzz/TARGET), fed to the same function: none may crash, and with SANITIZE=1
 * none may be found fault with. Runs in the source directory, as tests/run does.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../fuzz/fuzz.h"

#define INPUTS "tests/data/fuzz"

static const struct { const char *name; int (*run)(const uint8_t *data, size_t size); } targets[] = {
#define TARGET(name) { #name, fuzz_##name },
	FUZZ_TARGETS(TARGET)
};

static void run_file(const char *path, int (*run)(const uint8_t *data, size_t size))
{
	FILE *file = fopen(path, "re");
	uint8_t *data;
	long size;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	rewind(file);
	data = malloc(size + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, size, file), size);
	fclose(file);
	run(data, size);
	free(data);
}

static void inputs_that_failed(void **state)
{
	char path[4096];
	unsigned n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct dirent *entry;
		DIR *dir;

		snprintf(path, sizeof(path), INPUTS "/%s", targets[i].name);
		dir = opendir(path);
		while (dir && (entry = readdir(dir))) {
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), INPUTS "/%s/%s", targets[i].name, entry->d_name);
			run_file(path, targets[i].run);
			n++;
		}
		if (dir)
			closedir(dir);
	}
	assert_true(n > 0);
}

/* Every target takes nothing and one byte. */
static void short_inputs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		targets[i].run((const uint8_t *)"", 0);
		targets[i].run((const uint8_t *)"\1", 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(inputs_that_failed), cmocka_unit_test(short_inputs) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
