/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Bounds: sizes that are accepted, when the budget of a recording ends, and that spool and archive together keep to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive.h"
#include "capture/bounds.h"
#include "capture/budget.h"
#include "util/quantity.h"
#include "replay_fixture.h"
#include "sink/otf2/archive_size.h"
#include "sink/otf2/otf2.h"

#define KIB 1024ull
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static char err[512];

/* ---- numbers ---- */

static void test_bytes(void **state)
{
	static const struct { const char *text; uint64_t bytes; } good[] = {
		{ "0", 0 }, { "4096", 4096 }, { "64KiB", 64 * KIB }, { "10GiB", 10 * KIB * KIB * KIB }, { "1.5m", 1536 * KIB },
		{ "3B", 3 },
		{ "2T", 2 * KIB * KIB * KIB * KIB },
	};
	static const char *const bad[] = { "", "KiB", "-1", "1 KiB", "1kb", "1e30T", "nan", "inf", "1,5M" };
	uint64_t bytes = 7;

	(void)state;
	for (size_t i = 0; i < LENGTH(good); i++) {
		assert_true(quantity_bytes(good[i].text, &bytes));
		assert_int_equal(bytes, good[i].bytes);
	}
	bytes = 7;
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_false(quantity_bytes(bad[i], &bytes));
	assert_int_equal(bytes, 7);
}

static void refused(int (*set)(struct bounds *, const char *, char *, size_t), const char *text, const char *option)
{
	struct bounds bounds = { 0 };

	err[0] = 0;
	assert_int_equal(set(&bounds, text, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, option));
	assert_non_null(strstr(err, text));
	assert_null(strchr(err, '\n'));
	assert_int_equal(bounds.max_bytes + bounds.min_free_bytes, 0);
}

static void test_options(void **state)
{
	struct bounds bounds = { 0 };

	(void)state;
	assert_int_equal(bounds_set_max_size(&bounds, "1MiB", err, sizeof(err)), 0);
	assert_int_equal(bounds_set_min_free(&bounds, "10GiB", err, sizeof(err)), 0);
	assert_int_equal(bounds_set_max_rate(&bounds, "1e5", err, sizeof(err)), 0);
	assert_int_equal(bounds.max_bytes, KIB * KIB);
	assert_int_equal(bounds.min_free_bytes, 10 * KIB * KIB * KIB);
	assert_true(bounds.max_rate == 100000);
	refused(bounds_set_max_size, "much", "--max-size");
	refused(bounds_set_max_size, "100KiB", "--max-size");
	refused(bounds_set_min_free, "10%", "--min-free");
	refused(bounds_set_max_rate, "0", "--max-rate");
	refused(bounds_set_max_rate, "10/s", "--max-rate");
}

/* ---- the budget ---- */

static int end_spool(void **state)
{
	spool_writer_destroy(sb.writer);        /* NULL where it was replayed */
	return sb_teardown(state);
}

/* One write of 4 KiB at a growing offset; seq 1 is the thread's first record. */
static bool admits_write(struct budget *budget, uint32_t tid, uint32_t seq)
{
	struct { struct iop_rec_call call; uint64_t args[3];
	} rec = {
		.call = { .rec = { .len = sizeof(rec),
				   .type = IOP_REC_CALL,
				   .tid = tid,
				   .tgid = tid,
				   .seq = seq,
				   .time_ns = 1000 + seq },
			  .nargs = 3,
			  .enter_ns = 900 + seq,
			  .ret = 4096 },
		.args = { 3, 4096, (uint64_t)seq << 12 },
	};

	rec.call.probe = table_find(&sb.set, "POSIX", "pwrite64")->id;
	if (!budget_admits(budget, sb.writer, &rec.call.rec))
		return false;
	assert_int_equal(spool_writer_append(sb.writer, &rec.call.rec), 0);
	return true;
}

static struct budget *make_budget(const struct bounds *bounds)
{
	struct budget *budget;

	spool_writer_flush(sb.writer);
	assert_int_equal(budget_create(&budget, bounds, &sb.set, sb.writer, err, sizeof(err)), 0);
	return budget;
}

static void test_max_size(void **state)
{
	struct bounds bounds = { .max_bytes = 1024 * KIB, .max_size_text = "1MiB" };
	struct budget *budget = make_budget(&bounds);
	const char *reason;
	uint32_t n = 1;

	(void)state;
	while (n < 100000 && admits_write(budget, 100, n))
		n++;
	spool_writer_flush(sb.writer);
	assert_in_range(n, 5000, 15000);        /* 50 to 80 bytes each */
	assert_true(spool_writer_bytes(sb.writer) + 50 * n < bounds.max_bytes);
	assert_false(admits_write(budget, 100, n + 1));
	assert_string_equal(budget_reached(budget, &reason), "max-size");
	assert_string_equal(reason, "--max-size 1MiB was reached");
	assert_int_equal(budget_refused(budget), 2);
	assert_int_equal(budget_refused_since(budget), 1000 + n);
	budget_destroy(budget);
}

/* Each thread is two files of the archive. */
static void test_threads(void **state)
{
	struct bounds bounds = { .max_bytes = 1024 * KIB, .max_size_text = "1MiB" };
	struct budget *budget = make_budget(&bounds);
	uint32_t n = 1;

	(void)state;
	while (n < 1000 && admits_write(budget, n, 1))
		n++;
	assert_in_range(n, 50, 120);
	budget_destroy(budget);
}

static void test_no_bound(void **state)
{
	struct bounds bounds = { 0 };
	struct budget *budget = make_budget(&bounds);
	const char *reason;

	(void)state;
	for (uint32_t n = 1; n < 50000; n++)
		assert_true(admits_write(budget, 100, n));
	budget_step(budget, 5000000000ull);
	assert_null(budget_reached(budget, &reason));
	assert_int_equal(budget_refused(budget), 0);
	assert_int_equal(budget_refused_since(budget), UINT64_MAX);
	budget_destroy(budget);
}

static void test_max_rate(void **state)
{
	struct bounds bounds = { .max_rate = 1000 };
	struct budget *budget = make_budget(&bounds);
	const char *reason;

	(void)state;
	budget_step(budget, 1000000000ull);
	for (uint32_t n = 1; n <= 1000; n++)
		assert_true(admits_write(budget, 100, n));
	budget_step(budget, 1500000000ull);     /* not a second yet */
	budget_step(budget, 2000000000ull);
	assert_null(budget_reached(budget, &reason));
	for (uint32_t n = 1; n <= 2500; n++)
		assert_true(admits_write(budget, 100, 1000 + n));
	budget_step(budget, 4000000000ull);
	assert_string_equal(budget_reached(budget, &reason), "max-rate");
	assert_string_equal(reason, "--max-rate 1000 was exceeded: 1250 calls per second");
	assert_false(admits_write(budget, 100, 4000));
	budget_destroy(budget);
}

static void test_min_free(void **state)
{
	struct bounds all = { .min_free_bytes = UINT64_MAX / 4, .min_free_text = "4E" },
		      some = { .min_free_bytes = 1, .min_free_text = "1" };
	struct budget *budget;
	const char *reason;

	(void)state;
	assert_int_equal(budget_create(&budget, &all, &sb.set, sb.writer, err, sizeof(err)), -ENOSPC);
	assert_non_null(strstr(err, "--min-free 4E"));
	budget = make_budget(&some);
	assert_true(admits_write(budget, 100, 1));
	some.min_free_bytes = all.min_free_bytes;       /* as if somebody had filled the disk */
	budget_step(budget, 1000000000ull);
	assert_string_equal(budget_reached(budget, &reason), "min-free");
	assert_false(admits_write(budget, 100, 2));
	budget_destroy(budget);
}

/* ---- the archive ---- */

static uint64_t total;

static int add_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path, (void)type, (void)ftw;
	total += st->st_blocks * 512ull;
	return 0;
}

static int remove_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type;
	return ftw->level && strcmp(path, sb.path) != 0 ? remove(path) : 0;
}

static uint64_t used(const char *path)
{
	total = 0;
	assert_int_equal(nftw(path, add_file, 8, FTW_PHYS), 0);
	return total;
}

static void spool_of_writes(uint32_t threads, uint32_t writes, const char *bound)
{
	char host[256];

	snprintf(host, sizeof(host), "host=node1\nrealtime_ns=1000000\nmonotonic_ns=0\n%s", bound);
	sb_text(&sb, IOP_REC_HOST, 0, 1, host, NULL);
	for (uint32_t t = 1; t <= threads; t++)
		sb_open(&sb, t, 10, 20, 0, 3 + (int)t, "/scratch/a_file", 1);
	for (uint64_t i = 0; i < writes; i++)
		for (uint32_t t = 1; t <= threads; t++)
			sb_call(&sb, t, "pwrite64", 100 + 1000 * i, 600 + 1000 * i, 0, 4096,
				ARGS(ARG(HANDLE, 3 + t), ARG(BYTES, 4096), ARG(OFFSET, i << 24)));
}

/* Returns the replay's result; *archive is what the archive takes on disk, *size what the recorder estimated. */
static int archive(const char *dir, uint64_t spool_bytes, uint64_t free_bytes, uint64_t *archive, uint64_t *size)
{
	struct sink *sinks[2];
	struct spool_reader *reader;
	int ret;

	assert_int_equal(spool_writer_destroy(sb.writer), 0);
	sb.writer = NULL;
	assert_int_equal(archive_size_sink_create(&sinks[0], spool_bytes, free_bytes, false), 0);
	assert_int_equal(otf2_sink_create(&sinks[1], dir, err, sizeof(err)), 0);
	assert_int_equal(spool_reader_open(&reader, sb.path), 0);
	ret = replay_run(reader, &sb.model, sinks, 2, err, sizeof(err));
	spool_reader_destroy(reader);
	*size = archive_size(sinks[0], &sb.model);
	otf2_sink_destroy(sinks[1]);
	archive_size_sink_destroy(sinks[0]);
	*archive = used(dir) - used(sb.path);
	nftw(dir, remove_file, 8, FTW_PHYS | FTW_DEPTH);
	return ret;
}

static const char *directory(void)
{
	static char dir[64];

	snprintf(dir, sizeof(dir), "%s", sb.path);
	*strrchr(dir, '/') = 0;
	return dir;
}

/* Never less than the truth, and not much more. */
static void test_archive_size(void **state)
{
	uint64_t bytes, size;

	(void)state;
	spool_of_writes(5, 10000, "");
	assert_int_equal(archive(directory(), 0, UINT64_MAX, &bytes, &size), 0);
	assert_int_equal(sb.model.end.cut, 0);
	assert_true(size >= bytes);
	assert_in_range(size, bytes, bytes + bytes / 8 + 128 * KIB);
}

static void test_archive_cut(void **state)
{
	uint64_t bytes, size;

	(void)state;
	spool_of_writes(2, 10000, "max_size=1048576\n");
	sb_text(&sb, IOP_REC_END, 0, 20000000, "reason=all processes ended\nstopped_by=end\n", NULL);
	assert_int_equal(archive(directory(), 200 * KIB, UINT64_MAX, &bytes, &size), 0);
	assert_true(bytes + 200 * KIB <= 1024 * KIB);
	assert_in_range(bytes, 600 * KIB, 1024 * KIB);
	assert_string_equal(sb.model.end.stopped_by, "max-size");
	assert_true(sb.model.complete);
	assert_int_equal(sb.model.totals.calls + sb.model.end.cut, 2 + 20000);
	assert_int_equal(sb.model.end.after_bound, sb.model.end.cut);
	assert_int_equal(sb.model.totals.lost_records, 0);
}

static void test_archive_min_free(void **state)
{
	uint64_t bytes, size;

	(void)state;
	spool_of_writes(2, 10000, "min_free=1048576\n");
	assert_int_equal(archive(directory(), 200 * KIB, 2048 * KIB, &bytes, &size), 0);
	assert_true(bytes <= 1024 * KIB);
	assert_string_equal(sb.model.end.stopped_by, "min-free");
	assert_true(sb.model.end.cut > 0);
}

/* Of two rings one was drained first: its thread's records are there, older ones of the other thread were refused. The trace ends
 * where both are whole. */
static void test_archive_refused(void **state)
{
	uint64_t bytes, size;

	(void)state;
	spool_of_writes(1, 1000, "");
	sb_open(&sb, 2, 10, 20, 0, 5, "/scratch/a_file", 1);
	for (uint64_t i = 0; i < 400; i++)
		sb_call(&sb, 2, "pwrite64", 100 + 1000 * i, 600 + 1000 * i, 0, 4096,
			ARGS(ARG(HANDLE, 5), ARG(BYTES, 4096), ARG(OFFSET, 0)));
	sb.seq[2] += 100;                       /* refused */
	for (uint64_t i = 500; i < 600; i++)
		sb_call(&sb, 2, "pwrite64", 100 + 1000 * i, 600 + 1000 * i, 0, 4096,
			ARGS(ARG(HANDLE, 5), ARG(BYTES, 4096), ARG(OFFSET, 0)));
	sb_text(&sb, IOP_REC_END, 0, 20000000, "reason=x\nstopped_by=max-size\nafter_bound=100\nbound_ns=400600\n", NULL);
	assert_int_equal(archive(directory(), 0, UINT64_MAX, &bytes, &size), 0);
	assert_int_equal(sb.model.totals.lost_records, 0);
	assert_int_equal(sb.model.totals.calls, 2 + 400 + 400);
	assert_int_equal(sb.model.end.after_bound, 100 + 600 + 100);
}

/* Then the spool is worth more. */
static void test_archive_no_room(void **state)
{
	uint64_t bytes, size;

	(void)state;
	spool_of_writes(2, 10000, "min_free=1048576\n");
	assert_int_equal(archive(directory(), 200 * KIB, 1100 * KIB, &bytes, &size), -ENOSPC);
}

/* A type of record without an estimate of its own counts with its length, one without a part in the archive does not. */
static void test_unknown_record(void **state)
{
	struct iop_rec new_type = { .len = 80, .type = IOP_REC_AGENT - 1, .seq = 2 };
	struct iop_rec fork = { .len = 48, .type = IOP_REC_FORK, .seq = 2 };
	struct site_sizes sites = { 0 };

	(void)state;
	assert_int_equal(budget_archive_bytes(&sites, &new_type, NULL), 80);
	assert_int_equal(budget_archive_bytes(&sites, &fork, NULL), 0);
}

/* What the command and the service call: the same limits, in a worker of its own. */
static int make_archive(const char *bound, char **text)
{
	struct archive_options options = { .keep_spool = true };
	struct identity who;
	struct output out;
	size_t len;
	int ret;

	spool_of_writes(2, 10000, bound);
	sb_text(&sb, IOP_REC_END, 0, 20000000, "reason=all processes ended\nstopped_by=end\n", NULL);
	assert_int_equal(spool_writer_destroy(sb.writer), 0);
	sb.writer = NULL;
	options.text = open_memstream(text, &len);
	assert_int_equal(identity_self(&who), 0);
	assert_int_equal(output_open(&out, &who, directory(), err, sizeof(err)), 0);
	ret = archive_write(&out, &options, err, sizeof(err));
	output_close(&out);
	identity_deinit(&who);
	fclose(options.text);
	nftw(directory(), remove_file, 8, FTW_PHYS | FTW_DEPTH);
	return ret;
}

static void test_archive_command(void **state)
{
	char *text;

	(void)state;
	assert_int_equal(make_archive("max_size=1048576\n", &text), 0);
	assert_non_null(strstr(text, "stopped by max-size"));
	free(text);
}

static void test_archive_command_no_room(void **state)
{
	char *text;

	(void)state;
	assert_int_equal(make_archive("max_size=4096\n", &text), -ENOSPC);
	assert_non_null(strstr(err, "no archive can be made: --max-size leaves no room for it"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes), cmocka_unit_test(test_options), cmocka_unit_test(test_unknown_record),
		cmocka_unit_test_setup_teardown(test_max_size, sb_setup, end_spool),
		cmocka_unit_test_setup_teardown(test_threads, sb_setup, end_spool),
		cmocka_unit_test_setup_teardown(test_no_bound, sb_setup, end_spool),
		cmocka_unit_test_setup_teardown(test_max_rate, sb_setup, end_spool),
		cmocka_unit_test_setup_teardown(test_min_free, sb_setup, end_spool),
		cmocka_unit_test_setup_teardown(test_archive_size, sb_setup, end_spool),
		cmocka_unit_test_setup_teardown(test_archive_cut, sb_setup, end_spool),
		cmocka_unit_test_setup_teardown(test_archive_min_free, sb_setup, end_spool),
		cmocka_unit_test_setup_teardown(test_archive_refused, sb_setup, end_spool),
		cmocka_unit_test_setup_teardown(test_archive_no_room, sb_setup, end_spool),
		cmocka_unit_test_setup_teardown(test_archive_command, sb_setup, end_spool),
		cmocka_unit_test_setup_teardown(test_archive_command_no_room, sb_setup, end_spool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
