/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Features of this kernel: each one is tested on its own, none inferred from the kernel's version. Results are kept for the
 * lifetime of the process. IOPROBE_WITHOUT=NAME[,NAME...] in the environment makes features unavailable, so that tests can exercise
 * every fallback for older kernels.
 */
#ifndef IOPROBE_FEATURES_H
#define IOPROBE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

enum feature {
	/* required */
	FEATURE_BTF,                    /* the kernel's BTF */
	FEATURE_RING_BUFFER,            /* Linux 5.8, commit 457f44363a88 */
	FEATURE_TASK_ITERATOR,          /* Linux 5.8, commit eaaacd23910f */
	FEATURE_TASK_STORAGE,           /* for tracing programs: Linux 5.11, commit a10787e6d58c */
	FEATURE_TASK_REGISTERS,         /* bpf_task_pt_regs: Linux 5.15, commit dd6e10fbd9fb */
	FEATURE_LOOPS,                  /* bpf_loop: Linux 5.17, commit e6f2dd0f8067 */
	/* library calls */
	FEATURE_ATTACH_COOKIE,          /* bpf_get_attach_cookie: Linux 5.15, commit 7adfc6c9b315 */
	FEATURE_SLEEPABLE_UPROBES,      /* Linux 6.0, commit 8c7dcb84e3b7 */
	FEATURE_UPROBE_EVENTS,          /* the uprobe PMU: Linux 4.17, commit 33ea4b24277b */
	FEATURE_UPROBE_DEFINITIONS,     /* tracefs' uprobe_events: CONFIG_UPROBE_EVENTS, and a writable tracefs */
	FEATURE_UPROBE_MULTI,           /* Linux 6.6, commit 89ae89f53d20 */
	FEATURE_UPROBE_PROCESS,         /* a link's pid refers to all threads of the process: Linux 6.10, commit 46ba0e49b642 */
	FEATURE_UPROBE_SESSION,         /* Linux 6.13, commit d920179b3d48 */
	/* others */
	FEATURE_ATOMIC_TRACEPOINTS,     /* a raw tracepoint's program is not preempted: up to Linux 7.1 */
	FEATURE_SYSCALL_EVENTS, /* perf events on the tracepoints of system calls: CONFIG_FTRACE_SYSCALLS, and a readable tracefs */
	FEATURE_TYPED_LOADS,            /* bpf_rdonly_cast: Linux 6.2, commit a35b9af4ec2c */
	FEATURE_TASK_WORK,              /* Linux 6.18; other arguments from 7.0 on */
	FEATURE_URING,                  /* io_uring's tracepoints with enough arguments: Linux 6.0 */
	FEATURES
};

struct feature_info {
	const char *name;               /* for IOPROBE_WITHOUT and the output of 'ioprobe check' */
	const char *since;              /* kernel that introduced it, for messages; not used for decisions */
	const char *brings;             /* purpose */
	const char *without;            /* consequence of its absence */
	bool required;                  /* nothing can be recorded without it */
};

const struct feature_info *feature_info(enum feature feature);

/* Returns whether this kernel has the feature and the caller may use it. The first call tests it, which takes up to a few
 * milliseconds. */
bool feature_available(enum feature feature);

/* Returns why it is not available, in one line: "" if it is. Valid for the lifetime of the process. */
const char *feature_reason(enum feature feature);

/* Returns the first required feature that is not available; FEATURES if all are. */
enum feature feature_missing(void);

/* Returns the number of arguments of the kernel's task work function, for the choice of the BPF object: 5, 4, or 0 without
 * FEATURE_TASK_WORK. */
unsigned feature_task_work_form(void);

struct btf;
/* Returns the kernel's BTF, loaded once and never freed; NULL without FEATURE_BTF. */
const struct btf *feature_kernel_types(void);

#endif
