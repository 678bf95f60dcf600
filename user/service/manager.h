/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Interface to the service manager (systemd): socket activation and notifications. Without a manager these functions do nothing.
 * Source: sd_listen_fds(3), sd_notify(3).
 */
#ifndef IOPROBE_MANAGER_H
#define IOPROBE_MANAGER_H

#include <stddef.h>

/* Returns the listening socket that the manager opened (unit ioprobe.socket), or -ENOENT if it opened none, or -EINVAL with one
 * line in err if it did not pass exactly one listening SOCK_SEQPACKET socket. The caller owns the descriptor, which is
 * non-blocking. Removes the manager's variables from the environment, so it must be called before any process is started. */
int manager_take_socket(char *err, size_t err_len);

/* Notify the manager: the service is ready for requests; it reloads its policy (manager_ready follows); it stops. */
void manager_ready(void);
void manager_reloading(void);
void manager_stopping(void);

#endif
