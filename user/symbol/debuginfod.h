/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Debug files from debuginfod servers (debuginfod(8)). The client library, which brings an HTTP client with it, is loaded only when
 * the user asks for it, and never while recording: a node without network would wait for its timeout.
 */
#ifndef IOPROBE_DEBUGINFOD_H
#define IOPROBE_DEBUGINFOD_H

#include <stddef.h>

struct debuginfod;

/* Loads the client, in a process that may start threads. Servers are those of the environment (DEBUGINFOD_URLS), as are the cache
 * and the limits of time and size (debuginfod-find(1)). Returns 0, or -errno with the reason in err. */
int debuginfod_create(struct debuginfod **out, char *err, size_t err_len);
void debuginfod_destroy(struct debuginfod *client);     /* NULL is allowed */

/* Returns a descriptor of the debug file with a build-id (in hex), or -1. After a failure other than "no server has it" no server
 * is asked again, so that the timeout passes only once. */
int debuginfod_find(struct debuginfod *client, const char *build_id);

/* Returns why servers could not be asked, NULL if they could. */
const char *debuginfod_failure(const struct debuginfod *client);

#endif
