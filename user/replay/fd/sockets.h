/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What sockets are called: the name that /proc gives them, and the addresses that were seen last.
 */
#ifndef IOPROBE_REPLAY_FD_SOCKETS_H
#define IOPROBE_REPLAY_FD_SOCKETS_H

#include "replay/state.h"

int socket_record(struct replay *r, struct process *process, const struct iop_rec_socket *rec);

#endif
