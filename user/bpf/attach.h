/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Probes on the functions of one file: uprobe_multi links through the raw bpf(2) call (Debian 12's libbpf does not support them),
 * else perf events. A set of links is attached and detached as a whole.
 */
#ifndef IOPROBE_ATTACH_H
#define IOPROBE_ATTACH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/hold_server.h"
#include "bpf/bpf_side.h"
#include "bpf/links.h"

struct attach_point {
	uint64_t offset;        /* file offset */
	uint64_t exit_offset;   /* 0: use a return probe; else offset of the probe that observes the return */
	/* another offset where the entry can be observed, at which no return probe is ever placed; 0: none */
	uint64_t second_offset;
	uint32_t second_frame;
	uint64_t cookie;        /* row number, IOP_COOKIE_* */
	const char *function;   /* for messages */
};

enum attach_what {
	ATTACH_CALLS,           /* entry and return */
	ATTACH_SECOND, /* entry only, at the second place: links to another process could have a return probe taken there */
	ATTACH_UNWINDER,        /* an unwinder's entry */
	ATTACH_RENDEZVOUS,      /* the dynamic linker's */
};

/* Probes that are placed together: links are made in the order in which they were added, with as few requests as possible.
 * Initialise with { 0 }; empty again after attachments_place. */
struct attachments {
	struct hold_server *server;
	const struct bpf_side *kernel;
	struct attach_step *v;
	size_t n, cap, groups;
};

typedef void attach_refused(void *arg, const struct attach_point *point, int err);

/* Adds the points of a file for one process without its later children (pid > 0), or for all processes (pid 0). Points that the
 * kernel refuses are reported to refused and skipped (-ENXIO: no second place); the others are attached. links and arg must stay
 * valid until the probes are placed; path and points are copied. */
void attachments_add(struct attachments *attachments, struct links *links, enum attach_what what, const char *path, pid_t pid,
		     const struct attach_point *points, size_t n, attach_refused *refused, void *arg);
/* Adds the placing of those points of a file that were added for all processes in one of them: perf events of a server that has
 * members are in no other process. again: only if they have lost it with a thread, else the link has the same number as before. A
 * refusal is reported with the point. */
void attachments_add_member(struct attachments *attachments, struct links *links, const char *path, pid_t pid, bool again,
			    const struct attach_point *point, attach_refused *refused, void *arg);
/* Returns 0, or -errno if nothing could be attached or the rest could not (-ESRCH: the process has ended). */
int attachments_place(struct attachments *attachments);

/* Both at once. */
int attach_points(struct hold_server *server, struct links *links, const struct bpf_side *kernel, enum attach_what what,
		  const char *path, pid_t pid,
		  const struct attach_point *points, size_t n, attach_refused *refused, void *arg);

#endif
