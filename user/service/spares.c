/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A list, oldest first.
 */
#include "service/spares.h"

#include <string.h>
#include <unistd.h>

#include "bpf/rings.h"
#include "service/service.h"
#include "service/wire.h"

#define PAUSE_NS 10000000000ull

void spares_fill(struct spares *spares, const struct policy *policy, struct shared *shared)
{
	if (spares->ended_ns && monotonic_ns() - spares->ended_ns < PAUSE_NS)
		return;
	while (spares->n < policy->spare && spares->n < MAX_SPARES) {
		int fd = -1;
		pid_t pid = shared_start_recorder(shared, policy, &fd);

		if (pid < 0) {
			service_say("cannot start a recorder: %s", strerror(-pid));
			return;
		}
		spares->v[spares->n++] = (struct spare){ pid, fd, false };
	}
}

void spares_drop(struct spares *spares)
{
	while (spares->n)
		close(spares->v[--spares->n].fd);
}

static void remove_one(struct spares *spares, size_t i)
{
	memmove(spares->v + i, spares->v + i + 1, (--spares->n - i) * sizeof(spares->v[0]));
}

pid_t spares_take(struct spares *spares, const struct policy *policy, struct shared *shared, int *fd)
{
	struct spare spare = spares->v[0];

	if (!spares->n)
		return shared_start_recorder(shared, policy, fd);
	remove_one(spares, 0);
	*fd = spare.fd;
	return spare.pid;
}

/* A standby recorder sends only one message before it has a job: that it is loaded. */
void spares_check(struct spares *spares)
{
	for (size_t i = 0; i < spares->n; i++) {
		struct pollfd ready = { spares->v[i].fd, POLLIN, 0 };
		json_t *message = NULL;

		if (poll(&ready, 1, 0) == 1 && !wire_receive(spares->v[i].fd, WIRE_MAX_BYTES, &message))
			spares->v[i].loaded = true;
		json_decref(message);
	}
}

size_t spares_loaded(const struct spares *spares)
{
	size_t n = 0;

	for (size_t i = 0; i < spares->n; i++)
		n += spares->v[i].loaded;
	return n;
}

void spares_ended(struct spares *spares, pid_t pid)
{
	for (size_t i = 0; i < spares->n; i++)
		if (spares->v[i].pid == pid) {
			close(spares->v[i].fd);
			remove_one(spares, i);
			service_say("a waiting recorder ended");
			spares->ended_ns = monotonic_ns();
			return;
		}
}

size_t spares_poll(const struct spares *spares, struct pollfd *fds)
{
	for (size_t i = 0; i < spares->n; i++)
		fds[i] = (struct pollfd){ spares->v[i].fd, POLLIN, 0 };
	return spares->n;
}
