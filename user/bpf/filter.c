/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Parses filters from options. A path is stored in the form that the BPF programs use: its names from the leaf to the root.
 */
#include "bpf/filter.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/quantity.h"

/* The description for readers is truncated if it is too long. */
static void filter_add_text(struct filter *filter, enum iop_filter which, const char *option, const char *value)
{
	char *text = filter->text[which];
	size_t used = strlen(text);

	snprintf(text + used, sizeof(filter->text[which]) - used, "%s%s %s", used ? " " : "", option, value);
}

/* ---- paths ---- */

size_t path_reverse(char *out, size_t room, const char *path)
{
	size_t used = 0, end = strlen(path);

	while (end > 1) {
		const char *slash = memrchr(path, '/', end);
		size_t start = slash ? (size_t)(slash - path) + 1 : 0, n = end - start;

		if (used + n + 1 > room)
			break;
		memcpy(out + used, path + start, n);
		out[used + n] = 0;
		used += n + 1;
		end = start ? start - 1 : 0;
	}
	return used;
}

/* Appends the names of rest to the path in out. -EINVAL: ".." in the part that does not exist. */
static int append_names(char *out, size_t room, char *rest)
{
	char *save;
	size_t len = strcmp(out, "/") ? strlen(out) : 0;

	for (char *name = strtok_r(rest, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
		if (!strcmp(name, "."))
			continue;
		if (!strcmp(name, ".."))
			return -EINVAL;
		if (len + strlen(name) + 2 > room)
			return -ENAMETOOLONG;
		len += snprintf(out + len, room - len, "/%s", name);
	}
	return 0;
}

/* Symbolic links are resolved as far as the path exists, since the kernel's paths contain none; the rest may be created later. */
static int filter_resolve(const char *given, char *out)
{
	char head[PATH_MAX], rest[PATH_MAX] = "";
	size_t len = 0, cut;

	if (given[0] != '/' && !getcwd(head, sizeof(head)))
		return -errno;
	if (given[0] != '/')
		len = strlen(head);
	if ((size_t)snprintf(head + len, sizeof(head) - len, "/%s", given) >= sizeof(head) - len)
		return -ENAMETOOLONG;
	while (!realpath(head, out)) {
		if (errno != ENOENT)
			return -errno;
		cut = strrchr(head, '/') - head;        /* "/" itself exists */
		memmove(rest + strlen(head + cut), rest, strlen(rest) + 1);
		memcpy(rest, head + cut, strlen(head + cut));
		head[cut ? cut : 1] = 0;
	}
	return append_names(out, PATH_MAX, rest);
}

static int filter_add_path(struct filter *filter, const char *given, bool exclude, char *err, size_t err_len)
{
	struct iop_path_filter *path = &filter->paths[filter->npaths];
	const char *option = exclude ? "--exclude-path" : "--path";
	char real[PATH_MAX];
	int ret;

	if (filter->npaths == IOP_MAX_PATH_FILTERS) {
		snprintf(err, err_len, "%s: more than %d paths", option, IOP_MAX_PATH_FILTERS);
		return -EINVAL;
	}
	ret = *given ? filter_resolve(given, real) : -ENOENT;
	if (!ret && strlen(real) > IOP_PATH_FILTER_LEN)
		ret = -ENAMETOOLONG;
	if (ret) {
		snprintf(err, err_len, "%s: '%s' cannot be used: %s", option, given, strerror(-ret));
		return -EINVAL;
	}
	path->len = path_reverse(path->tail, sizeof(path->tail), real);
	path->exclude = exclude;
	filter->npaths++;
	return 0;
}

/* Calls item for each item of a list. */
static int for_each(const char *list, int (*item)(struct filter *, const char *, bool, char *, size_t), struct filter *filter,
		    bool flag, char *err, size_t err_len)
{
	char *copy = strdup(list), *rest = copy, *name;
	int ret = copy ? 0 : -ENOMEM;

	while (!ret && (name = strsep(&rest, ",")))
		ret = item(filter, name, flag, err, err_len);
	if (ret == -ENOMEM)
		snprintf(err, err_len, "no memory");
	free(copy);
	return ret;
}

int filter_add_paths(struct filter *filter, const char *list, bool exclude, char *err, size_t err_len)
{
	int ret = for_each(list, filter_add_path, filter, exclude, err, err_len);

	if (!ret)
		filter_add_text(filter, IOP_FILTER_FILE, exclude ? "--exclude-path" : "--path", list);
	return ret;
}

/* ---- types of files ---- */

static int filter_add_kind(struct filter *filter, const char *name, bool unused, char *err, size_t err_len)
{
	static const struct { const char *name; mode_t mode; } kinds[] = {
		{ "regular", S_IFREG }, { "directory", S_IFDIR }, { "pipe", S_IFIFO }, { "socket", S_IFSOCK }, { "char", S_IFCHR },
		{ "block", S_IFBLK }, { "other", 0 },   /* eventfd, epoll and the like have no type */
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, name))
			continue;
		filter->kinds |= 1u << (kinds[i].mode >> 12);
		return 0;
	}
	snprintf(err, err_len, "--fd-kinds: unknown kind '%s'; use regular, directory, pipe, socket, char, block or other", name);
	return -EINVAL;
}

int filter_set_kinds(struct filter *filter, const char *list, char *err, size_t err_len)
{
	int ret = for_each(list, filter_add_kind, filter, false, err, err_len);

	if (!ret)
		filter_add_text(filter, IOP_FILTER_FILE, "--fd-kinds", list);
	return ret;
}

/* ---- numbers ---- */

int filter_set_min_duration(struct filter *filter, const char *text, char *err, size_t err_len)
{
	if (!quantity_ns(text, &filter->min_duration_ns)) {
		snprintf(err, err_len, "--min-duration: '%s' is not a time with a unit (ns, us, ms, s)", text);
		return -EINVAL;
	}
	filter->text[IOP_FILTER_DURATION][0] = 0;
	filter_add_text(filter, IOP_FILTER_DURATION, "--min-duration", text);
	return 0;
}

int filter_set_min_bytes(struct filter *filter, const char *text, char *err, size_t err_len)
{
	if (!quantity_bytes(text, &filter->min_bytes)) {
		snprintf(err, err_len, "--min-bytes: '%s' is not a number of bytes (4096, 4KiB, 1M)", text);
		return -EINVAL;
	}
	filter->text[IOP_FILTER_BYTES][0] = 0;
	filter_add_text(filter, IOP_FILTER_BYTES, "--min-bytes", text);
	return 0;
}

int filter_set_stream_calls(struct filter *filter, const char *text, char *err, size_t err_len)
{
	bool count = !strcmp(text, "count");

	if (!count && strcmp(text, "record")) {
		snprintf(err, err_len, "--stream-calls: '%s' is neither 'record' nor 'count'", text);
		return -EINVAL;
	}
	filter->count_streams = count;
	snprintf(filter->text[IOP_FILTER_STREAMS], sizeof(filter->text[0]), "%s", count ? "--stream-calls=count" : "");
	return 0;
}

/* ---- decisions ---- */

bool filter_by_file(const struct filter *filter)
{
	return filter->npaths || filter->kinds;
}

static bool is_under(const struct iop_path_filter *prefix, const char *path, size_t len)
{
	return prefix->len <= len && !memcmp(path + len - prefix->len, prefix->tail, prefix->len) &&
	       (prefix->len == len || !path[len - prefix->len - 1]);
}

bool filter_wants_file(const struct filter *filter, mode_t mode, const char *path)
{
	char reversed[PATH_MAX];
	size_t len = path ? path_reverse(reversed, sizeof(reversed), path) : 0;
	bool wanted = true;

	if (filter->kinds && !(filter->kinds >> (mode >> 12 & 15) & 1))
		return false;
	for (size_t i = 0; i < filter->npaths; i++)
		wanted &= filter->paths[i].exclude;
	for (size_t i = 0; i < filter->npaths; i++) {
		if (!path || !is_under(&filter->paths[i], reversed, len))
			continue;
		if (filter->paths[i].exclude)
			return false;
		wanted = true;
	}
	return wanted;
}
