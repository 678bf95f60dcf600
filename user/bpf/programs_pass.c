/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Passes a set of programs to another process: one packet with the facts and the existing descriptors.
 */
#include "bpf/programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC 0x696f7073
#define MAX_FDS (2 + KERNEL_MAPS + KERNEL_PROGRAMS)     /* SCM_RIGHTS allows 253 */

struct packet { uint32_t magic, id, maps, programs; struct program_facts facts; };    /* bits: which descriptors exist */
_Static_assert(KERNEL_MAPS <= 32 && KERNEL_PROGRAMS <= 32, "bits");

static size_t add_fds(int *to, size_t n, const int *fds, size_t count, uint32_t *present)
{
	for (size_t i = 0; i < count; i++) {
		if (fds[i] < 0)
			continue;
		*present |= 1u << i;
		to[n++] = fds[i];
	}
	return n;
}

int programs_send(int socket, const struct programs *programs, uint32_t id)
{
	struct packet packet = { .magic = MAGIC, .id = id, .facts = programs->facts };
	int fds[MAX_FDS] = { programs->no_ring, programs->lock };
	size_t n = add_fds(fds, 2, programs->maps, KERNEL_MAPS, &packet.maps);
	char control[CMSG_SPACE(sizeof(fds))] = { 0 };
	struct iovec iov = { &packet, sizeof(packet) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control };
	struct cmsghdr *header = (void *)control;

	n = add_fds(fds, n, programs->programs, KERNEL_PROGRAMS, &packet.programs);
	message.msg_controllen = CMSG_SPACE(n * sizeof(int));
	*header = (struct cmsghdr){ CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(header), fds, n * sizeof(int));
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(packet) ? 0 : errno ? -errno : -EIO;
}

static size_t take_fds(const int *from, size_t n, int *fds, size_t count, uint32_t present)
{
	for (size_t i = 0; i < count; i++)
		fds[i] = present >> i & 1 ? from[n++] : -1;
	return n;
}

static size_t fds_of(const struct msghdr *message, const int **fds)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
		return 0;
	*fds = (const void *)CMSG_DATA(header);
	return (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
}

static int programs_pass_check(const struct packet *packet, ssize_t len, int flags, size_t n)
{
	size_t wanted = 2 + __builtin_popcount(packet->maps) + __builtin_popcount(packet->programs);

	if (len == 0)
		return -ENODATA;
	return len != sizeof(*packet) || packet->magic != MAGIC || (flags & (MSG_TRUNC | MSG_CTRUNC)) || n != wanted ? -EBADMSG : 0;
}

int programs_receive(int socket, struct programs **out, uint32_t *id)
{
	struct packet packet = { 0 };
	char control[CMSG_SPACE(MAX_FDS * sizeof(int))];
	struct iovec iov = { &packet, sizeof(packet) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	ssize_t len = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	const int *fds = NULL;
	struct programs *programs;
	size_t n;
	int err;

	if (len < 0)
		return -errno;
	n = fds_of(&message, &fds);
	err = programs_pass_check(&packet, len, message.msg_flags, n);
	programs = err || !fds ? NULL : programs_new();
	if (!programs) {
		while (n)
			close(fds[--n]);
		return err ? err : -ENOMEM;
	}
	*id = packet.id;
	programs->facts = packet.facts;
	programs->no_ring = fds[0];
	programs->lock = fds[1];
	n = take_fds(fds, 2, programs->maps, KERNEL_MAPS, packet.maps);
	take_fds(fds, n, programs->programs, KERNEL_PROGRAMS, packet.programs);
	err = programs_map(programs);
	if (err)
		programs_destroy(programs);
	else
		*out = programs;
	return err;
}
