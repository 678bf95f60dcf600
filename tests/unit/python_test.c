/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Python without a kernel: lines of location tables, which files are the application's, frames of machine code and of Python code
 * in their order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/build.h"
#include "replay/sites.h"
#include "spool/spool.h"
#include "symbol/python.h"

/* ---- lines ---- */

/* CPython 3.11 compiled with it, and says by co_lines() which lines begin where:
 *	def f(a,
 *	      b):
 *	    x = a + \
 *	        b
 *
 *	    try:
 *	        return (x
 *	                .real)
 *	    finally:
 *	        for i in range(3):
 *	            print(i,
 *	                  x) */
static const uint8_t table[] = {
	128, 0,   224, 8,  9,   216, 8,   9,   241, 3,   1,   9,   10,  128, 65,  240, 6,   6,   5,   21,  216, 16,  17,  220,
	17,  21,  240, 3,  1,   9,   23,  245, 6,   0,   18,  23,  144, 113, 145, 24,  148, 24,  240, 0,   2,   9,   21,  240,
	0,   2,   9,   21, 136, 65,  221, 12,  17,  144, 33,  216, 18,  19,  241, 3,   1,   13,  21,  244, 0,   1,   13,  21,
	240, 0,   1,   13, 21,  240, 0,   1,   13,  21,  240, 3,   2,   9,   21,  248, 149, 21,  144, 113, 145, 24,  148, 24,
	240, 0,   2,   9,  21,  240, 0,   2,   9,   21,  136, 65,  221, 12,  17,  144, 33,  216, 18,  19,  241, 3,   1,   13,
	21,  244, 0,   1,  13,  21,  240, 0,   1,   13,  21,  240, 0,   1,   13,  21,  240, 3,   2,   9,   21,  248, 248, 248,
};
static const struct { uint32_t end, line; } lines[] = {
	{ 2, 1 }, { 4, 3 }, { 6, 4 }, { 12, 3 }, { 14, 6 }, { 16, 7 }, { 26, 8 }, { 28, 7 }, { 62, 10 }, { 76, 11 }, { 78, 12 },
	{ 96, 11 }, { 98, 10 },
	{ 100, 0 }, { 134, 10 }, { 148, 11 }, { 150, 12 }, { 168, 11 }, { 170, 10 }, { 176, 0 }, { 180, 0 },
};

static void lines_of_instructions(void **state)
{
	uint32_t offset = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (; offset < lines[i].end; offset++)
			assert_int_equal(python_line(table, sizeof(table), 1, offset), lines[i].line);
	assert_int_equal(python_line(table, sizeof(table), 1, 0xfffffe), 0);
	assert_int_equal(python_line(table, sizeof(table), 101, 0), 101);
}

/* Whatever a program has in its memory: an answer, and no read beyond the table. */
static void damaged_tables(void **state)
{
	uint8_t *copy;

	(void)state;
	for (size_t n = 0; n < sizeof(table); n++) {
		copy = malloc(n + !n);
		assert_non_null(copy);
		memcpy(copy, table, n);
		assert_true(python_line(copy, n, 1, 40) == 0 || n > 20);
		for (size_t i = 0; i < n; i++) {
			copy[i] ^= 0xff;
			python_line(copy, n, INT32_MAX, 200);
			copy[i] ^= 0xff;
		}
		free(copy);
	}
}

static void applications(void **state)
{
	(void)state;
	assert_true(python_is_application("/home/user/run.py"));
	assert_true(python_is_application("<string>"));
	assert_true(python_is_application("run"));
	assert_true(python_is_application("/opt/lib/python3/site-packages/mymodel/io.py"));
	assert_false(python_is_application("/usr/lib/python3/dist-packages/h5py/_hl/dataset.py"));
	assert_false(python_is_application("/venv/lib/python3.12/site-packages/xarray/backends/api.py"));
	assert_false(python_is_application("/usr/lib/python3.11/shutil.py"));
	assert_false(python_is_application("<frozen importlib._bootstrap>"));
	assert_true(python_is_interpreter("/usr/bin/python3.11"));
	assert_true(python_is_interpreter("/opt/lib/libpython3.12.so.1.0"));
	assert_false(python_is_interpreter("/usr/lib/libpythonic.so"));
}

/* ---- chains ---- */

#define LOOP 0x5000             /* where the interpreter's loop is: offsets 0x4000 to 0x4100 of its file, mapped at 0x1000 */
#define APPLICATION 0x9000

static char directory[] = "/tmp/python_test.XXXXXX", path[64];
static struct spool_writer *spool;

static int begin(void **state)
{
	(void)state;
	strcpy(directory + sizeof(directory) - 7, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	strcpy(path, directory);
	strcat(path, "/spool");
	assert_int_equal(spool_writer_create(&spool, path), 0);
	spool_writer_text(spool, IOP_REC_HOST, 0, 1, "host=n\ncall_sites=4\n", NULL);
	spool_writer_text(
		spool, IOP_REC_CODE, 1, 1,
		"image=1\nmodule=0\nstart=1000\nend=8000\noffset=0\napplication=0\npath=/bin/python3\npython_loop=4000-4100\n",
		NULL);
	spool_writer_text(spool, IOP_REC_CODE, 1, 1,
			  "image=1\nmodule=1\nstart=9000\nend=a000\noffset=0\napplication=1\npath=/app.so\n", NULL);
	return 0;
}

static int finish(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

static void site(uint32_t id, uint32_t parent, uint64_t pc, uint32_t image, uint32_t flags)
{
	struct iop_rec_site rec = { .rec = { .len = sizeof(rec), .type = IOP_REC_SITE },
				    .id = id,
				    .parent = parent,
				    .pc = pc,
				    .image = image,
				    .flags = flags };

	spool_writer_append(spool, &rec.rec);
}

static void piece(uint32_t id, uint8_t kind_of_piece, uint8_t kind, const void *bytes, uint16_t len, uint32_t at)
{
	char room[256] = "";
	struct iop_rec_python_code *rec = (void *)room;

	*rec = (struct iop_rec_python_code){ .rec = { .len = (sizeof(*rec) + len + 7) & ~7, .type = IOP_REC_PYTHON_CODE },
					     .id = id,
					     .first_line = 10 * id,
					     .total = len / kind + at,
					     .at = at,
					     .len = len,
					     .piece = kind_of_piece,
					     .kind = kind };
	memcpy(rec->bytes, bytes, len);
	spool_writer_append(spool, &rec->rec);
}

static void code(uint32_t id, const char *file, const char *name)
{
	static const uint8_t one_entry[] = { 0x80 | 13 << 3 | 7, 2 };   /* eight units of line first + 1 */

	piece(id, IOP_PYTHON_FILE, 1, file, strlen(file), 0);
	piece(id, IOP_PYTHON_NAME, 1, name, strlen(name), 0);
	piece(id, IOP_PYTHON_LINES, 1, one_entry, sizeof(one_entry), 0);
}

/* "FUNCTION:LINE" or the file of machine code, from the call outwards; and how the chain ends. */
static void check_chain(uint32_t id, const char *wanted)
{
	static const char *const ends[] = {
		[CALLERS_WHOLE] = "whole", [CALLERS_TRUNCATED] = "truncated", [CALLERS_UNKNOWN] = "unknown"
	};
	struct iop_rec_call call = { .site = { id } };
	struct spool_reader *reader;
	struct call_sites *sites;
	const struct model_site *where;
	char text[512] = "";
	struct model model;
	uint32_t index;

	assert_int_equal(spool_writer_destroy(spool), 0);
	assert_int_equal(spool_reader_open(&reader, path), 0);
	assert_int_equal(call_sites_read(&sites, reader), 0);
	assert_non_null(sites);
	model = (struct model){ 0 };
	assert_int_equal(call_sites_build(sites, &model), 0);
	index = call_sites_lookup(sites, &call);
	assert_true(index < model.sites.n);
	where = &model.sites.v[index];
	for (uint32_t c = where->context; c != REF_NONE; c = model.contexts.v[c].parent) {
		const struct model_context *context = &model.contexts.v[c];
		unsigned line = context->line == REF_NONE ? 0 : model.code_lines.v[context->line].line;

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s:%u ",
			 context->function ? context->function : context->module, line);
	}
	strcat(text, ends[where->callers]);
	assert_string_equal(text, wanted);
	model_deinit(&model);
	call_sites_destroy(sites);
	spool_reader_destroy(reader);
}

/* main calls helper, which calls the extension; that calls back callback, which writes. */
static void both_chains(uint32_t machine_end)
{
	code(1, "/run.py", "main");
	code(2, "/run.py", "helper");
	code(3, "/run.py", "callback");
	site(1, 0, 6, 1, IOP_SITE_PYTHON | IOP_SITE_ENTRY | IOP_SITE_WHOLE);
	site(2, 1, 6, 2, IOP_SITE_PYTHON);
	site(3, 2, 6, 3, IOP_SITE_PYTHON | IOP_SITE_ENTRY);
	site(4, 0, LOOP + 0x10, 1, 0);
	site(5, 4, APPLICATION + 0x10, 1, 0);
	site(6, 5, LOOP + 0x20, 1, 0);
	site(7, 6, 0x2000, 1, machine_end);
	site(8, 7, 3, 0, IOP_SITE_PAIR);
}

static void spliced(void **state)
{
	(void)state;
	both_chains(IOP_SITE_WHOLE);
	check_chain(8, "callback:31 /app.so:0 helper:21 main:11 whole");
}

/* Four frames of the application are wanted: beyond them nothing is missing. */
static void spliced_truncated(void **state)
{
	(void)state;
	both_chains(IOP_SITE_TRUNCATED);
	check_chain(8, "callback:31 /app.so:0 helper:21 main:11 whole");
}

static void machine_code_unknown(void **state)
{
	(void)state;
	code(1, "/run.py", "main");
	code(2, "/usr/lib/python3.11/x.py", "library");
	site(1, 0, 6, 1, IOP_SITE_PYTHON | IOP_SITE_ENTRY | IOP_SITE_WHOLE);
	site(2, 1, 6, 2, IOP_SITE_PYTHON | IOP_SITE_ENTRY);
	site(3, 0, 0x2000, 1, 0);
	site(4, 3, 2, 0, IOP_SITE_PAIR);
	check_chain(4, "/bin/python3:0 library:21 main:11 unknown");
}

/* A run of the loop whose frames were not found: the chain is marked so. */
static void no_frames_found(void **state)
{
	(void)state;
	site(1, 0, LOOP + 0x10, 1, IOP_SITE_WHOLE);
	check_chain(1, "/bin/python3:0 unknown");
}

static void other_characters(void **state)
{
	static const uint16_t file[] = { '/', 0x416, '.', 'p', 'y' };
	static const uint32_t name[] = { 'f', 0x1d465 };

	(void)state;
	piece(1, IOP_PYTHON_FILE, 2, file, sizeof(file), 0);
	piece(1, IOP_PYTHON_NAME, 4, name, 4, 0);
	piece(1, IOP_PYTHON_NAME, 4, name + 1, 4, 1);
	piece(1, IOP_PYTHON_NAME, 4, name + 1, 4, 9);           /* behind a lost one */
	site(1, 0, 6, 1, IOP_SITE_PYTHON | IOP_SITE_ENTRY | IOP_SITE_WHOLE);
	site(2, 0, LOOP + 0x10, 1, IOP_SITE_WHOLE);
	site(3, 2, 1, 0, IOP_SITE_PAIR);
	check_chain(3, "f\xf0\x9d\x91\xa5:0 whole");
}

/* A pair names an earlier site. */
static void damaged_pair(void **state)
{
	(void)state;
	site(1, 0, LOOP + 0x10, 1, IOP_SITE_WHOLE);
	site(2, 1, 2, 0, IOP_SITE_PAIR);
	site(3, 1, 1, 0, IOP_SITE_PAIR);
	check_chain(3, "/bin/python3:0 unknown");
}

#define CHAIN(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_instructions),
		cmocka_unit_test(damaged_tables),
		cmocka_unit_test(applications),
		CHAIN(spliced),
		CHAIN(spliced_truncated),
		CHAIN(machine_code_unknown),
		CHAIN(no_frames_found),
		CHAIN(other_characters),
		CHAIN(damaged_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
