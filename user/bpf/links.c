/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The recorder's side of links: requests to the link server, unlinking of pins.
 */
#include "bpf/links.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bpf/link_request.h"

/* ---- requests ---- */

/* The server opens the recorder's files through its /proc directory. */
static int translate_path(const char *path, char *out, size_t len)
{
	static const char self[] = "/proc/self/";
	bool own = !strncmp(path, self, sizeof(self) - 1);
	int n = own ? snprintf(out, len, "/proc/%d/%s", getpid(), path + sizeof(self) - 1) : snprintf(out, len, "%s", path);

	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

static int links_append(struct links *links, int value)
{
	int *v = realloc(links->v, (links->n + 1) * sizeof(int));

	if (!v)
		return -ENOMEM;
	links->v = v;
	links->v[links->n++] = value;
	return 0;
}

static void detach_one(struct hold_server *server, int link)
{
	struct link_request request = { .kind = LINK_CLOSE, .number = link };
	char name[16];

	if (server->mount_fd < 0 || link & LINK_OF_SERVER) {
		send(server->link_fd, &request, sizeof(request), MSG_NOSIGNAL);
		return;
	}
	snprintf(name, sizeof(name), "%d", link);
	unlinkat(server->mount_fd, name, 0);
}

/* Writes the request of one link. Returns 0 or -errno. */
static int fill_request(struct hold_server *server, struct link_request *request, const struct link_spec *spec)
{
	*request = (struct link_request){
		.kind = spec->again ? LINK_JOIN_AGAIN : spec->join ? LINK_JOIN : spec->perf ? LINK_PERF : LINK_MULTI,
		.program_fd = spec->program_fd, .attach_type = spec->attach_type,
		.is_return = spec->is_return, .pid = spec->pid, .n = spec->n, .number = ++server->last_pin,
	};
	if (spec->n) {
		memcpy(request->v, spec->offsets, spec->n * sizeof(uint64_t));
		memcpy(request->v + spec->n, spec->cookies, spec->n * sizeof(uint64_t));
	}
	return translate_path(spec->path, request->path, sizeof(request->path));
}

/* Fills a message with the requests of the first links. Returns their number, which is 0 if the first cannot be asked for: *err. */
static size_t fill_message(struct hold_server *server, const struct link_spec *specs, size_t n, char *message, size_t *len,
			   int *err)
{
	size_t i;

	*len = 0;
	*err = 0;
	for (i = 0; i < n && i < LINK_MESSAGE_LINKS; i++) {
		size_t size = link_request_size(specs[i].n);

		if (specs[i].n > LINK_MAX_POINTS)
			*err = -E2BIG;
		else if (*len + size > LINK_MESSAGE_BYTES)
			break;
		else
			*err = fill_request(server, (void *)(message + *len), &specs[i]);
		if (*err)
			break;
		*len += size;
	}
	if (i)
		*err = 0;       /* the failing request is the first one of the next message */
	return i;
}

/* Adds the links that were made to their sets. Returns their number; *err is the failure of the next one. */
static size_t links_take_answer(struct hold_server *server, const struct link_spec *specs, const int *answer, size_t n, int *err)
{
	for (size_t i = 0; i < n; i++) {
		*err = answer[i] < 0 ? answer[i] : links_append(specs[i].links, answer[i]);
		if (!*err)
			continue;
		for (size_t k = i; k < n; k++)          /* no memory for them: they are detached again */
			if (answer[k] >= 0)
				detach_one(server, answer[k]);
		return i;
	}
	return n;
}

size_t links_create(struct hold_server *server, const struct link_spec *specs, size_t n, int *err)
{
	char *message = malloc(LINK_MESSAGE_BYTES);
	size_t made = 0;

	*err = message ? 0 : -ENOMEM;
	while (made < n && !*err) {
		int answer[LINK_MESSAGE_LINKS];
		size_t len, asked = fill_message(server, specs + made, n - made, message, &len, err);
		ssize_t got;

		if (!asked)
			break;
		if (send(server->link_fd, message, len, MSG_NOSIGNAL) < 0 ||
		    (got = recv(server->link_fd, answer, sizeof(answer), 0)) < (ssize_t)sizeof(int)) {
			*err = -EPIPE;  /* the recording ends */
			break;
		}
		made += links_take_answer(server, specs + made, answer, got / sizeof(int), err);
	}
	free(message);
	return made;
}

void links_detach(struct hold_server *server, struct links *links)
{
	for (size_t i = 0; i < links->n; i++)
		detach_one(server, links->v[i]);
	free(links->v);
	*links = (struct links){ 0 };
}

/* Reapers that cannot keep up must not delay the recorder: then the kernel's workers detach. */
static void reap_some(struct hold_server *server, const int *links, size_t n)
{
	if (!n || send(server->reap_fd, links, n * sizeof(int), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return;
	for (size_t i = 0; i < n; i++)
		detach_one(server, links[i]);
}

void links_reap(struct hold_server *server, struct links *links)
{
	size_t n = 0;

	for (size_t i = 0; i < links->n; i++) {
		if (links->v[i] & LINK_OF_SERVER)
			detach_one(server, links->v[i]);
		else
			links->v[n++] = links->v[i];
	}
	for (size_t i = 0; i < n; i += LINKS_PER_REAP)
		reap_some(server, links->v + i, n - i < LINKS_PER_REAP ? n - i : LINKS_PER_REAP);
	free(links->v);
	*links = (struct links){ 0 };
}

void links_move(struct hold_server *server, struct links *to, struct links *from)
{
	while (from->n && !links_append(to, from->v[from->n - 1]))
		from->n--;
	links_detach(server, from);
}

/* ---- the end ---- */

void links_retire_calls(struct hold_server *server, const struct bpf_side *kernel)
{
	for (enum kernel_program i = PROGRAM_SESSION; i <= PROGRAM_RETURN; i++) {
		struct link_request request = { .kind = LINK_RETIRE, .program_fd = bpf_side_program_fd(kernel, i) };

		if (request.program_fd >= 0)
			send(server->link_fd, &request, sizeof(request), MSG_NOSIGNAL);
	}
}

static int links_ask(struct hold_server *server, enum link_request_kind kind)
{
	struct link_request request = { .kind = kind };
	int answer;

	if (send(server->link_fd, &request, sizeof(request), MSG_NOSIGNAL) < 0 ||
	    recv(server->link_fd, &answer, sizeof(answer), 0) != sizeof(answer))
		return -EPIPE;  /* the server was killed, or is about to do it without being asked */
	return answer;
}

int links_guard(struct hold_server *server)
{
	return links_ask(server, LINK_GUARD);
}

void links_close_calls(struct hold_server *server)
{
	if (server->members)
		links_ask(server, LINK_CLOSE_CALLS);
}

bool link_program_exists(uint32_t id)
{
	struct { uint32_t id, next_id, open_flags; } attr = { .id = id };
	int fd = syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool links_wait_gone(const uint32_t *program_ids, size_t n, unsigned limit_ms)
{
	struct timespec pause = { 0, 2000000 };

	for (size_t i = 0, waited = 0; i < n;) {
		if (!link_program_exists(program_ids[i]))
			i++;
		else if ((waited += 2) > limit_ms)
			return false;
		else
			nanosleep(&pause, NULL);
	}
	return true;
}
