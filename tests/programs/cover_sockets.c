/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * cover_sockets DIR EXPECTED: every system call of probes/optional/sockets.probes, by its number, and ones that fail.
 */
#include "cover.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

#define SYS(wanted, events, name, ...) CALL(syscall(SYS_##name, __VA_ARGS__) == (wanted), #name " " events)
#define SYS_FAILS(error, events, name, ...) \
	CALL(syscall(SYS_##name, __VA_ARGS__) == -1 && errno == (error), #name " !%d " events, error)
#define SYS_FD(fd, events, name, ...) CALL((fd = syscall(SYS_##name, __VA_ARGS__)) >= 0, #name " " events)

static char buf[1000];
static struct iovec pieces[2] = { { buf, 10 }, { buf + 10, 20 } };

static void shut(int fd)
{
	must(close(fd) == 0, "close");
}

static struct sockaddr_in loopback(int fd)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);

	SYS(0, "", bind, fd, &address, len);
	must(getsockname(fd, (struct sockaddr *)&address, &len) == 0, "getsockname");
	return address;
}

static void stream(void)
{
	struct msghdr message = { .msg_iov = pieces, .msg_iovlen = 2 };
	struct sockaddr_in address;
	int listening, client, server, on = 1;

	SYS_FD(listening, "create", socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	SYS(0, "", setsockopt, listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	address = loopback(listening);
	SYS(0, "", listen, listening, 1);
	SYS_FAILS(EAGAIN, "", accept, listening, NULL, NULL);
	SYS_FAILS(EAGAIN, "", accept4, listening, NULL, NULL, 0);
	SYS_FD(client, "create", socket, AF_INET, SOCK_STREAM, 0);
	SYS_FAILS(EINVAL, "", shutdown, client, 99);
	SYS(0, "", connect, client, &address, sizeof(address));
	SYS_FD(server, "create", accept, listening, NULL, NULL);
	SYS_FAILS(EAGAIN, "read:100/?", recvfrom, server, buf, 100, MSG_DONTWAIT, NULL, NULL);
	SYS(100, "write:100/100", sendto, client, buf, 100, 0, NULL, 0);
	SYS(100, "read:1000/100", recvfrom, server, buf, 1000, 0, NULL, NULL);
	SYS(30, "write:30/30", sendmsg, server, &message, 0);
	SYS(30, "read:30/30", recvmsg, client, &message, MSG_WAITALL);
	SYS(5, "write:5/5", sendto, server, buf, 5, 0, NULL, 0);
	SYS(5, "read:30/5", recvmsg, client, &message, 0);      /* what there is: short */
	SYS(0, "", shutdown, client, SHUT_WR);
	SYS_FAILS(EPIPE, "write:10/?", sendto, client, buf, 10, MSG_NOSIGNAL, NULL, 0);
	SYS(0, "read:10/0", recvfrom, server, buf, 10, 0, NULL, NULL);
	shut(server);
	shut(client);
	shut(listening);
	SYS_FAILS(EBADF, "", sendto, client, buf, 10, 0, NULL, 0);
	SYS_FAILS(EAFNOSUPPORT, "", socket, -1, SOCK_STREAM, 0);
}

static void datagrams(void)
{
	struct mmsghdr messages[3] = { 0 };
	struct sockaddr_in address;
	int a, b;

	SYS_FD(a, "create", socket, AF_INET, SOCK_DGRAM, 0);
	SYS_FD(b, "create", socket, AF_INET, SOCK_DGRAM, 0);
	address = loopback(b);
	SYS(200, "write:200/200", sendto, a, buf, 200, 0, &address, sizeof(address));
	SYS(200, "read:1000/200", recvfrom, b, buf, 1000, 0, NULL, NULL);
	SYS(200, "write:200/200", sendto, a, buf, 200, 0, &address, sizeof(address));
	SYS(200, "read:50/50", recvfrom, b, buf, 50, MSG_TRUNC, NULL, NULL);    /* 150 are thrown away */
	SYS_FAILS(EMSGSIZE, "write:100000/?", sendto, a, NULL, 100000, 0, &address, sizeof(address));
	SYS(0, "", connect, a, &address, sizeof(address));
	for (int i = 0; i < 3; i++)
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = pieces, .msg_iovlen = i ? 1 : 2 };
	SYS(3, "write:?/50", sendmmsg, a, messages, 3, 0);
	SYS(3, "read:?/50", recvmmsg, b, messages, 3, 0, NULL);
	SYS_FAILS(EAGAIN, "read:?/?", recvmmsg, b, messages, 3, MSG_DONTWAIT, NULL);
	shut(a);
	shut(b);
	SYS_FAILS(EBADF, "", sendmmsg, a, messages, 3, 0);
}

static void local(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" },
			   none = { .sun_family = AF_UNIX, .sun_path = "none" };
	int listening, client, server, pair[2];

	SYS_FD(listening, "create", socket, AF_UNIX, SOCK_STREAM, 0);
	SYS_FD(client, "create", socket, AF_UNIX, SOCK_STREAM, 0);
	SYS_FAILS(EINVAL, "", listen, listening, 1);
	SYS(0, "", bind, listening, &address, sizeof(address));
	SYS_FAILS(EINVAL, "", bind, listening, &none, sizeof(none));
	SYS(0, "", listen, listening, 1);
	SYS_FAILS(ENOENT, "", connect, client, &none, sizeof(none));
	SYS(0, "", connect, client, &address, sizeof(address));
	SYS_FD(server, "create", accept4, listening, NULL, NULL, SOCK_CLOEXEC);
	SYS(70, "write:70/70", sendto, client, buf, 70, 0, NULL, 0);
	SYS(70, "read:100/70", recvfrom, server, buf, 100, 0, NULL, NULL);
	shut(client);
	shut(server);
	shut(listening);
	SYS(0, "", socketpair, AF_UNIX, SOCK_STREAM, 0, pair);
	SYS(20, "write:20/20", sendto, pair[0], buf, 20, 0, NULL, 0);
	SYS(20, "read:100/20", recvfrom, pair[1], buf, 100, 0, NULL, NULL);
	shut(pair[0]);
	shut(pair[1]);
	SYS_FAILS(EAFNOSUPPORT, "", socketpair, -1, SOCK_STREAM, 0, pair);
}

void golden(const char *dir)
{
	must(chdir(dir) == 0, dir);
	stream();
	datagrams();
	local();
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	golden(argv[1]);
	cover_write(argv[2]);
	return 0;
}
