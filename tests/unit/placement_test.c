/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Probe placement on machine code as compilers make it, and on what must stop it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "elf/placement.h"

#define ALL_ARGS 0x3f
#define RDI 0x01
#define RSI 0x02
#define CODE(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static void expect(struct placement placement, enum placement_kind kind, uint32_t offset, const char *reason)
{
	assert_int_equal(placement.kind, kind);
	assert_int_equal(placement.offset, offset);
	if (!reason)
		assert_null(placement.reason);
	else
		assert_true(placement.reason && strstr(placement.reason, reason));
}

static void whole(const uint8_t *code, size_t len, unsigned args, enum placement_kind kind, uint32_t offset, const char *reason)
{
	expect(placement_decide(code, len, 0x401000, true, args), kind, offset, reason);
}

/* ---- at the entry ---- */

static void test_push_at_entry(void **state)
{
	(void)state;
	whole(CODE(0x55, 0x5d, 0xc3), ALL_ARGS, PLACED_ENTRY, 0, NULL);                         /* push rbp */
	whole(CODE(0x41, 0x57, 0x41, 0x5f, 0xc3), ALL_ARGS, PLACED_ENTRY, 0, NULL);             /* push r15 */
	whole(CODE(0x54, 0x58, 0xc3), ALL_ARGS, PLACED_ENTRY, 0, NULL);                         /* push rsp */
	expect(placement_decide(CODE(0x55, 0x48), 0, false, ALL_ARGS), PLACED_ENTRY, 0, NULL);  /* cut off, size unknown */
}

/* Pushes that the kernel does not emulate. */
static void test_other_pushes(void **state)
{
	(void)state;
	whole(CODE(0x48, 0x55, 0x5d, 0xc3), ALL_ARGS, PLACED_SINGLE_STEP, 0, "stack pointer changed");          /* rex.w push rbp */
	whole(CODE(0x6a, 0x01, 0x58, 0xc3), ALL_ARGS, PLACED_SINGLE_STEP, 0, "stack pointer changed");          /* push 1 */
	whole(CODE(0xff, 0x74, 0x24, 0x08, 0x58, 0xc3), ALL_ARGS, PLACED_SINGLE_STEP, 0,
	      "stack pointer changed"); /* push [rsp+8] */
	whole(CODE(0x66, 0x55, 0x66, 0x5d, 0xc3), ALL_ARGS, PLACED_SINGLE_STEP, 0, "stack pointer changed");    /* push bp */
}

static void test_branches_and_nops_at_entry(void **state)
{
	(void)state;
	whole(CODE(0xe9, 0x10, 0x20, 0x00, 0x00), ALL_ARGS, PLACED_ENTRY, 0, NULL);                     /* jmp elsewhere */
	whole(CODE(0xeb, 0x40), ALL_ARGS, PLACED_ENTRY, 0, NULL);
	whole(CODE(0xe8, 0x10, 0x20, 0x00, 0x00, 0xc3), ALL_ARGS, PLACED_ENTRY, 0, NULL);               /* call */
	whole(CODE(0x0f, 0x84, 0x00, 0x10, 0x00, 0x00, 0xc3), ALL_ARGS, PLACED_ENTRY, 0, NULL);         /* je */
	whole(CODE(0x74, 0x00, 0xc3), ALL_ARGS, PLACED_ENTRY, 0, NULL);
	whole(CODE(0x90, 0xc3), ALL_ARGS, PLACED_ENTRY, 0, NULL);
	whole(CODE(0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3), ALL_ARGS, PLACED_ENTRY, 0, NULL);               /* 5-byte nop */
	whole(CODE(0x41, 0x90, 0xc3), ALL_ARGS, PLACED_SINGLE_STEP, 0, "argument register");            /* xchg r8, rax */
	whole(CODE(0xff, 0xe0), ALL_ARGS, PLACED_SINGLE_STEP, 0, "branch before");                      /* jmp rax */
}

/* ---- moved ---- */

static void test_moved(void **state)
{
	(void)state;
	/* endbr64; push rbp */
	whole(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x5d, 0xc3), ALL_ARGS, PLACED_MOVED, 4, NULL);
	/* cmpb $0, 0x1234(%rip); push r12 */
	whole(CODE(0x80, 0x3d, 0x34, 0x12, 0x00, 0x00, 0x00, 0x41, 0x54, 0x41, 0x5c, 0xc3), ALL_ARGS, PLACED_MOVED, 7, NULL);
	/* mov 0x10(%rdi), %eax; test; je; the branch is reached on every way */
	whole(CODE(0x8b, 0x47, 0x10, 0x85, 0xc0, 0x74, 0x01, 0x90, 0xc3), ALL_ARGS, PLACED_MOVED, 5, NULL);
	/* xor %eax, %eax; call; ret */
	whole(CODE(0x31, 0xc0, 0xe8, 0x00, 0x10, 0x00, 0x00, 0xc3), ALL_ARGS, PLACED_MOVED, 2, NULL);
	/* endbr64; mov 0x1234(%rip), %rax; jmp elsewhere */
	whole(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x05, 0x34, 0x12, 0x00, 0x00, 0xe9, 0x00, 0x10, 0x00, 0x00), ALL_ARGS,
	      PLACED_MOVED, 11, NULL);
	/* fs-relative reads are walked over: lea 8(%rsi), %r10; mov %fs:0, %rax; push rbx */
	whole(CODE(0x4c, 0x8d, 0x56, 0x08, 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x53, 0x5b, 0xc3), ALL_ARGS, PLACED_MOVED, 13,
	      NULL);
}

static void test_argument_registers(void **state)
{
	(void)state;
	/* mov %esi, %edi; push rbx; pop rbx; ret */
	whole(CODE(0x89, 0xf7, 0x53, 0x5b, 0xc3), ALL_ARGS, PLACED_SINGLE_STEP, 0, "argument register written");
	whole(CODE(0x89, 0xf7, 0x53, 0x5b, 0xc3), RSI, PLACED_MOVED, 2, NULL);
	whole(CODE(0x89, 0xf7, 0x53, 0x5b, 0xc3), RDI, PLACED_SINGLE_STEP, 0, "argument register written");
	/* mov $1, %cl: a part of rcx; cmovne %rax, %rdx; xchg %r9, %rax; cqo writes rdx implicitly */
	whole(CODE(0xb1, 0x01, 0x53, 0x5b, 0xc3), 1 << 3, PLACED_SINGLE_STEP, 0, "argument register written");
	whole(CODE(0x48, 0x0f, 0x45, 0xd0, 0x53, 0x5b, 0xc3), 1 << 2, PLACED_SINGLE_STEP, 0, "argument register written");
	whole(CODE(0x4c, 0x87, 0xc8, 0x53, 0x5b, 0xc3), 1 << 5, PLACED_SINGLE_STEP, 0, "argument register written");
	whole(CODE(0x48, 0x99, 0x53, 0x5b, 0xc3), 1 << 2, PLACED_SINGLE_STEP, 0, "argument register written");
	whole(CODE(0x48, 0x99, 0x53, 0x5b, 0xc3), RDI, PLACED_MOVED, 2, NULL);
}

static void test_stack_and_memory(void **state)
{
	(void)state;
	/* sub $8, %rsp; call */
	whole(CODE(0x48, 0x83, 0xec, 0x08, 0xe8, 0, 0, 0, 0, 0xc3), 0, PLACED_SINGLE_STEP, 0, "stack pointer changed");
	/* lea -0xd8(%rsp), %rsp */
	whole(CODE(0x48, 0x8d, 0xa4, 0x24, 0x28, 0xff, 0xff, 0xff, 0x53, 0xc3), 0, PLACED_SINGLE_STEP, 0, "stack pointer changed");
	/* mov %rax, (%rdi); push rbx: an argument's target may be read by the probe */
	whole(CODE(0x48, 0x89, 0x07, 0x53, 0x5b, 0xc3), 0, PLACED_SINGLE_STEP, 0, "memory written");
	/* mov %rbx, -8(%rsp); push rbp */
	whole(CODE(0x48, 0x89, 0x5c, 0x24, 0xf8, 0x55, 0x5d, 0xc3), 0, PLACED_SINGLE_STEP, 0, "memory written");
	/* rep stosb */
	whole(CODE(0xf3, 0xaa, 0x55, 0x5d, 0xc3), 0, PLACED_SINGLE_STEP, 0, "memory written");
}

static void test_ends_before_anything_emulated(void **state)
{
	(void)state;
	/* mov $-114, %eax; ret */
	whole(CODE(0xb8, 0x8e, 0xff, 0xff, 0xff, 0xc3), 0, PLACED_SINGLE_STEP, 0, "return before");
	/* mov $1, %eax; syscall; push: the system call must not come before the probe */
	whole(CODE(0xb8, 0x01, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x53, 0xc3), 0, PLACED_SINGLE_STEP, 0, "system instruction");
	/* xor %eax, %eax; call *8(%rdi) */
	whole(CODE(0x31, 0xc0, 0xff, 0x57, 0x08, 0xc3), 0, PLACED_SINGLE_STEP, 0, "branch before");
	/* jrcxz is not emulated */
	whole(CODE(0xe3, 0x01, 0x90, 0xc3), 0, PLACED_SINGLE_STEP, 0, "branch before");
	whole(CODE(0x31, 0xc0), 0, PLACED_SINGLE_STEP, 0, "no emulated instruction");
}

/* ---- jumps back ---- */

static void test_branch_back(void **state)
{
	(void)state;
	/* xor eax,eax; 2: mov (%rdi),%cl; 4: test %cl,%cl; 6: je 10; 8: jmp 2; 10: ret */
	whole(CODE(0x31, 0xc0, 0x8a, 0x0f, 0x84, 0xc9, 0x74, 0x02, 0xeb, 0xf8, 0xc3), RDI, PLACED_SINGLE_STEP, 0, "branch back");
	/* the same with the jump to the probe itself (6), and to behind it (8 would loop for ever, 10 is the end) */
	whole(CODE(0x31, 0xc0, 0x8a, 0x0f, 0x84, 0xc9, 0x74, 0x02, 0xeb, 0xfc, 0xc3), RDI, PLACED_SINGLE_STEP, 0, "branch back");
	whole(CODE(0x31, 0xc0, 0x8a, 0x0f, 0x84, 0xc9, 0x74, 0x02, 0xeb, 0x00, 0xc3), RDI, PLACED_MOVED, 6, NULL);
	/* an address in the prologue is taken: xor eax,eax; 2: push rbx; 3: lea -8(%rip) = 2, %rax; pop rbx; ret */
	whole(CODE(0x31, 0xc0, 0x53, 0x48, 0x8d, 0x05, 0xf8, 0xff, 0xff, 0xff, 0x5b, 0xc3), RDI, PLACED_SINGLE_STEP, 0,
	      "branch back");
}

static void test_branch_to_the_entry(void **state)
{
	(void)state;
	/* push rbx; pop rbx; jne 0; ret */
	whole(CODE(0x53, 0x5b, 0x75, 0xfc, 0xc3), 0, PLACED_ENTRY, 0, "branch back to the entry");
	/* xor eax,eax; push rbx; pop rbx; jne 0; ret */
	whole(CODE(0x31, 0xc0, 0x53, 0x5b, 0x75, 0xfa, 0xc3), 0, PLACED_MOVED, 2, "branch back to the entry");
	/* recursion: push rbx; call 0; pop rbx; ret */
	whole(CODE(0x53, 0xe8, 0xfa, 0xff, 0xff, 0xff, 0x5b, 0xc3), 0, PLACED_ENTRY, 0, NULL);
}

/* Where a jump cannot be seen, only a push is safe: a loop around it would eat the stack. */
static void test_unseen_jumps(void **state)
{
	(void)state;
	/* endbr64; push rbx; pop rbx; jmp *%rax */
	whole(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0x5b, 0xff, 0xe0), 0, PLACED_MOVED, 4, NULL);
	/* endbr64; cmp $9, %edi; ja +2; jmp *%rax */
	whole(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x83, 0xff, 0x09, 0x77, 0x02, 0xff, 0xe0, 0xc3), 0, PLACED_SINGLE_STEP, 0,
	      "indirect jump");
	/* test %edi, %edi; je far away; ret */
	whole(CODE(0x85, 0xff, 0x0f, 0x84, 0x00, 0x10, 0x00, 0x00, 0xc3), 0, PLACED_SINGLE_STEP, 0, "function in parts");
	/* endbr64; push rbx; then bytes that are no instruction */
	whole(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0x06, 0x06), 0, PLACED_SINGLE_STEP, 0, "not decodable");
}

static void test_size_unknown(void **state)
{
	(void)state;
	expect(placement_decide(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0x5b, 0xc3), 0, false, 0), PLACED_SINGLE_STEP, 0,
	       "size unknown");
}

/* ---- refused ---- */

static void test_impossible(void **state)
{
	(void)state;
	whole(CODE(0xcc, 0xc3), 0, PLACED_IMPOSSIBLE, 0, "refuses");                            /* int3 */
	whole(CODE(0xf0, 0xff, 0x07, 0xc3), 0, PLACED_IMPOSSIBLE, 0, "refuses");                /* lock incl (%rdi) */
	whole(CODE(0xf4, 0xc3), 0, PLACED_IMPOSSIBLE, 0, "refuses");                            /* hlt */
	whole(CODE(0x0f, 0x0b), 0, PLACED_IMPOSSIBLE, 0, "refuses");                            /* ud2 */
	whole(CODE(0x3e, 0xff, 0xe0), 0, PLACED_IMPOSSIBLE, 0, "refuses");                      /* notrack jmp *%rax */
	whole(CODE(0x66, 0xe9, 0x00, 0x00, 0x00, 0x00), 0, PLACED_IMPOSSIBLE, 0, "refuses");    /* jmp with 66 */
	whole(CODE(0x06), 0, PLACED_IMPOSSIBLE, 0, "no valid instruction");
	whole(CODE(0x48), 0, PLACED_IMPOSSIBLE, 0, "no valid instruction");
	expect(placement_decide((const uint8_t *)"", 0, 0, true, 0), PLACED_IMPOSSIBLE, 0, "no valid instruction");
}

/* A refused first instruction does not matter if the probe can be moved past it. */
static void test_moved_past_refused(void **state)
{
	(void)state;
	/* 66 90, the two-byte nop; push rbx */
	whole(CODE(0x66, 0x90, 0x53, 0x5b, 0xc3), 0, PLACED_MOVED, 2, NULL);
}

/* ---- inside: sub $0x18, %rsp; mov %rdx, 8(%rsp); test %al, %al; je; …; jne to the last call; add $0x18, %rsp; ret; call ---- */

#define SUB 0x48, 0x83, 0xec, 0x18
#define SAVE 0x48, 0x89, 0x54, 0x24, 0x08
#define TEST_JE 0x84, 0xc0, 0x74, 0x00
#define CALL 0xe8, 0x00, 0x10, 0x00, 0x00
#define JNE_END 0x75, 0x05
#define ADD_RET 0x48, 0x83, 0xc4, 0x18, 0xc3

static void inside(const uint8_t *code, size_t len, unsigned args, uint32_t offset, uint32_t exit_offset, uint32_t frame)
{
	struct placement placement = placement_decide(code, len, 0x401000, true, args);

	assert_int_equal(placement.kind, PLACED_INSIDE);
	assert_int_equal(placement.offset, offset);
	assert_int_equal(placement.exit_offset, exit_offset);
	assert_int_equal(placement.frame, frame);
}

static void test_inside(void **state)
{
	(void)state;
	inside(CODE(SUB, SAVE, TEST_JE, CALL, JNE_END, ADD_RET, CALL), ALL_ARGS, 11, 18, 0x18);
	/* mov %rdx, %rsi writes an argument that is not asked for */
	inside(CODE(SUB, 0x48, 0x89, 0xd6, TEST_JE, CALL, JNE_END, ADD_RET, CALL), RDI, 9, 16, 0x18);
	/* the epilogue by pops: sub $8, %rsp; je; call; jne; pop %rcx; ret */
	inside(CODE(0x48, 0x83, 0xec, 0x08, 0x74, 0x00, CALL, 0x75, 0x02, 0x59, 0xc3, CALL), ALL_ARGS, 4, 11, 8);
}

static void not_inside(const uint8_t *code, size_t len, unsigned args)
{
	assert_int_equal(placement_decide(code, len, 0x401000, true, args).kind, PLACED_SINGLE_STEP);
}

static void test_not_inside(void **state)
{
	(void)state;
	/* an argument is overwritten before the probe */
	not_inside(CODE(SUB, 0x48, 0x89, 0xd6, TEST_JE, CALL, JNE_END, ADD_RET, CALL), ALL_ARGS);
	/* a write at or above the return address: mov %rdx, 0x18(%rsp) */
	not_inside(CODE(SUB, 0x48, 0x89, 0x54, 0x24, 0x18, TEST_JE, CALL, JNE_END, ADD_RET, CALL), ALL_ARGS);
	/* a write elsewhere: mov %rdx, (%rdi) */
	not_inside(CODE(SUB, 0x48, 0x89, 0x17, TEST_JE, CALL, JNE_END, ADD_RET, CALL), ALL_ARGS);
	/* two returns */
	not_inside(CODE(SUB, SAVE, TEST_JE, CALL, JNE_END, ADD_RET, ADD_RET, CALL), ALL_ARGS);
	/* the result is made after the branch: xor %eax, %eax */
	not_inside(CODE(SUB, SAVE, TEST_JE, CALL, 0x75, 0x07, 0x31, 0xc0, ADD_RET, CALL), ALL_ARGS);
	/* the frame differs at the two probes: pop before the epilogue's add */
	not_inside(CODE(SUB, SAVE, TEST_JE, CALL, 0x75, 0x06, 0x59, ADD_RET, CALL), ALL_ARGS);
	/* the branch that is taken goes on behind the call, or is no call at all */
	not_inside(CODE(SUB, SAVE, TEST_JE, CALL, JNE_END, ADD_RET, CALL, 0xeb, 0xe0), ALL_ARGS);
	not_inside(CODE(SUB, SAVE, TEST_JE, CALL, JNE_END, ADD_RET, 0xeb, 0xf0), ALL_ARGS);
	/* another way to the epilogue: je over the exit to add */
	not_inside(CODE(SUB, SAVE, 0x84, 0xc0, 0x74, 0x07, CALL, JNE_END, ADD_RET, CALL), ALL_ARGS);
	/* a way out of the function, or one that cannot be followed: jmp far away; jmp *%rax */
	not_inside(CODE(SUB, SAVE, 0x84, 0xc0, 0x74, 0x05, 0xe9, 0, 0x10, 0, 0, CALL, JNE_END, ADD_RET, CALL), ALL_ARGS);
	not_inside(CODE(SUB, SAVE, 0x84, 0xc0, 0x74, 0x02, 0xff, 0xe0, CALL, JNE_END, ADD_RET, CALL), ALL_ARGS);
	/* a loop back before the probe */
	not_inside(CODE(SUB, SAVE, TEST_JE, CALL, 0x74, 0xee, CALL, JNE_END, ADD_RET, CALL), ALL_ARGS);
	/* not the whole function */
	assert_int_equal(placement_decide(CODE(SUB, SAVE, TEST_JE, CALL, JNE_END, ADD_RET, CALL), 0, false, ALL_ARGS).kind,
			 PLACED_SINGLE_STEP);
}

/* ---- a second place ---- */

static void second(const uint8_t *code, size_t len, unsigned args, uint32_t offset, uint32_t frame)
{
	struct placement first = placement_decide(code, len, 0x401000, true, args);
	struct second_entry found;

	assert_true(placement_second(code, len, true, args, &first, &found));
	assert_int_equal(found.offset, offset);
	assert_int_equal(found.frame, frame);
}

static void no_second(const uint8_t *code, size_t len, bool whole_function, unsigned args)
{
	struct placement first = placement_decide(code, len, 0x401000, whole_function, args);
	struct second_entry found;

	assert_false(placement_second(code, len, whole_function, args, &first, &found));
}

static void test_second(void **state)
{
	(void)state;
	second(CODE(0x41, 0x57, 0x41, 0x56, 0x41, 0x5e, 0x41, 0x5f, 0xc3), ALL_ARGS, 2, 8);     /* push r15; push r14 */
	second(CODE(SUB, 0x31, 0xc0, ADD_RET), ALL_ARGS, 4, 0x18);                              /* sub $24, rsp; xor eax, eax */
	second(CODE(0x90, 0x31, 0xc0, 0xc3), ALL_ARGS, 1, 0);                                   /* nop; xor eax, eax */
	second(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x5d, 0xc3), ALL_ARGS, 0, 0);                 /* endbr64; push: moved */
	second(CODE(0x48, 0x89, 0xfe, 0x31, 0xc0, 0xc3), RDI, 3, 0);                            /* mov rdi, rsi: not asked for */
}

static void test_no_second(void **state)
{
	(void)state;
	no_second(CODE(0xc3), true, ALL_ARGS);                                                  /* ret */
	no_second(CODE(0xe9, 0x10, 0x20, 0x00, 0x00), true, ALL_ARGS);                          /* jmp elsewhere */
	no_second(CODE(0x48, 0x89, 0xfe, 0x31, 0xc0, 0xc3), true, RSI);                         /* mov rdi, rsi */
	no_second(CODE(0x48, 0x89, 0x17, 0x31, 0xc0, 0xc3), true, ALL_ARGS);                    /* mov rdx, (rdi) */
	no_second(CODE(0x55, 0x0f, 0x05, 0x5d, 0xc3), true, ALL_ARGS);                          /* push; syscall: refused */
	no_second(CODE(0x55, 0xff, 0xc8, 0x75, 0xfc, 0x5d, 0xc3), true, ALL_ARGS);              /* push; dec eax; jne back to it */
	no_second(CODE(0x55, 0x5d, 0xc3), false, ALL_ARGS);                                     /* not the whole function */
	no_second(CODE(SUB, SAVE, TEST_JE, CALL, JNE_END, ADD_RET, CALL), true, ALL_ARGS);      /* inside: plain probes anyway */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_at_entry),
		cmocka_unit_test(test_other_pushes),
		cmocka_unit_test(test_branches_and_nops_at_entry),
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_not_inside),
		cmocka_unit_test(test_second), cmocka_unit_test(test_no_second),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_argument_registers),
		cmocka_unit_test(test_stack_and_memory),
		cmocka_unit_test(test_ends_before_anything_emulated),
		cmocka_unit_test(test_branch_back),
		cmocka_unit_test(test_branch_to_the_entry),
		cmocka_unit_test(test_unseen_jumps),
		cmocka_unit_test(test_size_unknown),
		cmocka_unit_test(test_impossible),
		cmocka_unit_test(test_moved_past_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
