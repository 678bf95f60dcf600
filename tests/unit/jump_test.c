/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Where this machine's C library keeps the stack pointer in a jmp_buf.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <ioprobe/jump.h>

static uint64_t guard(void)
{
	uint64_t word;

	__asm__("mov %%fs:%c1, %0" : "=r"(word) : "i"(IOP_JUMP_GUARD_OFFSET));
	return word;
}

/* The stack pointer that setjmp's caller has: between its own frame and that of a function that it calls. */
__attribute__((noinline)) static uintptr_t below(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

static void check(const void *env, uintptr_t low, uintptr_t high)
{
	uint64_t word, target;

	memcpy(&word, (const char *)env + IOP_JUMP_SP_OFFSET, sizeof(word));
	target = word > low && word <= high ? word : iop_jump_demangle(word, guard());
	assert_in_range(target, low, high);
	assert_int_equal(target % 8, 0);
}

static void test_setjmp(void **state)
{
	jmp_buf env;

	(void)state;
	if (!setjmp(env))
		check(env, below(), (uintptr_t)__builtin_frame_address(0));
}

static void test_sigsetjmp(void **state)
{
	sigjmp_buf env;

	(void)state;
	if (!sigsetjmp(env, 1))
		check(env, below(), (uintptr_t)__builtin_frame_address(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_setjmp), cmocka_unit_test(test_sigsetjmp) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
