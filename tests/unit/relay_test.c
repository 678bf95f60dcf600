/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A relay: every item arrives once, in order, whichever side is faster, with a thread and without one.
 */
#include "util/relay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define ITEMS 200000

struct number { uint64_t len, value, rest[6]; };        /* of the rest, some */

struct receiver { uint64_t expected, wrong, batches; pthread_t last; long pause_ns; };

static void receive(void *arg, const void *items, size_t len)
{
	struct receiver *r = arg;
	const char *at = items;

	r->batches++;
	r->last = pthread_self();
	for (; at < (const char *)items + len; at += ((const struct number *)at)->len, r->expected++)
		r->wrong += ((const struct number *)at)->value != r->expected;
	r->wrong += at != (const char *)items + len;
	if (r->pause_ns)
		nanosleep(&(struct timespec){ 0, r->pause_ns }, NULL);
}

static void add_numbers(struct relay *relay, uint64_t from, uint64_t to)
{
	for (uint64_t value = from; value < to; value++) {
		struct number *item = relay_room(relay);

		item->value = value;
		item->len = 16 + value % 7 * 8;
		memset(item->rest, 0xff, item->len - 16);
		relay_add(relay, item->len);
	}
}

static struct relay *create(struct receiver *r)
{
	struct relay *relay = relay_create();

	assert_non_null(relay);
	relay_bind(relay, receive, r);
	return relay;
}

static bool several_cpus(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) > 1;
}

static void items_arrive_in_order(void **state)
{
	static const long pauses_ns[] = { 0, 100000 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct receiver r = { .pause_ns = pauses_ns[i] };
		struct relay *relay = create(&r);
		bool started = relay_start(relay);

		assert_int_equal(started, several_cpus());
		assert_int_equal(relay_is_running(relay), started);
		add_numbers(relay, 0, 1);
		relay_sync(relay);
		assert_int_equal(r.expected, 1);
		relay_sync(relay);
		add_numbers(relay, 1, ITEMS);
		relay_sync(relay);
		assert_int_equal(r.expected, ITEMS);
		relay_finish(relay);
		assert_int_equal(r.expected, ITEMS);
		assert_int_equal(r.wrong, 0);
		assert_int_equal(!pthread_equal(r.last, pthread_self()), started);
		assert_true(!started || r.batches < ITEMS / 100);
		/* afterwards at once, by the caller, until there is a thread again */
		add_numbers(relay, ITEMS, ITEMS + 1);
		assert_int_equal(r.expected, ITEMS + 1);
		assert_true(pthread_equal(r.last, pthread_self()));
		assert_int_equal(relay_start(relay), started);
		add_numbers(relay, ITEMS + 1, 2 * ITEMS);
		relay_destroy(relay);
		assert_int_equal(r.expected, 2 * ITEMS);
		assert_int_equal(r.wrong, 0);
	}
}

static void ends_without_items(void **state)
{
	struct receiver r = { 0 };
	struct relay *relay = create(&r);

	(void)state;
	relay_start(relay);
	relay_finish(relay);
	relay_destroy(relay);
	relay_destroy(NULL);
	assert_int_equal(r.batches, 0);
}

/* A thread that shares its only CPU with the caller would be of no use. */
static void one_cpu_has_no_thread(void **state)
{
	struct receiver r = { 0 };
	struct relay *relay = create(&r);
	cpu_set_t before, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &before))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_false(relay_start(relay));
	sched_setaffinity(0, sizeof(before), &before);
	add_numbers(relay, 0, 3);
	assert_int_equal(r.expected, 3);
	assert_int_equal(r.batches, 3);
	relay_destroy(relay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_arrive_in_order),
		cmocka_unit_test(ends_without_items),
		cmocka_unit_test(one_cpu_has_no_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
