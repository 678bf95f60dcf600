/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Folding of long lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/fold.h"

static void folded(const char *text, size_t width, const char *wanted, size_t lines)
{
	char *got = NULL;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	assert_non_null(out);
	assert_int_equal(report_fold(out, text, width), lines);
	fclose(out);
	assert_string_equal(got, wanted);
	assert_int_equal(report_fold(NULL, text, width), lines);
	free(got);
}

static void short_lines_stay(void **state)
{
	(void)state;
	folded("", 20, "", 0);
	folded("one\n\ntwo\n", 20, "one\n\ntwo\n", 3);
	folded("12345678901234567890\n", 20, "12345678901234567890\n", 1);
}

static void folds_at_blanks(void **state)
{
	(void)state;
	folded("label    one two three\n", 20, "label    one two\n         three\n", 2);
	folded("     one two three four\n", 20, "     one two three\n     four\n", 2);
	folded(" 1 HIGH title costs much\n", 20, " 1 HIGH title costs\n     much\n", 2);
}

static void cuts_what_has_no_blank(void **state)
{
	(void)state;
	folded("     /abcdefghijklmnopqrstuvwxyz\n", 20, "     /abcdefghijklmn\n     opqrstuvwxyz\n", 2);
}

/* Characters of several bytes and colours. */
static void counts_columns(void **state)
{
	(void)state;
	folded("     \303\244\303\266\303\274 \303\244\303\266\303\274 \303\244\303\266\303\274 x\n", 18,
	       "     \303\244\303\266\303\274 \303\244\303\266\303\274 \303\244\303\266\303\274 x\n", 1);
	folded("\33[1;31mHIGH\33[0m 56789\n", 10, "\33[1;31mHIGH\33[0m 56789\n", 1);
	folded("\33[1;31mHIGH", 10, "\33[1;31mHIGH\n", 1);
	folded("\33", 10, "\33\n", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_lines_stay), cmocka_unit_test(folds_at_blanks), cmocka_unit_test(cuts_what_has_no_blank),
		cmocka_unit_test(counts_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
