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

const struct model_handle *handle_at(size_t ref)
{
	assert_true(ref < sb.model.handles.n);
	return &sb.model.handles.v[ref];
}

void expect_handle(size_t ref, const char *path, const char *paradigm, int64_t parent)
{
	const struct model_handle *h = handle_at(ref);

	if (path)
		assert_string_equal(sb.model.files.v[h->file].path, path);
	else
		assert_int_equal(h->file, REF_NONE);
	assert_string_equal(sb.model.paradigms.v[h->paradigm].identification, paradigm);
	assert_int_equal(h->parent, parent < 0 ? REF_NONE : parent);
}

void read_or_write(uint32_t tid, const char *function, uint64_t enter, uint64_t leave, int depth, int fd, size_t bytes, int64_t ret)
{
	sb_call(&sb, tid, function, enter, leave, depth, ret, ARGS(ARG(HANDLE, fd), ARG(BYTES, bytes)));
}

void close_descriptor(uint32_t tid, uint64_t enter, uint64_t leave, int fd)
{
	sb_call(&sb, tid, "close", enter, leave, 0, 0, ARGS(ARG(HANDLE, fd)));
}
