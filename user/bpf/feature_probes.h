/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The tests for features.c: each returns whether the kernel has the feature; if not, with the reason in one line.
 */
#ifndef IOPROBE_FEATURE_PROBES_H
#define IOPROBE_FEATURE_PROBES_H

#include <bpf/bpf.h>

#include "bpf/features.h"

typedef bool (*feature_probe)(char *reason, size_t len);
extern const feature_probe feature_probes[FEATURES];

/* Writes "ACTION: ERROR TEXT", with the remedy if privileges are missing. Returns false. */
bool feature_refused(char *reason, size_t len, const char *action, int err);

/* Loads a program of a few instructions. Returns its descriptor or -errno. */
struct bpf_insn;
int feature_load(enum bpf_prog_type type, int attach_type, unsigned flags, const struct bpf_insn *code, size_t n);

/* In feature_links.c and feature_syscalls.c: these attach. */
bool probe_uprobe_multi(char *reason, size_t len);
bool probe_uprobe_process(char *reason, size_t len);
bool probe_uprobe_session(char *reason, size_t len);
bool probe_atomic_tracepoints(char *reason, size_t len);
bool probe_syscall_events(char *reason, size_t len);

#endif
