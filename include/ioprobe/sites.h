/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Call sites: what the BPF programs and the agent exchange to walk the stack of a call. See bpf/DESIGN.md, "Call sites".
 */
#ifndef IOPROBE_SITES_H
#define IOPROBE_SITES_H

#include <ioprobe/record.h>

#define IOP_SITE_MAX_FRAMES 32          /* of a chain */
#define IOP_SITE_MAX_NODES 65536        /* both maps together take 16 MiB when they are full */
#define IOP_SITE_MAX_RULES 65536
#define IOP_SITE_MAX_ID 0xffffff        /* a call's record has three bytes for it */

/* How to get from a return address to the next one: enum iop_site_rule_kind. cfa is added to the base of that kind, and gives the
 * address behind the return address of this frame. */
struct iop_site_rule {
	__u8 kind;
	__u8 bp_saved;          /* enum iop_site_bp */
	__u8 flags;             /* IOP_RULE_* */
	__u8 pad;
	__s32 cfa;
	__s32 bp;               /* where rbp was saved: bytes from the CFA, or from rbp */
	__s32 deref;            /* of IOP_RULE_BP_DEREF */
};
enum iop_site_rule_kind {
	IOP_RULE_PENDING,       /* the agent was asked */
	IOP_RULE_SP,            /* base: the CFA of the frame below, which is this frame's rsp */
	IOP_RULE_BP,            /* base: rbp */
	IOP_RULE_BP_DEREF,      /* base: the word at rbp + deref (a stack that was realigned) */
	IOP_RULE_END,           /* outermost frame, or no rule: IOP_RULE_TRUNCATED */
};
enum iop_site_bp { IOP_BP_SAME, IOP_BP_AT_CFA, IOP_BP_AT_BP };
#define IOP_RULE_APPLICATION 0x01       /* the address is in the application, not in a library that is looked through */
#define IOP_RULE_TRUNCATED 0x02         /* the chain ends here for want of unwind information */
#define IOP_RULE_PYTHON 0x04            /* the address is in a Python interpreter of which struct iop_python is known */

struct iop_site_rule_key { __u64 pc; __u32 image, pad; };
struct iop_site_node_key { __u64 pc; __u32 parent, image; };

/* A return address whose rule is not known was met. node is its node; call the number that only the call at hand has, so that the
 * callers, which the agent finds in the stack, are sent for this call only. again: the rule was requested before, and only the
 * callers are of interest. cfa is behind the return address; rbp is the register, or was saved at bp_at if that is not 0. stack is
 * what lies from cfa - 8 on, len bytes of it. */
#define IOP_SITE_WINDOW 12288
#define IOP_SITE_WINDOW_AGAIN 8192
struct iop_site_ask {
	__u64 time_ns;
	__u32 tid, tgid, image, process;        /* process: its slot */
	__u32 node, call;
	__u32 application;      /* frames of the application below this one */
	__u32 frames;           /* all below this one */
	__u64 pc, cfa, bp, bp_at;
	__u64 trampoline;       /* page of addresses that return probes put in place of return addresses, 0: none */
	__u32 len, again;
	__u8 stack[];
};

_Static_assert(sizeof(struct iop_site_rule) == 16, "iop_site_rule");
_Static_assert(sizeof(struct iop_site_ask) == 88, "iop_site_ask");

/* Layout of a CPython interpreter, to find its threads' frames: the address of _PyRuntime in a process, and offsets in bytes, which
 * user/symbol/python.c takes from a table by version, or from the interpreter itself. */
#define IOP_PYTHON_WINDOW 80            /* of a frame, and of a code object from its first used member on: what is read at once */
#define IOP_PYTHON_DIRECT 0xffff
struct iop_python {
	__u64 runtime;
	__u16 interpreters, interpreter_next, interpreter_threads;
	__u16 thread_next, thread_id, thread_frame;
	__u16 holder_frame; /* thread_frame leads to a holder that has the frame here; IOP_PYTHON_DIRECT: to the frame */
	__u16 frame_code, frame_previous, frame_instruction;
	__u16 frame_entry;              /* a byte of the frame … */
	__u8 entry_value;               /* … with this value where a call of the interpreter begins: */
	__u8 entry_is_marker;           /* 1: frames without code of their own do, 0: the first frame of the call does */
	__u16 code;                     /* first byte of a code object that is used; the next four count from there */
	__u16 code_first_line, code_file, code_name, code_lines;
	__u16 code_instructions;        /* from the beginning of the code object */
	__u16 string_length, string_state, string_ascii, string_wide;
	__u16 bytes_length, bytes_data;
	__u16 pad[4];
};

_Static_assert(sizeof(struct iop_python) == 64, "iop_python");

/* A code object: its members tell it from another one that was made later at the same address. */
#define IOP_SITE_MAX_CODES 8192         /* at a time */
#define IOP_SITE_MAX_CODE_ID (1u << 20) /* numbers are not used again: far more than there is room for */
#define IOP_SITE_MAX_PYTHONS 16384      /* images */
struct iop_python_code_key { __u64 code, file, name, lines; __u32 first_line, image; };

#define IOP_PYTHON_MAX_FRAMES 128       /* of a call; a power of two */
#define IOP_PYTHON_MAX_THREADS 256      /* that are looked through for the calling one */
#define IOP_PYTHON_IMAGE 0x80000000u    /* with the number of a code object, in place of an image in node keys: pc is then … */
#define IOP_PYTHON_OFFSET 0xffffffu     /* … these bits, the instruction's offset in the code object, and flags of the frame: */
#define IOP_PYTHON_FLAGS_SHIFT 32
#define IOP_PYTHON_PAIR 0xffffffffu     /* the same of a pair: pc is the site of Python code */

/* Calls whose site is not known, or not whole, by reason. */
struct iop_site_counts {
	__u64 full;             /* no room for a node or a rule */
	__u64 unasked;          /* the agent could not be asked for the callers: its ring was full */
	__u64 unread;           /* a word of the stack could not be read */
	__u64 no_image;         /* the process had no number, or was changing its code */
	__u64 no_python;        /* Python code whose frames could not be read, or code objects for which there was no room */
};

#endif
