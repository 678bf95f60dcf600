/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The collector's network: TLS connections of followers, each with a session.
 */
#ifndef IOPROBE_COLLECT_COLLECTOR_H
#define IOPROBE_COLLECT_COLLECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "stream/token.h"

struct collector_options {
	const char *directory; /* of the stores */
	const char *address; /* NULL: all of the host */
	uint16_t port; /* 0: any that is free */
	const char *certificate, *key; /* files, PEM */
	const char *metrics; /* NULL, or the file for its own metrics */
	unsigned most; /* connections at a time */
	uint64_t most_bytes, most_job_bytes; /* of all stores, of a job's; 0: no limit */
};

/* Serves until SIGTERM or SIGINT. ready: called with the port when followers may connect. Returns 0, or -errno with one line in
 * err. */
int collector_run(const struct collector_options *options, const struct token_secret *secret, void (*ready)(uint16_t port),
		  char *err, size_t err_len);

#endif
