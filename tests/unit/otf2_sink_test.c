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
#include "otf2_model_fixture.h"
#include "sink/otf2/otf2.h"

static void assert_property(OTF2_Reader *reader, const char *name, const char *expected)
{
	char *value = NULL;

	assert_int_equal(OTF2_Reader_GetProperty(reader, name, &value), OTF2_SUCCESS);
	assert_string_equal(value, expected);
	free(value);
}

static void assert_no_property(OTF2_Reader *reader, const char *name)
{
	char *value = NULL;

	assert_int_not_equal(OTF2_Reader_GetProperty(reader, name, &value), OTF2_SUCCESS);
}

/* ---- tests ---- */

static void check_definitions(void)
{
	otf2_assert_logged("clock 1000000000 0 1000 1700000000000000000\n"
		      "paradigm 0 POSIX|POSIX I/O class 0 flags 1 version -\n"
		      "paradigm 1 MPI-IO|MPI I/O (OMPIO) class 1 flags 0 version 4.1.4\n"
		      "node 0 machine cluster below -1\n"
		      "node 1 node node1 below 0\n");
	otf2_assert_logged("group 0 MPI Rank 1 on 1\ngroup 1 MPI Rank 0 on 1\ngroup 2 sh (pid 8) on 1\n"
		      "group property 0 IOPROBE::RANK=1\ngroup property 0 IOPROBE::LAUNCH_SIZE=2\n"
		      "group property 0 IOPROBE::LAUNCH=launch.7\ngroup property 1 IOPROBE::RANK=0\n"
		      "location 100 Master thread events 18 group 1\n"
		      "location 102 Master thread events 6 group 0\n"
		      "location 103 Master thread events 15 group 2\n"
		      "location 104 Thread 12 events 4 group 1\n");
	otf2_assert_logged("region 0 MPI_File_open of MPI-IO role 38 paradigm 4\n"
		      "region 1 openat of POSIX role 38 paradigm 22\n"
		      "region 2 write of POSIX role 27 paradigm 22\n"
		      "region 3 MPI_File_iwrite_at of MPI-IO role 27 paradigm 4\n"
		      "region 4 MPI_Wait of MPI role 1 paradigm 4\n"
		      "region 5 close of POSIX role 38 paradigm 22\n"
		      "members 0  type 4: 100 102\n"
		      "members 1 MPI_COMM_WORLD type 5: 0 1\n"
		      "members 2 MPI_COMM_SELF type 6:\n"
		      "comm 0 MPI_COMM_WORLD group 1 parent -1\n"
		      "comm 1 MPI_COMM_SELF group 2 parent -1\n");
	otf2_assert_logged("file 0 /scratch/out.nc scope 0\n"
		      "property 0 Mount Point=/scratch\nproperty 0 Mount Source=server:/scratch\nproperty 0 File system=nfs4\n"
		      "file 1 /tmp/loc\\xe4l scope 1\n"
		      "property 1 Mount Point=/\nproperty 1 Mount Source=/dev/vda1\nproperty 1 File system=ext4\n"
		      "file 2 pipe:[1] scope -1\n"
		      "directory 3 /tmp scope 1\n");
	otf2_assert_logged("handle 0 'stdout' file 2 paradigm 0 flags 1 comm -1 parent -1\n"
		      "precreated 0 mode 1 flags 2\n"
		      "handle 1 '' file 0 paradigm 1 flags 0 comm 0 parent -1\n"
		      "handle 2 '' file 0 paradigm 0 flags 0 comm -1 parent 1\n"
		      "handle 3 '' file -1 paradigm 0 flags 0 comm -1 parent -1\n");
}

static void check_events(void)
{
	otf2_assert_logged("100 1 enter 1\n100 2 create 2 2 1 1\n100 2 leave 1\n100 3 create 1 2 0 0\n100 3 leave 0\n");
	otf2_assert_logged("100 10 enter 2\n100 10 begin 2 1 0 4096 #1 {0=512}\n100 12 complete 2 1024 #1\n100 12 leave 2\n"
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
	struct model model = otf2_model_make();
	struct sink *sink = otf2_write_script(otf2_dir, &model);
	OTF2_Reader *reader;

	(void)state;
	assert_false(otf2_dir_has("traces.otf2"));
	assert_int_equal(sink->finish(sink, &model), 0);
	assert_null(otf2_sink_error(sink));
	otf2_sink_destroy(sink);
	assert_true(otf2_dir_has("traces.otf2"));
	assert_true(otf2_dir_has("traces/100.def"));
	assert_false(otf2_dir_has("traces/101.evt"));

	reader = otf2_open_reader();
	otf2_log_definitions(reader, T0);
	check_definitions();
	assert_int_equal(otf2_log_events(reader, used, 4), otf2_script_events);
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
	assert_property(reader, "IOPROBE::PROBE_NS_POSIX", "900");
	assert_property(reader, "IOPROBE::PROBE_INSIDE_NS_POSIX", "300");
	assert_property(reader, "IOPROBE::PROBE_ENTRY_RETURN_NS_POSIX", "800");
	assert_property(reader, "IOPROBE::PROBE_RECORD_NS_POSIX", "60");
	assert_property(reader, "IOPROBE::PROBE_SITE_NS_POSIX", "40");
	assert_property(reader, "IOPROBE::PROBE_RECORD_NS_MPI_IO", "70");
	assert_no_property(reader, "IOPROBE::PROBE_ENTRY_RETURN_NS_MPI_IO");
	assert_no_property(reader, "IOPROBE::PROBE_SITE_NS_MPI_IO");
	assert_property(reader, "IOPROBE::NOTES", "2");
	assert_property(reader, "IOPROBE::NOTE_0001", "libc: no probe on fputs:\\x0arefused");
	OTF2_Reader_Close(reader);
}

/* For the contract checker, which is another program. */
static void archive_is_kept_on_request(void **state)
{
	const char *where = getenv("IOPROBE_TEST_ARCHIVE");
	struct model model = otf2_model_make();
	struct sink *sink;

	(void)state;
	if (!where)
		skip();
	sink = otf2_write_script(where, &model);
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
}

static void destroy_removes_what_is_unfinished(void **state)
{
	struct model model = otf2_model_make();

	(void)state;
	otf2_sink_destroy(otf2_write_script(otf2_dir, &model));
	assert_false(otf2_dir_has("traces.otf2"));
	assert_false(otf2_dir_has("traces.def"));
	assert_false(otf2_dir_has("traces"));
}

static void existing_archive_is_refused(void **state)
{
	struct model model = otf2_model_make();
	struct sink *sink = otf2_write_script(otf2_dir, &model), *second;
	char err[256];

	(void)state;
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
	assert_int_equal(otf2_sink_create(&second, otf2_dir, err, sizeof(err)), -EEXIST);
	assert_non_null(strstr(err, "traces.otf2"));
	assert_null(second);
	assert_true(otf2_dir_has("traces.otf2"));
	assert_int_equal(otf2_sink_create(&second, "/nonexistent/otf2_dir", err, sizeof(err)), -ENOENT);
	assert_non_null(strstr(err, "/nonexistent/otf2_dir"));
}

static void time_may_not_go_back(void **state)
{
	struct model model = otf2_model_make();
	struct sink *sink = otf2_write_script(otf2_dir, &model);
	struct model_event back = otf2_script[0];

	(void)state;
	assert_int_equal(sink->event(sink, &model, &back), -EINVAL);
	assert_non_null(strstr(otf2_sink_error(sink), "goes back"));
	back.time_ns = T0 + 5000;
	assert_int_equal(sink->event(sink, &model, &back), -EINVAL);
	assert_int_equal(sink->finish(sink, &model), -EINVAL);
	assert_false(otf2_dir_has("traces.otf2"));
	otf2_sink_destroy(sink);
}

static void undefined_refs_are_refused(void **state)
{
	struct model model = otf2_model_make();
	struct model_event location = otf2_script[0], region = otf2_script[0];
	struct sink *sink;
	char err[256];

	(void)state;
	location.location = N_LOCATIONS;
	region.u.call.region = N_REGIONS;
	assert_int_equal(otf2_sink_create(&sink, otf2_dir, err, sizeof(err)), 0);
	assert_int_equal(sink->event(sink, &model, &location), -EINVAL);
	otf2_sink_destroy(sink);
	assert_int_equal(otf2_sink_create(&sink, otf2_dir, err, sizeof(err)), 0);
	assert_int_equal(sink->event(sink, &model, &region), -EINVAL);
	otf2_sink_destroy(sink);
}

/* Far more than one chunk: flushes happen, add no events of their own, and nothing is lost. */
static void long_location_is_flushed(void **state)
{
	struct model model = otf2_model_make();
	uint64_t n = 200000;
	struct sink *sink;
	OTF2_Reader *reader;
	char err[256], expected[96];
	struct rusage usage;

	(void)state;
	assert_int_equal(otf2_sink_create(&sink, otf2_dir, err, sizeof(err)), 0);
	assert_int_equal(otf2_many_writes(sink, &model, n), 0);
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
	getrusage(RUSAGE_SELF, &usage);
#ifndef __SANITIZE_ADDRESS__
	assert_true(usage.ru_maxrss < 64 * 1024);
#endif
	reader = otf2_open_reader();
	otf2_log_definitions(reader, T0);
	snprintf(expected, sizeof(expected), "location 100 Master thread events %" PRIu64 " group ", 4 * n);
	otf2_assert_logged(expected);
	snprintf(expected, sizeof(expected), "clock 1000000000 0 %" PRIu64 " ", 100 + 4 * n - 1);
	otf2_assert_logged(expected);
	OTF2_Reader_Close(reader);
}

/* A rank that did no I/O is still a member of the communicators; other idle processes are omitted. */
static void idle_rank_keeps_its_location(void **state)
{
	struct model model = otf2_model_make();
	struct sink *sink;
	OTF2_Reader *reader;
	char err[256];

	(void)state;
	assert_int_equal(otf2_sink_create(&sink, otf2_dir, err, sizeof(err)), 0);
	assert_int_equal(sink->event(sink, &model, &otf2_script[0]), 0);
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
	reader = otf2_open_reader();
	otf2_log_definitions(reader, T0);
	otf2_assert_logged("group 0 MPI Rank 1 on 1\ngroup 1 MPI Rank 0 on 1\n");
	otf2_assert_logged("location 100 Master thread events 1 group 1\nlocation 102 Master thread events 0 group 0\n"
		      "region 0 MPI_File_open");
	otf2_assert_logged("members 0  type 4: 100 102\n");
	OTF2_Reader_Close(reader);
}

/* Many strings and handles: the definitions are flushed in the middle. */
static void many_definitions_are_flushed(void **state)
{
	uint32_t n = 50000;
	struct model_handle *many = calloc(n, sizeof(*many));
	struct model model = otf2_model_make();
	OTF2_Reader *reader;
	uint64_t definitions;
	struct sink *sink;
	char err[256];

	(void)state;
	for (uint32_t i = 0; i < n; i++)
		many[i] = otf2_handles[H_DUP];
	model.handles.v = many;
	model.handles.n = n;
	assert_int_equal(otf2_sink_create(&sink, otf2_dir, err, sizeof(err)), 0);
	assert_int_equal(sink->event(sink, &model, &otf2_script[0]), 0);
	assert_int_equal(sink->finish(sink, &model), 0);
	otf2_sink_destroy(sink);
	reader = otf2_open_reader();
	assert_int_equal(OTF2_Reader_GetNumberOfGlobalDefinitions(reader, &definitions), OTF2_SUCCESS);
	assert_true(definitions > n);
	assert_int_equal(OTF2_Reader_ReadAllGlobalDefinitions(reader, OTF2_Reader_GetGlobalDefReader(reader), &definitions),
			 OTF2_SUCCESS);
	assert_true(definitions > n);
	OTF2_Reader_Close(reader);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(archive_is_read_back, otf2_dir_setup, otf2_dir_teardown),
		cmocka_unit_test(archive_is_kept_on_request),
		cmocka_unit_test_setup_teardown(destroy_removes_what_is_unfinished, otf2_dir_setup, otf2_dir_teardown),
		cmocka_unit_test_setup_teardown(existing_archive_is_refused, otf2_dir_setup, otf2_dir_teardown),
		cmocka_unit_test_setup_teardown(time_may_not_go_back, otf2_dir_setup, otf2_dir_teardown),
		cmocka_unit_test_setup_teardown(undefined_refs_are_refused, otf2_dir_setup, otf2_dir_teardown),
		cmocka_unit_test_setup_teardown(long_location_is_flushed, otf2_dir_setup, otf2_dir_teardown),
		cmocka_unit_test_setup_teardown(idle_rank_keeps_its_location, otf2_dir_setup, otf2_dir_teardown),
		cmocka_unit_test_setup_teardown(many_definitions_are_flushed, otf2_dir_setup, otf2_dir_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
