/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The OTF2 sink when it cannot write: full disks (a limit on file sizes), definitions that are too large, files of earlier
 * attempts. With events written by a thread of their own and without one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "otf2_model_fixture.h"
#include "sink/otf2/otf2.h"

static const bool with_thread = true;

static int create(struct sink **sink, bool threaded)
{
	char err[256];
	int error = otf2_sink_create(sink, otf2_dir, err, sizeof(err));

	if (!error && threaded)
		otf2_sink_start_thread(*sink);
	return error;
}

/* A file size limit stands in for the full disk. Returns the sink's first error. */
static int write_limited(rlim_t bytes, bool threaded)
{
	struct model model = otf2_model_make();
	struct rlimit old, limit;
	struct sink *sink;
	int error;

	getrlimit(RLIMIT_FSIZE, &old);
	limit = (struct rlimit){ .rlim_cur = bytes, .rlim_max = old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &limit);
	error = create(&sink, threaded);
	if (!error)
		error = otf2_many_writes(sink, &model, 20000);
	if (!error)
		error = sink->finish(sink, &model);
	if (error && sink)
		assert_non_null(otf2_sink_error(sink));
	otf2_sink_destroy(sink);
	setrlimit(RLIMIT_FSIZE, &old);
	return error;
}

/* After a failed flush libotf2 must not be called again: the event that caused it reports it, or a later one, not the end of the
 * archive. */
static void stops_at_failed_flush(void **state)
{
	struct model model = otf2_model_make();
	struct rlimit old, limit;
	struct sink *sink;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(create(&sink, *state), 0);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = (struct rlimit){ .rlim_cur = 4096, .rlim_max = old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(otf2_many_writes(sink, &model, 400000), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(sink->finish(sink, &model), -EFBIG);
	assert_non_null(strstr(otf2_sink_error(sink), "write an event"));
	assert_false(otf2_dir_has("traces.otf2"));
	assert_false(otf2_dir_has("traces.def"));
	assert_false(otf2_dir_has("traces"));
	otf2_sink_destroy(sink);
}

/* What an interrupted attempt left is no archive, whatever it is; links go, what they lead to stays. */
static void leftovers_are_removed(void **state)
{
	struct model model = otf2_model_make();
	struct sink *sink;
	char path[512];
	int fd = open(otf2_dir, O_RDONLY | O_DIRECTORY);

	(void)state;
	assert_false(otf2_archive_is_complete(fd));
	assert_int_equal(otf2_archive_remove(fd), 0);
	sink = otf2_write_script(otf2_dir, &model);
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
	assert_true(otf2_archive_is_complete(fd));
	snprintf(path, sizeof(path), "%s/traces.otf2", otf2_dir);
	assert_int_equal(truncate(path, 50), 0);
	assert_false(otf2_archive_is_complete(fd));
	assert_int_equal(otf2_archive_remove(fd), 0);
	assert_false(otf2_dir_has("traces.otf2") || otf2_dir_has("traces.def") || otf2_dir_has("traces"));
	assert_int_equal(symlinkat("/etc/passwd", fd, "traces.otf2"), 0);
	assert_int_equal(symlinkat("/etc", fd, "traces"), 0);
	assert_int_equal(mkfifoat(fd, "traces.def", 0600), 0);
	assert_false(otf2_archive_is_complete(fd));
	assert_int_equal(otf2_archive_remove(fd), 0);
	assert_int_equal(faccessat(fd, "traces", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(access("/etc/passwd", F_OK), 0);
	close(fd);
}

/* It may be full in the middle of the events, at their very end, in the definitions or in the anchor. */
static void write_error_leaves_no_anchor(void **state)
{
	char path[512];
	struct stat st;
	bool threaded = *state;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(write_limited(RLIM_INFINITY, threaded), 0);
	snprintf(path, sizeof(path), "%s/traces/100.evt", otf2_dir);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 1000000);
	otf2_dir_teardown(NULL);
	for (rlim_t bytes = 0; bytes < (rlim_t)st.st_size; bytes += bytes < 1000 ? 97 : bytes < 5000 ? 991 : 99991) {
		mkdir(otf2_dir, 0700);
		assert_int_not_equal(write_limited(bytes, threaded), 0);
		assert_false(otf2_dir_has("traces.otf2"));
		otf2_dir_teardown(NULL);
	}
	mkdir(otf2_dir, 0700);
	assert_int_equal(write_limited(st.st_size - 1, threaded), -EFBIG);
	assert_false(otf2_dir_has("traces.otf2"));
	assert_int_equal(write_limited(st.st_size, threaded), 0);
	assert_true(otf2_dir_has("traces.otf2"));
}

/* A definition that does not fit into a chunk must not vanish. */
static void oversized_group_is_an_error(void **state)
{
	struct model_comm huge = { "huge", COMM_KIND_OTHER, calloc(400000, sizeof(uint32_t)), 400000 };
	struct model model = otf2_model_make();
	struct sink *sink;
	char err[256];

	(void)state;
	model.comms.v = &huge;
	model.comms.n = 1;
	model.handles.n = 1;
	assert_int_equal(otf2_sink_create(&sink, otf2_dir, err, sizeof(err)), 0);
	assert_int_equal(sink->event(sink, &model, &otf2_script[0]), 0);
	assert_true(sink->finish(sink, &model) < 0);
	assert_non_null(otf2_sink_error(sink));
	assert_false(otf2_dir_has("traces.otf2"));
	otf2_sink_destroy(sink);
	free(huge.members);
}

/* The library does not free a location's writer when its last flush fails. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:otf2_evt_writer_new\n";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stops_at_failed_flush, otf2_dir_setup, otf2_dir_teardown),
		{ "stops_at_failed_flush, threaded", stops_at_failed_flush, otf2_dir_setup, otf2_dir_teardown,
		  (void *)&with_thread },
		cmocka_unit_test_setup_teardown(leftovers_are_removed, otf2_dir_setup, otf2_dir_teardown),
		cmocka_unit_test_setup_teardown(write_error_leaves_no_anchor, otf2_dir_setup, otf2_dir_teardown),
		{ "write_error_leaves_no_anchor, threaded", write_error_leaves_no_anchor, otf2_dir_setup, otf2_dir_teardown,
		  (void *)&with_thread },
		cmocka_unit_test_setup_teardown(oversized_group_is_an_error, otf2_dir_setup, otf2_dir_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
