/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What filters excluded of each process, where its number is reused, and where the process is not known.
 */
#include "replay_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void excluded(uint64_t time_ns, const char *layer, unsigned pid, unsigned calls, uint64_t since_ns)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "filter=--min-bytes 10\nlayer=%s\npid=%u\nsince_ns=%llu\ncalls=%u\nread_bytes=1\nwritten_bytes=2\nunknown=3\n"
		 "time_ns=%u\n",
		 layer, pid, (unsigned long long)since_ns, calls, 10 * calls);
	sb_text(&sb, IOP_REC_LEFT_OUT, 0, time_ns, text, NULL);
}

/* "LAYER:calls/ns " of a process' parts, newest first; a process' number is that of its tgid's n-th process. */
static const char *parts_of(uint32_t tgid, unsigned nth)
{
	static char text[256];
	size_t len = 0;

	text[0] = 0;
	for (size_t g = 0; g < sb.model.groups.n; g++) {
		if (sb.model.groups.v[g].tgid != tgid || nth--)
			continue;
		for (uint32_t i = sb.model.processes.v[g].excluded; i; i = sb.model.excluded_parts.v[i - 1].next) {
			const struct model_excluded_part *p = &sb.model.excluded_parts.v[i - 1];

			assert_int_equal(p->group, g);
			len += snprintf(text + len, sizeof(text) - len, "%s:%llu/%llu ", sb.model.excluded.v[p->entry].layer,
					(unsigned long long)p->calls, (unsigned long long)p->time_ns);
		}
	}
	return text;
}

static void of_each_process(void **state)
{
	(void)state;
	sb_open(&sb, 100, 1, 2, 0, 3, "/f", 0);
	sb_open(&sb, 200, 3, 4, 0, 3, "/f", 0);
	excluded(10, "POSIX", 100, 5, 0);
	excluded(10, "POSIX", 200, 7, 0);
	excluded(20, "POSIX", 100, 1, 10);
	excluded(20, "ISOC", 100, 2, 10);
	excluded(20, "POSIX", 300, 4, 10);      /* no record of it */
	sb_text(&sb, IOP_REC_LEFT_OUT, 0, 30, "filter=--min-bytes 10\nlayer=POSIX\ncalls=9\ntime_ns=90\n", NULL);
	replay();
	assert_string_equal(parts_of(100, 0), "ISOC:2/20 POSIX:6/60 ");
	assert_string_equal(parts_of(200, 0), "POSIX:7/70 ");
	assert_int_equal(sb.model.excluded.n, 2);
	assert_int_equal(sb.model.excluded.v[0].calls, 26);
	assert_int_equal(sb.model.excluded.v[0].time_ns, 260);
	assert_int_equal(sb.model.excluded_parts.n, 3);
	assert_int_equal(sb.model.excluded_parts.v[0].read_bytes, 2);
	assert_int_equal(sb.model.excluded_parts.v[0].written_bytes, 4);
	assert_int_equal(sb.model.excluded_parts.v[0].unknown, 6);
}

/* What was counted since a moment before the second process began may be of the first one. */
static void of_a_reused_number(void **state)
{
	(void)state;
	sb_fork(&sb, 100, 5, 200);
	sb_open(&sb, 200, 6, 7, 0, 3, "/f", 0);
	excluded(10, "POSIX", 200, 1, 4);
	sb_task_exit(&sb, 200, 12, true);
	excluded(14, "POSIX", 200, 2, 10);      /* written after its end */
	sb_fork(&sb, 100, 22, 200);
	sb_open(&sb, 200, 23, 24, 0, 3, "/f", 0);
	excluded(30, "POSIX", 200, 4, 14);
	excluded(40, "POSIX", 200, 8, 30);
	sb_replay(&sb);
	assert_int_equal(sb.ret, 0);
	assert_string_equal(parts_of(200, 0), "POSIX:3/30 ");
	assert_string_equal(parts_of(200, 1), "POSIX:8/80 ");
	assert_int_equal(sb.model.excluded.v[0].calls, 15);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, sb_setup, sb_teardown)
	const struct CMUnitTest tests[] = { TEST(of_each_process), TEST(of_a_reused_number) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
