/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The recorder's estimate is not below what the archiver computes, for the corpus of spools: an archive within --max-size has all
 * records of its spool, and a stream counts the same records.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/budget.h"
#include "replay/replay.h"
#include "sink/otf2/archive_size.h"
#include "spool/spool.h"

#define SPOOLS "tests/data/spools/*.spool"
#define SLACK_BYTES (16u << 10) /* that the archiver keeps free */

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
			sum += budget_archive_bytes(rec, call && probe < set.nrows ? &set.rows[probe] : NULL);
	}
	spool_reader_destroy(reader);
	table_set_deinit(&set);
	return sum;
}

static uint64_t archived(const char *path)
{
	struct spool_reader *reader;
	struct sink *sink;
	struct model model;
	char err[512];
	uint64_t size;

	assert_int_equal(archive_size_sink_create(&sink, 0, UINT64_MAX, false), 0);
	assert_int_equal(spool_reader_open(&reader, path), 0);
	assert_int_equal(replay_run(reader, &model, &sink, 1, err, sizeof(err)), 0);
	size = archive_size(sink, &model);
	archive_size_sink_destroy(sink);
	spool_reader_destroy(reader);
	model_deinit(&model);
	return size;
}

static void is_an_upper_bound(void **state)
{
	glob_t spools;

	(void)state;
	assert_int_equal(glob(SPOOLS, 0, NULL, &spools), 0);
	for (size_t i = 0; i < spools.gl_pathc; i++) {
		uint64_t bound = estimate(spools.gl_pathv[i]) + BUDGET_RESERVE_BYTES;
		uint64_t size = archived(spools.gl_pathv[i]) + SLACK_BYTES;

		if (getenv("VERBOSE"))
			printf("%s: %llu %llu\n", spools.gl_pathv[i], (unsigned long long)bound, (unsigned long long)size);
		if (bound < size)
			fail_msg("%s: %llu bytes are reserved, %llu needed", spools.gl_pathv[i], (unsigned long long)bound,
				 (unsigned long long)size);
	}
	globfree(&spools);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(is_an_upper_bound) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
