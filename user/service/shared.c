/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A slot belongs to a recorder from its start to its end, whether it is recording or waiting.
 */
#include "service/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/bpf_side.h"
#include "service/job_recorder.h"
#include "service/service.h"
#include "service/wire.h"

struct holder { pid_t pid; uint32_t id; int fd; };      /* pid 0: free slot; fd: to a recorder that waits for the set, -1 */

struct shared_set {
	struct programs *programs;      /* NULL: not loaded */
	int loader_fd;                  /* -1: the loader has answered, or failed */
	bool failed;
	unsigned slots;
	struct holder holders[IOP_MAX_RECORDINGS];
	struct shared_set *older;
};

/* ---- slots ---- */

static struct holder *free_slot(struct shared_set *set)
{
	for (size_t i = 0; i < set->slots; i++)
		if (!set->holders[i].pid)
			return &set->holders[i];
	return NULL;
}

static uint32_t new_id(struct shared *shared, size_t slot)
{
	shared->generation = shared->generation % (UINT32_MAX / IOP_MAX_RECORDINGS) + 1;        /* never 0 */
	return shared->generation * IOP_MAX_RECORDINGS | slot;
}

static void shared_release(struct shared_set *set, struct holder *holder)
{
	int err = set->programs ? bpf_side_close_slot(set->programs, holder->id) : 0;

	if (err)
		service_say("cannot drop the rings of recorder %d: %s: their memory is freed when the slot is reused",
			    holder->pid, strerror(-err));
	if (holder->fd >= 0)
		close(holder->fd);
	*holder = (struct holder){ .fd = -1 };
}

static bool is_used(const struct shared_set *set)
{
	for (size_t i = 0; i < set->slots; i++)
		if (set->holders[i].pid)
			return true;
	return false;
}

/* ---- sets ---- */

static void set_destroy(struct shared_set *set)
{
	for (size_t i = 0; i < set->slots; i++)
		if (set->holders[i].fd >= 0)
			close(set->holders[i].fd);
	programs_destroy(set->programs);
	if (set->loader_fd >= 0)
		close(set->loader_fd);
	free(set);
}

static void drop_unused(struct shared *shared)
{
	struct shared_set **at, *set;

	if (!shared->newest)
		return;
	for (at = &shared->newest->older; (set = *at);) {
		if (is_used(set)) {
			at = &set->older;
			continue;
		}
		*at = set->older;
		set_destroy(set);
	}
}

/* Returns the slots needed: for standby recorders and for the policy's limit. */
static unsigned slots_of(const struct policy *policy)
{
	unsigned slots = policy->max_jobs + policy->standby_recorder + 1;

	return slots < 2 ? 2 : slots < IOP_MAX_RECORDINGS ? slots : IOP_MAX_RECORDINGS;
}

void shared_load(struct shared *shared, const struct policy *policy)
{
	struct shared_set *set = calloc(1, sizeof(*set));
	pid_t pid = -ENOMEM;

	if (!set)
		return;
	*set = (struct shared_set){ .loader_fd = -1, .slots = slots_of(policy), .older = shared->newest };
	for (size_t i = 0; i < IOP_MAX_RECORDINGS; i++)
		set->holders[i].fd = -1;
	shared->newest = set;
	pid = job_recorder_load(policy, set->slots, STDERR_FILENO, &set->loader_fd);
	set->failed = pid < 0;
	if (pid < 0)
		service_say("cannot start the process that loads the BPF programs: %s: each recording loads its own",
			    strerror(-pid));
	drop_unused(shared);
}

void shared_deinit(struct shared *shared)
{
	while (shared->newest) {
		struct shared_set *set = shared->newest;

		shared->newest = set->older;
		set_destroy(set);
	}
}

/* ---- recorders ---- */

static void tell_own(int fd)
{
	json_t *message = json_pack("{s:b}", "own", 1);

	wire_send(fd, message);
	json_decref(message);
}

/* A recorder that cannot be reached has ended; its exit is handled elsewhere. */
static void give_now(struct shared *shared, struct shared_set *set, struct holder *holder, int fd)
{
	holder->id = new_id(shared, holder - set->holders);
	if (programs_send(fd, set->programs, holder->id))
		tell_own(fd);
}

static void shared_give(struct shared *shared, pid_t recorder, int fd)
{
	struct shared_set *set = shared->newest;
	struct holder *holder = set && !set->failed ? free_slot(set) : NULL;

	if (!holder) {
		tell_own(fd);
		return;
	}
	holder->pid = recorder;
	if (set->programs) {
		give_now(shared, set, holder, fd);
		return;
	}
	holder->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (holder->fd < 0)
		tell_own(fd);
}

pid_t shared_start_recorder(struct shared *shared, const struct policy *policy, int *fd)
{
	pid_t pid = job_recorder_start(policy, STDERR_FILENO, fd);

	if (pid > 0)
		shared_give(shared, pid, *fd);
	return pid;
}

void shared_ended(struct shared *shared, pid_t pid)
{
	for (struct shared_set *set = shared->newest; set; set = set->older)
		for (size_t i = 0; i < set->slots; i++)
			if (set->holders[i].pid == pid)
				shared_release(set, &set->holders[i]);
	drop_unused(shared);
}

/* ---- the loader's answer ---- */

struct pollfd shared_poll(const struct shared *shared)
{
	return (struct pollfd){ shared->newest ? shared->newest->loader_fd : -1, POLLIN, 0 };
}

static void give_waiting(struct shared *shared, struct shared_set *set)
{
	for (size_t i = 0; i < set->slots; i++) {
		struct holder *holder = &set->holders[i];

		if (holder->fd < 0)
			continue;
		if (set->programs)
			give_now(shared, set, holder, holder->fd);
		else
			tell_own(holder->fd);
		close(holder->fd);
		holder->fd = -1;
	}
}

void shared_check(struct shared *shared)
{
	struct shared_set *set = shared->newest;
	struct pollfd ready = shared_poll(shared);
	uint32_t none;
	int err;

	if (ready.fd < 0 || poll(&ready, 1, 0) != 1)
		return;
	err = programs_receive(set->loader_fd, &set->programs, &none);
	if (err == -EAGAIN)
		return;
	close(set->loader_fd);
	set->loader_fd = -1;
	set->failed = err != 0;
	if (err)
		service_say("cannot load the shared BPF programs: each recording loads its own, which costs every process more");
	give_waiting(shared, set);
}
