/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * CPU records (--cpu-time): joined to their calls; unknown after losses, after frames that were left, and where switches were
 * missed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "replay_fixture.h"

static int setup(void **state)
{
	int ret = sb_setup(state);

	sb_text(&sb, IOP_REC_HOST, 0, 1, "host=node1\nrealtime_ns=1000000\nmonotonic_ns=0\ncpu_time=1\n", NULL);
	return ret;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, sb_teardown)

static void flush(uint64_t enter, uint64_t leave)
{
	sb_call(&sb, 100, "fflush", enter, leave, 0, 0, ARGS(ARG(HANDLE, 0x500)));
}

/* The operation of a call has the number of the call, 1 to 9. */
#define FLUSHED(n, enter, leave, cpu)                                                                  \
	"100 @" #enter " enter fflush\n100 @" #enter " begin h0 m2 f0 ? #" #n "\n"                     \
	"100 @" #leave " complete h0 ? #" #n "\n100 @" #leave " leave fflush" cpu "\n"

static void joined_to_calls(void **state)
{
	(void)state;
	sb_cpu(&sb, 100, 20,
	       &(struct iop_rec_cpu){ .enter_ns = 10,
				      .off_ns = 6,
				      .delay_ns = 2,
				      .io_ns = 3,
				      .user_ns = 4,
				      .voluntary = 1,
				      .flags = IOP_CPU_BEFORE_UNKNOWN });
	flush(10, 20);
	flush(30, 40);          /* without a record */
	/* the parts do not exceed the whole */
	sb_cpu(&sb, 100, 60,
	       &(struct iop_rec_cpu){
		       .enter_ns = 50, .off_ns = 11, .delay_ns = 12, .io_ns = 13, .before_off_ns = 11, .before_delay_ns = 3 });
	flush(50, 60);
	expect(FLUSHED(1, 10, 20, " cpu 4 sleep 4 io 3 delay 2 of 4+0")
		       FLUSHED(2, 30, 40, " cpu 10 sleep 0 io 0 delay 0 of 0+0 before 0 0")
			       FLUSHED(3, 50, 60, " cpu 0 sleep 0 io 0 delay 10 of 0+0 before 10 3"));
}

static void unknown_after_losses(void **state)
{
	(void)state;
	flush(10, 20);
	sb.seq[100]++;          /* the CPU record of the next call, or another call */
	flush(30, 40);
	flush(50, 60);
	sb.seq[100]++;
	sb_cpu(&sb, 100, 80, &(struct iop_rec_cpu){ .enter_ns = 70, .off_ns = 6, .before_off_ns = 5 });
	flush(70, 80);
	expect(FLUSHED(1, 10, 20, " cpu 10 sleep 0 io 0 delay 0 of 0+0") FLUSHED(2, 30, 40, "")
		       FLUSHED(3, 50, 60, " cpu 10 sleep 0 io 0 delay 0 of 0+0 before 0 0")
			       FLUSHED(4, 70, 80, " cpu 4 sleep 6 io 0 delay 0 of 0+0"));
}

/* Lost with the end of a call: what is before the next one begins at an unknown time. */
static void unknown_after_a_lost_end(void **state)
{
	(void)state;
	sb_enter(&sb, 100, "fflush", 10, 11, 0, ARGS(ARG(HANDLE, 0x500)));
	sb.seq[100]++;
	sb_cpu(&sb, 100, 40, &(struct iop_rec_cpu){ .enter_ns = 30, .off_ns = 6, .before_off_ns = 5 });
	flush(30, 40);
	expect(FLUSHED(1, 10, 30, " abandoned") FLUSHED(2, 30, 40, " cpu 4 sleep 6 io 0 delay 0 of 0+0"));
}

static void unknown_where_switches_were_missed(void **state)
{
	(void)state;
	flush(10, 20);
	sb_cpu(&sb, 100, 40, &(struct iop_rec_cpu){ .enter_ns = 30, .off_ns = 6, .before_off_ns = 1, .flags = IOP_CPU_UNKNOWN });
	flush(30, 40);
	sb_cpu(&sb, 100, 60, &(struct iop_rec_cpu){ .enter_ns = 50, .off_ns = 6, .before_off_ns = 1, .flags = IOP_CPU_NO_DELAY });
	flush(50, 60);
	sb_cpu(&sb, 100, 80, &(struct iop_rec_cpu){ .enter_ns = 70, .flags = IOP_CPU_UNKNOWN | IOP_CPU_BEFORE_UNKNOWN });
	flush(70, 80);
	expect(FLUSHED(1, 10, 20, " cpu 10 sleep 0 io 0 delay 0 of 0+0") FLUSHED(2, 30, 40, " before 1 0")
	       FLUSHED(3, 50, 60, " cpu 4 sleep 0 io 0 delay 0 undivided 6 of 0+0") FLUSHED(4, 70, 80, ""));
}

/* Inner calls have no times. A CPU record that is not followed by a call is ignored. */
static void outermost_calls_only(void **state)
{
	(void)state;
	flush(5, 8);
	sb_cpu(&sb, 100, 9, &(struct iop_rec_cpu){ .enter_ns = 9, .off_ns = 6 });
	sb_enter(&sb, 100, "fflush", 10, 11, 0, ARGS(ARG(HANDLE, 0x500)));
	sb_call(&sb, 100, "sync", 12, 13, 1, 0, NO_ARGS);
	sb_cpu(&sb, 100, 20, &(struct iop_rec_cpu){ .enter_ns = 10, .off_ns = 2, .before_off_ns = 1 });
	sb_exit(&sb, 100, "fflush", 10, 20, 0, 0, NO_ARGS);
	expect(FLUSHED(1, 5, 8,
		       " cpu 3 sleep 0 io 0 delay 0 of 0+0") "100 @10 enter fflush\n100 @10 begin h0 m2 f0 ? #2\n100 @12 enter "
							     "sync\n100 @13 leave sync\n100 @20 complete h0 ? #2\n"
							     "100 @20 leave fflush cpu 8 sleep 2 io 0 delay 0 of 0+0 before 1 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(joined_to_calls),          TEST(unknown_after_losses),
		TEST(unknown_after_a_lost_end), TEST(unknown_where_switches_were_missed),
		TEST(outermost_calls_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
