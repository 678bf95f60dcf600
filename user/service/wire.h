/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Messages between the service, its clients and its recorders: one JSON object per packet of a local socket. An answer has "ok" and
 * "message".
 */
#ifndef IOPROBE_WIRE_H
#define IOPROBE_WIRE_H

#include <jansson.h>
#include <stdbool.h>

#define WIRE_MAX_BYTES (64 << 10)
#define DEFAULT_SOCKET "/run/ioprobe/socket"

/* Does not block. Returns 0 or -errno. */
int wire_send(int fd, const json_t *message);
int wire_answer(int fd, bool ok, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* One message, which is the caller's; blocks if the socket does. 0, -ENODATA at the end, -EBADMSG if it is none, -errno. */
int wire_receive(int fd, json_t **message);

int wire_connect(const char *path, int timeout_ms);     /* timeout of each operation; the descriptor, or -errno */
int wire_listen(const char *path);                      /* for everybody; the descriptor, or -errno; -EADDRINUSE if one listens already */

const char *wire_text(const json_t *message, const char *key);  /* "" if there is none */

#endif
