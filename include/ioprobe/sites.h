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

struct iop_site_rule_key { __u64 pc; __u32 image, pad; };
struct iop_site_node_key { __u64 pc; __u32 parent, image; };

/* A return address without rule was met. node is its node; call the number that only the call at hand has, so that the callers,
 * which the agent finds in the stack, are told for this call alone. cfa is behind the return address; rbp is the register, or was
 * saved at bp_at if that is not 0. stack is what lies from cfa - 8 on, len bytes of it. */
#define IOP_SITE_WINDOW 12288
struct iop_site_ask {
	__u64 time_ns;
	__u32 tid, tgid, image, process;        /* process: its slot */
	__u32 node, call;
	__u32 application;      /* frames of the application below this one */
	__u32 frames;           /* all below this one */
	__u64 pc, cfa, bp, bp_at;
	__u64 len;
	__u8 stack[IOP_SITE_WINDOW];
};

_Static_assert(sizeof(struct iop_site_rule) == 16, "iop_site_rule");
_Static_assert(sizeof(struct iop_site_ask) == 80 + IOP_SITE_WINDOW, "iop_site_ask");

/* Calls whose site is not known, or not whole, by reason. */
struct iop_site_counts {
	__u64 full;             /* no room for a node or a rule */
	__u64 unasked;          /* the agent could not be asked: its ring was full */
	__u64 unread;           /* a word of the stack could not be read */
	__u64 no_image;         /* the process had no number, or was changing its code */
};

#endif
