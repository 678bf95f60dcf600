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
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "bpf/link_request.h"

/* ---- requests ---- */

static bool send_request(struct hold_server *server, struct link_request *request, const struct link_spec *spec)
{
	struct iovec parts[] = {
		{ request, sizeof(*request) },
		{ (void *)spec->offsets, request->n * sizeof(uint64_t) }, { (void *)spec->cookies, request->n * sizeof(uint64_t) },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };

	return sendmsg(server->link_fd, &message, MSG_NOSIGNAL) > 0;
}

/* The server opens the recorder's files through its /proc directory. */
static int translate_path(const char *path, char *out, size_t len)
{
	static const char self[] = "/proc/self/";
	bool own = !strncmp(path, self, sizeof(self) - 1);
	int n = own ? snprintf(out, len, "/proc/%d/%s", getpid(), path + sizeof(self) - 1) : snprintf(out, len, "%s", path);

	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

static int append(struct links *links, int value)
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

	if (server->mount_fd < 0) {
		send(server->link_fd, &request, sizeof(request), MSG_NOSIGNAL);
		return;
	}
	snprintf(name, sizeof(name), "%d", link);
	unlinkat(server->mount_fd, name, 0);
}

int links_create(struct hold_server *server, struct links *links, const struct link_spec *spec)
{
	struct link_request request = {
		.kind = spec->perf ? LINK_PERF : LINK_MULTI, .program_fd = spec->program_fd, .attach_type = spec->attach_type,
		.is_return = spec->is_return, .pid = spec->pid, .n = spec->n, .number = ++server->last_pin,
	};
	int err = spec->n > LINK_MAX_POINTS ? -E2BIG : translate_path(spec->path, request.path, sizeof(request.path)), link;

	if (err)
		return err;
	if (!send_request(server, &request, spec) || recv(server->link_fd, &link, sizeof(link), 0) != sizeof(link))
		return -EPIPE;  /* the server has ended: the recording ends */
	if (link < 0)
		return link;
	err = append(links, link);
	if (err)
		detach_one(server, link);
	return err;
}

void links_detach(struct hold_server *server, struct links *links)
{
	for (size_t i = 0; i < links->n; i++)
		detach_one(server, links->v[i]);
	free(links->v);
	*links = (struct links){ 0 };
}

void links_move(struct hold_server *server, struct links *to, struct links *from)
{
	while (from->n && !append(to, from->v[from->n - 1]))
		from->n--;
	links_detach(server, from);
}

/* ---- the end ---- */

void links_retire_calls(struct hold_server *server, const struct kernel_side *kernel)
{
	for (enum kernel_program i = PROGRAM_SESSION; i <= PROGRAM_RETURN; i++) {
		struct link_request request = { .kind = LINK_RETIRE, .program_fd = kernel_side_program_fd(kernel, i) };

		if (request.program_fd >= 0)
			send(server->link_fd, &request, sizeof(request), MSG_NOSIGNAL);
	}
}

static bool program_exists(uint32_t id)
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
		if (!program_exists(program_ids[i]))
			i++;
		else if ((waited += 2) > limit_ms)
			return false;
		else
			nanosleep(&pause, NULL);
	}
	return true;
}
