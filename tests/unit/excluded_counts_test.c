/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What filters excluded of a process that has ended is written once, also if its entry cannot be removed from the map at once. The
 * map is this file's.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/rings.h"
#include "capture/excluded.h"
#include "spool/spool.h"

static struct { bool there; struct iop_excluded_key key; struct iop_excluded counts; } entry;
static int removal_err;

int bpf_side_excluded(const struct bpf_side *kernel, size_t layer, enum iop_filter filter, struct iop_excluded *sum)
{
	(void)kernel, (void)layer, (void)filter;
	*sum = (struct iop_excluded){ 0 };
	return 0;
}

int bpf_side_excluded_each(const struct bpf_side *kernel,
			   int (*fn)(void *arg, const struct iop_excluded_key *key, const struct iop_excluded *sum), void *arg)
{
	(void)kernel;
	return entry.there ? fn(arg, &entry.key, &entry.counts) : 0;
}

int bpf_side_excluded_remove(const struct bpf_side *kernel, const struct iop_excluded_key *key, struct iop_excluded *sum)
{
	(void)kernel;
	assert_memory_equal(key, &entry.key, sizeof(*key));
	if (removal_err)
		return removal_err;
	if (!entry.there)
		return -ENOENT;
	*sum = entry.counts;
	entry.there = false;
	return 0;
}

uint64_t monotonic_ns(void) { return 1; }

static pid_t ended_process(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* Returns the calls of all notes on a process, and the number of these notes. */
static unsigned long long noted_calls(const char *path, unsigned *notes)
{
	unsigned long long calls = 0;
	struct spool_reader *reader;
	const struct iop_rec *rec;
	char value[32];
	size_t len;

	*notes = 0;
	assert_int_equal(spool_reader_open(&reader, path), 0);
	while (spool_reader_next(reader, &rec, &len) == 1) {
		if (rec->type != IOP_REC_LEFT_OUT || !text_value((const void *)rec, "pid", value, sizeof(value)))
			continue;
		assert_true(text_value((const void *)rec, "calls", value, sizeof(value)));
		calls += strtoull(value, NULL, 10);
		++*notes;
	}
	spool_reader_destroy(reader);
	return calls;
}

static void removed_late(void **state)
{
	struct table_layer layer = { .name = "POSIX" };
	struct table_set set = { .layers = &layer, .nlayers = 1 };
	struct filter filter = { .text[IOP_FILTER_BYTES] = "--min-bytes 10" };
	char dir[] = "/tmp/excluded_counts_test.XXXXXX", path[64];
	struct spool_writer *writer;
	struct excluded *excluded;
	unsigned notes;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/spool", dir);
	assert_int_equal(spool_writer_create(&writer, path), 0);
	assert_int_equal(excluded_create(&excluded, &filter, NULL, &set, writer), 0);
	entry.there = true;
	entry.key = (struct iop_excluded_key){ 1, ended_process(), 0, IOP_FILTER_BYTES };
	entry.counts.calls = 7;
	removal_err = -ENOMEM;
	for (int round = 0; round < 3; round++)
		excluded_note(excluded);
	entry.counts.calls = 9;         /* counted between two rounds */
	removal_err = 0;
	excluded_note(excluded);
	assert_false(entry.there);
	excluded_note(excluded);
	excluded_destroy(excluded);
	assert_int_equal(spool_writer_destroy(writer), 0);
	assert_int_equal(noted_calls(path, &notes), 9);
	assert_int_equal(notes, 2);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(removed_late) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
