/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The summary: events made by hand are counted per layer and per file, and come out as text and as JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <jansson.h>
#include <otf2/OTF2_Events.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink/summary/summary.h"

enum { R_H5WRITE, R_PWRITE, R_READ, R_IREAD, R_WAIT, N_REGIONS };
enum { P_POSIX, P_HDF5, P_MPIIO };
enum { H_H5, H_FD, H_MPI, H_PIPE, N_HANDLES };

static struct model_paradigm paradigms[] = {
	{ "POSIX", "POSIX I/O", NULL, false, true }, { "HDF5", "HDF5", "1.10", true, false },
	{ "MPI-IO", "OMPIO", NULL, true, false },
};
static struct model_group groups[] = {
	{ "MPI Rank 0", 0, 10, true, 0, NULL, -1 }, { "sh (pid 8)", -1, 8, true, 0, NULL, -1 },
	{ "idle", -1, 9, false, 0, NULL, -1 },
};
static struct model_location locations[] = {
	{ "Master thread", 1, 0, 10, true }, { "Master thread", 2, 1, 8, true }, { "Thread", 3, 0, 11, true },
	{ "Master thread", 4, 2, 9, false },
};
static struct model_region regions[N_REGIONS] = {
	{ "H5Dwrite", "HDF5", false, true, MODEL_CLASS_WRITE }, { "pwrite64", "POSIX", false, true, MODEL_CLASS_WRITE },
	{ "read", "POSIX", false, true, MODEL_CLASS_READ },     { "MPI_File_iread", "MPI-IO", false, true, MODEL_CLASS_READ },
	{ "MPI_Wait", "MPI", false, false, MODEL_CLASS_OTHER },
};
static struct model_file files[] = {
	{ .path = "/data/a\xff\n.h5",
	  .scope = SCOPE_SHARED,
	  .mount_point = "/data",
	  .mount_source = "srv:/d",
	  .fs_type = "nfs4",
	  .dev = 1,
	  .ino = 2 },
	{ .path = "/data/mpi",
	  .scope = SCOPE_NODE,
	  .mount_point = "/",
	  .mount_source = "/dev/sda",
	  .fs_type = "ext4",
	  .dev = 1,
	  .ino = 3 },
};
static struct model_handle handles[N_HANDLES] = {
	[H_H5] = { .name = "dset", .file = 0, .paradigm = P_HDF5, .comm = REF_NONE, .parent = REF_NONE },
	[H_FD] = { .name = "", .file = 0, .paradigm = P_POSIX, .comm = REF_NONE, .parent = H_H5 },
	[H_MPI] = { .name = "", .file = 1, .paradigm = P_MPIIO, .comm = REF_NONE, .parent = REF_NONE },
	[H_PIPE] = { .name = "stdin", .file = REF_NONE, .paradigm = P_POSIX, .comm = REF_NONE, .parent = REF_NONE },
};
static const char *notes[] = { "libc: fputs has no probe" };
#define COST(layer, total, inside) { layer, total, inside, MODEL_COST_UNKNOWN, MODEL_COST_UNKNOWN, MODEL_COST_UNKNOWN }
static struct model_cost costs[] = { COST("POSIX", 10, 4), COST("HDF5", 25, 10), COST("MPI-IO", 25, 10), COST("MPI", 5, 2) };

#define ARRAY(a) { .v = a, .n = sizeof(a) / sizeof(*(a)) }

static struct model make_model(void)
{
	return (struct model){
		.paradigms = ARRAY(paradigms), .groups = ARRAY(groups), .locations = ARRAY(locations), .regions = ARRAY(regions),
		.files = ARRAY(files), .handles = ARRAY(handles), .host_name = "node1", .machine_name = "cluster",
		.clock_begin_ns = 1000, .clock_end_ns = 3000, .totals = { .calls = 6, .lost_records = 7, .unknown_sizes = 1 },
		.costs = ARRAY(costs), .notes = notes, .nnotes = 1, .digest = notes, .ndigest = 1, .complete = true,
	};
}

#define ENTER(l, t, r) { .type = EV_ENTER, .location = l, .time_ns = t, .u.call = { .region = r } }
#define LEAVE(l, t, r, f) { .type = EV_LEAVE, .location = l, .time_ns = t, .u.call = { .region = r, .failed = f } }
#define BEGIN(l, t, h, m, f, i) { .type = EV_BEGIN, .location = l, .time_ns = t, .u.begin = { h, m, f, 100, i, OFFSET_UNKNOWN } }
#define COMPLETE(l, t, h, b, i) { .type = EV_COMPLETE, .location = l, .time_ns = t, .u.complete = { h, b, i, false } }
#define FAILED(l, t, h, i) { .type = EV_COMPLETE, .location = l, .time_ns = t, .u.complete = { h, BYTES_UNKNOWN, i, true } }
#define READ OTF2_IO_OPERATION_MODE_READ
#define WRITE OTF2_IO_OPERATION_MODE_WRITE
#define NON_BLOCKING OTF2_IO_OPERATION_FLAG_NON_BLOCKING

static const struct model_event script[] = {
	/* an HDF5 write of unknown size over two system calls; a recursive one must not count its time twice */
	ENTER(0, 1000, R_H5WRITE),
	BEGIN(0, 1000, H_H5, WRITE, 0, 1),
	ENTER(0, 1100, R_H5WRITE),
	ENTER(0, 1200, R_PWRITE),
	BEGIN(0, 1200, H_FD, WRITE, 0, 2),
	COMPLETE(0, 1300, H_FD, 100, 2),
	LEAVE(0, 1300, R_PWRITE, false),
	LEAVE(0, 1400, R_H5WRITE, false),
	ENTER(0, 1500, R_PWRITE),
	BEGIN(0, 1500, H_FD, WRITE, 0, 3),
	COMPLETE(0, 1550, H_FD, 50, 3),
	LEAVE(0, 1550, R_PWRITE, false),
	COMPLETE(0, 1900, H_H5, BYTES_UNKNOWN, 1),
	LEAVE(0, 2000, R_H5WRITE, false),
	/* a non-blocking read, completed by another thread: its file is seen at no system call */
	ENTER(0, 2000, R_IREAD),
	BEGIN(0, 2000, H_MPI, READ, NON_BLOCKING, 4),
	LEAVE(0, 2010, R_IREAD, false),
	ENTER(2, 2100, R_WAIT),
	COMPLETE(2, 2200, H_MPI, 4096, 4),
	LEAVE(2, 2200, R_WAIT, false),
	/* a read that fails, on a handle without a file; one still open at the end */
	ENTER(1, 2300, R_READ),
	BEGIN(1, 2300, H_PIPE, READ, 0, 5),
	FAILED(1, 2310, H_PIPE, 5),
	LEAVE(1, 2310, R_READ, true),
	ENTER(1, 2400, R_READ),
	BEGIN(1, 2400, H_PIPE, READ, 0, 6),
};

static char *run(const struct model_event *events, size_t n, bool json)
{
	struct model model = make_model();
	struct sink *sink;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(summary_sink_create(&sink, out, json), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(sink->event(sink, &model, &events[i]), 0);
	assert_int_equal(sink->finish(sink, &model), 0);
	summary_sink_destroy(sink);
	fclose(out);
	return text;
}
#define RUN(json) run(script, sizeof(script) / sizeof(*script), json)

static long long integer(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("no integer %s", key);
	return json_integer_value(value);
}

static const json_t *layer(const json_t *root, const char *name)
{
	const json_t *layers = json_object_get(root, "layers");

	for (size_t i = 0; i < json_array_size(layers); i++)
		if (!strcmp(json_string_value(json_object_get(json_array_get(layers, i), "name")), name))
			return json_array_get(layers, i);
	fail_msg("no layer %s", name);
	return NULL;
}

static json_t *parse(char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, 0, &error);

	if (!root)
		fail_msg("%s in:\n%s", error.text, text);
	free(text);
	return root;
}

static void layers_are_counted(void **state)
{
	json_t *root = parse(RUN(true));

	(void)state;
	assert_int_equal(integer(layer(root, "HDF5"), "calls"), 2);
	assert_int_equal(integer(layer(root, "HDF5"), "time_ns"), 1000);
	assert_int_equal(integer(layer(root, "HDF5"), "writes"), 1);
	assert_int_equal(integer(layer(root, "HDF5"), "bytes_written"), 0);
	assert_int_equal(integer(layer(root, "HDF5"), "writes_of_unknown_size"), 1);
	assert_int_equal(integer(layer(root, "HDF5"), "reads_of_unknown_size"), 0);
	assert_int_equal(integer(layer(root, "POSIX"), "reads"), 2);
	assert_int_equal(integer(layer(root, "POSIX"), "reads_failed"), 1);
	assert_int_equal(integer(layer(root, "POSIX"), "reads_of_unknown_size"), 1);    /* the one that is open */
	assert_int_equal(integer(root, "failed_calls"), 1);
	assert_int_equal(integer(root, "sizes_unknown"), 2);
	assert_int_equal(integer(layer(root, "POSIX"), "calls"), 4);
	assert_int_equal(integer(layer(root, "POSIX"), "failed"), 1);
	assert_int_equal(integer(layer(root, "POSIX"), "bytes_written"), 150);
	assert_int_equal(integer(layer(root, "POSIX"), "bytes_read"), 0);
	assert_int_equal(integer(layer(root, "POSIX"), "time_ns"), 160);
	assert_int_equal(integer(layer(root, "POSIX"), "system_time_ns"), 160);
	assert_int_equal(integer(layer(root, "HDF5"), "system_time_ns"), 150);
	assert_int_equal(integer(layer(root, "MPI"), "system_time_ns"), 0);
	assert_int_equal(integer(layer(root, "MPI-IO"), "bytes_read"), 4096);
	assert_int_equal(integer(layer(root, "MPI"), "calls"), 1);
	assert_int_equal(integer(root, "ranks"), 1);
	assert_int_equal(integer(root, "processes"), 2);
	assert_int_equal(integer(root, "threads"), 3);
	assert_int_equal(integer(root, "records_lost"), 7);
	assert_int_equal(integer(root, "calls_open"), 1);
	assert_int_equal(integer(root, "events_unmatched"), 0);
	assert_int_equal(integer(root, "duration_ns"), 2000);
	assert_true(json_is_true(json_object_get(root, "complete")));
	assert_int_equal(json_array_size(json_object_get(root, "notes")), 1);
	json_decref(root);
}

static void assert_file(const json_t *root, size_t i, const char *path, const char *layer_name, long long bytes, const char *scope)
{
	const json_t *file = json_array_get(json_object_get(root, "files"), i), *name = json_object_get(file, "path");

	if (path)
		assert_string_equal(json_string_value(name), path);
	else
		assert_true(json_is_null(name));
	assert_string_equal(json_string_value(json_object_get(file, "layer")), layer_name);
	assert_string_equal(json_string_value(json_object_get(file, "scope")), scope);
	assert_int_equal(integer(file, "bytes_read") + integer(file, "bytes_written"), bytes);
}

static void files_count_once(void **state)
{
	json_t *root = parse(RUN(true));

	(void)state;
	assert_int_equal(json_array_size(json_object_get(root, "files")), 3);
	assert_file(root, 0, "/data/a\\xff\\x0a.h5", "POSIX", 150, "shared");
	assert_file(root, 1, "/data/mpi", "MPI-IO", 4096, "node");
	assert_file(root, 2, NULL, "POSIX", 0, "unknown");
	json_decref(root);
}

static const json_t *entry(const json_t *object, const char *list, size_t i)
{
	return json_array_get(json_object_get(object, list), i);
}

/* Of each file the time and the bytes of every layer, and of every process in it; of each process its layers. */
static void files_and_processes_have_layers(void **state)
{
	json_t *root = parse(RUN(true));
	const json_t *file = entry(root, "files", 0), *process = entry(root, "process_list", 0);

	(void)state;
	assert_int_equal(integer(file, "longest_time_ns"), 1000);
	assert_int_equal(integer(file, "time_ns"), 150);
	assert_int_equal(json_array_size(json_object_get(file, "layers")), 2);
	assert_string_equal(json_string_value(json_object_get(entry(file, "layers", 0), "name")), "POSIX");
	assert_int_equal(integer(entry(file, "layers", 0), "bytes_written"), 150);
	assert_string_equal(json_string_value(json_object_get(entry(file, "layers", 1), "name")), "HDF5");
	assert_int_equal(integer(entry(file, "layers", 1), "time_ns"), 1000);
	assert_int_equal(integer(entry(entry(file, "layers", 1), "processes", 0), "rank"), 0);
	assert_int_equal(integer(entry(entry(file, "layers", 1), "processes", 0), "writes_of_unknown_size"), 1);
	assert_int_equal(integer(entry(root, "files", 1), "time_ns"), 110);             /* the wait is a part of it */
	assert_int_equal(integer(process, "pid"), 10);
	assert_int_equal(integer(process, "threads"), 2);
	assert_int_equal(integer(process, "wall_time_ns"), 2000);
	assert_int_equal(integer(process, "io_time_ns"), 1010);
	assert_int_equal(json_array_size(json_object_get(process, "layers")), 4);
	assert_int_equal(integer(entry(root, "process_list", 1), "io_time_ns"), 610);   /* a call is open */
	json_decref(root);
}

static void assert_contains(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text ? text : "(nothing)");
}

static void text_says_the_same(void **state)
{
	char *text = RUN(false);

	(void)state;
	assert_contains(text, "node1: 1 rank, 2 processes, 3 threads, 0.000002 s\n");
	assert_contains(text, "HDF5                  2          0            -      unknown     0.000001 s          15.0 %\n");
	assert_contains(text, "rank: 0.000002 s, in I/O calls 50.5 %\n");
	assert_contains(text, "POSIX                 4          1      unknown        150 B     0.000000 s               -\n");
	assert_contains(
		text,
		"  0.000000 s     4.00 KiB            -          1          0  MPI-IO   node     ext4       /data/mpi (on /)\n");
	assert_contains(text, "nfs4       /data/a\\xff\\x0a.h5 (on /data)\n");
	assert_contains(text, "records lost 7\ncalls still open 1\noperations of unknown size 2 (HDF5 1, POSIX 1)\nnote: libc: "
			      "fputs has no probe\n");
	/* two calls of HDF5 cost more than any other library's */
	assert_contains(text, " % of the processes' time; without hdf5 in --layers it takes 0.000000 s less\n");
	free(text);
}

static void empty_trace_without_end_does_not_say_that_nothing_was_lost(void **state)
{
	struct model model = { .complete = false };
	struct sink *sink;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(summary_sink_create(&sink, out, false), 0);
	assert_int_equal(sink->finish(sink, &model), 0);
	summary_sink_destroy(sink);
	fclose(out);
	assert_contains(text, "records lost at least 0\n");
	assert_contains(text, "the recording is incomplete: it has no end; how much is missing is not known\n");
	free(text);
}

static void expect_class(const json_t *object, const char *name, long long calls, long long failed, long long time_ns,
			 long long longest_ns)
{
	const json_t *class = json_object_get(json_object_get(object, "classes"), name);

	assert_int_equal(integer(class, "calls"), calls);
	assert_int_equal(integer(class, "failed"), failed);
	assert_int_equal(integer(class, "time_ns"), time_ns);
	assert_int_equal(integer(class, "longest_call_ns"), longest_ns);
}

/* A call during which a lock is taken is one on locks, whatever its function does else (fcntl). */
static void calls_have_classes(void **state)
{
	static const struct model_event events[] = {
		ENTER(0, 1000, R_PWRITE),       BEGIN(0, 1000, H_FD, WRITE, 0, 1),
		COMPLETE(0, 1100, H_FD, 10, 1), LEAVE(0, 1100, R_PWRITE, false),
		ENTER(0, 1200, R_READ),         BEGIN(0, 1200, H_FD, READ, 0, 2),
		FAILED(0, 1210, H_FD, 2),       LEAVE(0, 1210, R_READ, true),
		ENTER(0, 1300, R_READ),         { .type = EV_LOCK, .location = 0, .time_ns = 1350, .u.lock = { .handle = H_FD } },
		LEAVE(0, 1370, R_READ, false),
	};
	json_t *root = parse(run(events, sizeof(events) / sizeof(*events), true));
	const json_t *part = entry(entry(entry(root, "files", 0), "layers", 0), "processes", 0);

	(void)state;
	expect_class(layer(root, "POSIX"), "write", 1, 0, 100, 100);
	expect_class(layer(root, "POSIX"), "read", 1, 1, 10, 10);
	expect_class(layer(root, "POSIX"), "lock", 1, 0, 70, 70);
	assert_int_equal(json_object_size(json_object_get(layer(root, "POSIX"), "classes")), 3);
	expect_class(part, "write", 1, 0, 100, 100);
	expect_class(part, "read", 1, 1, 10, 10);
	expect_class(part, "lock", 1, 0, 70, 70);
	json_decref(root);
}

static void unmatched_events_are_counted(void **state)
{
	static const struct model_event events[] = { LEAVE(0, 1000, R_READ, false), COMPLETE(0, 1001, H_FD, 10, 9),
		ENTER(0, 1002, R_READ), LEAVE(0, 1003, R_PWRITE, false) };
	json_t *root = parse(run(events, 4, true));

	(void)state;
	assert_int_equal(integer(root, "events_unmatched"), 3);
	assert_int_equal(integer(layer(root, "POSIX"), "bytes_read"), 0);
	json_decref(root);
}

/* The abandoned call's operation never completes: its id must not be taken for a later one's. */
static void abandoned_operations_are_forgotten(void **state)
{
	static const struct model_event events[] = {
		ENTER(0, 1000, R_READ), BEGIN(0, 1000, H_FD, READ, 0, 1), LEAVE(0, 1001, R_READ, false),
		ENTER(0, 1002, R_PWRITE), COMPLETE(0, 1003, H_FD, 10, 1), LEAVE(0, 1004, R_PWRITE, false),
	};
	json_t *root = parse(run(events, 6, true));

	(void)state;
	assert_int_equal(integer(root, "events_unmatched"), 1);
	assert_int_equal(integer(layer(root, "POSIX"), "bytes_read"), 0);
	json_decref(root);
}

static void sizes_that_are_partly_known(void **state)
{
	static const struct model_event events[] = {
		ENTER(0, 1000, R_H5WRITE),
		BEGIN(0, 1000, H_H5, WRITE, 0, 1),
		COMPLETE(0, 1001, H_H5, 4, 1),
		LEAVE(0, 1001, R_H5WRITE, false),
		ENTER(0, 1002, R_H5WRITE),
		BEGIN(0, 1002, H_H5, WRITE, 0, 2),
		COMPLETE(0, 1003, H_H5, BYTES_UNKNOWN, 2),
		LEAVE(0, 1003, R_H5WRITE, false),
	};
	char *text = run(events, 8, false);

	(void)state;
	assert_contains(text, "HDF5                  2          0            - 4 B + 1 unknown     0.000000 s           0.0 %\n");
	assert_contains(text, "layer             calls     failed         read         written           time in system calls\n");
	assert_contains(text, "operations of unknown size 1 (HDF5 1)\n");
	free(text);
}

/* Failed operations moved nothing; of those whose end was not observed the size is unknown. */
static void operations_without_a_size(void **state)
{
	static const struct model_event events[] = {
		ENTER(0, 1000, R_H5WRITE),
		BEGIN(0, 1000, H_H5, WRITE, 0, 1),
		FAILED(0, 1001, H_H5, 1),
		LEAVE(0, 1001, R_H5WRITE, true),
		ENTER(0, 1002, R_H5WRITE),
		BEGIN(0, 1002, H_H5, WRITE, 0, 2),
		COMPLETE(0, 1003, H_H5, BYTES_UNKNOWN, 2),
		LEAVE(0, 1003, R_H5WRITE, false),
		ENTER(0, 1004, R_IREAD),
		BEGIN(0, 1004, H_MPI, READ, NON_BLOCKING, 3),
		LEAVE(0, 1005, R_IREAD, false),
		ENTER(0, 1006, R_READ),
		BEGIN(0, 1006, H_FD, READ, 0, 4),
		FAILED(0, 1007, H_FD, 4),
		LEAVE(0, 1007, R_READ, true),
	};
	char *text = run(events, sizeof(events) / sizeof(*events), false);

	(void)state;
	assert_contains(text, "HDF5                  2          1            -      unknown     0.000000 s           0.0 %\n");
	assert_contains(text, "MPI-IO                1          0      unknown            -     0.000000 s           0.0 %\n");
	assert_contains(text, "POSIX                 1          1          0 B            -     0.000000 s               -\n");
	assert_contains(text, "non-blocking operations without an observed end 1\noperations of unknown size 2 (HDF5 1, MPI-IO "
		"1)\n");
	free(text);
}

/* From top to bottom of the stack, whatever came first. */
static void layers_are_in_order(void **state)
{
	static struct model_region all[] = {
		{ .name = "read", .paradigm = "POSIX", .io = true },
		{ .name = "MPI_Wait", .paradigm = "MPI" },
		{ .name = "site_put", .paradigm = "site", .io = true },
		{ .name = "fread", .paradigm = "ISOC", .io = true },
		{ .name = "H5Dread", .paradigm = "HDF5", .io = true },
		{ .name = "ncmpi_get", .paradigm = "PnetCDF", .io = true },
		{ .name = "nc_get", .paradigm = "netCDF", .io = true },
		{ .name = "MPI_File_read", .paradigm = "MPI-IO", .io = true },
		{ .name = "other_put", .paradigm = "other", .io = true },
	};
	static const char *const order[] = { "netCDF", "PnetCDF", "site", "other", "HDF5", "MPI-IO", "MPI", "ISOC", "POSIX" };
	struct model model = make_model();
	struct sink *sink;
	const json_t *layers;
	char *text = NULL;
	json_t *root;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	model.regions.v = all;
	model.regions.n = 9;
	assert_int_equal(summary_sink_create(&sink, out, true), 0);
	for (unsigned i = 0; i < 9; i++) {
		const struct model_event enter = ENTER(0, 1000 + i, i), leave = LEAVE(0, 1000 + i, i, false);

		assert_int_equal(sink->event(sink, &model, &enter), 0);
		assert_int_equal(sink->event(sink, &model, &leave), 0);
	}
	assert_int_equal(sink->finish(sink, &model), 0);
	summary_sink_destroy(sink);
	fclose(out);
	root = parse(text);
	layers = json_object_get(root, "layers");
	assert_int_equal(json_array_size(layers), 9);
	for (size_t i = 0; i < 9; i++)
		assert_string_equal(json_string_value(json_object_get(json_array_get(layers, i), "name")), order[i]);
	json_decref(root);
}

static void pipes_are_one_line(void **state)
{
	static const struct model_event events[] = {
		ENTER(0, 1000, R_READ),         BEGIN(0, 1000, H_FD, READ, 0, 1), COMPLETE(0, 1001, H_FD, 10, 1),
		LEAVE(0, 1001, R_READ, false),  ENTER(0, 1002, R_READ),           BEGIN(0, 1002, H_MPI, READ, 0, 2),
		COMPLETE(0, 1003, H_MPI, 7, 2), LEAVE(0, 1003, R_READ, false),
	};
	char *text;

	(void)state;
	files[0].special = true;
	text = run(events, 8, false);
	assert_contains(text, "/data/mpi (on /)\npipes, sockets and the like: 1, read 10 B, written -\n\nrecords lost");
	assert_null(strstr(text, "/data/a"));
	free(text);
	text = run(events, 8, true);
	files[0].special = false;
	json_t *root = parse(text);
	const json_t *special = json_object_get(root, "pipes_and_sockets");

	assert_int_equal(integer(special, "count"), 1);
	assert_int_equal(integer(special, "bytes_read"), 10);
	assert_int_equal(integer(root, "files_total"), 1);
	json_decref(root);
}

/* A file of each name is written and closed by one process; the summary's text. */
static char *text_of_files(const char *const *names, size_t n, bool all)
{
	struct model_file *many = calloc(n, sizeof(*many));
	struct model_handle *opened = calloc(n, sizeof(*opened));
	struct model model = make_model();
	struct sink *sink;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	model.files.v = many;
	model.handles.v = opened;
	model.files.n = model.handles.n = n;
	assert_int_equal(summary_sink_create(&sink, out, false), 0);
	if (all)
		summary_sink_all_files(sink);
	for (size_t i = 0; i < n; i++) {
		const struct model_event events[] = { ENTER(0, 1000 * i, R_READ), BEGIN(0, 1000 * i, i, READ, 0, i),
						      COMPLETE(0, 1000 * i + 999, i, 1, i),
						      LEAVE(0, 1000 * i + 999 - i, R_READ, false) };

		many[i].path = names[i];
		opened[i] =
			(struct model_handle){ .name = "", .file = i, .paradigm = P_POSIX, .comm = REF_NONE, .parent = REF_NONE };
		for (int k = 0; k < 4; k++)
			assert_int_equal(sink->event(sink, &model, &events[k]), 0);
	}
	assert_int_equal(sink->finish(sink, &model), 0);
	summary_sink_destroy(sink);
	fclose(out);
	free(many);
	free(opened);
	return text;
}

static void many_files_are_few_lines(void **state)
{
	const char *names[130] = {
		"/d/run7/a.001", "/d/run7/a.002", "/d/run7/a.17", "/d/run8/a.002", "/d/b.1", "/d/b.2", "/proc/self/maps",
		"/etc/passwd",
		"/usr/lib/x.so.6", "/d/lib.so", "/etcetera", "/d/9.c*", "/d/9.d*",
	};
	char *words[100], *text;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {    /* names of letters: no pattern */
		assert_true(asprintf(&words[i], "/w/%c%c%c", 'a' + i / 10, 'a' + i % 10, 'x') > 0);
		names[13 + i] = words[i];
	}
	text = text_of_files(names, 113, false);
	assert_contains(text, " /d/run*/a.* (4 files)\n");
	assert_contains(text, " /d/b.1\n");
	assert_contains(text, " /d/b.2\n");
	assert_contains(text, " /d/9.c*\n");
	assert_contains(text, " /w/* (100 files)\n");
	assert_contains(text, " /etcetera\n");
	assert_null(strstr(text, "/proc/self/maps"));
	assert_null(strstr(text, "/etc/passwd"));
	assert_null(strstr(text, ".so"));
	assert_contains(text, "files of the system and libraries: 4, read 4 B, written -, 0.000004 s (--all-files lists them)\n");
	free(text);
	text = text_of_files(names, 10, true);
	assert_contains(text, " /etc/passwd\n");
	assert_contains(text, " /d/lib.so\n");
	assert_null(strstr(text, "--all-files"));
	free(text);
	for (unsigned i = 0; i < 100; i++)
		free(words[i]);
}

static void write_error_is_reported(void **state)
{
	struct model model = make_model();
	struct sink *sink;

	(void)state;
	for (int json = 0; json < 2; json++) {
		FILE *out = fopen("/dev/full", "w");

		assert_non_null(out);
		assert_int_equal(summary_sink_create(&sink, out, json), 0);
		assert_true(sink->finish(sink, &model) < 0);
		summary_sink_destroy(sink);
		fclose(out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_are_counted),
		cmocka_unit_test(files_count_once),
		cmocka_unit_test(files_and_processes_have_layers),
		cmocka_unit_test(many_files_are_few_lines),
		cmocka_unit_test(text_says_the_same),
		cmocka_unit_test(empty_trace_without_end_does_not_say_that_nothing_was_lost),
		cmocka_unit_test(calls_have_classes),
		cmocka_unit_test(unmatched_events_are_counted),
		cmocka_unit_test(abandoned_operations_are_forgotten),
		cmocka_unit_test(sizes_that_are_partly_known),
		cmocka_unit_test(operations_without_a_size),
		cmocka_unit_test(layers_are_in_order),
		cmocka_unit_test(pipes_are_one_line),
		cmocka_unit_test(write_error_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
