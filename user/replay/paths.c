/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Paths as text: the kernel's lists of names, and paths relative to a directory.
 */
#include "replay/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static size_t append_component(char *out, size_t used, const char *component, size_t n)
{
	if (!n || (n == 1 && component[0] == '.'))
		return used;
	if (n == 2 && component[0] == '.' && component[1] == '.') {
		while (used && out[--used] != '/')
			;
		return used;
	}
	out[used++] = '/';
	memcpy(out + used, component, n);
	return used + n;
}

static size_t append_path(char *out, size_t used, const char *path, size_t len)
{
	size_t start = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && path[i] != '/')
			continue;
		used = append_component(out, used, path + start, i - start);
		start = i + 1;
	}
	return used;
}

int path_absolute(char **buf, size_t *size, const char *base, const char *path, size_t len)
{
	size_t base_len = base ? strlen(base) : 0, room = base_len + len + 3, used = 0;
	bool absolute = len && path[0] == '/';

	if (*size < room) {
		char *grown = realloc(*buf, room);

		if (!grown)
			return -ENOMEM;
		*buf = grown;
		*size = room;
	}
	if (!absolute && !base) {       /* relative to an unknown directory */
		memcpy(*buf, path, len);
		(*buf)[len] = 0;
		return 0;
	}
	if (!absolute)
		used = append_path(*buf, used, base, base_len);
	used = append_path(*buf, used, path, len);
	if (!used)
		(*buf)[used++] = '/';
	(*buf)[used] = 0;
	return 0;
}

char *path_from_names(const char *names, size_t len, bool truncated)
{
	static const char lost[] = "[truncated]";
	char *path = malloc(len + sizeof(lost) + 2);
	size_t at = 0, end = len;

	if (!path)
		return NULL;
	if (truncated)
		at = sprintf(path, "%s", lost);
	while (end && !names[end - 1])
		end--;
	while (end) {
		size_t start = end;

		while (start && names[start - 1])
			start--;
		if (end > start && !(end - start == 1 && names[start] == '/')) {
			path[at++] = '/';
			memcpy(path + at, names + start, end - start);
			at += end - start;
		}
		end = start ? start - 1 : 0;
	}
	if (!at)
		path[at++] = '/';
	path[at] = 0;
	return path;
}
