/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A small process beside the recorder that does what must not stop half-way when the recorder is killed or stopped: it places
 * probes, holds new programs until they are probed, and gives unwinders their return addresses back. See bpf/DESIGN.md.
 */
#ifndef IOPROBE_HOLD_SERVER_H
#define IOPROBE_HOLD_SERVER_H

#include <ioprobe/request.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bpf/kernel_side.h"

struct hold_server;

/* Forks: the caller has no other threads yet, and the programs are loaded. 0 or -errno. */
int hold_server_create(struct hold_server **out, struct kernel_side *kernel);
/* Held programs go on, links that are left are detached. NULL is fine. */
void hold_server_destroy(struct hold_server *server);

/* A heartbeat of the recorder's own, in a thread: programs are held only while it comes. 0 or -errno; ends with the server. */
int hold_server_start_heartbeat(struct hold_server *server);

enum hold_notice_type {
	HOLD_BEGAN,             /* a thread waits for probes since time_ns */
	HOLD_ENDED,             /* it goes on; time_ns: it did so before it was released, 0: it waited until then */
	HOLD_SERVER_GONE,
};
struct hold_notice { enum hold_notice_type type; struct iop_hold_id id; uint64_t time_ns; };

int hold_server_fd(const struct hold_server *server);   /* readable when there are notices */
bool hold_server_next(struct hold_server *server, struct hold_notice *notice);   /* false: none */
void hold_server_release(struct hold_server *server, const struct iop_hold_id *id);
uint64_t hold_server_late(const struct hold_server *server);            /* programs that went on before they were released */
uint64_t hold_server_returns_failed(const struct hold_server *server);  /* return addresses that could not be written */

#endif
