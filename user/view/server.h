/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Serves the page of a recording to browsers of this host.
 */
#ifndef IOPROBE_VIEW_SERVER_H
#define IOPROBE_VIEW_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "stream/metrics.h"
#include "view/history.h"

struct view_server;

/* Listens on 127.0.0.1, port 0: any that is free. Every request needs the token, which is in the page's address. It
 * has threads of its own. Returns 0, or -errno with one line in err. */
int view_server_start(struct view_server **server, struct history *history, struct metrics *metrics, uint16_t port, char *err,
		      size_t err_len);
void view_server_stop(struct view_server *server);

/* Formats the address to open in a browser. */
void view_server_address(const struct view_server *server, char *text, size_t len);

#endif
