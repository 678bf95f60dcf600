/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * left: calls of nest_call that end without a return, each followed by one write to stdout from deeper on the stack than the call
 * was. Every write is outside of any call. 7 writes, 9 calls of nest_call, all abandoned:
 *   jump, fast jump: by longjmp, by the compiler's own (which no function of the C library sees);
 *   exception: by an exception, from whose handler the write comes;
 *   caught inside: an exception within a call that returns, where the unwinder has taken the return probe; 2 calls;
 *   signal: by siglongjmp from a signal handler, which called nest_call too; 2 calls.
 * "kept" leaves the stack below as it is, "written" writes to all of it.
 */
#include "nest.h"

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#define DEEP 8192

static jmp_buf back;
static sigjmp_buf signal_back;
static void *fast_back[5];

static void say(const char *line)
{
	if (write(1, line, strlen(line)) < 0)
		exit(2);
}

/* Some room below the caller's frame, which keeps what is there. */
__attribute__((noipa)) static void kept(const char *line)
{
	char room[DEEP];

	asm volatile("" : : "r"(room) : "memory");
	say(line);
}

__attribute__((noipa)) static void written(const char *line)
{
	volatile char room[DEEP];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 1;
	say(line);
}

static int jump(void *)
{
	longjmp(back, 1);
}

static int fast_jump(void *)
{
	__builtin_longjmp(fast_back, 1);
}

static int thrower(void *)
{
	throw 1;
}

static int catcher(void *)
{
	try {
		nest_call(thrower, nullptr);
	} catch (int) {
		return 1;
	}
	return 0;
}

static int signal_jump(void *)
{
	siglongjmp(signal_back, 1);
}

static void handler(int)
{
	nest_call(signal_jump, nullptr);
}

static int raiser(void *)
{
	raise(SIGUSR1);
	return 0;
}

__attribute__((noipa)) static void by_jump(void (*after)(const char *), const char *line)
{
	if (!setjmp(back))
		nest_call(jump, nullptr);
	else
		after(line);
}

__attribute__((noipa)) static void by_fast_jump()
{
	if (!__builtin_setjmp(fast_back))
		nest_call(fast_jump, nullptr);
	else
		written("fast jump\n");
}

__attribute__((noipa)) static void by_exception(void (*after)(const char *), const char *line)
{
	try {
		nest_call(thrower, nullptr);
	} catch (int) {
		after(line);
	}
}

__attribute__((noipa)) static void by_signal()
{
	signal(SIGUSR1, handler);
	if (!sigsetjmp(signal_back, 1))
		nest_call(raiser, nullptr);
	else
		kept("signal\n");
}

int main()
{
	by_jump(kept, "jump, kept\n");
	by_jump(written, "jump, written\n");
	by_fast_jump();
	by_exception(kept, "exception, kept\n");
	by_exception(written, "exception, written\n");
	nest_call(catcher, nullptr);
	written("caught inside\n");
	by_signal();
	return 0;
}
