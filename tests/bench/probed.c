/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * probed DIR: the benchmark's worker whose functions begin with instructions that the kernel treats differently: it executes a nop
 * or a push itself, single-steps a subtraction, and from Linux 6.18 on can replace a nop of five bytes by a call.
 */
#include "worker.h"

#define FUNCTION(name, first, last)                                                                      \
	__asm__(".text\n.globl " name "\n.type " name ", @function\n.balign 64\n" name ":\n" first "\n" last \
		"\nret\n.size " name ", . - " name "\n")

FUNCTION("begins_with_nop5", ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00", "");
FUNCTION("begins_with_push", "push %rbp", "pop %rbp");
FUNCTION("begins_with_sub", "sub $8, %rsp", "add $8, %rsp");

void begins_with_nop5(void);
void begins_with_push(void);
void begins_with_sub(void);

#define CALLS(name)                              \
	static int call_##name(long n, size_t size) \
	{                                        \
		(void)size;                      \
		while (n-- > 0)                  \
			begins_with_##name();    \
		return 0;                        \
	}

CALLS(nop5)
CALLS(push)
CALLS(sub)

static const struct kind kinds[] = { { "nop5", call_nop5 }, { "push", call_push }, { "sub", call_sub } };

int main(int argc, char **argv)
{
	if (argc != 2 || !argv[1])
		return 2;
	puts("ready");
	fflush(stdout);
	return serve(kinds, sizeof(kinds) / sizeof(*kinds));
}
