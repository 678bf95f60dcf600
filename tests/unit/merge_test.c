/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * How definitions of several nodes become one set: which files, handles, ranks and communicators are the same, what is refused,
 * where times come to lie; with nodes that are made by hand.
 */
#include "merge/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES 3

static struct node nodes[NODES];
static struct merge m;
static char err[512];

/* ---- nodes by hand ---- */

#define ADD(array, ...) ({ \
	typeof((array).v) slot_ = MODEL_ADD(array); \
	assert_non_null(slot_); \
	*slot_ = (typeof(*(array).v)){ __VA_ARGS__ }; \
	(uint32_t)(array).n - 1; })

static uint32_t str(struct node *node, const char *text)
{
	return node_string_add(node, text);
}

/* A node with two ranks of launch L, 2n and 2n + 1 of 6, each with one location; world and self. */
static void make_node(unsigned n)
{
	struct node *node = &nodes[n];
	char text[32];

	*node = (struct node){ .dir = n ? n > 1 ? "dir2" : "dir1" : "dir0" };
	snprintf(text, sizeof(text), "n%u", n);
	node->head = (struct node_head){ .host = str(node, text),
					 .version = str(node, "0.1"),
					 .batch_job = REF_NONE,
					 .machine = REF_NONE,
					 .complete = true,
					 .has_collectives = true,
					 .clock_begin_ns = 1000,
					 .clock_length_ns = 9000 };
	node->head.start = (struct model_clock){ .read = true, .monotonic_ns = 1000, .realtime_ns = 100000 };
	node->head.end = (struct model_clock){ .read = true, .monotonic_ns = 11000, .realtime_ns = 110000 };
	ADD(node->paradigms, str(node, "POSIX"), str(node, "POSIX I/O"), REF_NONE, false, true);
	ADD(node->paradigms, str(node, "MPI-IO"), str(node, "MPI I/O"), REF_NONE, true, false);
	for (uint32_t r = 0; r < 2; r++) {
		ADD(node->groups, str(node, "rank"), str(node, "L"), r, 2 * n + r, 6);
		ADD(node->locations, (uint64_t)(n + 1) << 32 | r, 10, str(node, "Master thread"), r);
		ADD(node->members, r);
	}
	ADD(node->comms, str(node, "MPI_COMM_WORLD"), 0, 2, false);
	ADD(node->comms, str(node, "MPI_COMM_SELF"), 2, 0, true);
}

static uint32_t add_file(unsigned n, const char *path, enum model_scope scope, const char *source)
{
	struct node *node = &nodes[n];

	return ADD(node->files, str(node, path), str(node, "/mnt"), str(node, source), str(node, "nfs4"), scope, false, 0, 0, 0, 0);
}

/* An MPI-IO handle on a communicator; opened: when its ranks met. */
static uint32_t add_open(unsigned n, uint32_t file, uint32_t comm, uint64_t enter_ns, uint64_t leave_ns)
{
	struct node *node = &nodes[n];
	uint32_t handle = ADD(node->handles, .name = str(node, ""), .file = file, .paradigm = 1, .comm = comm, .parent = REF_NONE);

	if (enter_ns)
		ADD(node->collectives, .handle = handle, .opened = { 2, enter_ns, leave_ns });
	return handle;
}

static int setup(void **state)
{
	(void)state;
	m = (struct merge){ .out = "out", .nodes = nodes, .nnodes = NODES, .err = err, .err_len = sizeof(err) };
	err[0] = 0;
	for (unsigned n = 0; n < NODES; n++)
		make_node(n);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t n = 0; n < NODES; n++) {
		if (m.maps) {
			free(m.maps[n].strings);
			free(m.maps[n].regions);
			free(m.maps[n].attributes);
			free(m.maps[n].groups);
			free(m.maps[n].comms);
			free(m.maps[n].files);
			free(m.maps[n].handles);
			free(m.maps[n].lines);
			free(m.maps[n].contexts);
			free(m.maps[n].fileless);
		}
		node_deinit(&nodes[n]);
	}
	free(m.maps);
	texts_deinit(&m.strings);
	free(m.launches.v);
	for (size_t c = 0; c < m.comms.n; c++)
		free(m.comms.v[c].members);
	free(m.comms.v);
	free(m.groups.v);
	return 0;
}

static void unify_all(void)
{
	if (merge_unify(&m))
		fail_msg("unify: %s", err);
}

static void refused(int result, const char *line)
{
	assert_true(result < 0);
	if (!strstr(err, line))
		fail_msg("'%s' is not in '%s'", line, err);
}

/* ---- files ---- */

static void files_by_scope(void **state)
{
	(void)state;
	for (unsigned n = 0; n < NODES; n++) {
		add_file(n, "/shared/a", SCOPE_SHARED, "server");
		add_file(n, "/tmp/a", SCOPE_NODE, "disk");
		add_file(n, "/odd/a", SCOPE_UNKNOWN, "odd");
	}
	add_file(2, "/shared/b", SCOPE_SHARED, "server");
	unify_all();
	assert_int_equal(m.nfiles, 1 + 3 + 3 + 1);
	for (unsigned n = 0; n < NODES; n++)
		assert_int_equal(m.maps[n].files[0], 0);
	assert_int_equal(m.maps[0].files[1], 1);
	assert_int_equal(m.maps[1].files[1], 3);
	assert_int_equal(m.maps[2].files[3], 7);
	assert_int_equal(m.shared_files, 2);
	assert_int_equal(m.node_files, 3);
	assert_int_equal(m.unknown_files, 3);
	assert_int_equal(m.joined_files, 2);
}

/* The same path on two file servers is not the same file. */
static void other_server_other_file(void **state)
{
	(void)state;
	add_file(0, "/data/a", SCOPE_SHARED, "server1:/x");
	add_file(1, "/data/a", SCOPE_SHARED, "server2:/x");
	unify_all();
	assert_int_equal(m.nfiles, 2);
}

/* ---- handles ---- */

static uint32_t handle(unsigned n, uint32_t h)
{
	return m.maps[n].handles[h];
}

static void collective_handles_in_order(void **state)
{
	uint32_t file[NODES];

	(void)state;
	for (unsigned n = 0; n < NODES; n++) {
		file[n] = add_file(n, "/shared/a", SCOPE_SHARED, "server");
		add_open(n, file[n], 0, 0, 0);
		add_open(n, file[n], 1, 0, 0);         /* on SELF: everyone's own */
		add_open(n, file[n], 0, 0, 0);
	}
	unify_all();
	assert_int_equal(m.joined_handles, 2);
	assert_int_equal(m.nhandles, 2 + NODES);
	for (unsigned n = 1; n < NODES; n++) {
		assert_int_equal(handle(n, 0), handle(0, 0));
		assert_int_equal(handle(n, 2), handle(0, 2));
		assert_int_not_equal(handle(n, 1), handle(0, 1));
	}
}

/* Node 1 was attached after the first open, node 2 was cut off before the last one: their only opens are not the same. */
static void collective_handles_by_time(void **state)
{
	(void)state;
	for (unsigned n = 0; n < NODES; n++)
		add_file(n, "/shared/a", SCOPE_SHARED, "server");
	add_open(0, 0, 0, 2000, 2100);
	add_open(0, 0, 0, 3000, 3100);
	add_open(1, 0, 0, 3010, 3090);
	add_open(2, 0, 0, 1990, 2050);
	unify_all();
	assert_int_equal(handle(1, 0), handle(0, 1));
	assert_int_equal(handle(2, 0), handle(0, 0));
	assert_int_equal(m.joined_handles, 2);
	assert_int_equal(m.unmatched_handles, 0);
}

static void unmatched_handles_stay_apart(void **state)
{
	(void)state;
	for (unsigned n = 0; n < NODES; n++)
		add_file(n, "/shared/a", SCOPE_SHARED, "server");
	add_open(0, 0, 0, 2000, 2100);
	add_open(0, 0, 0, 0, 0);                       /* at an unknown time */
	add_open(1, 0, 0, 3010, 3090);
	unify_all();
	assert_int_equal(m.joined_handles, 0);
	assert_int_equal(m.nhandles, 3);
	assert_int_equal(m.unmatched_handles, 3);
}

/* One open of all ranks, but of a file that every node has its own: one handle, and no file can be named. */
static void one_handle_many_files(void **state)
{
	(void)state;
	for (unsigned n = 0; n < NODES; n++)
		add_open(n, add_file(n, "/tmp/a", SCOPE_NODE, "disk"), 0, 0, 0);
	unify_all();
	assert_int_equal(m.nhandles, 1);
	assert_int_equal(m.split_handles, 1);
	assert_true(m.maps[0].fileless[0] && m.maps[2].fileless[0]);
}

/* A child's ref is greater than its parent's on every node, whether or not they are joined. */
static void parents_come_first(void **state)
{
	(void)state;
	for (unsigned n = 0; n < NODES; n++) {
		uint32_t file = add_file(n, "/shared/a", SCOPE_SHARED, "server"), parent = add_open(n, file, 0, 0, 0);

		ADD(nodes[n].handles, .name = str(&nodes[n], ""), .file = file, .paradigm = 0, .comm = REF_NONE, .parent = parent);
	}
	unify_all();
	for (unsigned n = 0; n < NODES; n++)
		assert_true(handle(n, 0) < handle(n, 1));
	assert_int_equal(m.nhandles, 1 + NODES);
}

/* ---- ranks and communicators ---- */

static void ranks_over_all_nodes(void **state)
{
	char *missing;

	(void)state;
	nodes[0].groups.v[0].rank = 5;
	nodes[2].groups.v[1].rank = 0;
	ADD(nodes[0].groups, str(&nodes[0], "sh (pid 1)"), REF_NONE, REF_NONE, -1, -1);
	unify_all();
	assert_int_equal(m.nranks, 6);
	assert_int_equal(m.maps[0].groups[0], 5);
	assert_int_equal(m.maps[2].groups[1], 0);
	assert_int_equal(m.maps[0].groups[2], 6);
	assert_int_equal(m.comms.n, 2);
	assert_int_equal(m.maps[0].comms[0], m.maps[2].comms[0]);
	assert_int_equal(m.maps[0].comms[1], m.maps[2].comms[1]);
	assert_string_equal(merge_job_name(&m), "L");
	missing = merge_missing_ranks(&m);
	assert_null(missing);
}

static void missing_ranks_are_named(void **state)
{
	char *missing;

	(void)state;
	for (unsigned n = 0; n < NODES; n++)
		for (uint32_t r = 0; r < 2; r++)
			nodes[n].groups.v[r].launch_size = 10;
	nodes[1].groups.v[0].rank = 8;
	unify_all();
	missing = merge_missing_ranks(&m);
	assert_string_equal(missing, "2, 6-7, 9 of 10");
	free(missing);
}

static void unknown_size_misses_nothing(void **state)
{
	(void)state;
	for (unsigned n = 0; n < NODES; n++)
		for (uint32_t r = 0; r < 2; r++)
			nodes[n].groups.v[r].launch_size = -1;
	nodes[1].groups.v[0].rank = 8;
	unify_all();
	assert_null(merge_missing_ranks(&m));
}

static void two_launches(void **state)
{
	(void)state;
	for (uint32_t r = 0; r < 2; r++) {
		nodes[2].groups.v[r].launch = str(&nodes[2], "M");
		nodes[2].groups.v[r].rank = r;
		nodes[2].groups.v[r].launch_size = 2;
	}
	unify_all();
	assert_int_equal(m.launches.n, 2);
	assert_int_not_equal(m.maps[0].comms[0], m.maps[2].comms[0]);
	assert_int_equal(m.maps[2].groups[0], 4);
}

static uint32_t add_comm(unsigned n, const char *name, uint32_t first, uint32_t nmembers)
{
	return ADD(nodes[n].comms, str(&nodes[n], name), first, nmembers, false);
}

/* Half a job: made the same way on all nodes, so it is one; of what one node alone has, the order is known. */
static void communicators_made_of_others(void **state)
{
	const struct merged_comm *half, *own;

	(void)state;
	for (unsigned n = 0; n < NODES; n++) {
		ADD(nodes[n].members, 1);
		add_comm(n, "MPI_COMM_WORLD/MPI_Comm_split 1 color 1 (members that were recorded)", 2, 1);
	}
	ADD(nodes[2].members, 1);
	ADD(nodes[2].members, 0);
	add_comm(2, "MPI_COMM_WORLD/MPI_Comm_split 1 color 2 (members that were recorded)", 3, 2);
	unify_all();
	assert_int_equal(m.comms.n, 4);
	assert_true(m.comms.v[m.maps[0].comms[0]].world);
	half = &m.comms.v[m.maps[0].comms[2]];
	assert_int_equal(m.maps[2].comms[2], m.maps[0].comms[2]);
	assert_int_equal(half->nmembers, 3);
	assert_int_equal(half->members[0], 1);
	assert_int_equal(half->members[2], 5);
	assert_false(half->world || half->partial);
	own = &m.comms.v[m.maps[2].comms[3]];
	assert_int_equal(own->members[0], 5);
	assert_int_equal(own->members[1], 4);
	assert_int_equal(m.unordered_comms, 1);
}

/* One call makes a communicator per node, of all whose members the node has seen. */
static void communicators_of_one_node(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		add_comm(n, "MPI_COMM_WORLD/MPI_Comm_create 1", 0, 2);
		add_comm(n, "MPI_COMM_WORLD/MPI_Comm_split_type 1 color 0 (members that were recorded)", 0, 2);
	}
	unify_all();
	assert_int_equal(m.comms.n, 2 + 4);
	assert_int_not_equal(m.maps[0].comms[2], m.maps[1].comms[2]);
	assert_int_not_equal(m.maps[0].comms[3], m.maps[1].comms[3]);
	assert_int_equal(m.unordered_comms, 0);
	assert_false(m.comms.v[m.maps[0].comms[3]].partial);
}

/* As long as ranks are missing, members may be. */
static void communicators_stay_partial(void **state)
{
	(void)state;
	ADD(nodes[0].members, 1);
	add_comm(0, "MPI_COMM_WORLD/MPI_Comm_split 1 color 1 (members that were recorded) (job 2)", 2, 1);
	for (unsigned n = 0; n < NODES; n++)
		for (uint32_t r = 0; r < 2; r++)
			nodes[n].groups.v[r].launch_size = 8;
	unify_all();
	assert_true(m.comms.v[m.maps[0].comms[2]].partial);
	assert_string_equal(m.strings.v.v[m.comms.v[m.maps[0].comms[2]].name], "MPI_COMM_WORLD/MPI_Comm_split 1 color 1");
}

/* ---- what is refused ---- */

static void other_versions(void **state)
{
	(void)state;
	nodes[1].head.version = str(&nodes[1], "0.2");
	refused(job_check(&m, true), "dir1 with dir0: recorded by different versions of ioprobe, 0.2 and 0.1");
}

static void unknown_version(void **state)
{
	(void)state;
	nodes[1].head.version = REF_NONE;
	refused(job_check(&m, true), "dir1: the version of ioprobe");
}

static void one_node_twice(void **state)
{
	(void)state;
	nodes[2].head.host = str(&nodes[2], "n0");
	refused(job_check(&m, true), "dir2 with dir0: both are of node n0");
}

static void one_location_twice(void **state)
{
	(void)state;
	nodes[2].locations.v[1].id = nodes[0].locations.v[0].id;
	refused(job_check(&m, true), "both have the location id 4294967296");
}

static void other_jobs(void **state)
{
	(void)state;
	assert_int_equal(job_check(&m, false), 0);
	nodes[1].groups.v[0].launch = nodes[1].groups.v[1].launch = str(&nodes[1], "M");
	refused(job_check(&m, false), "dir1 with dir0: they are of different jobs, M and L");
	nodes[1].groups.v[0].launch = nodes[1].groups.v[1].launch = REF_NONE;
	refused(job_check(&m, false), "dir1: it names no job");
	assert_int_equal(job_check(&m, true), 0);
}

/* Launches on parts of a job's nodes: the third node is tied to the first one by the second. */
static void chain_of_launches(void **state)
{
	(void)state;
	nodes[1].groups.v[1].launch = str(&nodes[1], "M");
	nodes[2].groups.v[0].launch = nodes[2].groups.v[1].launch = str(&nodes[2], "M");
	assert_int_equal(job_check(&m, false), 0);
	for (unsigned n = 0; n < NODES; n++)
		nodes[n].head.batch_job = str(&nodes[n], n == 2 ? "SLURM job 8" : "SLURM job 7");
	refused(job_check(&m, false), "different jobs, SLURM job 8 and SLURM job 7");
}

static void one_rank_twice(void **state)
{
	(void)state;
	nodes[1].groups.v[0].rank = 0;
	refused(merge_unify(&m), "dir1 with dir0: both have rank 0");
}

static void sizes_differ(void **state)
{
	(void)state;
	nodes[1].groups.v[0].launch_size = 7;
	refused(merge_unify(&m), "rank 2 reports a launch of 7 ranks, others report 6");
}

static void other_tables(void **state)
{
	(void)state;
	ADD(nodes[1].paradigms, str(&nodes[1], "LIB"), str(&nodes[1], "Library"), REF_NONE, false, false);
	refused(merge_unify(&m), "dir1 with dir0: recorded with different probe tables (3 and 2 layers)");
}

/* ---- clocks ---- */

static void offsets_and_span(void **state)
{
	(void)state;
	nodes[1].head.start.realtime_ns += 500;
	nodes[1].head.end.realtime_ns += 700;          /* 20 ns per us */
	nodes[2].head.end.read = false;
	unify_all();
	assert_int_equal(clocks_global(&m, 0, 1000), 100000);
	assert_int_equal(clocks_global(&m, 0, 5000), 104000);
	assert_int_equal(clocks_global(&m, 1, 1000), 100500);
	assert_int_equal(clocks_global(&m, 1, 6000), 105600);
	assert_int_equal(clocks_global(&m, 1, 11000), 110700);
	assert_int_equal(clocks_global(&m, 2, 11000), 110000);
	assert_int_equal(m.clocks.offset_min_ns, 0);
	assert_int_equal(m.clocks.offset_max_ns, 500);
	assert_int_equal(m.clocks.change_max_ns, 200);
	assert_int_equal(m.clocks.change_node, 1);
	assert_int_equal(m.clocks.without_end, 1);
	assert_int_equal(m.begin_ns, 100000);
	assert_int_equal(m.end_ns, 109682);             /* 10000 of node 1: 109500 and 180, and 2 for the rounding */
}

/* Of a node whose clock was set by 5 s all times follow the clock after the last step, and none is stretched. */
static void recorded_steps(void **state)
{
	(void)state;
	nodes[1].head.end.realtime_ns += 5000;
	nodes[1].head.clock_steps = 1;
	nodes[2].head.clock_steps = 2;
	nodes[2].head.end.read = false;
	nodes[2].head.last_step = (struct model_clock){ .read = true, .monotonic_ns = 7000, .realtime_ns = 104000 };
	unify_all();
	assert_int_equal(clocks_global(&m, 1, 1000), 105000);
	assert_int_equal(clocks_global(&m, 1, 6000), 110000);
	assert_int_equal(clocks_global(&m, 1, 11000), 115000);
	assert_int_equal(clocks_global(&m, 2, 1000), 98000);
	assert_int_equal(clocks_global(&m, 2, 7000), 104000);
	assert_int_equal(m.clocks.change_max_ns, 0);
	assert_int_equal(m.clocks.stepped, 2);
}

static void errors_add_up(void **state)
{
	static const uint64_t error[NODES] = { 100, 900, 300 };

	(void)state;
	for (unsigned n = 0; n < NODES; n++)
		for (int end = 0; end < 2; end++) {
			struct model_clock *clock = end ? &nodes[n].head.end : &nodes[n].head.start;

			clock->known = clock->synchronized = true;
			clock->error_ns = error[n] / (2 - end);
			clock->width_ns = 10;
		}
	unify_all();
	assert_true(m.clocks.error_known);
	assert_int_equal(m.clocks.error_ns, 910 + 310);
}

static void one_unsynchronized_clock_is_enough(void **state)
{
	(void)state;
	nodes[0].head.start.synchronized = nodes[0].head.end.synchronized = true;
	nodes[1].head.start.synchronized = true;
	unify_all();
	assert_false(m.clocks.error_known);
	assert_int_equal(m.clocks.unsynchronized, 2);
}

static void open_everywhere(const uint64_t times[NODES][2])
{
	for (unsigned n = 0; n < NODES; n++)
		add_open(n, add_file(n, "/shared/a", SCOPE_SHARED, "server"), 0, times[n][0], times[n][1]);
	unify_all();
	assert_int_equal(clocks_check(&m), 0);
	assert_int_equal(m.clocks.meetings, 1);
}

static void collectives_that_agree(void **state)
{
	(void)state;
	open_everywhere((const uint64_t[NODES][2]){ { 2000, 2300 }, { 2150, 2200 }, { 2100, 2170 } });
	assert_int_equal(m.clocks.violated, 0);
	assert_int_equal(m.clocks.slack_ns, 20); /* node 1 enters at 2150, node 2 leaves at 2170; node 1 itself does not count */
	assert_int_equal(m.clocks.late, 1);
	assert_int_equal(m.clocks.early, 2);
}

static void collectives_that_contradict(void **state)
{
	(void)state;
	open_everywhere((const uint64_t[NODES][2]){ { 2000, 2100 }, { 2150, 2200 }, { 2050, 2160 } });
	assert_int_equal(m.clocks.violated, 1);
	assert_int_equal(m.clocks.slack_ns, -50);
	assert_int_equal(m.clocks.late, 1);
	assert_int_equal(m.clocks.early, 0);
}

/* The latest to enter and the first to leave on one node say nothing of clocks. */
static void one_node_against_itself(void **state)
{
	(void)state;
	open_everywhere((const uint64_t[NODES][2]){ { 2000, 2300 }, { 2200, 2100 }, { 2050, 2400 } });
	assert_int_equal(m.clocks.violated, 0);
	assert_int_equal(m.clocks.slack_ns, 50);        /* leaves 1 at 2100, enters 2 at 2050 */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_by_scope),
		TEST(other_server_other_file),
		TEST(collective_handles_in_order),
		TEST(collective_handles_by_time),
		TEST(unmatched_handles_stay_apart),
		TEST(one_handle_many_files),
		TEST(parents_come_first),
		TEST(ranks_over_all_nodes),
		TEST(missing_ranks_are_named),
		TEST(unknown_size_misses_nothing),
		TEST(two_launches),
		TEST(communicators_made_of_others),
		TEST(communicators_of_one_node),
		TEST(communicators_stay_partial),
		TEST(other_versions), TEST(unknown_version), TEST(one_node_twice), TEST(one_location_twice),
		TEST(other_jobs),
		TEST(chain_of_launches),
		TEST(one_rank_twice),
		TEST(sizes_differ),
		TEST(other_tables),
		TEST(offsets_and_span),
		TEST(recorded_steps),
		TEST(errors_add_up),
		TEST(one_unsynchronized_clock_is_enough),
		TEST(collectives_that_agree),
		TEST(collectives_that_contradict),
		TEST(one_node_against_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
