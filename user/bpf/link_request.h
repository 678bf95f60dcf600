/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Requests of the recorder to the hold server's thread that makes links. A message holds several, one behind the other. The server
 * makes the links in order and stops at the first one that fails: later ones may depend on it (a return probe needs its unwinder).
 * The answer is an array of int: for each link that was tried its number, or -errno of the last one. LINK_CLOSE and LINK_RETIRE are
 * not answered; each of the last four is a message of its own.
 */
#ifndef IOPROBE_LINK_REQUEST_H
#define IOPROBE_LINK_REQUEST_H

#include "bpf/hold_server_internal.h"
#include "bpf/links.h"

enum link_request_kind {
	LINK_MULTI, LINK_PERF,
	LINK_JOIN,              /* places all probes of a file, made by LINK_PERF, in a process; no points */
	/* the same if the thread has ended in whose name they were placed; else the old number is the answer */
	LINK_JOIN_AGAIN,
	LINK_CLOSE,             /* number: that of a descriptor that is not pinned, or has LINK_OF_SERVER */
	LINK_RETIRE,            /* program_fd: no more links will be made to it */
	LINK_GUARD,             /* prepares for the end: from its answer on (0 or -errno) a guard serves unwinders, too */
	LINK_CLOSE_CALLS,       /* removes the probes on calls that LINK_JOIN has placed; answered by 0 */
};

struct link_request {
	uint32_t kind;
	int32_t program_fd;
	uint32_t attach_type, is_return;
	int32_t pid;
	uint32_t n;
	int32_t number;         /* name of the pin */
	char path[68];
	uint64_t v[];           /* n offsets, n cookies */
};

_Static_assert(sizeof(struct link_request) % sizeof(uint64_t) == 0, "requests in a message are aligned");

#define LINK_MESSAGE_BYTES (LINK_MAX_POINTS * 2 * sizeof(uint64_t) + 16384)     /* of one message; the kernel allows 212 KiB */
#define LINK_MESSAGE_LINKS 512

#define LINK_OF_SERVER (1 << 30)        /* a number of the server's own (bpf/members.h), which it must be asked to close */

bool link_program_exists(uint32_t id);

/* Makes a link and does not pin it. Returns its descriptor or -errno. */
int link_create(const struct link_request *request);

/* Writes the path of a link's pin, through our descriptor: path_fd of BPF_OBJ_PIN is newer (Linux 6.5). */
#define LINK_PIN_PATH 64
void link_pin_path(int mount_fd, int number, char *path, size_t len);

/* Pins a link, whose descriptor it closes. Returns the number or -errno. */
int link_pin(int mount_fd, int number, int fd);

static inline size_t link_request_size(uint32_t npoints)
{
	return sizeof(struct link_request) + npoints * 2 * sizeof(uint64_t);
}

#endif
