/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Messages between the service, its clients and its recorders: one JSON object per packet of a local socket. An answer has "ok" and
 * "message".
 */
#ifndef IOPROBE_WIRE_H
#define IOPROBE_WIRE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define WIRE_MAX_BYTES (64 << 10)
#define WIRE_MAX_USER_BYTES (4 << 10)   /* for a request of a client other than root */
#define DEFAULT_SOCKET "/run/ioprobe/socket"

/* Non-blocking. Returns 0 or -errno. */
int wire_send(int fd, const json_t *message);
int wire_answer(int fd, bool ok, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Receives one message, which the caller owns; blocks if the socket does. The length is checked before the text is parsed. Returns
 * 0, -ENODATA at the end, -EMSGSIZE if it is longer than max_bytes, -EBADMSG if it is not a JSON object, or -errno. */
int wire_receive(int fd, size_t max_bytes, json_t **message);

/* Replaces control characters and invalid UTF-8 by '?': text from a client must not forge log lines or control a terminal. */
void wire_make_printable(char *text);

int wire_connect(const char *path, int timeout_ms);     /* timeout per operation; returns the descriptor, or -errno */
/* accessible to all users; returns the descriptor, or -errno; -EADDRINUSE if another process listens */
int wire_listen(const char *path);

const char *wire_text(const json_t *message, const char *key);  /* "" if the key is missing */

#endif
