/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * SOCK_SEQPACKET preserves message boundaries, see unix(7).
 */
#include "service/wire.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* The service empties it in one pass, so that a user who fills it delays root's connection only by milliseconds. */
#define BACKLOG 512

int wire_send(int fd, const json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);
	int err = 0;

	if (!text)
		return -ENOMEM;
	if (send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		err = -errno;
	free(text);
	return err;
}

static bool is_utf8(const char *text)
{
	json_t *string = json_string(text);

	json_decref(string);
	return string;
}

void wire_make_printable(char *text)
{
	bool utf8 = is_utf8(text);

	for (unsigned char *at = (unsigned char *)text; *at; at++) {
		if (*at < ' ' || *at == 0x7f || (*at >= 0x80 && !utf8))
			*at = '?';
		else if (*at == 0xc2 && at[1] < 0xa0)   /* U+0080 to U+009F: terminals interpret them too */
			*at = at[1] = '?';
	}
}

int wire_answer(int fd, bool ok, const char *format, ...)
{
	char text[4608];
	json_t *message;
	va_list args;
	int err;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wire_make_printable(text);
	message = json_pack("{s:b, s:s}", "ok", ok, "message", text);
	err = message ? wire_send(fd, message) : -ENOMEM;
	json_decref(message);
	return err;
}

int wire_receive(int fd, size_t max_bytes, json_t **message)
{
	char *text = malloc(max_bytes);
	ssize_t n = text ? recv(fd, text, max_bytes, MSG_TRUNC) : -1;
	int err = n < 0 ? -errno : n == 0 ? -ENODATA : (size_t)n > max_bytes ? -EMSGSIZE : 0;

	*message = NULL;
	if (!err)
		*message = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	if (!err && !json_is_object(*message)) {
		json_decref(*message);
		*message = NULL;
		err = -EBADMSG;
	}
	return err;
}

static int wire_address_of(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	strcpy(address->sun_path, path);
	return 0;
}

int wire_connect(const char *path, int timeout_ms)
{
	struct timeval limit = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };
	struct sockaddr_un address;
	int err = wire_address_of(path, &address), fd;

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* also limits connect(2) when the backlog is full */
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* A socket without a listener was left behind by a killed service. */
static int remove_stale(const char *path)
{
	int fd = wire_connect(path, 100);

	if (fd >= 0)
		close(fd);
	if (fd >= 0 || fd == -EAGAIN)
		return -EADDRINUSE;
	return fd == -ECONNREFUSED && unlink(path) ? -errno : 0;
}

int wire_listen(const char *path)
{
	struct sockaddr_un address;
	int err = wire_address_of(path, &address), fd;

	if (!err)
		err = remove_stale(path);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || chmod(path, 0666) || listen(fd, BACKLOG)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

const char *wire_text(const json_t *message, const char *key)
{
	const char *text = json_string_value(json_object_get(message, key));

	return text ? text : "";
}
