/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Names of sockets: the name in /proc, and the addresses that were last seen.
 */
#include "replay/fd/sockets.h"
#include "replay/files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ADDRESS_ROOM (INET6_ADDRSTRLEN + 16)

static const char *sockets_address(char *buf, const struct iop_rec_socket *rec, const __u8 *bytes, uint16_t port)
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(rec->family, bytes, text, sizeof(text));
	snprintf(buf, ADDRESS_ROOM, rec->family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
	return buf;
}

static const char *sockets_protocol(const struct iop_rec_socket *rec)
{
	return rec->protocol == IPPROTO_TCP ? "tcp" : rec->protocol == IPPROTO_UDP ? "udp" : rec->type == SOCK_STREAM ? "stream" :
	       rec->type == SOCK_DGRAM ? "datagram" : rec->type == SOCK_SEQPACKET ? "seqpacket" : "raw";
}

static const char *inet_label(struct replay *r, const char *name, const struct iop_rec_socket *rec)
{
	char local[ADDRESS_ROOM], peer[ADDRESS_ROOM];

	sockets_address(local, rec, rec->local, rec->local_port);
	if (!rec->peer_port)
		return rec->local_port ? model_stringf(r->model, "%s %s %s", name, sockets_protocol(rec), local) :
					 model_stringf(r->model, "%s %s", name, sockets_protocol(rec));
	return model_stringf(r->model, "%s %s %s > %s", name, sockets_protocol(rec), local,
			     sockets_address(peer, rec, rec->peer, rec->peer_port));
}

/* An abstract name is shown as by ss(8) and netstat(8), with '@' for its first NUL. */
static const char *unix_label(struct replay *r, const char *name, const struct iop_rec_socket *rec)
{
	char path[sizeof(rec->name) + 1] = "";
	size_t len = rec->name_len < sizeof(rec->name) ? rec->name_len : sizeof(rec->name);
	bool abstract = len && !rec->name[0];

	memcpy(path, rec->name, len);
	for (size_t i = 0; i < len && abstract; i++)
		path[i] = path[i] ? path[i] : '@';
	if (!path[0])
		return model_stringf(r->model, "%s unix", name);
	return model_stringf(r->model, "%s unix %s%s", name, rec->name_of_peer ? "> " : "", path);
}

int socket_record(struct replay *r, struct process *process, const struct iop_rec_socket *rec)
{
	char name[64];
	const char *label;
	uint32_t file;

	snprintf(name, sizeof(name), "socket:[%llu]", (unsigned long long)rec->ino);
	file = file_by_path(r, process, name);
	if (file == REF_NONE)
		return -ENOMEM;
	if (rec->family == AF_INET || rec->family == AF_INET6)
		label = inet_label(r, name, rec);
	else if (rec->family == AF_UNIX)
		label = unix_label(r, name, rec);
	else
		label = model_stringf(r->model, "%s family %u", name, rec->family);
	r->files.v[file].label = label;
	return label ? 0 : -ENOMEM;
}
