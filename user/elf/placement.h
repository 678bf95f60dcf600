/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Where to put a probe inside a function: on the first instruction that the kernel emulates instead of single-stepping, if that is
 * provably equivalent to the entry.
 */
#ifndef IOPROBE_PLACEMENT_H
#define IOPROBE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum placement_kind {
	PLACED_ENTRY,           /* the first instruction is emulated */
	PLACED_MOVED,           /* moved by .offset bytes to an emulated one */
	PLACED_INSIDE,          /* two plain probes on emulated instructions, behind the prologue and before the epilogue */
	PLACED_SINGLE_STEP,     /* at the entry, the kernel single-steps it: slow, correct */
	PLACED_IMPOSSIBLE,      /* must not be probed: unreadable code, invalid or refused instruction at the entry */
};

struct placement {
	enum placement_kind kind;
	uint32_t offset;        /* bytes from the function's entry */
	uint32_t exit_offset;   /* INSIDE: of the probe that every return passes, the result in rax */
	uint32_t frame;         /* INSIDE: bytes from rsp up to the return address, at both probes */
	const char *reason;     /* why not better: "stack pointer changed", "argument register written", "branch back", …; static text */
};

/* Decides from the function's machine code. code holds len bytes from the entry (the whole function where its size is known:
 * needed to prove that nothing jumps back between the entry and the probe; size 0: unknown, then only what is provable).
 * arg_regs: bit i set if the i-th integer argument register must be intact at the probe (rdi rsi rdx rcx r8 r9). */
struct placement placement_decide(const uint8_t *code, size_t len, uint64_t vaddr, bool whole_function, unsigned arg_regs);

/* Another instruction where the entry can be seen, and no return: nobody who probes the entry by the placement above has a probe
 * there. False if there is none. */
struct second_entry { uint32_t offset, frame; };        /* as in struct placement */
bool placement_second(const uint8_t *code, size_t len, bool whole_function, unsigned arg_regs, const struct placement *first,
		      struct second_entry *second);

#endif
