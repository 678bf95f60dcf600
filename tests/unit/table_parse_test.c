/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The parser of probe tables: mistakes with their place, rows, lists, properties, versions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/table.h"

#define LAYER "layer L\n  libraries x.so\n  handles pointer\n"
#define SYSCALLS "layer S\n  syscalls\n  handles fd\n"

static const struct { const char *text, *message; int ret;
} mistakes[] = {
	{ LAYER "f opne\n", "t:4:3: unknown operation 'opne'", -EINVAL },
	{ LAYER "f read,colective\n", "t:4:8: unknown modifier 'colective'", -EINVAL },
	{ LAYER "f read handel\n", "t:4:8: unknown role 'handel'", -EINVAL },
	{ LAYER "f read bytes:short\n", "t:4:8: unknown kind 'short'", -EINVAL },
	{ LAYER "f read bytes -> sizes\n", "t:4:17: unknown result 'sizes'", -EINVAL },
	{ LAYER "f read bytes -> bytes:short\n", "t:4:17: unknown kind 'short'", -EINVAL },
	{ LAYER "f read bytes -> bytes more\n", "t:4:23: end of line expected, not 'more'", -EINVAL },
	{ LAYER "f read bytes -> bytes since\n", "t:4:28: version expected", -EINVAL },
	{ LAYER "f read bytes -> bytes since new\n", "t:4:29: unknown version 'new'", -EINVAL },
	{ LAYER "f read bytes -> bytes since 1 since 2\n", "t:4:31: end of line expected, not 'since'", -EINVAL },
	{ LAYER "f read ->\n", "t:4:10: result expected", -EINVAL },
	{ LAYER "f\n", "t:4:2: operation expected", -EINVAL },
	{ LAYER "f read\nf write\n", "t:5:1: function 'f' is in layer 'L' already", -EINVAL },
	{ LAYER "f read out:iov iovcnt\n", "t:4:8: 'out:iov' cannot be read through a pointer", -EINVAL },
	{ LAYER "f read in:path\n", "t:4:8: 'in:path' cannot be read through a pointer", -EINVAL },
	{ LAYER "f read path out:name\n", "t:4:1: 'f': strings are read either at the entry or at the return", -EINVAL },
	{ LAYER "f_{x} read\n", "t:4:1: unknown list in 'f_{x}'", -EINVAL },
	{ LAYER "  list x a=1 b=0\n", "t:4:14: '0': bytes are a number up to 65535", -EINVAL },
	{ LAYER "  type x 1\n", "t:4:8: 'x' is no number", -EINVAL },
	{ LAYER "  type 4\n", "t:4:9: type expected", -EINVAL },
	{ LAYER "  type 4 symbol:\n", "t:4:10: unknown type 'symbol:'", -EINVAL },
	{ LAYER "  abi of\n", "t:4:9: layer expected", -EINVAL },
	{ LAYER "  list x\n", "t:4:9: name expected", -EINVAL },
	{ LAYER "  list x a b\nf_{x} read\nf_b read\n", "t:6:1: function 'f_b' is in layer 'L' already", -EINVAL },
	{ LAYER "f read iov bytes\n", "t:4:1: 'f': iov must be followed by iovcnt", -EINVAL },
	{ LAYER "f read bytes iov\n", "t:4:1: 'f': iov must be followed by iovcnt", -EINVAL },
	{ LAYER "f read iov - iovcnt\n", "t:4:1: 'f': iov must be followed by iovcnt", -EINVAL },
	{ LAYER "f region,callback out:bytes\n",
	  "t:4:1: 'f': the return of a callback row is not probed, nor are its out arguments",
	  -EINVAL },
	{ LAYER "f read,direct addr\n", "t:4:1: 'f': only learn rows are direct or checked", -EINVAL },
	{ LAYER "f learn,checked addr -> count\n", "t:4:1: 'f': a checked row tells nothing at its return but a status", -EINVAL },
	{ LAYER "f read addr addr addr addr addr addr addr addr addr\n", "t:4:48: 'f' captures more than 8 arguments", -EINVAL },
	{ LAYER "f read - - - - - - - - - - - - - - - - -\n", "t:4:40: 'f' has more than 16 arguments", -EINVAL },
	{ LAYER "f read fact:x\n", "t:4:8: layer 'L' has no fact 'x'", -EINVAL },
	{ LAYER "  fact x\n", "t:4:9: title of a fact expected", -EINVAL },
	{ LAYER "  fact x T\n  fact x U\n", "t:5:8: layer 'L' has a fact 'x' already, or 255 facts", -EINVAL },
	{ LAYER "  fact x T one=1\n", "t:4:12: unknown property of a fact 'one=1'", -EINVAL },
	{ LAYER "  fact x T only=y:1\n", "t:4:12: unknown fact in 'only=y:1'", -EINVAL },
	{ LAYER "  fact x T\nf learn -> status sets x\n", "t:5:25: value expected", -EINVAL },
	{ LAYER "  fact x T\nf learn -> status gives x gives x\n", "t:5:27: end of line expected, not 'gives'", -EINVAL },
	{ LAYER "  colour red\n", "t:4:3: unknown property 'colour'", -EINVAL },
	{ LAYER "  handles id\n", "t:4:3: layer 'L' has its handles already", -EINVAL },
	{ LAYER "  status 24 16 12\n  status 8 0 4\n", "t:5:3: layer 'L' has its status already", -EINVAL },
	{ LAYER "  variables-in A\n  variables-in B\n", "t:5:3: layer 'L' has its variables-in already", -EINVAL },
	{ LAYER "  success maybe\n", "t:4:11: unknown condition of success 'maybe'", -EINVAL },
	{ LAYER "  paradigm P \"Name serial\n", "t:4:14: quote is not closed on its line", -EINVAL },
	{ LAYER "  paradigm P \"Name\" sometimes\n", "t:4:21: unknown class 'sometimes'", -EINVAL },
	{ LAYER "  paradigm P \"Name\" parallel-if lucky\n", "t:4:33: unknown condition 'lucky'", -EINVAL },
	{ LAYER "  paradigm P \"Name\" serial sometimes\n", "t:4:28: unknown flag 'sometimes'", -EINVAL },
	{ LAYER "  flag EXCL 0xg\n", "t:4:13: '0xg' is no number", -EINVAL },
	{ LAYER "  flag EXCL -1\n", "t:4:13: '-1' is no number", -EINVAL },
	{ LAYER "  comm universe value:1\n", "t:4:8: unknown communicator 'universe'", -EINVAL },
	{ LAYER "  comm world valeu:1\n", "t:4:14: unknown constant 'valeu:1'", -EINVAL },
	{ LAYER "  stream stdlog symbol:s\n", "t:4:10: unknown stream 'stdlog'", -EINVAL },
	{ LAYER "  stream stdin value:1\n", "t:4:16: unknown place 'value:1'", -EINVAL },
	{ LAYER "  stream stdin symbol:\n", "t:4:16: unknown place 'symbol:'", -EINVAL },
	{ "layer L\n  libraries x.so\nf read handle\n", "t:3:8: layer 'L' does not define its handles", -EINVAL },
	{ "\nlayer L\n  success zero\n", "t:2:1: layer 'L' has neither libraries nor syscalls", -EINVAL },
	{ "layer \"\033[31mL\"\n", "t:1:7: the word has control characters or is no UTF-8", -EINVAL },
	{ LAYER "f \xc2\x9b" "31m\n", "t:4:3: the word has control characters or is no UTF-8", -EINVAL },
	{ LAYER "f \xff\n", "t:4:3: the word has control characters or is no UTF-8", -EINVAL },
	{ LAYER "f \xc3\xa9\n", "t:4:3: unknown operation '\xc3\xa9'", -EINVAL },
	{ "f read\n", "t:1:1: function 'f' before the first layer", -EINVAL },
	{ "  success zero\n", "t:1:3: property 'success' before the first layer", -EINVAL },
	{ "layer\n", "t:1:6: name of the layer expected", -EINVAL },
	{ "layer L\n  libraries x.so\n  handles pointer\nf read datatype+24\n",
	  "t:4:8: 'datatype+24': only what is read through a pointer has an offset", -EINVAL },
	{ "layer L\n  libraries x.so\n  handles pointer\nf read in:datatype+900\n",
	  "t:4:8: 'in:datatype+900': an offset is a number up to 255", -EINVAL },
	{ "layer L\n  libraries x.so\n  abi foo 3\n", "t:3:7: unknown place 'foo'", -EINVAL },
	{ "layer a_name_that_is_far_too_long_for_it\n", "t:1:7: name 'a_name_that_is_far_too_long_for_it' is longer than 23 bytes",
	  -EINVAL },
	{ SYSCALLS "read read - - - - - - bytes\n", "t:4:23: a system call has at most 6 arguments", -EINVAL },
};

static void test_mistakes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		struct table_set set;
		char err[256] = "";

		table_set_init(&set);
		assert_int_equal(table_parse(&set, "before", "layer K\n  libraries k.so\ng region\n", err, sizeof(err)), 0);
		assert_int_equal(table_parse(&set, "t", mistakes[i].text, err, sizeof(err)), mistakes[i].ret);
		assert_string_equal(err, mistakes[i].message);
		assert_int_equal(set.nlayers, 1);
		assert_int_equal(set.nrows, 1);
		assert_int_equal(set.nsources, 1);
		assert_non_null(table_find(&set, "K", "g"));
		table_set_deinit(&set);
	}
}

static void test_row(void **state)
{
	struct table_set set;
	const struct table_row *row;
	struct iop_desc desc;
	char err[256] = "";

	(void)state;
	table_set_init(&set);
	assert_int_equal(table_parse(&set, "t",
				     LAYER "# a comment\r\n\n"
					   "f  write,collective,nonblocking\t-buf fp-x bytes fp out:handle - count:long flags "
					   "in:offset - path -> bytes:int # and so on\n",
				     err, sizeof(err)),
			 0);
	row = table_find(&set, "L", "f");
	assert_non_null(row);
	assert_int_equal(row->op, OP_WRITE);
	assert_int_equal(row->mods, MOD_COLLECTIVE | MOD_NONBLOCKING);
	assert_int_equal(row->result, RESULT_BYTES);
	assert_true(row->result_int);
	assert_int_equal(row->std_stream, -1);
	assert_int_equal(row->line, 6);
	assert_int_equal(row->nargs, 11);
	assert_int_equal(row->syscall_nr, -1);
	assert_int_equal(table_row_arg(row, ROLE_BYTES), 0);
	assert_int_equal(table_row_arg(row, ROLE_HANDLE), 1);
	assert_int_equal(table_row_arg(row, ROLE_PATH), 5);
	assert_int_equal(table_row_arg(row, ROLE_COMM), -1);
	assert_int_equal(table_row_arg(row, ROLE_NONE), -1);
	table_row_descriptor(&set, row, &desc);
	assert_int_equal(desc.flags, IOP_D_STRINGS);
	assert_int_equal(desc.nargs, 6);
	assert_int_equal(desc.fd_arg, IOP_NO_FD);
	static const struct { int source, kind; } expected[] = {
		{ 1, IOP_ARG_VALUE }, { 2, IOP_ARG_OUT_VALUE }, { 4, IOP_ARG_VALUE }, { 5, IOP_ARG_INT }, { 6, IOP_ARG_IN_VALUE },
		{ 8, IOP_ARG_STRING },
	};
	for (int i = 0; i < 6; i++) {
		assert_int_equal(desc.arg[i].source, expected[i].source);
		assert_int_equal(desc.arg[i].kind, expected[i].kind);
	}
	table_set_deinit(&set);
}

/* A name with a list is a row for each name of it, with what the list says of its values. */
static void test_lists(void **state)
{
	static const struct {
		const char *name;
		unsigned bytes;
	} expected[] = { { "f_a_x", 1 }, { "f_b_x", 0 }, { "f_cc_x", 300 } };
	struct table_set set;
	char err[256] = "";

	(void)state;
	table_set_init(&set);
	assert_int_equal(table_parse(&set, "t", LAYER "  list k a=1 b cc=300\n  list l z=9\nf_{k}_x read handle -> status\n", err,
				     sizeof(err)),
			 0);
	assert_int_equal(table_parse(&set, "t", "layer L\ng_{l} write\n", err, sizeof(err)), 0);
	assert_int_equal(set.nrows, 4);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(set.rows[i].name, expected[i].name);
		assert_int_equal(set.rows[i].element_bytes, expected[i].bytes);
		assert_int_equal(set.rows[i].op, OP_READ);
		assert_int_equal(set.rows[i].nargs, 1);
		assert_int_equal(set.rows[i].line, 6);
	}
	assert_string_equal(set.rows[3].name, "g_z");
	assert_int_equal(table_parse(&set, "t", "layer M\n  libraries y\n  abi of L\n  variables-in L\n  type 4 1 symbol:s_g 3\n",
				     err, sizeof(err)),
			 0);
	assert_string_equal(set.layers[1].abi_layer, "L");
	assert_string_equal(set.layers[1].variables_in, "L");
	assert_int_equal(set.layers[1].ntypes, 3);
	assert_string_equal(set.layers[1].types[1].symbol, "s_g");
	assert_true(set.layers[1].types[2].value == 3 && set.layers[1].types[2].bytes == 4);
	table_set_deinit(&set);
}

static void test_layer_properties(void **state)
{
	struct table_set set;
	const struct table_layer *layer;
	char err[256] = "";

	(void)state;
	table_set_init(&set);
	assert_int_equal(
		table_parse(&set, "t",
			    "layer L\n  libraries a.so b-*.so\n  paradigm ID \"A name\" parallel-if needs:libmpi*\n  handles id "
			    "int mask 0xff00\n"
			    "  success nonnull\n  flag EXCL 0x10\n  comm self value:5\n  comm world symbol:s\n  version v\n"
			    "  stream stdout symbol:o\n  stream stderr pointer:e\n",
			    err, sizeof(err)),
		0);
	assert_int_equal(table_parse(&set, "u", "layer L\n  libraries c.so\nf close handle -> handle\n", err, sizeof(err)), 0);
	assert_int_equal(table_parse(&set, "u", "layer L\n  success zero\n", err, sizeof(err)), -EINVAL);
	assert_int_equal(set.nlayers, 1);
	assert_int_equal(set.nsources, 2);
	assert_string_equal(set.sources[1].name, "u");
	layer = &set.layers[0];
	assert_string_equal(layer->paradigm, "ID");
	assert_string_equal(layer->paradigm_name, "A name");
	assert_int_equal(layer->klass, CLASS_SERIAL);
	assert_string_equal(layer->parallel_needed, "libmpi*");
	assert_string_equal(layer->parallel_symbol, "");
	assert_false(layer->os);
	assert_int_equal(layer->success, SUCCESS_NONNULL);
	assert_int_equal(layer->handle_kind, HANDLE_ID);
	assert_true(layer->handle_int);
	assert_true(layer->handle_mask == 0xff00);
	assert_int_equal(layer->nlibraries, 3);
	assert_string_equal(layer->libraries[2], "c.so");
	assert_int_equal(layer->nflags, 1);
	assert_true(layer->flags[0].value == 0x10);
	assert_int_equal(layer->nstreams, 2);
	assert_true(layer->streams[0].number == TABLE_STDOUT && !layer->streams[0].pointer &&
		    !strcmp(layer->streams[0].symbol, "o"));
	assert_true(layer->streams[1].number == TABLE_STDERR && layer->streams[1].pointer &&
		    !strcmp(layer->streams[1].symbol, "e"));
	assert_int_equal(layer->ncomms, 2);
	assert_true(layer->comms[0].kind == TABLE_COMM_SELF && layer->comms[0].has_value && layer->comms[0].value == 5);
	assert_true(layer->comms[1].kind == TABLE_COMM_WORLD && !layer->comms[1].has_value && !strcmp(layer->comms[1].symbol, "s"));
	assert_string_equal(layer->version_symbol, "v");
	assert_int_equal(table_find(&set, "L", "f")->args[0].kind, IOP_ARG_INT);
	assert_true(table_find(&set, "L", "f")->result_int);
	table_set_deinit(&set);
}

static void test_too_many_rows(void **state)
{
	struct table_set set;
	size_t room = 32 * (IOP_MAX_PROBES + 2);
	char err[256] = "", *text = malloc(room), *at;

	(void)state;
	assert_non_null(text);
	at = text + sprintf(text, LAYER);
	for (int i = 0; i < IOP_MAX_PROBES; i++)
		at += sprintf(at, "f%d region\n", i);
	table_set_init(&set);
	assert_int_equal(table_parse(&set, "t", text, err, sizeof(err)), 0);
	assert_int_equal(set.nrows, IOP_MAX_PROBES);
	assert_int_equal(table_parse(&set, "u", "layer L\none_more region\n", err, sizeof(err)), -E2BIG);
	assert_string_equal(err, "u:2:1: more than 4096 functions in all tables");
	assert_int_equal(set.nrows, IOP_MAX_PROBES);
	table_set_deinit(&set);
	free(text);
}

static void test_file(void **state)
{
	struct table_set set;
	char err[256] = "", path[] = "/tmp/ioprobe-table-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	table_set_init(&set);
	assert_int_equal(table_parse_file(&set, "/nonexistent/x.probes", err, sizeof(err)), -ENOENT);
	assert_string_equal(err, "/nonexistent/x.probes: probe tables could not be read: No such file or directory");
	assert_int_equal(table_parse_file(&set, "/tmp", err, sizeof(err)), -EISDIR);
	assert_int_equal(write(fd, LAYER "f read\n", strlen(LAYER "f read\n")), strlen(LAYER "f read\n"));
	assert_int_equal(table_parse_file(&set, path, err, sizeof(err)), 0);
	assert_int_equal(set.nrows, 1);
	assert_string_equal(set.sources[0].name, path);
	assert_int_equal(write(fd, "\0", 1), 1);
	assert_int_equal(table_parse_file(&set, path, err, sizeof(err)), -EINVAL);
	assert_int_equal(set.nrows, 1);
	close(fd);
	unlink(path);
	table_set_deinit(&set);
}

static void test_versions(void **state)
{
	static const struct { const char *row, *version; bool parallel, expected; } cases[] = {
		{ "f read -> status since 1.10.3", "1.10.8", false, true },
		{ "f read -> status since 1.10.3", "1.10.2", false, false },
		{ "f read -> status before 1.12", "1.11.9", false, true },
		{ "f read -> status before 1.12", "1.12.0", false, false },
		{ "f read -> status since 1.10.3 before 2.0", "2.0.0", false, false },
		{ "f read -> status since 1.0", "", false, false },
		{ "f read -> status", "", false, true }, { "f read -> status parallel", "1.0", false, false },
		{ "f read -> status parallel since 1.0", "1.0", true, true }, { "f read -> status since 4", "10.1", false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct table_set set;
		char text[256], err[256] = "";

		snprintf(text, sizeof(text), LAYER "%s\n", cases[i].row);
		table_set_init(&set);
		if (table_parse(&set, "t", text, err, sizeof(err)))
			fail_msg("%s", err);
		if (table_row_expected(&set.rows[0], table_version(cases[i].version), cases[i].parallel) != cases[i].expected)
			fail_msg("%s, version %s", cases[i].row, cases[i].version);
		table_set_deinit(&set);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mistakes), cmocka_unit_test(test_row), cmocka_unit_test(test_lists),
		cmocka_unit_test(test_layer_properties), cmocka_unit_test(test_too_many_rows), cmocka_unit_test(test_file),
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
