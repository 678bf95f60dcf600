/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A list, oldest first.
 */
#include "service/standby.h"

#include <string.h>
#include <unistd.h>

#include "bpf/rings.h"
#include "service/service.h"
#include "service/wire.h"

#define PAUSE_NS 10000000000ull

void standby_fill(struct standby *standby, const struct policy *policy, struct shared *shared)
{
	if (standby->ended_ns && monotonic_ns() - standby->ended_ns < PAUSE_NS)
		return;
	while (standby->n < policy->standby_recorder && standby->n < MAX_STANDBY) {
		int fd = -1;
		pid_t pid = shared_start_recorder(shared, policy, &fd);

		if (pid < 0) {
			service_say("cannot start a recorder: %s", strerror(-pid));
			return;
		}
		standby->v[standby->n++] = (struct standby_recorder){ pid, fd, false };
	}
}

void standby_drop(struct standby *standby)
{
	while (standby->n)
		close(standby->v[--standby->n].fd);
}

static void standby_remove_one(struct standby *standby, size_t i)
{
	memmove(standby->v + i, standby->v + i + 1, (--standby->n - i) * sizeof(standby->v[0]));
}

pid_t standby_take(struct standby *standby, const struct policy *policy, struct shared *shared, int *fd)
{
	struct standby_recorder standby_recorder = standby->v[0];

	if (!standby->n)
		return shared_start_recorder(shared, policy, fd);
	standby_remove_one(standby, 0);
	*fd = standby_recorder.fd;
	return standby_recorder.pid;
}

/* A standby recorder sends only one message before it has a job: that it is loaded. */
void standby_check(struct standby *standby)
{
	for (size_t i = 0; i < standby->n; i++) {
		struct pollfd ready = { standby->v[i].fd, POLLIN, 0 };
		json_t *message = NULL;

		if (poll(&ready, 1, 0) == 1 && !wire_receive(standby->v[i].fd, WIRE_MAX_BYTES, &message))
			standby->v[i].loaded = true;
		json_decref(message);
	}
}

size_t standby_loaded(const struct standby *standby)
{
	size_t n = 0;

	for (size_t i = 0; i < standby->n; i++)
		n += standby->v[i].loaded;
	return n;
}

void standby_ended(struct standby *standby, pid_t pid)
{
	for (size_t i = 0; i < standby->n; i++)
		if (standby->v[i].pid == pid) {
			close(standby->v[i].fd);
			standby_remove_one(standby, i);
			service_say("a waiting recorder ended");
			standby->ended_ns = monotonic_ns();
			return;
		}
}

size_t standby_poll(const struct standby *standby, struct pollfd *fds)
{
	for (size_t i = 0; i < standby->n; i++)
		fds[i] = (struct pollfd){ standby->v[i].fd, POLLIN, 0 };
	return standby->n;
}
