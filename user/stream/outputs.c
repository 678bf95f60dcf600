/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The kinds of outputs, and the choice of one.
 */
#include "stream/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define UNIX "unix:" /* a socket on which a reader listens */

#define LIVE_OUTPUT_POINTER(name) &live_##name##_kind,
static const struct live_output_kind *const kinds[] = { LIVE_OUTPUTS(LIVE_OUTPUT_POINTER) };
#undef LIVE_OUTPUT_POINTER
#define NKINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct live_output_kind *kind_of(const char *text, const char **where)
{
	size_t len = strcspn(text, ":");

	for (size_t i = 0; i < NKINDS; i++)
		if (strlen(kinds[i]->name) == len && !strncmp(kinds[i]->name, text, len)) {
			*where = text[len] ? text + len + 1 : NULL;
			return kinds[i];
		}
	return NULL;
}

static void list_kinds(char *text, size_t len)
{
	size_t used = 0;

	text[0] = 0;
	for (size_t i = 0; i < NKINDS && used < len; i++)
		used += snprintf(text + used, len - used, "%s%s", used ? ", " : "", kinds[i]->name);
}

static bool valid_where(const struct live_output_kind *kind, const char *where)
{
	const char *colon = strrchr(where, ':');

	for (size_t i = 0; kind->words && kind->words[i]; i++)
		if (!strcmp(where, kind->words[i]))
			return true;
	if (kind->where_kind == WHERE_HOST)
		return colon && colon > where && colon - where < 256 && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
		       strtoul(colon + 1, NULL, 10) - 1 < 65535;
	return where[0] == '/' || (kind->where_kind == WHERE_TEXT && !strncmp(where, UNIX "/", strlen(UNIX) + 1));
}

bool live_output_valid(const char *text, char *err, size_t err_len)
{
	const char *where = NULL;
	const struct live_output_kind *kind = kind_of(text, &where);
	char names[256];

	list_kinds(names, sizeof(names));
	if (!kind)
		snprintf(err, err_len,
			 "%.200s: there is no such output: one of %s is expected, followed by a file where it needs one (%s:/PATH)",
			 text, names, kinds[0]->name);
	else if (where ? !valid_where(kind, where) : !kind->default_where)
		snprintf(err, err_len, "%.200s: %s is expected after %s:", text, kind->where, kind->name);
	else
		return true;
	return false;
}

bool live_output_is_stdout(const char *text)
{
	const char *where = NULL;
	const struct live_output_kind *kind = kind_of(text, &where);

	return kind && !where && kind->default_where && !strcmp(kind->default_where, "-");
}

bool live_output_wants_events(const char *text)
{
	const char *where = NULL;
	const struct live_output_kind *kind = kind_of(text, &where);

	return kind && kind->events;
}

/* A reader that listens. -errno. */
static int outputs_open_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, ret;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || !connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd < 0 ? -errno : fd;
	ret = -errno;
	close(fd);
	return ret;
}

int live_output_open(FILE **out, const char *where, char *err, size_t err_len)
{
	bool is_socket = !strncmp(where, UNIX, strlen(UNIX));
	int fd;

	*out = stdout;
	if (!strcmp(where, "-"))
		return 0;
	signal(SIGPIPE, SIG_IGN);
	fd = is_socket ? outputs_open_socket(where + strlen(UNIX))
		       : open(where, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && is_socket)
		errno = -fd;
	*out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (*out)
		return 0;
	fd = -errno;
	snprintf(err, err_len, "%s: cannot write the stream: %s", where, strerror(-fd));
	return fd;
}

void live_output_close(FILE *out)
{
	if (out && out != stdout)
		fclose(out);
}

int live_output_create(struct live_output **output, const char *text, char *err, size_t err_len)
{
	const char *where = NULL;
	const struct live_output_kind *kind = kind_of(text, &where);

	if (!live_output_valid(text, err, err_len))
		return -EINVAL;
	return kind->create(output, where ? where : kind->default_where, err, err_len);
}
