/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The state of the service, and its requests.
 */
#ifndef IOPROBE_SERVICE_H
#define IOPROBE_SERVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "service/jobs.h"
#include "service/policy.h"
#include "service/server.h"
#include "service/metrics_file.h"
#include "service/shared.h"
#include "service/standby.h"

struct service {
	const struct server_options *options;
	struct policy policy;
	struct jobs jobs;
	struct shared shared;
	struct standby standby;
	struct service_counts counts;
	char host[256];         /* host name without its domain */
};

/* Answers a client's request, or passes the descriptor on to a recorder, which answers. Returns whether the client can be
 * dropped. */
bool service_request(struct service *service, const json_t *message, const struct ucred *peer, int fd);

/* Writes one line to the log; characters that would start another line are replaced. */
void service_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
