/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * sockets DIR: TCP on the loopback: 10 sends of 1000 bytes received as one, 2 x 300 bytes by sendmsg and recvmsg, 50 by write and
 * read. UDP: 200 bytes by sendto and recvfrom, 3 messages of 100 by sendmmsg and recvmmsg. UNIX: 70 bytes through DIR/socket; a
 * connect to DIR/none fails. A socketpair: 20 bytes. 11240 bytes each way, 10000 + 600 + 50 of them by TCP, 500 by UDP.
 */
#include "golden.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

static char buf[10000];

static int bound(int type, struct sockaddr_in *address)
{
	int fd = socket(AF_INET, type, 0);
	socklen_t len = sizeof(*address);

	*address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	must(fd >= 0 && bind(fd, (struct sockaddr *)address, len) == 0, "bind");
	must(getsockname(fd, (struct sockaddr *)address, &len) == 0, "getsockname");
	return fd;
}

static void vectors(int from, int to)
{
	struct iovec two[] = { { buf, 300 }, { buf + 300, 300 } };
	struct msghdr message = { .msg_iov = two, .msg_iovlen = 2 };

	must(sendmsg(from, &message, 0) == 600, "sendmsg");
	must(recvmsg(to, &message, MSG_WAITALL) == 600, "recvmsg");
}

static void tcp(void)
{
	struct sockaddr_in address;
	int listening = bound(SOCK_STREAM, &address), client = socket(AF_INET, SOCK_STREAM, 0), server;

	must(listen(listening, 1) == 0 && client >= 0, "listen");
	must(connect(client, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
	server = accept(listening, NULL, NULL);
	must(server >= 0, "accept");
	for (int i = 0; i < 10; i++)
		must(send(client, buf, 1000, 0) == 1000, "send");
	must(recv(server, buf, 10000, MSG_WAITALL) == 10000, "recv");
	vectors(server, client);
	must(write(client, buf, 50) == 50 && read(server, buf, 50) == 50, "write and read");
	must(shutdown(client, SHUT_RDWR) == 0 && close(client) == 0 && close(server) == 0 && close(listening) == 0, "close");
}

static void udp(void)
{
	struct mmsghdr out[3] = { 0 }, in[3] = { 0 };
	struct iovec pieces[3];
	struct sockaddr_in address, other;
	int to = bound(SOCK_DGRAM, &address), from = bound(SOCK_DGRAM, &other);

	must(sendto(from, buf, 200, 0, (struct sockaddr *)&address, sizeof(address)) == 200, "sendto");
	must(recvfrom(to, buf, sizeof(buf), 0, NULL, NULL) == 200, "recvfrom");
	for (int i = 0; i < 3; i++) {
		pieces[i] = (struct iovec){ buf + 100 * i, 100 };
		out[i].msg_hdr = (struct msghdr){
			.msg_name = &address, .msg_namelen = sizeof(address), .msg_iov = &pieces[i], .msg_iovlen = 1
		};
		in[i].msg_hdr = (struct msghdr){ .msg_iov = &pieces[i], .msg_iovlen = 1 };
	}
	must(sendmmsg(from, out, 3, 0) == 3, "sendmmsg");
	must(recvmmsg(to, in, 3, 0, NULL) == 3, "recvmmsg");
	must(close(to) == 0 && close(from) == 0, "close");
}

static void unix_path(const char *dir)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX }, none = { .sun_family = AF_UNIX };
	int listening = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0), server;

	in_dir(address.sun_path, sizeof(address.sun_path), dir, "socket");
	in_dir(none.sun_path, sizeof(none.sun_path), dir, "none");
	must(bind(listening, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(listening, 1) == 0, "bind to a path");
	must(connect(client, (struct sockaddr *)&none, sizeof(none)) < 0 && errno == ENOENT, "connect to nothing");
	must(connect(client, (struct sockaddr *)&address, sizeof(address)) == 0, "connect to a path");
	server = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	must(server >= 0 && send(client, buf, 70, 0) == 70 && recv(server, buf, 100, 0) == 70, "through a path");
	must(close(client) == 0 && close(server) == 0 && close(listening) == 0, "close");
}

int main(int argc, char **argv)
{
	int pair[2];

	if (argc != 2)
		return 2;
	tcp();
	udp();
	unix_path(argv[1]);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
	must(send(pair[0], buf, 20, 0) == 20 && recv(pair[1], buf, 100, 0) == 20, "through a pair");
	must(close(pair[0]) == 0 && close(pair[1]) == 0, "close");
	return 0;
}
