/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * longjmp: 5 times a nest_call that is left by longjmp, then 3 times two nested nest_calls left at once (11 calls of nest_call,
 * all abandoned), then nest_work(1) and 1 nest_call that return. 9 writes to stdout, each of one line.
 */
#include "golden.h"
#include "nest.h"

#include <setjmp.h>

static jmp_buf back;

static int jump(void *arg)
{
	(void)arg;
	longjmp(back, 1);
}

static int jump_deeper(void *arg)
{
	return nest_call(jump, arg);
}

static int seven(void *arg)
{
	(void)arg;
	return 7;
}

static void leave(int (*fn)(void *))
{
	if (setjmp(back) == 0) {
		nest_call(fn, NULL);
		die("longjmp returned");
	}
	must(write(1, "jumped\n", 7) == 7, "write");
}

int main(void)
{
	for (int i = 0; i < 5; i++)
		leave(jump);
	for (int i = 0; i < 3; i++)
		leave(jump_deeper);
	must(nest_work(1) == 1, "nest_work");
	must(nest_call(seven, NULL) == 7, "nest_call");
	must(write(1, "done\n", 5) == 5, "write");
	return 0;
}
