/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "service/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>

int manager_take_socket(char *err, size_t err_len)
{
	const int fd = SD_LISTEN_FDS_START;
	int n = sd_listen_fds(1);

	if (n == 0)
		return -ENOENT;
	if (n == 1 && sd_is_socket_unix(fd, SOCK_SEQPACKET, 1, NULL, 0) > 0 && !fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK))
		return fd;
	if (n < 0)
		snprintf(err, err_len,
			 "cannot take the service manager's socket: LISTEN_FDS or LISTEN_PID in the environment "
			 "is invalid: unset both");
	else
		snprintf(err, err_len,
			 "cannot take the service manager's socket: it hands over %d, none or not only one that listens for "
			 "packets: use ListenSequentialPacket= once in the socket unit",
			 n);
	return -EINVAL;
}

/* The variables stay in the environment because the service notifies more than once. Its recorders are other programs, whose
 * notifications the manager ignores (NotifyAccess=main). */
void manager_ready(void)
{
	sd_notify(0, "READY=1");
}

void manager_reloading(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void manager_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}
