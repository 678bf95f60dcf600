/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The guard's programs, its links to unwinders, and the calls that it guards.
 */
#include "bpf/guard.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <ioprobe/request.h>            /* for the skeleton's variables */

#include "bpf/guard_calls.h"
#include "bpf/hold_server_internal.h"
#include "bpf/link_request.h"
#include "guard.skel.h"
#include "privilege/capabilities.h"

#define TRACE_UPROBE_MULTI 48
#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define MAX_FAILURES 60         /* of looks, before no call is guarded any more */

struct guard_link { pid_t pid; size_t file; int fd; };

struct guard {
	struct guard_bpf *skel;
	bool perf;
	struct ring_buffer *ring;
	pthread_t thread;
	bool serving;
	int stop_fd;            /* readable when the thread is to end */
	struct guard_link *links;
	size_t nlinks;
	struct guard_calls calls;       /* those that were in flight when none could begin any more */
	bool looked;
	size_t looks;
	unsigned failures;              /* of consecutive looks */
};

/* ---- unwinders ---- */

static int guard_on_request(void *arg, void *data, size_t size)
{
	struct guard *guard = arg;

	if (size >= sizeof(struct iop_return_request))
		holds_give_returns(guard->skel->bss->holds, data);
	return 0;
}

static void *guard_serve(void *arg)
{
	struct guard *guard = arg;
	struct pollfd fds[] = { { ring_buffer__epoll_fd(guard->ring), POLLIN, 0 }, { guard->stop_fd, POLLIN, 0 } };

	hold_server_prefer_thread();
	while (!fds[1].revents)
		if (poll(fds, 2, -1) > 0)
			ring_buffer__consume(guard->ring);
	return NULL;
}

/* ---- begin and end ---- */

static int guard_load(struct guard *guard)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);

	if (!capability_has(CAP_SYS_ADMIN))
		options.btf_custom_path = KERNEL_TYPES; /* as in skeleton.c */
	guard->skel = guard_bpf__open_opts(&options);
	if (!guard->skel)
		return -errno;
	if (!guard->perf)
		bpf_program__set_expected_attach_type(guard->skel->progs.guard_unwinder, TRACE_UPROBE_MULTI);
	return guard_bpf__load(guard->skel);
}

static int guard_start(struct guard *guard)
{
	int err;

	guard->ring = ring_buffer__new(bpf_map__fd(guard->skel->maps.requests), guard_on_request, guard, NULL);
	if (!guard->ring)
		return -errno;
	err = pthread_create(&guard->thread, NULL, guard_serve, guard);
	guard->serving = !err;
	if (!err)
		__atomic_store_n(&guard->skel->bss->serving, 1, __ATOMIC_RELEASE);
	return -err;
}

int guard_create(struct guard **out, bool perf)
{
	struct guard *guard = calloc(1, sizeof(*guard));
	int err;

	if (!guard)
		return -ENOMEM;
	guard->perf = perf;
	guard->stop_fd = eventfd(0, EFD_CLOEXEC);
	err = guard->stop_fd < 0 ? -errno : guard_load(guard);
	if (!err)
		err = guard_start(guard);
	if (err)
		guard_destroy(guard);
	else
		*out = guard;
	return err;
}

/* Links first: after that no request comes that would remain unread. */
void guard_destroy(struct guard *guard)
{
	if (!guard)
		return;
	for (size_t i = 0; i < guard->nlinks; i++)
		close(guard->links[i].fd);
	if (guard->serving) {
		eventfd_write(guard->stop_fd, 1);
		pthread_join(guard->thread, NULL);
		__atomic_store_n(&guard->skel->bss->serving, 0, __ATOMIC_RELEASE);
		ring_buffer__consume(guard->ring);
	}
	ring_buffer__free(guard->ring);
	guard_bpf__destroy(guard->skel);
	if (guard->stop_fd >= 0)
		close(guard->stop_fd);
	free(guard->links);
	free(guard->calls.v);
	free(guard);
}

/* ---- links ---- */

static bool is_attached(const struct guard *guard, pid_t pid, size_t file)
{
	for (size_t i = 0; i < guard->nlinks; i++)
		if (guard->links[i].pid == pid && guard->links[i].file == file)
			return true;
	return false;
}

static void guard_attach_points(struct guard *guard, const struct guard_places *places, const struct guard_place *place,
				const uint64_t *offsets, size_t n)
{
	struct link_request *request = calloc(1, link_request_size(n));
	struct guard_link *links = realloc(guard->links, (guard->nlinks + 1) * sizeof(*links));
	int fd = -1;

	if (links)
		guard->links = links;
	if (request && links) {
		*request = (struct link_request){ .kind = guard->perf ? LINK_PERF : LINK_MULTI, .attach_type = TRACE_UPROBE_MULTI,
			.program_fd = bpf_program__fd(guard->skel->progs.guard_unwinder), .pid = place->pid, .n = n };
		snprintf(request->path, sizeof(request->path), "/proc/self/fd/%d", places->files[place->file].fd);
		memcpy(request->v, offsets, n * sizeof(*offsets));
		fd = link_create(request);
	}
	if (fd >= 0)
		guard->links[guard->nlinks++] = (struct guard_link){ place->pid, place->file, fd };
	free(request);
}

size_t guard_attach(struct guard *guard, const struct guard_places *places)
{
	for (size_t i = 0; i < places->n; i++) {
		const struct guard_place *place = &places->v[i];
		const struct guard_file *file = &places->files[place->file];
		size_t at_once = guard->perf ? 1 : file->n;

		if (is_attached(guard, place->pid, place->file))
			continue;
		for (size_t k = 0; k < file->n; k += at_once)
			guard_attach_points(guard, places, place, file->offsets + k, at_once);
	}
	return guard->nlinks;
}

bool guard_has_link(const struct guard *guard, int fd)
{
	for (size_t i = 0; i < guard->nlinks; i++)
		if (guard->links[i].fd == fd)
			return true;
	return false;
}

/* ---- calls in flight ---- */

static int compare_link_process(const void *a, const void *b)
{
	const struct guard_link *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* The links are sorted; the process 0 is all. */
static bool process_is_linked(const struct guard *guard, pid_t pid)
{
	const struct guard_link key = { pid, 0, -1 };

	return guard->nlinks && (!guard->links[0].pid ||
				 bsearch(&key, guard->links, guard->nlinks, sizeof(key), compare_link_process));
}

static bool is_guarded(const struct guard *guard, const struct iop_replaced_return *call)
{
	return process_is_linked(guard, call->pid_tgid >> 32) && (!guard->looked || guard_calls_contain(&guard->calls, call));
}

static int guard_read_calls(const struct guard *guard, struct guard_calls *calls)
{
	int link = bpf_link_create(bpf_program__fd(guard->skel->progs.guard_find), 0, BPF_TRACE_ITER, NULL), fd, err = 0;
	struct iop_replaced_return call;
	ssize_t n;

	if (link < 0)
		return link;
	fd = bpf_iter_create(link);
	if (fd < 0)
		err = fd;
	while (!err && (n = read(fd, &call, sizeof(call)))) {
		if (n != sizeof(call))
			err = n < 0 ? -errno : -EIO;
		else if (is_guarded(guard, &call) && !guard_calls_add(calls, &call))
			err = -ENOMEM;
	}
	if (fd >= 0)
		close(fd);
	close(link);
	return err;
}

/* A process without guarded calls has no breakpoint of the guard's any more. Links for all processes stay to the end. */
static void drop_links(struct guard *guard)
{
	size_t kept = 0;

	for (size_t i = 0; i < guard->nlinks; i++) {
		if (!guard->links[i].pid || guard_calls_contain_process(&guard->calls, guard->links[i].pid))
			guard->links[kept++] = guard->links[i];
		else
			close(guard->links[i].fd);
	}
	guard->nlinks = kept;
}

size_t guard_look(struct guard *guard, bool begun, size_t *unread)
{
	struct guard_calls calls = { 0 };

	if (guard->nlinks)
		qsort(guard->links, guard->nlinks, sizeof(*guard->links), compare_link_process);
	if (guard_read_calls(guard, &calls)) {
		free(calls.v);
		return ++guard->failures < MAX_FAILURES;        /* unknown: it is looked again */
	}
	*unread = guard_calls_keep_in_flight(&calls, &guard_access_proc, guard->looks++);
	guard->failures = 0;
	free(guard->calls.v);
	guard->calls = calls;
	if (!begun) {
		guard->looked = true;
		drop_links(guard);
	}
	return calls.n;
}
