/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Threads that come and go: what an archive of very many of them costs, and when a location may end.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "replay_fixture.h"
#include "sink/otf2/otf2.h"
#include "sink/summary/summary.h"

#define THREADS 4000            /* 1 GiB if each had a buffer until the end */
#define LIMIT_KIB (100 << 10)
#define PROCESS 100

/* ---- very many ---- */

static void append(struct iop_rec *rec, uint8_t type, size_t len, uint32_t tid, uint32_t seq, uint64_t time_ns)
{
	*rec = (struct iop_rec){ .len = len, .type = type, .tid = tid, .tgid = PROCESS, .seq = seq, .time_ns = time_ns };
	assert_int_equal(spool_writer_append(sb.writer, rec), 0);
}

static void thread_that_writes(uint32_t tid, uint64_t time_ns, uint16_t probe)
{
	struct {
		struct iop_rec_call call;
		int64_t more[IOP_MAX_ARGS];
	} room = { .call = { .probe = probe, .ret = 8, .enter_ns = time_ns } };
	struct iop_rec_task_exit last = { 0 };

	room.call.nargs = 2;
	room.more[0] = 1;
	room.more[1] = 8;
	append(&room.call.rec, IOP_REC_CALL, sizeof(room.call) + 16, tid, 1, time_ns + 1);
	append(&last.rec, IOP_REC_TASK_EXIT, sizeof(last), tid, 2, time_ns + 2);
}

static void many_threads(void)
{
	const struct table_row *row = table_find(&sb.set, "POSIX", "write");

	assert_non_null(row);
	for (uint32_t i = 0; i < THREADS; i++) {
		thread_that_writes(1000 + i, 1000000ull * i + 10, row->id);
		if (i % 50 == 0)
			sb_round(&sb, 1000000ull * i + 900000);
	}
	sb_text(&sb, IOP_REC_END, 0, 1000000ull * THREADS, "reason=done\n", NULL);
	assert_int_equal(spool_writer_destroy(sb.writer), 0);
}

static int replay_to_archive(const char *dir)
{
	struct sink *sinks[2] = { 0 };
	struct spool_reader *reader;
	struct model model;
	char err[512];
	FILE *out = fopen("/dev/null", "w");
	int ret = !out || spool_reader_open(&reader, sb.path) || otf2_sink_create(&sinks[0], dir, err, sizeof(err)) ||
		  summary_sink_create(&sinks[1], out, false);

	if (!ret)
		ret = replay_run(reader, &model, sinks, 2, err, sizeof(err));
	if (ret)
		fprintf(stderr, "%s\n", err);
	if (!ret && model.locations.n != THREADS)
		ret = fprintf(stderr, "%zu locations\n", model.locations.n);
	return ret;
}

/* Measured in a child, which has no other memory: every location that stays open costs 256 KiB in libotf2. */
static void memory_is_that_of_the_living(void **state)
{
	char dir[] = "/tmp/ioprobe-threads-XXXXXX", command[64];
	struct rlimit files = { 256, 256 };
	struct rusage usage;
	int status;
	pid_t pid;

	(void)state;
	many_threads();
	assert_non_null(mkdtemp(dir));
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_NOFILE, &files);
		_exit(replay_to_archive(dir) != 0);
	}
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(status, 0);
#ifndef __SANITIZE_ADDRESS__
	assert_true(usage.ru_maxrss < LIMIT_KIB);
#endif
}

/* ---- when a location ends ---- */

/* An operation of io_uring that ends when its thread has gone stands on that one's location, and does not go back in time. */
static void operation_outlives_its_thread(void **state)
{
	struct iop_rec_async begin = { .key = 7, .context = 9, .bytes = 5, .fd = 3, .op = IOP_ASYNC_WRITE, .interface = IOP_URING };
	struct iop_rec_async_end end = { .key = 7, .context = 9, .res = 5, .interface = IOP_URING };

	(void)state;
	sb_fd(&sb, 101, 5, 3, "/f", O_RDWR, 0);
	sb_async(&sb, 101, 10, &begin);
	sb_call(&sb, 101, "close", 20, 30, 0, 0, ARGS(ARG(HANDLE, 4)));
	sb_task_exit(&sb, 101, 31, false);
	sb_async_end(&sb, 101, 40, &end, false);
	sb_call(&sb, 100, "close", 50, 60, 0, 0, ARGS(ARG(HANDLE, 5)));
	sb_task_exit(&sb, 100, 61, true);
	replay();
	assert_non_null(strstr(sb.events, "101 @40 complete h0 5 #1\n"));
	assert_string_equal(sb.ended, "101@40 100@60 ");
}

/* A leader that ends early, and another thread that becomes the leader by exec: one location. */
static void leader_by_exec(void **state)
{
	(void)state;
	sb_call(&sb, 100, "close", 10, 20, 0, 0, ARGS(ARG(HANDLE, 5)));
	sb_task_exit(&sb, 100, 21, false);
	sb_call(&sb, 101, "close", 30, 40, 0, 0, ARGS(ARG(HANDLE, 5)));
	sb.seq[100] = 0;
	sb_exec(&sb, 100, 50, 101, "/bin/true");
	sb_call(&sb, 100, "close", 60, 70, 0, 0, ARGS(ARG(HANDLE, 5)));
	sb_task_exit(&sb, 100, 80, true);
	replay();
	assert_int_equal(sb.model.locations.n, 2);
	assert_string_equal(sb.ended, "101@40 100@70 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sb_setup, sb_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(memory_is_that_of_the_living), TEST(operation_outlives_its_thread),
					    TEST(leader_by_exec) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
