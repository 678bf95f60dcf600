/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The spool: what is written comes back, up to the last whole block of a file that was cut off, damaged, or met a full disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spool/spool.h"

struct place { char dir[64], path[96]; };

static int setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	strcpy(place->dir, "/tmp/ioprobe-spool-XXXXXX");
	if (!mkdtemp(place->dir))
		return -1;
	snprintf(place->path, sizeof(place->path), "%s/spool", place->dir);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	unlink(place->path);
	rmdir(place->dir);
	free(place);
	return 0;
}

/* Incompressible, so that blocks have a known size on disk. */
static void make_call(struct iop_rec_call *call, uint32_t seq, unsigned nargs)
{
	memset(call, 0, sizeof(*call));
	call->rec = (struct iop_rec){ .len = sizeof(*call) + 8 * nargs, .type = IOP_REC_CALL, .tid = 7, .tgid = 7, .seq = seq };
	call->nargs = nargs < IOP_MAX_ARGS ? nargs : IOP_MAX_ARGS;
	for (unsigned i = 0; i < nargs; i++)
		call->args[i] = ((uint64_t)random() << 33) ^ ((uint64_t)random() << 11) ^ random();
}

union room { struct iop_rec_call call; char bytes[sizeof(struct iop_rec_call) + 8 * 200]; };

static void append_calls(struct spool_writer *writer, uint32_t from, uint32_t to, unsigned nargs)
{
	union room room;

	for (uint32_t seq = from; seq < to; seq++) {
		make_call(&room.call, seq, nargs);
		spool_writer_append(writer, &room.call.rec);
	}
}

/* Reads to the end; the records are those of seq 1, 2, …. Returns how many; *last is the reader's last word. */
static uint32_t count_calls(const char *path, int *last)
{
	struct spool_reader *reader;
	const struct iop_rec *rec;
	uint32_t n = 0;
	size_t len;

	assert_int_equal(spool_reader_open(&reader, path), 0);
	while ((*last = spool_reader_next(reader, &rec, &len)) == 1) {
		if (rec->type == IOP_REC_STATUS)
			continue;
		assert_int_equal(rec->seq, ++n);
		assert_int_equal(len, rec->len);
	}
	assert_int_equal(spool_reader_next(reader, &rec, &len), *last);
	spool_reader_destroy(reader);
	return n;
}

static void test_round_trip(void **state)
{
	struct place *place = *state;
	struct spool_writer *writer, *other;
	struct stat st;
	int last;

	assert_int_equal(spool_writer_create(&writer, place->path), 0);
	assert_int_equal(spool_writer_create(&other, place->path), -EEXIST);
	append_calls(writer, 1, 50001, 3);
	assert_int_equal(spool_writer_flush(writer), 0);
	assert_int_equal(spool_writer_flush(writer), 0);
	stat(place->path, &st);
	assert_int_equal(st.st_size, spool_writer_bytes(writer));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(spool_writer_dropped(writer), 0);
	assert_int_equal(spool_writer_destroy(writer), 0);
	assert_int_equal(count_calls(place->path, &last), 50000);
	assert_int_equal(last, 0);
}

/* Blocks of calls alone are skipped, unless one of their bytes is wrong. */
static void test_plain_blocks_are_skipped(void **state)
{
	struct place *place = *state;
	struct iop_rec_site site = { .rec = { .len = sizeof(site), .type = IOP_REC_SITE } };
	struct iop_rec round = { .len = sizeof(round), .type = IOP_REC_ROUND };
	struct spool_writer *writer;
	struct spool_reader *reader;
	const struct iop_rec *rec;
	unsigned n[256] = { 0 };
	size_t len;
	int last;

	assert_int_equal(spool_writer_create(&writer, place->path), 0);
	append_calls(writer, 1, 50001, 3);
	spool_writer_append(writer, &round);
	spool_writer_flush(writer);
	append_calls(writer, 50001, 50002, 3);
	spool_writer_append(writer, &site.rec);
	spool_writer_flush(writer);
	append_calls(writer, 50002, 90001, 3);
	spool_writer_text(writer, IOP_REC_PROCESS, 7, 1, "comm=x\n", NULL);
	assert_int_equal(spool_writer_destroy(writer), 0);
	assert_int_equal(spool_reader_open(&reader, place->path), 0);
	spool_reader_skip_plain(reader);
	while ((last = spool_reader_next(reader, &rec, &len)) == 1)
		n[rec->type]++;
	assert_int_equal(last, 0);
	assert_int_equal(n[IOP_REC_SITE], 1);
	assert_int_equal(n[IOP_REC_PROCESS], 1);
	assert_int_equal(n[IOP_REC_ROUND], 0);
	assert_in_range(n[IOP_REC_CALL], 1, 10000);
	spool_reader_destroy(reader);
}

static void test_bad_record_is_refused(void **state)
{
	struct place *place = *state;
	struct spool_writer *writer;
	struct iop_rec rec = { .len = 28, .type = IOP_REC_ROUND };
	int last;

	assert_int_equal(spool_writer_create(&writer, place->path), 0);
	assert_int_equal(spool_writer_append(writer, &rec), -EINVAL);
	rec.len = 16;
	assert_int_equal(spool_writer_append(writer, &rec), -EINVAL);
	assert_int_equal(spool_writer_destroy(writer), 0);
	assert_int_equal(count_calls(place->path, &last), 0);
	assert_int_equal(last, 0);
}

/* ---- texts ---- */

static void test_large_text(void **state)
{
	struct place *place = *state;
	struct spool_writer *writer;
	struct spool_reader *reader;
	const struct iop_rec *rec;
	size_t len, raw_len, big = 900000;
	char *raw = malloc(big + 1), name[16];

	for (size_t i = 0; i < big; i++)
		raw[i] = 'a' + random() % 26;
	raw[big] = 0;
	assert_int_equal(spool_writer_create(&writer, place->path), 0);
	append_calls(writer, 1, 2, 0);
	assert_int_equal(spool_writer_text(writer, IOP_REC_TABLE, 5, 99, "name=x\\x0ay\n", raw), 0);
	assert_int_equal(spool_writer_text(writer, IOP_REC_END, 0, 100, "reason=done\n", NULL), 0);
	assert_int_equal(spool_writer_destroy(writer), 0);

	assert_int_equal(spool_reader_open(&reader, place->path), 0);
	assert_int_equal(spool_reader_next(reader, &rec, &len), 1);
	assert_int_equal(rec->type, IOP_REC_STATUS);
	assert_int_equal(spool_reader_next(reader, &rec, &len), 1);
	assert_int_equal(spool_reader_next(reader, &rec, &len), 1);
	assert_int_equal(rec->len, 0);
	assert_int_equal(rec->type, IOP_REC_TABLE);
	assert_int_equal(rec->time_ns, 99);
	assert_true(text_value((const void *)rec, "name", name, sizeof(name)));
	assert_string_equal(name, "x\ny");
	assert_memory_equal(text_raw((const void *)rec, &raw_len), raw, big);
	assert_int_equal(raw_len, big);
	assert_int_equal(spool_reader_next(reader, &rec, &len), 1);
	assert_true(text_value((const void *)rec, "reason", name, sizeof(name)));
	assert_null(text_raw((const void *)rec, &raw_len));
	assert_int_equal(spool_reader_next(reader, &rec, &len), 0);
	spool_reader_destroy(reader);
	free(raw);
}

static void test_text_values(void **state)
{
	static const char text[] = "path=/a b\npat=short\nempty=\nbad=\\xzz\\x4\n\nlater=raw";
	union { struct iop_rec_text rec; char room[sizeof(struct iop_rec_text) + sizeof(text)]; } u = { 0 };
	char buf[16];
	size_t len;

	(void)state;
	u.rec.text_len = sizeof(text) - 1;
	memcpy(u.rec.text, text, sizeof(text) - 1);
	assert_true(text_value(&u.rec, "pat", buf, sizeof(buf)));
	assert_string_equal(buf, "short");
	assert_true(text_value(&u.rec, "path", buf, 4));
	assert_string_equal(buf, "/a ");
	assert_true(text_value(&u.rec, "empty", buf, sizeof(buf)));
	assert_string_equal(buf, "");
	assert_true(text_value(&u.rec, "bad", buf, sizeof(buf)));
	assert_string_equal(buf, "\\xzz\\x4");
	assert_false(text_value(&u.rec, "later", buf, sizeof(buf)));
	assert_false(text_value(&u.rec, "no", buf, sizeof(buf)));
	assert_memory_equal(text_raw(&u.rec, &len), "later=raw", 9);
	assert_int_equal(len, 9);
}

static void test_escape(void **state)
{
	char buf[32];

	(void)state;
	assert_int_equal(text_escape(buf, sizeof(buf), "a\n\\\x7f\xc3\xa9"), 15);
	assert_string_equal(buf, "a\\x0a\\x5c\\x7f\xc3\xa9");
	assert_int_equal(text_escape(buf, 5, "a\nb"), 1);        /* no half escapes */
	assert_string_equal(buf, "a");
	assert_int_equal(text_escape(buf, 1, "a"), 0);
	assert_int_equal(text_escape(buf, 0, "a"), 0);
}

/* ---- damage ---- */

static uint64_t two_blocks(const char *path, uint32_t *in_first)
{
	struct spool_writer *writer;
	uint64_t end_of_first;

	assert_int_equal(spool_writer_create(&writer, path), 0);
	append_calls(writer, 1, 101, 50);
	assert_int_equal(spool_writer_flush(writer), 0);
	end_of_first = spool_writer_bytes(writer);
	append_calls(writer, 101, 201, 50);
	assert_int_equal(spool_writer_destroy(writer), 0);
	*in_first = 100;
	return end_of_first;
}

static void test_cut_off(void **state)
{
	struct place *place = *state;
	uint32_t in_first;
	uint64_t first = two_blocks(place->path, &in_first);
	int last;

	assert_int_equal(count_calls(place->path, &last), 200);
	for (int more = 1000; more > 0; more -= 333) {
		assert_int_equal(truncate(place->path, first + more), 0);
		assert_int_equal(count_calls(place->path, &last), in_first);
		assert_int_equal(last, -EBADMSG);
	}
	assert_int_equal(truncate(place->path, first), 0);
	assert_int_equal(count_calls(place->path, &last), in_first);
	assert_int_equal(last, 0);
	assert_int_equal(truncate(place->path, 16), 0);
	assert_int_equal(count_calls(place->path, &last), 0);
	assert_int_equal(last, 0);
}

static void test_every_flipped_byte_is_noticed(void **state)
{
	struct place *place = *state;
	uint32_t in_first;
	uint64_t first = two_blocks(place->path, &in_first);
	int fd = open(place->path, O_RDWR), last;

	for (uint64_t at = first; at < first + 400; at += at < first + 24 ? 1 : 37) {
		unsigned char byte, flipped;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		flipped = byte ^ 0x10;
		assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
		assert_int_equal(count_calls(place->path, &last), in_first);
		assert_int_equal(last, -EBADMSG);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
	assert_int_equal(count_calls(place->path, &last), 200);
}

static void test_not_a_spool(void **state)
{
	struct place *place = *state;
	struct spool_reader *reader;
	int fd;

	assert_int_equal(spool_reader_open(&reader, place->path), -ENOENT);
	fd = open(place->path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(spool_reader_open(&reader, place->path), -EINVAL);
	assert_int_equal(write(fd, "this is some other file, of some length", 39), 39);
	assert_int_equal(spool_reader_open(&reader, place->path), -EINVAL);
	close(fd);
}

/* A record that says to be longer than it is must not get out, even if the checksum is right. */
static void test_lying_record(void **state)
{
	struct place *place = *state;
	struct spool_writer *writer;
	struct iop_rec_call call = { .rec = { .len = sizeof(call), .type = IOP_REC_CALL, .seq = 1 } };
	int last;

	assert_int_equal(spool_writer_create(&writer, place->path), 0);
	spool_writer_append(writer, &call.rec);
	call.nargs = 4;
	spool_writer_append(writer, &call.rec);
	assert_int_equal(spool_writer_destroy(writer), 0);
	assert_int_equal(count_calls(place->path, &last), 1);
	assert_int_equal(last, -EBADMSG);
}

/* ---- a full disk: RLIMIT_FSIZE makes the write short, then EFBIG ---- */

static void test_full_disk(void **state)
{
	struct place *place = *state;
	struct rlimit limit, low;
	struct spool_writer *writer;
	uint32_t n = 0;
	const struct iop_rec *rec;
	struct spool_reader *reader;
	size_t len;
	int last;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(spool_writer_create(&writer, place->path), 0);
	append_calls(writer, 1, 101, 100);
	assert_int_equal(spool_writer_flush(writer), 0);
	low = (struct rlimit){ spool_writer_bytes(writer) + 1000, limit.rlim_max };
	setrlimit(RLIMIT_FSIZE, &low);
	append_calls(writer, 101, 201, 100);
	assert_int_equal(spool_writer_flush(writer), -EFBIG);
	assert_int_equal(spool_writer_dropped(writer), 100);
	setrlimit(RLIMIT_FSIZE, &limit);
	append_calls(writer, 201, 301, 100);
	assert_int_equal(spool_writer_flush(writer), 0);
	assert_int_equal(spool_writer_dropped(writer), 100);
	assert_int_equal(spool_writer_destroy(writer), -EFBIG);

	assert_int_equal(spool_reader_open(&reader, place->path), 0);
	while ((last = spool_reader_next(reader, &rec, &len)) == 1) {
		if (rec->type == IOP_REC_STATUS)
			continue;
		n++;
		assert_int_equal(rec->seq, n <= 100 ? n : n + 100);
	}
	assert_int_equal(last, 0);
	assert_int_equal(n, 200);
	spool_reader_destroy(reader);
}

/* ---- how the recording stands ---- */

/* The first record of the file, if it is of that type; "" else. */
static void read_status(const char *path, enum iop_rec_type type, char *value, size_t value_len)
{
	struct spool_reader *reader;
	const struct iop_rec *rec;
	size_t len;

	value[0] = 0;
	assert_int_equal(spool_reader_open(&reader, path), 0);
	if (spool_reader_next(reader, &rec, &len) == 1 && rec->type == type)
		text_value((const void *)rec, "reason", value, value_len);
	spool_reader_destroy(reader);
}

/* Its room is there from the beginning: it is written where the file may not grow. */
static void test_status_on_a_full_disk(void **state)
{
	struct place *place = *state;
	struct rlimit limit, low;
	struct spool_writer *writer;
	char value[16], *text = calloc(1, SPOOL_STATUS_TEXT_MAX + 2);

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(spool_writer_create(&writer, place->path), 0);
	append_calls(writer, 1, 101, 100);
	assert_int_equal(spool_writer_flush(writer), 0);
	low = (struct rlimit){ spool_writer_bytes(writer), limit.rlim_max };
	setrlimit(RLIMIT_FSIZE, &low);
	append_calls(writer, 101, 201, 100);
	assert_int_equal(spool_writer_flush(writer), -EFBIG);
	assert_int_equal(spool_writer_status(writer, IOP_REC_STATUS, 5, "reason=none yet\n"), 0);
	read_status(place->path, IOP_REC_STATUS, value, sizeof(value));
	assert_string_equal(value, "none yet");
	assert_int_equal(spool_writer_status(writer, IOP_REC_END, 6, "reason=full\n"), 0);
	setrlimit(RLIMIT_FSIZE, &limit);
	memset(text, 'x', SPOOL_STATUS_TEXT_MAX + 1);
	assert_int_equal(spool_writer_status(writer, IOP_REC_END, 7, text), -E2BIG);
	spool_writer_destroy(writer);
	read_status(place->path, IOP_REC_END, value, sizeof(value));
	assert_string_equal(value, "full");
	free(text);
}

/* A kill in the middle of its writing costs it alone. */
static void test_torn_status(void **state)
{
	struct place *place = *state;
	struct spool_writer *writer;
	int fd, last;

	assert_int_equal(spool_writer_create(&writer, place->path), 0);
	append_calls(writer, 1, 101, 3);
	assert_int_equal(spool_writer_destroy(writer), 0);
	fd = open(place->path, O_WRONLY);
	assert_int_equal(pwrite(fd, "?", 1, 100), 1);
	close(fd);
	assert_int_equal(count_calls(place->path, &last), 100);
	assert_int_equal(last, 0);
}

/* ---- a file that grows ---- */

#define GROWING_BLOCKS 20
#define GROWING_CALLS 50        /* of a block */
#define GROWTH 997              /* bytes at a time: blocks and their headers are torn at all places */

struct growing { int to; char *bytes; size_t len, at; unsigned waits; };

static bool grow_file(void *arg)
{
	struct growing *g = arg;
	size_t n = g->len - g->at < GROWTH ? g->len - g->at : GROWTH;

	g->waits++;
	assert_int_equal(write(g->to, g->bytes + g->at, n), n);
	g->at += n;
	return g->at < g->len;
}

static void read_whole(const char *path, struct growing *g)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	fstat(fd, &st);
	g->len = st.st_size;
	g->bytes = malloc(g->len);
	assert_int_equal(read(fd, g->bytes, g->len), g->len);
	close(fd);
}

/* All records come once, in their order, whatever part of a block is there; the status comes last, as it is at the end. */
static void test_growing(void **state)
{
	struct place *place = *state;
	struct spool_writer *writer;
	struct spool_reader *reader;
	struct growing g = { .at = 16 };        /* the file's header is there */
	const struct iop_rec *rec;
	uint32_t n = 0, ends = 0;
	size_t len;
	int ret;

	assert_int_equal(spool_writer_create(&writer, place->path), 0);
	for (int block = 0; block < GROWING_BLOCKS; block++) {
		append_calls(writer, 1 + block * GROWING_CALLS, 1 + (block + 1) * GROWING_CALLS, 3);
		assert_int_equal(spool_writer_flush(writer), 0);
	}
	assert_int_equal(spool_writer_status(writer, IOP_REC_END, 9, "lost=0\n"), 0);
	assert_int_equal(spool_writer_destroy(writer), 0);
	read_whole(place->path, &g);
	unlink(place->path);
	g.to = open(place->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
	assert_int_equal(write(g.to, g.bytes, g.at), g.at);

	assert_int_equal(spool_reader_open(&reader, place->path), 0);
	spool_reader_follow(reader, grow_file, &g);
	while ((ret = spool_reader_next(reader, &rec, &len)) == 1) {
		assert_int_equal(ends, 0);
		if (rec->type == IOP_REC_END)
			ends++;
		else
			assert_int_equal(rec->seq, ++n);
	}
	assert_int_equal(ret, 0);
	assert_int_equal(n, GROWING_BLOCKS * GROWING_CALLS);
	assert_int_equal(ends, 1);
	assert_true(g.waits > GROWING_BLOCKS);
	spool_reader_destroy(reader);
	close(g.to);
	free(g.bytes);
}

/* The recorder died in the middle of a block. */
static void test_growing_cut_off(void **state)
{
	struct place *place = *state;
	struct spool_writer *writer;
	struct spool_reader *reader;
	struct growing g = { .at = 16 };
	const struct iop_rec *rec;
	uint32_t n = 0;
	size_t len;
	int ret;

	assert_int_equal(spool_writer_create(&writer, place->path), 0);
	append_calls(writer, 1, 101, 3);
	assert_int_equal(spool_writer_flush(writer), 0);
	append_calls(writer, 101, 201, 3);
	assert_int_equal(spool_writer_destroy(writer), 0);
	read_whole(place->path, &g);
	g.len -= 10;
	unlink(place->path);
	g.to = open(place->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
	assert_int_equal(write(g.to, g.bytes, g.at), g.at);

	assert_int_equal(spool_reader_open(&reader, place->path), 0);
	spool_reader_follow(reader, grow_file, &g);
	while ((ret = spool_reader_next(reader, &rec, &len)) == 1)
		if (rec->type == IOP_REC_CALL)
			assert_int_equal(rec->seq, ++n);
	assert_int_equal(ret, -EBADMSG);
	assert_int_equal(n, 100);
	spool_reader_destroy(reader);
	close(g.to);
	free(g.bytes);
}

/* Who follows sees by the lock that there is a writer. */
static void test_has_writer(void **state)
{
	struct place *place = *state;
	struct spool_writer *writer;
	struct spool_reader *reader;

	assert_int_equal(spool_writer_create(&writer, place->path), 0);
	assert_int_equal(spool_reader_open(&reader, place->path), 0);
	assert_int_equal(spool_reader_has_writer(reader), 1);
	assert_int_equal(spool_writer_destroy(writer), 0);
	assert_int_equal(spool_reader_has_writer(reader), 0);
	spool_reader_destroy(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_plain_blocks_are_skipped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_record_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_text, setup, teardown),
		cmocka_unit_test(test_text_values),
		cmocka_unit_test(test_escape),
		cmocka_unit_test_setup_teardown(test_cut_off, setup, teardown),
		cmocka_unit_test_setup_teardown(test_every_flipped_byte_is_noticed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_a_spool, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lying_record, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_status_on_a_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_torn_status, setup, teardown),
		cmocka_unit_test_setup_teardown(test_growing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_growing_cut_off, setup, teardown),
		cmocka_unit_test_setup_teardown(test_has_writer, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
