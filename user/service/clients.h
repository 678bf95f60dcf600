/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Connections that have not yet sent their request, and the request budget of each user. Root has connection slots of its own, so
 * that no user delays a prolog.
 */
#ifndef IOPROBE_CLIENTS_H
#define IOPROBE_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CLIENTS_MAX_ROOT 32
#define CLIENTS_MAX_USERS 32
#define CLIENTS_MAX_PER_USER 4
#define CLIENTS_MAX (CLIENTS_MAX_ROOT + CLIENTS_MAX_USERS)

/* A request costs one token, a start four; a user has at most BUDGET_BURST tokens and gets BUDGET_PER_S per second. */
#define BUDGET_BURST 40.0
#define BUDGET_PER_S 8.0
#define BUDGETS 64

struct client { int fd; struct ucred peer; uint64_t since_ns; struct client *next; };
struct budget { uid_t uid; double tokens; uint64_t at_ns; };

struct clients {
	struct client *first;           /* the oldest */
	size_t nroot, nusers;
	struct budget budgets[BUDGETS];
	size_t nbudgets;
};

/* Adds a connection and takes ownership of its descriptor. If all slots for users are taken, the oldest user connection is closed.
 * Returns 0, -EUSERS if this user (or root) has the maximum number of connections, or -ENOMEM; on error the descriptor stays the
 * caller's. */
int clients_add(struct clients *clients, int fd, const struct ucred *peer, uint64_t now_ns);

/* Removes the oldest client whose request has arrived from the list: root's (root is true) or a user's. Returns its descriptor,
 * which the caller then owns, or -1 if there is none. */
int clients_take_ready(struct clients *clients, bool root, struct ucred *peer);

/* Closes connections that sent no request in time: 1 s for users, 2 s for root. */
void clients_expire(struct clients *clients, uint64_t now_ns);
void clients_deinit(struct clients *clients);

/* Takes tokens from the user's budget. Returns false if there are too few; root is never limited. */
bool clients_charge(struct clients *clients, uid_t uid, double tokens, uint64_t now_ns);

#endif
