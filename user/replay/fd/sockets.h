/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Names of sockets: the name in /proc, and the addresses that were last seen.
 */
#ifndef IOPROBE_REPLAY_FD_SOCKETS_H
#define IOPROBE_REPLAY_FD_SOCKETS_H

#include "replay/state.h"

int socket_record(struct replay *r, struct process *process, const struct iop_rec_socket *rec);

#endif
