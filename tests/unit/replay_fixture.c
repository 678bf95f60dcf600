/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One spool for each test of a replay (see replay_fixture.h).
 */
#include "replay_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

struct sb sb;

int sb_setup(void **state)
{
	(void)state;
	sb_begin(&sb);
	return 0;
}

int sb_teardown(void **state)
{
	(void)state;
	sb_end(&sb);
	return 0;
}

void replay(void)
{
	sb_replay(&sb);
	if (sb.ret)
		fail_msg("replay: %s", sb.err);
}

void expect(const char *events)
{
	replay();
	assert_string_equal(sb.events, events);
}

bool noted(const char *part)
{
	for (size_t i = 0; i < sb.model.nnotes; i++)
		if (strstr(sb.model.notes[i], part))
			return true;
	return false;
}
