/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Probes on the functions of one file: uprobe_multi links by the raw bpf(2) call (Debian 12's libbpf does not know them), else perf
 * events. A set of links is attached and detached as one.
 */
#ifndef IOPROBE_ATTACH_H
#define IOPROBE_ATTACH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/hold_server.h"
#include "bpf/kernel_side.h"
#include "bpf/links.h"

struct attach_point {
	uint64_t offset;        /* in the file */
	uint64_t exit_offset;   /* 0: a return probe; else of the probe that sees the return */
	uint64_t second_offset; /* where the entry is seen, too, and nobody has a return probe; 0: nowhere */
	uint32_t second_frame;
	uint64_t cookie;        /* probe id, IOP_COOKIE_* */
	const char *function;   /* for messages */
};

enum attach_what {
	ATTACH_CALLS,           /* entry and return */
	ATTACH_SECOND,          /* entry only, at the second place: links to another process would have a return probe taken */
	ATTACH_UNWINDER,        /* an unwinder's entry */
	ATTACH_RENDEZVOUS,      /* the dynamic linker's */
};

/* Attaches to a file for one process and what it forks not (pid > 0), or for everybody (pid 0). A point that the kernel refuses
 * is told to refused and left out (-ENXIO: it has no second place); the others are attached. Returns 0, or -errno if nothing could be
 * attached. */
int attach_points(struct hold_server *server, struct links *links, const struct kernel_side *kernel, enum attach_what what, const char *path, pid_t pid,
		  const struct attach_point *points, size_t n,
		  void (*refused)(void *arg, const struct attach_point *point, int err), void *arg);

#endif
