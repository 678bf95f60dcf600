/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * See otf2_model_fixture.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "otf2_model_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "otf2_log_builder.h"
#include "sink/otf2/otf2.h"

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
struct model_handle otf2_handles[N_HANDLES] = {
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
static struct model_cost costs[] = {
	{ "POSIX", 900, 300, 800, 60, 40 },
	{ "MPI-IO", 2900, 1300, MODEL_COST_UNKNOWN, 70, MODEL_COST_UNKNOWN },
};
static const char *notes[] = { "libc: no probe on fputs:\nrefused", "" };

#define ARRAY(a) { .v = a, .n = sizeof(a) / sizeof(*(a)) }

struct model otf2_model_make(void)
{
	return (struct model){
		.paradigms = ARRAY(paradigms), .groups = ARRAY(groups), .locations = ARRAY(locations), .regions = ARRAY(regions),
		.files = ARRAY(files), .handles = ARRAY(otf2_handles), .comms = ARRAY(comms),
		.machine_name = "cluster", .host_name = "node1",
		.clock_begin_ns = T0, .clock_end_ns = T0 + 1000, .realtime_at_begin_ns = 1700000000000000000ull,
		.totals = { .calls = 9, .lost_records = 3, .abandoned = 1, .failed_calls = 2 },
		.costs = { .v = costs, .n = 2 }, .notes = notes, .nnotes = 2, .complete = true,
		.version = "0.1", .batch_job = "SLURM job 5", .recording_tag = 77,
		.clock_steps = ARRAY(clock_steps),
		.clock_start = { true, 1, 1001, 20, true, true, 300, 4000 }, .clock_end = { true, 2, 1002, 21, false, false, 0, 0 },
	};
}

#define ENTER(l, t, r) { .type = EV_ENTER, .location = l, .time_ns = T0 + (t), .u.call = { .region = r } }
#define LEAVE(l, t, r, ...) { .type = EV_LEAVE, .location = l, .time_ns = T0 + (t), .u.call = { .region = r, __VA_ARGS__ } }

/* A collective open over a POSIX descriptor, a write at an offset, a non-blocking one that another thread completes, failures. */
const struct model_event otf2_script[] = {
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
const size_t otf2_script_events = sizeof(otf2_script) / sizeof(*otf2_script);

/* ---- a fresh directory ---- */

char otf2_dir[64];

int otf2_dir_setup(void **state)
{
	(void)state;
	otf2_log_tag = 77;
	strcpy(otf2_dir, "/tmp/ioprobe-otf2-XXXXXX");
	return mkdtemp(otf2_dir) ? 0 : -1;
}

int otf2_dir_teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", otf2_dir);
	return system(command);
}

bool otf2_dir_has(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", otf2_dir, name);
	return access(path, F_OK) == 0;
}

struct sink *otf2_write_script(const char *where, const struct model *model)
{
	struct sink *sink;
	char err[256];

	if (otf2_sink_create(&sink, where, err, sizeof(err)))
		fail_msg("%s", err);
	for (size_t i = 0; i < otf2_script_events; i++)
		assert_int_equal(sink->event(sink, model, &otf2_script[i]), 0);
	return sink;
}

/* ---- reading back ---- */

OTF2_Reader *otf2_open_reader(void)
{
	char path[512];
	OTF2_Reader *reader;

	snprintf(path, sizeof(path), "%s/traces.otf2", otf2_dir);
	reader = OTF2_Reader_Open(path);
	assert_non_null(reader);
	assert_int_equal(OTF2_Reader_SetSerialCollectiveCallbacks(reader), OTF2_SUCCESS);
	return reader;
}

void otf2_assert_logged(const char *lines)
{
	if (!strstr(otf2_log, lines))
		fail_msg("not in the archive:\n%s\nthe archive has:\n%s", lines, otf2_log);
}

int otf2_many_writes(struct sink *sink, const struct model *model, uint64_t n)
{
	struct model_event e[4] = { otf2_script[9], otf2_script[10], otf2_script[11], otf2_script[12] };
	int error = 0;

	for (uint64_t i = 0; i < n && !error; i++)
		for (size_t k = 0; k < 4 && !error; k++) {
			e[k].time_ns = T0 + 100 + 4 * i + k;
			e[1].u.begin.matching_id = e[2].u.complete.matching_id = i;
			error = sink->event(sink, model, &e[k]);
		}
	return error;
}
