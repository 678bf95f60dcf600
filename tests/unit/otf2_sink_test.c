/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The OTF2 sink: a model and events made by hand become an archive, which is read back with the library's own reader.
 * With IOPROBE_TEST_ARCHIVE=DIR the archive of the first test is kept there for tests/contract.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <otf2/otf2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "otf2_log_builder.h"
#include "sink/otf2/otf2.h"

#define T0 ((uint64_t)1000000)

enum { R_UNUSED, R_WRITE, R_OPEN, R_MPI_OPEN, R_CLOSE, R_IWRITE, R_WAIT, N_REGIONS };
enum { P_POSIX, P_MPIIO, N_PARADIGMS };
enum { L_RANK0, L_UNUSED, L_RANK1, L_SHELL, L_RANK0_THREAD, N_LOCATIONS };
enum { H_STDOUT, H_MPI, H_POSIX, H_DUP, N_HANDLES };

static uint32_t world_members[] = { 2, 0 };     /* rank 0 is group 2 */
static uint32_t self_members[] = { 0 };
static struct model_paradigm paradigms[N_PARADIGMS] = {
	{ "POSIX", "POSIX I/O", NULL, false, true },
	{ "MPI-IO", "MPI I/O (OMPIO)", "4.1.4", true, false },
};
static struct model_group groups[] = {
	{ "MPI Rank 1", 1, 11, true, 0, "launch.7", 2 },
	{ "idle (pid 9)", -1, 9, false, 0, NULL, -1 },
	{ "MPI Rank 0", 0, 10, true, 0, NULL, -1 },
	{ "sh (pid 8)", -1, 8, true, 0, NULL, -1 },
};
static struct model_location locations[N_LOCATIONS] = {
	[L_RANK0] = { "Master thread", 100, 2, 10, true },
	[L_UNUSED] = { "Master thread", 101, 1, 9, false },
	[L_RANK1] = { "Master thread", 102, 0, 11, true },
	[L_SHELL] = { "Master thread", 103, 3, 8, true },
	[L_RANK0_THREAD] = { "Thread 12", 104, 2, 12, true },
};
static struct model_region regions[N_REGIONS] = {
	[R_UNUSED] = { "never_called", "POSIX", false, true, 0 }, [R_WRITE] = { "write", "POSIX", false, true, 0 },
	[R_OPEN] = { "openat", "POSIX", true, true, 0 },          [R_MPI_OPEN] = { "MPI_File_open", "MPI-IO", true, true, 0 },
	[R_CLOSE] = { "close", "POSIX", true, true, 0 },          [R_IWRITE] = { "MPI_File_iwrite_at", "MPI-IO", false, true, 0 },
	[R_WAIT] = { "MPI_Wait", "MPI", false, false, 0 },
};
static struct model_file files[] = {
	{ .path = "/scratch/out.nc",
	  .scope = SCOPE_SHARED,
	  .mount_point = "/scratch",
	  .mount_source = "server:/scratch",
	  .fs_type = "nfs4",
	  .dev = 7,
	  .ino = 8 },
	{ .path = "/tmp/loc\xe4l",
	  .scope = SCOPE_NODE,
	  .mount_point = "/",
	  .mount_source = "/dev/vda1",
	  .fs_type = "ext4",
	  .dev = 1,
	  .ino = 2 },
	{ .path = "pipe:[1]", .special = true },
	{ .path = "/tmp",
	  .directory = true,
	  .scope = SCOPE_NODE,
	  .mount_point = "/",
	  .mount_source = "/dev/vda1",
	  .fs_type = "ext4",
	  .dev = 1,
	  .ino = 3 },
};
static struct model_clock_step clock_steps[] = {
	{ .since_ns = 40, .at = { .read = true, .monotonic_ns = 50, .realtime_ns = 4, .width_ns = 2 }, .step_ns = -60000000000ll },
};
static struct model_handle handles[N_HANDLES] = {
	[H_STDOUT] = { "stdout", 2, P_POSIX, REF_NONE, REF_NONE, 2, true, OTF2_IO_ACCESS_MODE_WRITE_ONLY,
		       OTF2_IO_STATUS_FLAG_APPEND },
	[H_MPI] = { "", 0, P_MPIIO, 0, REF_NONE, 2, false, 0, 0 },
	[H_POSIX] = { "", 0, P_POSIX, REF_NONE, H_MPI, 2, false, 0, 0 },
	[H_DUP] = { "", REF_NONE, P_POSIX, REF_NONE, REF_NONE, 3, false, 0, 0 },
};
static struct model_comm comms[] = {
	{ "MPI_COMM_WORLD", COMM_KIND_WORLD, world_members, 2 },
	{ "MPI_COMM_SELF", COMM_KIND_SELF, self_members, 1 },
};
static const char *notes[] = { "libc: no probe on fputs:\nrefused", "" };

#define ARRAY(a) { .v = a, .n = sizeof(a) / sizeof(*(a)) }

static struct model make_model(void)
{
	return (struct model){
		.paradigms = ARRAY(paradigms), .groups = ARRAY(groups), .locations = ARRAY(locations), .regions = ARRAY(regions),
		.files = ARRAY(files), .handles = ARRAY(handles), .comms = ARRAY(comms),
		.machine_name = "cluster", .host_name = "node1",
		.clock_begin_ns = T0, .clock_end_ns = T0 + 1000, .realtime_at_begin_ns = 1700000000000000000ull,
		.totals = { .calls = 9, .lost_records = 3, .abandoned = 1, .failed_calls = 2 },
		.notes = notes, .nnotes = 2, .complete = true,
		.version = "0.1", .batch_job = "SLURM job 5", .recording_tag = 77,
		.clock_steps = ARRAY(clock_steps),
		.clock_start = { true, 1, 1001, 20, true, true, 300, 4000 }, .clock_end = { true, 2, 1002, 21, false, false, 0, 0 },
	};
}

#define ENTER(l, t, r) { .type = EV_ENTER, .location = l, .time_ns = T0 + (t), .u.call = { .region = r } }
#define LEAVE(l, t, r, ...) { .type = EV_LEAVE, .location = l, .time_ns = T0 + (t), .u.call = { .region = r, __VA_ARGS__ } }

/* A collective open over a POSIX descriptor, a write at an offset, a non-blocking one that another thread completes, failures. */
static const struct model_event script[] = {
	ENTER(L_RANK0, 0, R_MPI_OPEN),
	ENTER(L_RANK0, 1, R_OPEN),
	{ .type = EV_CREATE, .location = L_RANK0, .time_ns = T0 + 2, .u.create = { H_POSIX, OTF2_IO_ACCESS_MODE_READ_WRITE,
		OTF2_IO_CREATION_FLAG_CREATE, OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC } },
	LEAVE(L_RANK0, 2, R_OPEN, .error = 0),
	{ .type = EV_CREATE, .location = L_RANK0, .time_ns = T0 + 3, .u.create = { H_MPI, OTF2_IO_ACCESS_MODE_READ_WRITE, 0, 0 } },
	LEAVE(L_RANK0, 3, R_MPI_OPEN, .error = 0),
	ENTER(L_RANK1, 0, R_MPI_OPEN),
	{ .type = EV_CREATE, .location = L_RANK1, .time_ns = T0 + 4, .u.create = { H_MPI, OTF2_IO_ACCESS_MODE_READ_WRITE, 0, 0 } },
	LEAVE(L_RANK1, 4, R_MPI_OPEN, .error = 0),
	ENTER(L_RANK0, 10, R_WRITE),
	{ .type = EV_BEGIN, .location = L_RANK0, .time_ns = T0 + 10, .u.begin = { H_POSIX, OTF2_IO_OPERATION_MODE_WRITE, 0, 4096, 1,
		512 } },
	{ .type = EV_COMPLETE, .location = L_RANK0, .time_ns = T0 + 12, .u.complete = { H_POSIX, 1024, 1 } },
	LEAVE(L_RANK0, 12, R_WRITE, .error = 0),
	ENTER(L_RANK0, 20, R_IWRITE),
	{ .type = EV_BEGIN, .location = L_RANK0, .time_ns = T0 + 20, .u.begin = { H_MPI, OTF2_IO_OPERATION_MODE_WRITE,
		OTF2_IO_OPERATION_FLAG_NON_BLOCKING, BYTES_UNKNOWN, 2, OFFSET_UNKNOWN } },
	{ .type = EV_ISSUED, .location = L_RANK0, .time_ns = T0 + 21, .u.op = { H_MPI, 2 } },
	LEAVE(L_RANK0, 21, R_IWRITE, .error = 0),
	ENTER(L_RANK0_THREAD, 22, R_WAIT),
	{ .type = EV_TEST, .location = L_RANK0_THREAD, .time_ns = T0 + 23, .u.op = { H_MPI, 2 } },
	{ .type = EV_COMPLETE, .location = L_RANK0_THREAD, .time_ns = T0 + 25, .u.complete = { H_MPI, BYTES_UNKNOWN, 2 } },
	LEAVE(L_RANK0_THREAD, 25, R_WAIT, .error = 0),
	ENTER(L_SHELL, 30, R_WRITE),
	{ .type = EV_BEGIN, .location = L_SHELL, .time_ns = T0 + 30, .u.begin = { H_STDOUT, OTF2_IO_OPERATION_MODE_WRITE, 0, 5, 3,
		OFFSET_UNKNOWN } },
	{ .type = EV_COMPLETE, .location = L_SHELL, .time_ns = T0 + 31, .u.complete = { H_STDOUT, 5, 3 } },
	{ .type = EV_DUPLICATE, .location = L_SHELL, .time_ns = T0 + 31, .u.duplicate = { H_STDOUT, H_DUP, 0 } },
	{ .type = EV_SEEK, .location = L_SHELL, .time_ns = T0 + 31, .u.seek = { H_DUP, -5, OTF2_IO_SEEK_FROM_END, 95 } },
	{ .type = EV_STATUS_FLAGS, .location = L_SHELL, .time_ns = T0 + 31, .u.status = { H_DUP, OTF2_IO_STATUS_FLAG_APPEND } },
	{ .type = EV_LOCK, .location = L_SHELL, .time_ns = T0 + 31, .u.lock = { H_DUP, OTF2_LOCK_SHARED } },
	{ .type = EV_UNLOCK, .location = L_SHELL, .time_ns = T0 + 31, .u.lock = { H_DUP, OTF2_LOCK_SHARED } },
	{ .type = EV_TRYLOCK, .location = L_SHELL, .time_ns = T0 + 31, .u.lock = { H_DUP, OTF2_LOCK_EXCLUSIVE } },
	{ .type = EV_DELETE, .location = L_SHELL, .time_ns = T0 + 31, .u.del = { P_POSIX, 1 } },
	LEAVE(L_SHELL, 32, R_WRITE, .error = 0),
	ENTER(L_SHELL, 40, R_OPEN),
	LEAVE(L_SHELL, 41, R_OPEN, .error = ENOENT, .failed = true),
	ENTER(L_SHELL, 50, R_CLOSE),
	LEAVE(L_SHELL, 51, R_CLOSE, .abandoned = true, .failed = true),
	ENTER(L_RANK0, 60, R_CLOSE),
	{ .type = EV_DESTROY, .location = L_RANK0, .time_ns = T0 + 61, .u.destroy = { H_POSIX } },
	{ .type = EV_DESTROY, .location = L_RANK0, .time_ns = T0 + 61, .u.destroy = { H_MPI } },
	LEAVE(L_RANK0, 61, R_CLOSE, .error = 0),
	ENTER(L_RANK1, 62, R_CLOSE),
	{ .type = EV_DESTROY, .location = L_RANK1, .time_ns = T0 + 1000, .u.destroy = { H_MPI } },
	LEAVE(L_RANK1, 1000, R_CLOSE, .error = 0),
};
#define NSCRIPT (sizeof(script) / sizeof(*script))

/* ---- a fresh directory ---- */

static char dir[64];

static int setup(void **state)
{
	(void)state;
	otf2_log_tag = 77;
	strcpy(dir, "/tmp/ioprobe-otf2-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static bool exists(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static struct sink *write_script(const char *where, const struct model *model)
{
	struct sink *sink;
	char err[256];

	if (otf2_sink_create(&sink, where, err, sizeof(err)))
		fail_msg("%s", err);
	for (size_t i = 0; i < NSCRIPT; i++)
		assert_int_equal(sink->event(sink, model, &script[i]), 0);
	return sink;
}

/* ---- reading back ---- */

static OTF2_Reader *open_reader(void)
{
	char path[512];
	OTF2_Reader *reader;

	snprintf(path, sizeof(path), "%s/traces.otf2", dir);
	reader = OTF2_Reader_Open(path);
	assert_non_null(reader);
	assert_int_equal(OTF2_Reader_SetSerialCollectiveCallbacks(reader), OTF2_SUCCESS);
	return reader;
}

static void assert_logged(const char *lines)
{
	if (!strstr(otf2_log, lines))
		fail_msg("not in the archive:\n%s\nthe archive has:\n%s", lines, otf2_log);
}

static void assert_property(OTF2_Reader *reader, const char *name, const char *expected)
{
	char *value = NULL;

	assert_int_equal(OTF2_Reader_GetProperty(reader, name, &value), OTF2_SUCCESS);
	assert_string_equal(value, expected);
	free(value);
}

/* ---- tests ---- */

static void check_definitions(void)
{
	assert_logged("clock 1000000000 0 1000 1700000000000000000\n"
		      "paradigm 0 POSIX|POSIX I/O class 0 flags 1 version -\n"
		      "paradigm 1 MPI-IO|MPI I/O (OMPIO) class 1 flags 0 version 4.1.4\n"
		      "node 0 machine cluster below -1\n"
		      "node 1 node node1 below 0\n");
	assert_logged("group 0 MPI Rank 1 on 1\ngroup 1 MPI Rank 0 on 1\ngroup 2 sh (pid 8) on 1\n"
		      "group property 0 IOPROBE::RANK=1\ngroup property 0 IOPROBE::LAUNCH_SIZE=2\n"
		      "group property 0 IOPROBE::LAUNCH=launch.7\ngroup property 1 IOPROBE::RANK=0\n"
		      "location 100 Master thread events 18 group 1\n"
		      "location 102 Master thread events 6 group 0\n"
		      "location 103 Master thread events 15 group 2\n"
		      "location 104 Thread 12 events 4 group 1\n");
	assert_logged("region 0 MPI_File_open of MPI-IO role 38 paradigm 4\n"
		      "region 1 openat of POSIX role 38 paradigm 0\n"
		      "region 2 write of POSIX role 27 paradigm 0\n"
		      "region 3 MPI_File_iwrite_at of MPI-IO role 27 paradigm 4\n"
		      "region 4 MPI_Wait of MPI role 1 paradigm 4\n"
		      "region 5 close of POSIX role 38 paradigm 0\n"
		      "members 0  type 4: 100 102\n"
		      "members 1 MPI_COMM_WORLD type 5: 0 1\n"
		      "members 2 MPI_COMM_SELF type 6:\n"
		      "comm 0 MPI_COMM_WORLD group 1 parent -1\n"
		      "comm 1 MPI_COMM_SELF group 2 parent -1\n");
	assert_logged("file 0 /scratch/out.nc scope 0\n"
		      "property 0 Mount Point=/scratch\nproperty 0 Mount Source=server:/scratch\nproperty 0 File system=nfs4\n"
		      "file 1 /tmp/loc\\xe4l scope 1\n"
		      "property 1 Mount Point=/\nproperty 1 Mount Source=/dev/vda1\nproperty 1 File system=ext4\n"
		      "file 2 pipe:[1] scope -1\n"
		      "directory 3 /tmp scope 1\n");
	assert_logged("handle 0 'stdout' file 2 paradigm 0 flags 1 comm -1 parent -1\n"
		      "precreated 0 mode 1 flags 2\n"
		      "handle 1 '' file 0 paradigm 1 flags 0 comm 0 parent -1\n"
		      "handle 2 '' file 0 paradigm 0 flags 0 comm -1 parent 1\n"
		      "handle 3 '' file -1 paradigm 0 flags 0 comm -1 parent -1\n");
}

static void check_events(void)
{
	assert_logged("100 1 enter 1\n100 2 create 2 2 1 1\n100 2 leave 1\n100 3 create 1 2 0 0\n100 3 leave 0\n");
	assert_logged("100 10 enter 2\n100 10 begin 2 1 0 4096 #1 {0=512}\n100 12 complete 2 1024 #1\n100 12 leave 2\n"
		      "100 20 enter 3\n100 20 begin 1 1 1 -1 #2\n100 21 issued 1 #2\n100 21 leave 3\n"
		      "104 22 enter 4\n104 23 test 1 #2\n104 25 complete 1 -1 #2\n104 25 leave 4\n"
		      "103 30 enter 2\n103 30 begin 0 1 0 5 #3\n103 31 complete 0 5 #3\n103 31 duplicate 0 3 0\n"
		      "103 31 seek 3 -5 2 95\n103 31 status 3 2\n103 31 lock 3 1\n103 31 unlock 3 1\n103 31 trylock 3 0\n"
		      "103 31 delete 0 1\n103 32 leave 2\n"
		      "103 40 enter 1\n103 41 leave 1 {1=2}\n"
		      "103 50 enter 5\n103 51 leave 5 {2=1} {3=1}\n"
		      "100 60 enter 5\n100 61 destroy 2\n100 61 destroy 1\n100 61 leave 5\n");
}

static void archive_is_read_back(void **state)
{
	const uint64_t used[] = { 100, 102, 103, 104 };
	struct model model = make_model();
	struct sink *sink = write_script(dir, &model);
	OTF2_Reader *reader;

	(void)state;
	assert_false(exists("traces.otf2"));
	assert_int_equal(sink->finish(sink, &model), 0);
	assert_null(otf2_sink_error(sink));
	otf2_sink_destroy(sink);
	assert_true(exists("traces.otf2"));
	assert_true(exists("traces/100.def"));
	assert_false(exists("traces/101.evt"));

	reader = open_reader();
	otf2_log_definitions(reader, T0);
	check_definitions();
	assert_int_equal(otf2_log_events(reader, used, 4), NSCRIPT);
	check_events();
	assert_property(reader, "IOPROBE::LOST_RECORDS", "3");
	assert_property(reader, "IOPROBE::ABANDONED_CALLS", "1");
	assert_property(reader, "IOPROBE::RECORDING_COMPLETE", "yes");
	assert_property(reader, "IOPROBE::VERSION", "0.1");
	assert_property(reader, "IOPROBE::BATCH_JOB", "SLURM job 5");
	assert_property(reader, "IOPROBE::RECORDING_TAG", "77");
	assert_property(reader, "IOPROBE::CLOCK_START",
			"monotonic_ns=1 realtime_ns=1001 width_ns=20 synchronized=yes error_ns=300 max_error_ns=4000");
	assert_property(reader, "IOPROBE::CLOCK_END",
			"monotonic_ns=2 realtime_ns=1002 width_ns=21 synchronized=unknown error_ns=0 max_error_ns=0");
	assert_property(reader, "IOPROBE::CLOCK_STEPS", "1");
	assert_property(reader, "IOPROBE::CLOCK_STEP_0001",
			"step_ns=-60000000000 since_ns=40 monotonic_ns=50 realtime_ns=4 width_ns=2");
	assert_property(reader, "IOPROBE::NOTES", "2");
	assert_property(reader, "IOPROBE::NOTE_0001", "libc: no probe on fputs:\\x0arefused");
	OTF2_Reader_Close(reader);
}

/* For the contract checker, which is another program. */
static void archive_is_kept_on_request(void **state)
{
	const char *where = getenv("IOPROBE_TEST_ARCHIVE");
	struct model model = make_model();
	struct sink *sink;

	(void)state;
	if (!where)
		skip();
	sink = write_script(where, &model);
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
}

static void destroy_removes_what_is_unfinished(void **state)
{
	struct model model = make_model();

	(void)state;
	otf2_sink_destroy(write_script(dir, &model));
	assert_false(exists("traces.otf2"));
	assert_false(exists("traces.def"));
	assert_false(exists("traces"));
}

static void existing_archive_is_refused(void **state)
{
	struct model model = make_model();
	struct sink *sink = write_script(dir, &model), *second;
	char err[256];

	(void)state;
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
	assert_int_equal(otf2_sink_create(&second, dir, err, sizeof(err)), -EEXIST);
	assert_non_null(strstr(err, "traces.otf2"));
	assert_null(second);
	assert_true(exists("traces.otf2"));
	assert_int_equal(otf2_sink_create(&second, "/nonexistent/dir", err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "/nonexistent/dir"));
}

static void time_may_not_go_back(void **state)
{
	struct model model = make_model();
	struct sink *sink = write_script(dir, &model);
	struct model_event back = script[0];

	(void)state;
	assert_int_equal(sink->event(sink, &model, &back), -EINVAL);
	assert_non_null(strstr(otf2_sink_error(sink), "goes back"));
	back.time_ns = T0 + 5000;
	assert_int_equal(sink->event(sink, &model, &back), -EINVAL);
	assert_int_equal(sink->finish(sink, &model), -EINVAL);
	assert_false(exists("traces.otf2"));
	otf2_sink_destroy(sink);
}

static void undefined_refs_are_refused(void **state)
{
	struct model model = make_model();
	struct model_event location = script[0], region = script[0];
	struct sink *sink;
	char err[256];

	(void)state;
	location.location = N_LOCATIONS;
	region.u.call.region = N_REGIONS;
	assert_int_equal(otf2_sink_create(&sink, dir, err, sizeof(err)), 0);
	assert_int_equal(sink->event(sink, &model, &location), -EINVAL);
	otf2_sink_destroy(sink);
	assert_int_equal(otf2_sink_create(&sink, dir, err, sizeof(err)), 0);
	assert_int_equal(sink->event(sink, &model, &region), -EINVAL);
	otf2_sink_destroy(sink);
}

static int many_writes(struct sink *sink, const struct model *model, uint64_t n)
{
	struct model_event e[4] = { script[9], script[10], script[11], script[12] };
	int error = 0;

	for (uint64_t i = 0; i < n && !error; i++)
		for (size_t k = 0; k < 4 && !error; k++) {
			e[k].time_ns = T0 + 100 + 4 * i + k;
			e[1].u.begin.matching_id = e[2].u.complete.matching_id = i;
			error = sink->event(sink, model, &e[k]);
		}
	return error;
}

/* Far more than one chunk: flushes happen, add no events of their own, and nothing is lost. */
static void long_location_is_flushed(void **state)
{
	struct model model = make_model();
	uint64_t n = 200000;
	struct sink *sink;
	OTF2_Reader *reader;
	char err[256], expected[96];
	struct rusage usage;

	(void)state;
	assert_int_equal(otf2_sink_create(&sink, dir, err, sizeof(err)), 0);
	assert_int_equal(many_writes(sink, &model, n), 0);
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
	getrusage(RUSAGE_SELF, &usage);
#ifndef __SANITIZE_ADDRESS__
	assert_true(usage.ru_maxrss < 64 * 1024);
#endif
	reader = open_reader();
	otf2_log_definitions(reader, T0);
	snprintf(expected, sizeof(expected), "location 100 Master thread events %" PRIu64 " group ", 4 * n);
	assert_logged(expected);
	snprintf(expected, sizeof(expected), "clock 1000000000 0 %" PRIu64 " ", 100 + 4 * n - 1);
	assert_logged(expected);
	OTF2_Reader_Close(reader);
}

/* A file size limit stands in for the full disk. Returns the sink's first error. */
static int write_limited(rlim_t bytes)
{
	struct model model = make_model();
	struct rlimit old, limit;
	struct sink *sink;
	char err[256];
	int error;

	getrlimit(RLIMIT_FSIZE, &old);
	limit = (struct rlimit){ .rlim_cur = bytes, .rlim_max = old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &limit);
	error = otf2_sink_create(&sink, dir, err, sizeof(err));
	if (!error)
		error = many_writes(sink, &model, 20000);
	if (!error)
		error = sink->finish(sink, &model);
	if (error && sink)
		assert_non_null(otf2_sink_error(sink));
	otf2_sink_destroy(sink);
	setrlimit(RLIMIT_FSIZE, &old);
	return error;
}

/* After a failed flush libotf2 must not be called again: the event that caused it reports it, not the end of the archive. */
static void stops_at_failed_flush(void **state)
{
	struct model model = make_model();
	struct rlimit old, limit;
	struct sink *sink;
	char err[256];

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(otf2_sink_create(&sink, dir, err, sizeof(err)), 0);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = (struct rlimit){ .rlim_cur = 4096, .rlim_max = old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(many_writes(sink, &model, 400000), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(sink->finish(sink, &model), -EFBIG);
	assert_non_null(strstr(otf2_sink_error(sink), "write an event"));
	assert_false(exists("traces.otf2"));
	assert_false(exists("traces.def"));
	assert_false(exists("traces"));
	otf2_sink_destroy(sink);
}

/* What an interrupted attempt left is no archive, whatever it is; links go, what they lead to stays. */
static void leftovers_are_removed(void **state)
{
	struct model model = make_model();
	struct sink *sink;
	char path[512];
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	(void)state;
	assert_false(otf2_archive_is_complete(fd));
	assert_int_equal(otf2_archive_remove(fd), 0);
	sink = write_script(dir, &model);
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
	assert_true(otf2_archive_is_complete(fd));
	snprintf(path, sizeof(path), "%s/traces.otf2", dir);
	assert_int_equal(truncate(path, 50), 0);
	assert_false(otf2_archive_is_complete(fd));
	assert_int_equal(otf2_archive_remove(fd), 0);
	assert_false(exists("traces.otf2") || exists("traces.def") || exists("traces"));
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

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(write_limited(RLIM_INFINITY), 0);
	snprintf(path, sizeof(path), "%s/traces/100.evt", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 1000000);
	teardown(NULL);
	for (rlim_t bytes = 0; bytes < (rlim_t)st.st_size; bytes += bytes < 1000 ? 97 : bytes < 5000 ? 991 : 99991) {
		mkdir(dir, 0700);
		assert_int_not_equal(write_limited(bytes), 0);
		assert_false(exists("traces.otf2"));
		teardown(NULL);
	}
	mkdir(dir, 0700);
	assert_int_equal(write_limited(st.st_size - 1), -EFBIG);
	assert_false(exists("traces.otf2"));
	assert_int_equal(write_limited(st.st_size), 0);
	assert_true(exists("traces.otf2"));
}

/* A rank that did no I/O is still a member of the communicators; other idle processes are left out. */
static void idle_rank_keeps_its_location(void **state)
{
	struct model model = make_model();
	struct sink *sink;
	OTF2_Reader *reader;
	char err[256];

	(void)state;
	assert_int_equal(otf2_sink_create(&sink, dir, err, sizeof(err)), 0);
	assert_int_equal(sink->event(sink, &model, &script[0]), 0);
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
	reader = open_reader();
	otf2_log_definitions(reader, T0);
	assert_logged("group 0 MPI Rank 1 on 1\ngroup 1 MPI Rank 0 on 1\n");
	assert_logged("location 100 Master thread events 1 group 1\nlocation 102 Master thread events 0 group 0\n"
		      "region 0 MPI_File_open");
	assert_logged("members 0  type 4: 100 102\n");
	OTF2_Reader_Close(reader);
}

/* A definition that does not fit into a chunk must not vanish. */
static void oversized_group_is_an_error(void **state)
{
	struct model_comm huge = { "huge", COMM_KIND_OTHER, calloc(400000, sizeof(uint32_t)), 400000 };
	struct model model = make_model();
	struct sink *sink;
	char err[256];

	(void)state;
	model.comms.v = &huge;
	model.comms.n = 1;
	model.handles.n = 1;
	assert_int_equal(otf2_sink_create(&sink, dir, err, sizeof(err)), 0);
	assert_int_equal(sink->event(sink, &model, &script[0]), 0);
	assert_true(sink->finish(sink, &model) < 0);
	assert_non_null(otf2_sink_error(sink));
	assert_false(exists("traces.otf2"));
	otf2_sink_destroy(sink);
	free(huge.members);
}

/* Many strings and handles: the definitions are flushed in the middle. */
static void many_definitions_are_flushed(void **state)
{
	uint32_t n = 50000;
	struct model_handle *many = calloc(n, sizeof(*many));
	struct model model = make_model();
	OTF2_Reader *reader;
	uint64_t definitions;
	struct sink *sink;
	char err[256];

	(void)state;
	for (uint32_t i = 0; i < n; i++)
		many[i] = handles[H_DUP];
	model.handles.v = many;
	model.handles.n = n;
	assert_int_equal(otf2_sink_create(&sink, dir, err, sizeof(err)), 0);
	assert_int_equal(sink->event(sink, &model, &script[0]), 0);
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
	reader = open_reader();
	assert_int_equal(OTF2_Reader_GetNumberOfGlobalDefinitions(reader, &definitions), OTF2_SUCCESS);
	assert_true(definitions > n);
	assert_int_equal(OTF2_Reader_ReadAllGlobalDefinitions(reader, OTF2_Reader_GetGlobalDefReader(reader), &definitions),
			 OTF2_SUCCESS);
	assert_true(definitions > n);
	OTF2_Reader_Close(reader);
	free(many);
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
		cmocka_unit_test_setup_teardown(archive_is_read_back, setup, teardown),
		cmocka_unit_test(archive_is_kept_on_request),
		cmocka_unit_test_setup_teardown(destroy_removes_what_is_unfinished, setup, teardown),
		cmocka_unit_test_setup_teardown(existing_archive_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(time_may_not_go_back, setup, teardown),
		cmocka_unit_test_setup_teardown(undefined_refs_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(long_location_is_flushed, setup, teardown),
		cmocka_unit_test_setup_teardown(stops_at_failed_flush, setup, teardown),
		cmocka_unit_test_setup_teardown(leftovers_are_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(write_error_leaves_no_anchor, setup, teardown),
		cmocka_unit_test_setup_teardown(idle_rank_keeps_its_location, setup, teardown),
		cmocka_unit_test_setup_teardown(oversized_group_is_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(many_definitions_are_flushed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
