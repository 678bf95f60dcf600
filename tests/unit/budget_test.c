/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The recorder's estimate is not below what the archiver computes, for the corpus of spools and for spools in which one kind of
 * record is frequent (the corpus is small beside the recorder's reserve): an archive within --max-size has all records of its
 * spool, and a stream counts the same records.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/budget.h"
#include "replay/replay.h"
#include "replay/sites.h"
#include "sink/otf2/archive_size.h"
#include "sink/summary/summary.h"
#include "spool/spool.h"
#include "spool_builder.h"

#define SPOOLS "tests/data/spools/*.spool"
#define SLACK_BYTES (16u << 10) /* that the archiver keeps free */
#define MANY 2000

static void add_table(struct table_set *set, const struct iop_rec *rec)
{
	char name[64], err[256], *copy;
	size_t len;
	const char *raw = text_raw((const void *)rec, &len);

	assert_non_null(raw);
	copy = strndup(raw, len);
	snprintf(name, sizeof(name), "table%zu", set->nsources);
	assert_int_equal(table_parse(set, name, copy, err, sizeof(err)), 0);
	free(copy);
}

/* What the recorder would have reserved for the spool's records. */
static uint64_t estimate(const char *path)
{
	struct site_sizes sites = { 0 };
	struct spool_reader *reader;
	struct table_set set;
	const struct iop_rec *rec;
	uint64_t sum = 0;
	size_t len;

	table_set_init(&set);
	assert_int_equal(spool_reader_open(&reader, path), 0);
	while (spool_reader_next(reader, &rec, &len) == 1) {
		bool call = rec->type == IOP_REC_CALL || rec->type == IOP_REC_ENTER || rec->type == IOP_REC_EXIT;
		uint16_t probe = call ? ((const struct iop_rec_call *)rec)->probe : 0;

		if (rec->type == IOP_REC_TABLE)
			add_table(&set, rec);
		else if (rec->type != IOP_REC_HOST)
			sum += budget_archive_bytes(&sites, rec, call && probe < set.nrows ? &set.rows[probe] : NULL);
	}
	spool_reader_destroy(reader);
	table_set_deinit(&set);
	site_sizes_deinit(&sites);
	return sum;
}

static uint64_t archived(const char *path)
{
	struct spool_reader *reader;
	struct call_sites *sites;
	struct sink *sink;
	struct model model;
	char err[512];
	uint64_t size;

	assert_int_equal(archive_size_sink_create(&sink, 0, UINT64_MAX, false), 0);
	assert_int_equal(spool_reader_open(&reader, path), 0);
	assert_int_equal(call_sites_read(&sites, reader), 0);
	spool_reader_destroy(reader);
	assert_int_equal(spool_reader_open(&reader, path), 0);
	assert_int_equal(replay_run_with_sites(reader, sites, &model, &sink, 1, err, sizeof(err)), 0);
	size = archive_size(sink, &model);
	archive_size_sink_destroy(sink);
	call_sites_destroy(sites);
	spool_reader_destroy(reader);
	model_deinit(&model);
	return size;
}

static void compare(const char *path, uint64_t estimated, uint64_t size)
{
	if (getenv("VERBOSE"))
		printf("%s: %llu %llu\n", path, (unsigned long long)estimated, (unsigned long long)size);
	if (estimated < size)
		fail_msg("%s: %llu bytes are reserved, %llu needed", path, (unsigned long long)estimated, (unsigned long long)size);
}

static void is_an_upper_bound(void **state)
{
	glob_t spools;

	(void)state;
	assert_int_equal(glob(SPOOLS, 0, NULL, &spools), 0);
	for (size_t i = 0; i < spools.gl_pathc; i++) {
		const char *path = spools.gl_pathv[i];

		compare(path, estimate(path) + BUDGET_RESERVE_BYTES, archived(path) + SLACK_BYTES);
	}
	globfree(&spools);
}

/* ---- one kind of record is frequent ---- */

static struct sb sb;

/* What every archive has is compared with the recorder's reserve above: here only what the frequent records add counts. */
static void compare_added(const char *what, void (*add)(uint32_t i))
{
	uint64_t estimated = 0, size = 0;

	for (uint32_t n = 0; n <= MANY; n += MANY) {
		sb_begin_host(&sb, "call_sites=16\n");
		sb_open(&sb, 100, 1, 2, 0, 3, "/first", O_RDONLY);
		for (uint32_t i = 0; i < n; i++)
			add(i);
		assert_int_equal(spool_writer_destroy(sb.writer), 0);
		estimated = estimate(sb.path) - estimated;
		size = archived(sb.path) - size;
		sb_end(&sb);
	}
	compare(what, estimated, size);
}

static void add_open(uint32_t i)
{
	char path[64];

	snprintf(path, sizeof(path), "/directory/file%u", i);
	sb_open(&sb, 100, 10 + 10 * i, 15 + 10 * i, 0, 4 + i, path, O_WRONLY | O_CREAT);
}

static void many_opens(void **state)
{
	(void)state;
	compare_added("opens", add_open);
}

/* Each executes a program of its own. */
static void add_process(uint32_t i)
{
	uint32_t tid = 200 + 100 * i;
	uint64_t time = 10 + 10 * i;
	char path[64];

	snprintf(path, sizeof(path), "/directory/program%u", i);
	sb_fork(&sb, 100, time, tid);
	sb_exec(&sb, tid, time + 1, tid, path);
	sb_call(&sb, tid, "sync", time + 2, time + 3, 0, 0, NO_ARGS);
	sb_task_exit(&sb, tid, time + 4, true);
}

static void many_processes(void **state)
{
	(void)state;
	compare_added("processes", add_process);
}

static void add_mount(uint32_t i)
{
	static const char texts[] = "ext4\0\0/dev/sdc";
	char path[64];

	snprintf(path, sizeof(path), "/mounts/mount%u", i);
	sb.mount = 100 + i;
	sb_mount(&sb, 100, 10 + 10 * i, texts, sizeof(texts), path);
	strcat(path, "/file");
	sb_open(&sb, 100, 10 + 10 * i, 15 + 10 * i, 0, 4 + i, path, O_WRONLY | O_CREAT);
}

static void many_mounts(void **state)
{
	(void)state;
	compare_added("mounts", add_mount);
}

/* ---- deep call sites ---- */

#define DEEP 32
#define LOOP 0x5000             /* where the interpreter's loop is mapped */

static void add_node(const struct iop_rec_site *node)
{
	struct iop_rec_site rec = *node;

	rec.rec = (struct iop_rec){ .len = sizeof(rec), .type = IOP_REC_SITE, .tid = 100, .tgid = 100, .time_ns = 9 };
	assert_int_equal(spool_writer_append(sb.writer, &rec.rec), 0);
}

static void add_python_text(uint32_t id, enum iop_python_piece piece, const char *text)
{
	union { struct iop_rec_python_code rec; char room[256]; } u = { .room = "" };
	size_t len = strlen(text);

	u.rec = (struct iop_rec_python_code){
		.rec = { .len = (sizeof(u.rec) + len + 7) & ~7, .type = IOP_REC_PYTHON_CODE, .tid = 100, .tgid = 100,
			 .time_ns = 8 },
		.id = id, .first_line = 1000, .total = len, .len = len, .piece = piece, .kind = 1,
	};
	memcpy(u.rec.bytes, text, len);
	assert_int_equal(spool_writer_append(sb.writer, &u.rec.rec), 0);
}

static void add_python_codes(void)
{
	sb_text(&sb, IOP_REC_CODE, 100, 7,
		"image=1\nmodule=0\nstart=1000\nend=8000\noffset=0\napplication=0\npath=/bin/python3\n"
		"python_loop=4000-4100\n", NULL);
	for (uint32_t i = 1; i <= DEEP; i++) {
		char file[128], name[64];

		snprintf(file, sizeof(file), "/home/somebody/projects/model/postprocessing/with/long/paths/module%02u.py", i);
		snprintf(name, sizeof(name), "function_that_has_a_descriptive_name_%02u", i);
		add_python_text(i, IOP_PYTHON_FILE, file);
		add_python_text(i, IOP_PYTHON_NAME, name);
		add_python_text(i, IOP_PYTHON_LINES, "\xef\x02");
	}
}

/* Sites that differ in the innermost frame: for each of them all nodes are new. */
static void add_python_site(uint32_t i)
{
	const uint32_t first = 2 + i * (DEEP + 1);

	if (!i)
		add_python_codes();
	for (uint32_t k = 0; k < DEEP; k++)     /* Python's chains begin with the outermost frame */
		add_node(&(struct iop_rec_site){ .id = first + k, .parent = k ? first + k - 1 : 0,
						 .pc = k < DEEP - 1 ? 2 : 2 * i, .image = 1 + k,
						 .flags = IOP_SITE_PYTHON | (k ? 0 : IOP_SITE_ENTRY | IOP_SITE_WHOLE) });
	if (!i)
		add_node(&(struct iop_rec_site){ .id = 1, .pc = LOOP + 0x10, .image = 1, .flags = IOP_SITE_WHOLE });
	add_node(&(struct iop_rec_site){ .id = first + DEEP, .parent = 1, .pc = first + DEEP - 1, .flags = IOP_SITE_PAIR });
	sb.site = first + DEEP;
	sb_call(&sb, 100, "sync", 11 + 10 * i, 12 + 10 * i, 0, 0, NO_ARGS);
}

/* The same of machine code in no known file. */
static void add_machine_site(uint32_t i)
{
	const uint32_t first = 1 + i * DEEP;

	for (uint32_t k = 0; k < DEEP; k++)
		add_node(&(struct iop_rec_site){ .id = first + k, .parent = k ? first + k - 1 : 0,
						 .pc = 0x7fff00000000 + 16 * (k ? k : DEEP + i), .image = 1,
						 .flags = k == DEEP - 1 ? IOP_SITE_WHOLE : 0 });
	sb.site = first + DEEP - 1;
	sb_call(&sb, 100, "sync", 11 + 10 * i, 12 + 10 * i, 0, 0, NO_ARGS);
}

static uint64_t summary_size(const char *path)
{
	struct spool_reader *reader;
	struct call_sites *sites;
	struct model model;
	struct sink *sink;
	char err[512], *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(summary_sink_create(&sink, out, true), 0);
	assert_int_equal(spool_reader_open(&reader, path), 0);
	assert_int_equal(call_sites_read(&sites, reader), 0);
	spool_reader_destroy(reader);
	assert_int_equal(spool_reader_open(&reader, path), 0);
	assert_int_equal(replay_run_with_sites(reader, sites, &model, &sink, 1, err, sizeof(err)), 0);
	summary_sink_destroy(sink);
	call_sites_destroy(sites);
	spool_reader_destroy(reader);
	model_deinit(&model);
	fclose(out);
	free(text);
	return size;
}

/* Nor is what the archiver computes below what the summary needs. */
static void compare_summary(const char *what, void (*add)(uint32_t i))
{
	uint64_t computed, size;

	sb_begin_host(&sb, "call_sites=32\n");
	for (uint32_t i = 0; i < MANY; i++)
		add(i);
	assert_int_equal(spool_writer_destroy(sb.writer), 0);
	computed = archived(sb.path);
	size = summary_size(sb.path);
	sb_end(&sb);
	compare(what, computed, size);
	assert_true(size > (uint64_t)MANY * DEEP * 100);        /* the chains are there */
}

static void deep_sites(void **state)
{
	(void)state;
	compare_added("deep call sites of Python", add_python_site);
	compare_added("deep call sites of machine code", add_machine_site);
	compare_summary("the summary of deep call sites of Python", add_python_site);
	compare_summary("the summary of deep call sites of machine code", add_machine_site);
}

static void add_site(uint32_t i)
{
	sb_site(&sb, 100, 10 + 10 * i, i + 1, 0x1000 + 16 * i);
	sb.site = i + 1;
	sb_call(&sb, 100, "sync", 11 + 10 * i, 12 + 10 * i, 0, 0, NO_ARGS);
}

static void many_sites(void **state)
{
	(void)state;
	compare_added("call sites", add_site);
}

/* Each at the same site, from a buffer that is not aligned. */
static void add_write(uint32_t i)
{
	if (!i)
		sb_site(&sb, 100, 9, 1, 0x1000);
	sb.site = 1;
	sb.flags = IOP_F_UNALIGNED;
	sb_call(&sb, 100, "pwrite64", 11 + 10 * i, 12 + 10 * i, 0, 8, ARGS(ARG(HANDLE, 3), ARG(BYTES, 8), ARG(OFFSET, 8 * i)));
}

static void many_writes(void **state)
{
	(void)state;
	compare_added("writes at a call site", add_write);
}

static void add_failed_read(uint32_t i)
{
	sb_call(&sb, 100, "read", 11 + 10 * i, 12 + 10 * i, 0, -EAGAIN, ARGS(ARG(HANDLE, 3), ARG(BYTES, 8)));
}

static void many_failed_reads(void **state)
{
	(void)state;
	compare_added("failed reads", add_failed_read);
}

static void add_failed_name(uint32_t i)
{
	sb_call(&sb, 100, "access", 11 + 10 * i, 12 + 10 * i, 0, -ENOENT, ARGS(STR(PATH, "/a")));
}

static void many_failed_names(void **state)
{
	(void)state;
	compare_added("failed calls on a name", add_failed_name);
}

static void add_library_write(uint32_t i)
{
	sb_call(&sb, 100, "fwrite", 11 + 10 * i, 12 + 10 * i, 0, 0, ARGS(ARG(SIZE, 1), ARG(ITEMS, 8), ARG(HANDLE, 3)));
}

static void many_failed_library_writes(void **state)
{
	(void)state;
	compare_added("failed library calls", add_library_write);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_an_upper_bound), cmocka_unit_test(many_opens), cmocka_unit_test(many_processes),
		cmocka_unit_test(many_mounts), cmocka_unit_test(many_sites), cmocka_unit_test(deep_sites),
		cmocka_unit_test(many_writes), cmocka_unit_test(many_failed_reads), cmocka_unit_test(many_failed_names),
		cmocka_unit_test(many_failed_library_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
