/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A small process beside the recorder for work that must not stop half-way when the recorder is killed or stopped: it places
 * probes, holds new programs until their probes are in place, and restores return addresses for unwinders. See bpf/DESIGN.md.
 */
#ifndef IOPROBE_HOLD_SERVER_H
#define IOPROBE_HOLD_SERVER_H

#include <ioprobe/request.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bpf/bpf_side.h"

struct hold_server;

/* Forks: the caller must not have other threads yet, and the programs must be loaded. Returns 0 or -errno. */
int hold_server_create(struct hold_server **out, struct bpf_side *kernel);
/* Releases held programs and detaches remaining links. NULL is allowed. */
void hold_server_destroy(struct hold_server *server);

/* The same; the server may stay to guard calls that are in flight (bpf/guard.h), then *guarding is set. */
struct hold_guarding { pid_t pid; size_t calls, unread; };      /* unread: of these, may have ended (guard_calls.h) */
void hold_server_leave(struct hold_server *server, struct hold_guarding *guarding);

/* Returns whether perf events "for all" are placed only in the processes that links_join names. */
bool hold_server_has_members(const struct hold_server *server);

/* Starts the recorder's heartbeat, in a thread: programs are held only while it beats. Ends with the server. Returns 0 or
 * -errno. */
int hold_server_start_heartbeat(struct hold_server *server);

/* Waits, 2 s at most, until server and recorder beat: a program that starts before is not held. Returns whether they do. */
bool hold_server_await(const struct hold_server *server);

enum hold_notice_type {
	HOLD_BEGAN,             /* a thread waits for probes */
	HOLD_ENDED,             /* it continues */
	HOLD_SERVER_GONE,
};
/* since_ns: when the wait began; gave_up_ns: when the thread continued if it did so before it was released, else 0. */
struct hold_notice { enum hold_notice_type type; struct iop_hold_id id; uint64_t since_ns, gave_up_ns; };

int hold_server_fd(const struct hold_server *server);   /* readable when there are notices */
bool hold_server_next(struct hold_server *server, struct hold_notice *notice);   /* false: there is none */
void hold_server_release(struct hold_server *server, const struct iop_hold_id *id);
uint64_t hold_server_late(const struct hold_server *server);            /* programs that continued before they were released */
uint64_t hold_server_returns_failed(const struct hold_server *server);  /* return addresses that could not be restored */

#endif
