/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Savings: what is subtracted for the recorder, and what is added for the way from call to call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/analysis.h"

struct setup {
	struct trace trace;
	struct facts facts;
	struct analysis a;
};

static struct analysis *begin(struct setup *s, bool ours)
{
	*s = (struct setup){ 0 };
	s->trace.ours = ours;
	if (ours) {
		s->trace.probe_ns[LAYER_POSIX] = 500;
		s->trace.probe_inside_ns[LAYER_POSIX] = 200;
		s->trace.probe_ns[LAYER_NETCDF] = 2000;
		s->trace.probe_inside_ns[LAYER_NETCDF] = 1000;
		s->trace.probe_nested_ns = 100;
	}
	s->facts.lowest = LAYER_POSIX;
	s->a.trace = &s->trace;
	s->a.facts = &s->facts;
	return &s->a;
}

/* 1000 calls of 1 us, of which 200 ns, give or take a fifth, are the recorder's. */
static void subtracts_what_is_inside(void **state)
{
	struct setup s;
	struct saving saving = saving_remove(begin(&s, true), &(struct removed){ LAYER_POSIX, 1000, 0, 1000000, 0, 0 }, "");

	(void)state;
	assert_true(saving.known);
	assert_int_equal(saving.low_ns, (1000000 - 240000) * 7 / 10);
	assert_int_equal(saving.high_ns, (1000000 - 160000) * 13 / 10);
}

/* Of 300 ns before each call the recorder has 300, give or take: at least 160. */
static void adds_the_way_between(void **state)
{
	struct setup s;
	struct saving without = saving_remove(begin(&s, true), &(struct removed){ LAYER_POSIX, 1000, 0, 1000000, 0, 0 }, "");
	struct saving with = saving_remove(&s.a, &(struct removed){ LAYER_POSIX, 1000, 0, 1000000, 300000, 0 }, "");

	(void)state;
	assert_int_equal(with.low_ns, without.low_ns);
	assert_int_equal(with.high_ns - without.high_ns, 300000 - 160000);
}

/* Recorded calls inside cost all of their probes, within the time of the call around them. */
static void subtracts_calls_inside(void **state)
{
	struct setup s;
	struct saving saving = saving_remove(begin(&s, true), &(struct removed){ LAYER_NETCDF, 100, 400, 1000000, 0, 0 }, "");

	(void)state;
	assert_int_equal(saving.low_ns, (1000000 - 120000 - 240000 - 10000) * 7 / 10);
	assert_int_equal(saving.high_ns, (1000000 - 80000 - 160000 - 10000) * 13 / 10);
}

static void never_below_zero(void **state)
{
	struct setup s;
	struct saving saving = saving_remove(begin(&s, true), &(struct removed){ LAYER_POSIX, 1000, 0, 1000, 1000, 0 }, "");

	(void)state;
	assert_int_equal(saving.low_ns, 0);
	assert_int_equal(saving.high_ns, 0);
}

static void other_recorders_have_no_known_cost(void **state)
{
	struct setup s;
	struct saving saving = saving_remove(begin(&s, false), &(struct removed){ LAYER_POSIX, 1000, 10, 1000000, 500, 0 }, "");

	(void)state;
	assert_int_equal(saving.low_ns, 700000);
	assert_int_equal(saving.high_ns, 1300500);
}

/* Without large requests to compare with there is only an upper bound. */
static void larger_requests_need_a_model(void **state)
{
	struct setup s;
	struct trace_file file = { .name = "/data" };
	uint8_t fs = 0;
	struct saving saving;

	(void)state;
	begin(&s, true);
	s.trace.files.v = &file;
	s.trace.files.n = 1;
	s.facts.file_fs = &fs;
	saving = saving_larger(&s.a, &(struct removed){ LAYER_POSIX, 1000, 0, 1000000, 0, 0 }, 0, DIR_WRITE, 1 << 20);
	assert_false(saving.known);
	s.a.models[0][DIR_WRITE] = (struct cost_model){ .known = true, .latency_ns = 1000, .ns_per_byte = 0.1 };
	saving = saving_larger(&s.a, &(struct removed){ LAYER_POSIX, 1000, 0, 1000000, 0, 0 }, 0, DIR_WRITE, 1 << 20);
	assert_true(saving.known);
	assert_in_range(saving.low_ns, (1000000 - 240000) * 7 / 10 - 2 * (1000 + 104858) - 1,
			(1000000 - 240000) * 7 / 10 - 2 * (1000 + 104857));
	assert_in_range(saving.high_ns, (1000000 - 160000) * 13 / 10 - (1000 + 104858) / 2 - 1,
			(1000000 - 160000) * 13 / 10 - (1000 + 104857) / 2);
}

/* Two of 1000 calls of 1 us took 50 ms each, less the LATE_NS that are no surprise: larger requests would not save that. */
static void late_calls_are_not_saved(void **state)
{
	struct setup s;
	uint64_t late = 2 * (50000000 - LATE_NS);
	struct saving few, slow;

	(void)state;
	begin(&s, true);
	few = saving_larger(&s.a, &(struct removed){ LAYER_POSIX, 1000, 0, 1000000 + late, 0, late }, TRACE_NONE, DIR_WRITE,
			    512000);
	slow = saving_larger(&s.a, &(struct removed){ LAYER_POSIX, 1000, 0, 1500000000, 0, 500000000 }, TRACE_NONE, DIR_WRITE,
			     512000);
	assert_int_equal(few.high_ns, 1000000 - 160000);
	few = saving_remove(&s.a, &(struct removed){ LAYER_POSIX, 1000, 0, 1000000 + late, 0, late }, "");
	assert_int_equal(few.low_ns, (1000000 - 240000) * 7 / 10);     /* at least the others */
	assert_int_equal(few.high_ns, (1000000 + late - 160000) * 13 / 10);
	assert_int_equal(slow.high_ns, 1500000000 - 160000); /* a slow file system: all of them take so long */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subtracts_what_is_inside),
		cmocka_unit_test(adds_the_way_between),
		cmocka_unit_test(subtracts_calls_inside),
		cmocka_unit_test(never_below_zero),
		cmocka_unit_test(other_recorders_have_no_known_cost),
		cmocka_unit_test(larger_requests_need_a_model),
		cmocka_unit_test(late_calls_are_not_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
