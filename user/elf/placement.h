/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Chooses the place of a probe inside a function: the first instruction that the kernel emulates instead of single-stepping, if
 * that is provably equivalent to the entry.
 */
#ifndef IOPROBE_PLACEMENT_H
#define IOPROBE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum placement_kind {
	PLACED_ENTRY,           /* on the first instruction, which is emulated */
	PLACED_MOVED,           /* moved by .offset bytes to an emulated instruction */
	PLACED_INSIDE,          /* two entry probes on emulated instructions, behind the prologue and before the epilogue */
	PLACED_SINGLE_STEP,     /* at the entry, which the kernel single-steps: slow, correct */
	PLACED_IMPOSSIBLE,      /* must not be probed: code unreadable, or the instruction at the entry invalid or refused */
};

struct placement {
	enum placement_kind kind;
	uint32_t offset;        /* bytes from the function's entry */
	uint32_t exit_offset;   /* INSIDE: of the probe that every return passes, with the result in rax */
	uint32_t frame;         /* INSIDE: bytes from rsp up to the return address, at both probes */
	/* why no better place was possible: "stack pointer changed", "argument register written", "branch back", …; static text */
	const char *reason;
};

/* Decides from the function's machine code. code holds len bytes from the entry. whole_function: these are the entire function,
 * which is needed to prove that nothing jumps back between the entry and the probe; otherwise only what is provable is used.
 * arg_regs: bit i set if the i-th integer argument register must be intact at the probe (rdi rsi rdx rcx r8 r9). */
struct placement placement_decide(const uint8_t *code, size_t len, uint64_t vaddr, bool whole_function, unsigned arg_regs);

/* Finds another instruction at which the entry can be observed, but not the return: the placement above never uses it, so other
 * users of the entry have no probe there. Returns false if there is none. */
struct second_entry { uint32_t offset, frame; };        /* as in struct placement */
bool placement_second(const uint8_t *code, size_t len, bool whole_function, unsigned arg_regs, const struct placement *first,
		      struct second_entry *second);

#endif
