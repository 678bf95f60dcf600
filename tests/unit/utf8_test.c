/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Names of files, programs and tables as they are shown: nothing in them may command a terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "util/utf8.h"

static void test_printable(void **state)
{
	static const struct { const char *text, *printable; } cases[] = {
		{ "", "" },
		{ "a b", "a b" },
		{ "\xc3\xa9\xe2\x82\xac", "\xc3\xa9\xe2\x82\xac" },
		{ "\033[2J\n\177", "\\x1b[2J\\x0a\\x7f" },
		{ "\xc2\x9b" "31m", "\\xc2\\x9b31m" },          /* U+009B: CSI */
		{ "\xc2\xa0", "\xc2\xa0" },
		{ "a\xff" "b\xc2", "a\\xffb\\xc2" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },          /* a surrogate */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *printable = utf8_printable(cases[i].text);

		assert_string_equal(printable, cases[i].printable);
		assert_true(utf8_valid(printable));
		free(printable);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_printable) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
