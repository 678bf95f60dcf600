/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Probe links. The hold server makes them and pins them in a BPF file system outside the mount tree: unlinking the pin, or the end
 * of recorder and server, leaves detaching to the kernel's workers. See bpf/DESIGN.md, "How links end".
 */
#ifndef IOPROBE_LINKS_H
#define IOPROBE_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hold_server;
struct bpf_side;
/* Names of pins, or numbers of the server's descriptors if it cannot pin; with LINK_OF_SERVER numbers of its own. */
struct links { int *v; size_t n; };

#define LINK_MAX_POINTS 4096

/* One link: n points of a file for one program. pid: for one process, 0: for all. */
struct link_spec {
	bool perf;              /* a perf event, with one point; else uprobe_multi */
	bool join;              /* no link: places those perf events for all that the file has in one process; no points */
	bool again;             /* and: if they have lost it */
	bool is_return;
	int program_fd;         /* opened before the server was started */
	uint32_t attach_type;
	const char *path;       /* as the recorder would open it */
	pid_t pid;
	const uint64_t *offsets, *cookies;
	size_t n;
	struct links *links;    /* to which it is added */
};

/* Makes links in this order, with one request to the server for as many as fit into a message. Stops at the first one that fails.
 * Returns how many were made; *err is that failure (-errno, -EPIPE: the server has ended), or 0. */
size_t links_create(struct hold_server *server, const struct link_spec *specs, size_t n, int *err);
/* Moves all of them; those that no memory can be had for are detached. */
void links_move(struct hold_server *server, struct links *to, struct links *from);
/* Detaches all and empties the set, which stays usable. Does not wait: probes may trap for some 100 ms more. */
void links_detach(struct hold_server *server, struct links *links);
/* The same for links of a process that has ended: threads of the server detach them, so that no kernel worker does, which at its
 * priority keeps the lock that new links need for 10 to 100 ms on a busy machine. */
void links_reap(struct hold_server *server, struct links *links);

/* The server closes its descriptors of the programs for library calls, after all earlier requests. */
void links_retire_calls(struct hold_server *server, const struct bpf_side *kernel);

/* Removes perf events on calls from the processes that they were placed in. Returns when that has begun. */
void links_close_calls(struct hold_server *server);

/* To be called before the slot is closed and calls are detached: a guard restores return addresses of calls that are in
 * flight at the end, and stays with the server until they have returned. Returns 0 or -errno. */
int links_guard(struct hold_server *server);

/* Waits until programs without open descriptors are gone, that is, until their links are detached. Returns whether they are, after
 * limit_ms at most. */
bool links_wait_gone(const uint32_t *program_ids, size_t n, unsigned limit_ms);

#endif
