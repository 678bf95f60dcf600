/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Where longjmp goes, read from its jmp_buf (x86-64). Shared by the BPF programs and their unit test.
 */
#ifndef IOPROBE_JUMP_H
#define IOPROBE_JUMP_H

#include <ioprobe/record.h>

/* Offset of the stack pointer in a jmp_buf: the C libraries save rbx, rbp, r12 to r15, rsp, rip (glibc
 * sysdeps/x86_64/jmpbuf-offsets.h, musl src/setjmp/x86_64/setjmp.s). It is the one that setjmp's caller has after the call. */
#define IOP_JUMP_SP_OFFSET 48
/* glibc mangles it with a random number that it keeps here, from the thread's control block (fs) on; musl does not. */
#define IOP_JUMP_GUARD_OFFSET 0x30

/* glibc's PTR_DEMANGLE (sysdeps/unix/sysv/linux/x86_64/pointer_guard.h): rotated right by 2 * 8 + 1, then xor. */
static inline __u64 iop_jump_demangle(__u64 word, __u64 guard)
{
	return (word >> 17 | word << 47) ^ guard;
}

#endif
