/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The thread of the hold server that makes links. If a process dies while it places probes the kernel cannot remove them: that
 * needs pages of the targets, which cannot be allocated with a fatal signal pending ("leaking uprobe").
 */
#include "bpf/link_request.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ioprobe/descriptor.h>

#include "bpf/members.h"

#define UPROBE_MULTI_RETURN 1

#define MAX_UNWINDERS 16        /* of a file: its functions that walk the stack */

/* The uprobe_multi part of union bpf_attr's link_create, which older headers do not have (include/uapi/linux/bpf.h, Linux 6.6). */
struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid;
	uint32_t pad;
};

/* ---- uprobe_multi ---- */

static int create_multi(const struct link_request *request)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = request->program_fd, .attach_type = request->attach_type, .path = (uintptr_t)request->path,
		.offsets = (uintptr_t)request->v, .cookies = (uintptr_t)(request->v + request->n), .cnt = request->n,
		.multi_flags = request->is_return ? UPROBE_MULTI_RETURN : 0, .pid = request->pid,
	};
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, offsetof(struct link_create_uprobe_multi, pad));

	return fd < 0 ? -errno : fd;
}

/* ---- perf events, for kernels without uprobe_multi ---- */

static int link_server_read_number(const char *path, const char *format, int *value)
{
	FILE *file = fopen(path, "re");
	int n;

	if (!file)
		return -errno;
	n = fscanf(file, format, value);
	fclose(file);
	return n == 1 ? 0 : -EINVAL;
}

/* The program of an event with a pid runs in all threads of that address space, until the thread of this number ends; without one
 * it runs in all processes. */
static int create_perf(const struct link_request *request)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .config1 = (uintptr_t)request->path, .config2 = request->v[0] };
	struct { uint32_t prog_fd, target_fd, attach_type, flags; uint64_t cookie; } link = { 0 };
	int type = 0, bit = 0, fd, link_fd, err = link_server_read_number("/sys/bus/event_source/devices/uprobe/type", "%d", &type);

	if (!err && request->is_return)
		err = link_server_read_number("/sys/bus/event_source/devices/uprobe/format/retprobe", "config:%d", &bit);
	if (err)
		return err;
	attr.type = type;
	attr.config = request->is_return ? 1ull << bit : 0;
	fd = syscall(SYS_perf_event_open, &attr, request->pid ? request->pid : -1, request->pid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link.prog_fd = request->program_fd;
	link.target_fd = fd;
	link.attach_type = BPF_PERF_EVENT;
	link.cookie = request->v[1];
	link_fd = syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));
	if (link_fd < 0)
		link_fd = -errno;
	close(fd);      /* the link keeps the event */
	return link_fd;
}

/* ---- pins ---- */

void link_pin_path(int mount_fd, int number, char *path, size_t len)
{
	snprintf(path, len, "/proc/self/fd/%d/%d", mount_fd, number);
}

int link_pin(int mount_fd, int number, int fd)
{
	char path[LINK_PIN_PATH];
	struct { uint64_t pathname; uint32_t bpf_fd, file_flags; } attr = { (uintptr_t)path, fd, 0 };
	int err;

	link_pin_path(mount_fd, number, path, sizeof(path));
	err = syscall(SYS_bpf, BPF_OBJ_PIN, &attr, sizeof(attr)) ? -errno : 0;
	close(fd);      /* if it could not be pinned this detaches it */
	return err ? err : number;
}

/* ---- the thread ---- */

int link_create(const struct link_request *request)
{
	return request->kind == LINK_PERF ? create_perf(request) : create_multi(request);
}

/* Remembers where the unwinders are, for the guard. */
static void note_unwinders(struct hold_server *server, const struct link_request *request, int link)
{
	uint64_t offsets[MAX_UNWINDERS];
	size_t n = 0;

	if (request->program_fd != bpf_side_program_fd(server->kernel, PROGRAM_UNWINDER))
		return;
	for (size_t i = 0; i < request->n && n < MAX_UNWINDERS; i++)
		if (request->v[request->n + i] & IOP_COOKIE_WALKS)
			offsets[n++] = request->v[i];
	if (n)
		guard_places_add(&server->places, request->path, request->pid, link, offsets, n);
}

static bool is_call_program(const struct hold_server *server, int program_fd)
{
	for (enum kernel_program i = PROGRAM_SESSION; i <= PROGRAM_RETURN; i++)
		if (bpf_side_program_fd(server->kernel, i) == program_fd)
			return true;
	return false;
}

/* A probe that is made for all is placed in processes by LINK_JOIN. */
static int create_for_members(struct hold_server *server, const struct link_request *request)
{
	uint64_t offsets[MAX_UNWINDERS];
	int number;
	size_t n;

	if (request->kind == LINK_PERF)
		return members_define(server->members, request, is_call_program(server, request->program_fd));
	number = members_join(server->members, request);
	n = number < 0 ? 0 : members_unwinders(server->members, request->path, offsets, MAX_UNWINDERS);
	if (n)
		guard_places_add(&server->places, request->path, request->pid, number, offsets, n);
	return number;
}

static int link_server_create(struct hold_server *server, const struct link_request *request)
{
	int fd, link;

	if (request->kind == LINK_JOIN || request->kind == LINK_JOIN_AGAIN || (request->kind == LINK_PERF && server->members))
		return server->members ? create_for_members(server, request) : -EOPNOTSUPP;
	fd = link_create(request);
	link = fd < 0 || server->mount_fd < 0 ? fd : link_pin(server->mount_fd, request->number, fd);
	if (link >= 0)
		note_unwinders(server, request, link);
	return link;
}

static void close_link(struct hold_server *server, int number)
{
	if (!(number & LINK_OF_SERVER)) {
		close(number);
		return;
	}
	guard_places_remove(&server->places, number);
	if (server->members)
		members_close(server->members, number);
}

/* Without places there is no process whose calls could be in flight. */
static int prepare_guard(struct hold_server *server)
{
	int err;

	guard_places_sweep(&server->places);
	if (server->guard || !server->places.n)
		return 0;
	err = guard_create(&server->guard, bpf_side_method(server->kernel) == ATTACH_PERF);
	if (!err && !guard_attach(server->guard, &server->places)) {
		guard_destroy(server->guard);
		server->guard = NULL;
	}
	return err;
}

/* Returns the request at the beginning of the rest of a message, NULL if that is not a whole one. */
static const struct link_request *request_at(const char *rest, size_t len)
{
	const struct link_request *request = (const void *)rest;

	if (len < sizeof(*request) || request->n > LINK_MAX_POINTS || len < link_request_size(request->n))
		return NULL;
	return request;
}

/* Returns the number of results. */
static size_t create_all(struct hold_server *server, const char *message, size_t len, int *results)
{
	size_t n = 0, npoints = 0;

	link_turns_begin_making(&server->turns);
	while (len && n < LINK_MESSAGE_LINKS) {
		const struct link_request *request = request_at(message, len);

		results[n] = request ? link_server_create(server, request) : -EINVAL;
		if (results[n++] < 0)
			break;
		npoints += request->n;
		message += link_request_size(request->n);
		len -= link_request_size(request->n);
	}
	link_turns_end_making(&server->turns, npoints);
	return n;
}

/* Returns whether the recorder can go on. */
static bool link_server_serve(struct hold_server *server, const char *message, size_t len)
{
	const struct link_request *request = request_at(message, len);
	int results[LINK_MESSAGE_LINKS] = { 0 };
	size_t n;

	if (request && request->kind == LINK_CLOSE)
		return close_link(server, request->number), true;
	if (request && request->kind == LINK_RETIRE)
		return bpf_side_close_program(server->kernel, request->program_fd), true;
	if (request && request->kind == LINK_GUARD) {
		results[0] = prepare_guard(server);
		return send(server->link_fd, results, sizeof(results[0]), MSG_NOSIGNAL) >= 0;
	}
	if (request && request->kind == LINK_CLOSE_CALLS) {
		if (server->members)
			members_close_calls(server->members);
		return send(server->link_fd, results, sizeof(results[0]), MSG_NOSIGNAL) >= 0;
	}
	n = create_all(server, message, len, results);
	if (server->members)
		members_end_message(server->members);
	return send(server->link_fd, results, n * sizeof(int), MSG_NOSIGNAL) >= 0;
}

static ssize_t link_server_receive(struct hold_server *server, char *message)
{
	struct pollfd fd = { server->link_fd, POLLIN, 0 };

	if (server->members && members_are_busy(server->members) && !poll(&fd, 1, MEMBERS_IDLE_MS))
		members_idle(server->members);
	return recv(server->link_fd, message, LINK_MESSAGE_BYTES, 0);
}

void *links_serve(void *arg)
{
	struct hold_server *server = arg;
	char *message = malloc(LINK_MESSAGE_BYTES);
	ssize_t len;

	if (server->members)
		members_begin(server->members, server->mount_fd);
	while (message && (len = link_server_receive(server, message)) > 0)
		if (!link_server_serve(server, message, len))
			break;
	prepare_guard(server);  /* if the recorder died */
	server->ending = true;
	free(message);
	return NULL;
}
