/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A list in the order of arrival; there are few clients.
 */
#include "service/clients.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define USER_LIMIT_NS 1000000000ull     /* from connection to request */
#define ROOT_LIMIT_NS 2000000000ull

static size_t *count_of(struct clients *clients, const struct ucred *peer)
{
	return peer->uid ? &clients->nusers : &clients->nroot;
}

/* Returns the client's descriptor. */
static int unlink_client(struct clients *clients, struct client **at)
{
	struct client *client = *at;
	int fd = client->fd;

	*at = client->next;
	--*count_of(clients, &client->peer);
	free(client);
	return fd;
}

static size_t count_user(const struct clients *clients, uid_t uid)
{
	size_t n = 0;

	for (const struct client *client = clients->first; client; client = client->next)
		n += client->peer.uid == uid;
	return n;
}

static void close_oldest_user(struct clients *clients)
{
	struct client **at = &clients->first;

	while (*at && !(*at)->peer.uid)
		at = &(*at)->next;
	if (*at)
		close(unlink_client(clients, at));
}

int clients_add(struct clients *clients, int fd, const struct ucred *peer, uint64_t now_ns)
{
	size_t limit = peer->uid ? CLIENTS_MAX_PER_USER : CLIENTS_MAX_ROOT;
	struct client *client, **at = &clients->first;

	if (count_user(clients, peer->uid) >= limit)
		return -EUSERS;
	client = malloc(sizeof(*client));
	if (!client)
		return -ENOMEM;
	if (peer->uid && clients->nusers >= CLIENTS_MAX_USERS)
		close_oldest_user(clients);
	*client = (struct client){ .fd = fd, .peer = *peer, .since_ns = now_ns };
	while (*at)
		at = &(*at)->next;
	*at = client;
	++*count_of(clients, peer);
	return 0;
}

int clients_take_ready(struct clients *clients, bool root, struct ucred *peer)
{
	for (struct client **at = &clients->first; *at; at = &(*at)->next) {
		struct pollfd ready = { (*at)->fd, POLLIN, 0 };

		if (root != !(*at)->peer.uid || poll(&ready, 1, 0) != 1)
			continue;
		*peer = (*at)->peer;
		return unlink_client(clients, at);
	}
	return -1;
}

void clients_expire(struct clients *clients, uint64_t now_ns)
{
	for (struct client **at = &clients->first; *at;) {
		uint64_t limit_ns = (*at)->peer.uid ? USER_LIMIT_NS : ROOT_LIMIT_NS;

		if (now_ns - (*at)->since_ns > limit_ns)
			close(unlink_client(clients, at));
		else
			at = &(*at)->next;
	}
}

void clients_deinit(struct clients *clients)
{
	while (clients->first)
		close(unlink_client(clients, &clients->first));
}

/* ---- budgets ---- */

static void clients_refill(struct budget *budget, uint64_t now_ns)
{
	budget->tokens += (now_ns - budget->at_ns) * 1e-9 * BUDGET_PER_S;
	if (budget->tokens > BUDGET_BURST)
		budget->tokens = BUDGET_BURST;
	budget->at_ns = now_ns;
}

/* A user without an entry has a full budget, so the fullest entry can be replaced. */
static struct budget *budget_of(struct clients *clients, uid_t uid, uint64_t now_ns)
{
	struct budget *fullest = clients->budgets, *budget;

	for (size_t i = 0; i < clients->nbudgets; i++) {
		budget = &clients->budgets[i];
		clients_refill(budget, now_ns);
		if (budget->uid == uid)
			return budget;
		if (budget->tokens > fullest->tokens)
			fullest = budget;
	}
	budget = clients->nbudgets < BUDGETS ? &clients->budgets[clients->nbudgets++] : fullest;
	*budget = (struct budget){ uid, BUDGET_BURST, now_ns };
	return budget;
}

bool clients_charge(struct clients *clients, uid_t uid, double tokens, uint64_t now_ns)
{
	struct budget *budget = uid ? budget_of(clients, uid, now_ns) : NULL;

	if (budget && budget->tokens < tokens)
		return false;
	if (budget)
		budget->tokens -= tokens;
	return true;
}
