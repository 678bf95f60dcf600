/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the service is made of, and what it does on a request.
 */
#ifndef IOPROBE_SERVICE_H
#define IOPROBE_SERVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "service/jobs.h"
#include "service/policy.h"
#include "service/server.h"
#include "service/shared.h"
#include "service/spares.h"

struct service {
	const struct server_options *options;
	struct policy policy;
	struct jobs jobs;
	struct shared shared;
	struct spares spares;
	char host[256];         /* this host's name without its domain */
};

/* Answers a client's request, or leaves that to a recorder, which then has the descriptor. Returns whether the client is done
 * with. */
bool service_request(struct service *service, const json_t *message, const struct ucred *peer, int fd);

/* Writes one line to the log; what would begin another one is replaced. */
void service_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
