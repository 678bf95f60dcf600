/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * When ranks met in collective opens and closes, from events to collectives.json.
 */
#include "sink/sides.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { H_WORLD, H_SELF, H_POSIX, H_LATER };

static struct model_comm comms[] = { { "MPI_COMM_WORLD", COMM_KIND_WORLD, NULL, 0 }, { "MPI_COMM_SELF", COMM_KIND_SELF, NULL, 0 } };
static struct model_handle handles[] = {
	[H_WORLD] = { .comm = 0 }, [H_SELF] = { .comm = 1 }, [H_POSIX] = { .comm = REF_NONE }, [H_LATER] = { .comm = 0 },
};
static const struct model model = { .handles = { handles, 4, 4 }, .comms = { comms, 2, 2 } };

static struct sink *sink;
static FILE *file;
static char *text;
static size_t len;

static int setup(void **state)
{
	(void)state;
	file = open_memstream(&text, &len);
	return side_collectives.create(&sink, file);
}

static int teardown(void **state)
{
	(void)state;
	side_collectives.destroy(sink);
	fclose(file);
	free(text);
	return 0;
}

static void tell(enum model_event_type type, uint32_t location, uint64_t time_ns, uint32_t ref)
{
	struct model_event e = { .type = type, .location = location, .time_ns = time_ns };

	if (type == EV_CREATE)
		e.u.create.handle = ref;
	else if (type == EV_DESTROY)
		e.u.destroy.handle = ref;
	else
		e.u.call.region = ref;
	assert_int_equal(sink->event(sink, &model, &e), 0);
}

/* One call in which a handle is made or ended, with a system call inside. */
static void call(uint32_t location, uint64_t enter_ns, uint64_t leave_ns, enum model_event_type type, uint32_t handle)
{
	tell(EV_ENTER, location, enter_ns, 0);
	tell(EV_ENTER, location, enter_ns + 1, 0);
	tell(type, location, enter_ns + 2, H_POSIX);
	tell(EV_LEAVE, location, enter_ns + 2, 0);
	tell(type, location, leave_ns, handle);
	tell(EV_LEAVE, location, leave_ns, 0);
}

static void expect(const char *json)
{
	assert_int_equal(sink->finish(sink, &model), 0);
	assert_string_equal(text, json);
}

static void last_enter_and_first_leave(void **state)
{
	(void)state;
	call(0, 100, 200, EV_CREATE, H_WORLD);
	call(3, 130, 190, EV_CREATE, H_WORLD);
	call(0, 300, 420, EV_DESTROY, H_WORLD);
	call(3, 290, 430, EV_DESTROY, H_WORLD);
	call(0, 500, 510, EV_CREATE, H_LATER);
	expect("{\"collectives\":[{\"handle\":0,\"opened\":{\"ranks\":2,\"last_enter_ns\":130,\"first_leave_ns\":190},"
	       "\"closed\":{\"ranks\":2,\"last_enter_ns\":300,\"first_leave_ns\":420}},"
	       "{\"handle\":3,\"opened\":{\"ranks\":1,\"last_enter_ns\":500,\"first_leave_ns\":510},"
	       "\"closed\":{\"ranks\":0,\"last_enter_ns\":0,\"first_leave_ns\":0}}]}\n");
}

static void others_do_not_count(void **state)
{
	(void)state;
	call(0, 100, 200, EV_CREATE, H_SELF);
	tell(EV_LEAVE, 1, 50, 0);                    /* its enter was lost */
	tell(EV_CREATE, 1, 60, H_WORLD);                /* outside of any call */
	expect("{\"collectives\":[]}\n");
}

/* A call that was left without a return ended at an unknown time. */
static void abandoned_calls_say_nothing(void **state)
{
	struct model_event leave = { .type = EV_LEAVE, .time_ns = 200, .u.call = { .region = 0, .abandoned = true } };

	(void)state;
	tell(EV_ENTER, 0, 100, 0);
	tell(EV_CREATE, 0, 150, H_WORLD);
	assert_int_equal(sink->event(sink, &model, &leave), 0);
	expect("{\"collectives\":[]}\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(last_enter_and_first_leave), TEST(others_do_not_count), TEST(abandoned_calls_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
