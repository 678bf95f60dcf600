/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * sudo(8) replaces the variables that name the user, and drops PATH, LD_LIBRARY_PATH and the variables of environment modules. The
 * former are restored from the user's passwd entry; the latter can only be taken from a process that has them.
 */
#include "privilege/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES (8u << 20)    /* size of an environment; the kernel allows a quarter of the stack limit, 2 MiB by default */

extern char **environ;

/* ---- a growing list ---- */

struct list { char **v; size_t n, cap; };

static int list_add(struct list *list, char *text)
{
	if (!text)
		return -ENOMEM;
	if (list->n + 1 >= list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 64;
		char **v = realloc(list->v, cap * sizeof(*v));

		if (!v) {
			free(text);
			return -ENOMEM;
		}
		list->v = v;
		list->cap = cap;
	}
	list->v[list->n++] = text;
	list->v[list->n] = NULL;
	return 0;
}

static int list_add_value(struct list *list, const char *name, const char *value)
{
	char *text;

	return asprintf(&text, "%s=%s", name, value) < 0 ? -ENOMEM : list_add(list, text);
}

/* ---- the own environment ---- */

static bool is_named(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(entry, name, len) && entry[len] == '=';
}

/* Variables that name the user, or show that sudo was used: a program that reads them should see its user, as if started
 * directly. */
static bool is_replaced(const char *entry)
{
	static const char *const names[] = { "HOME", "USER", "LOGNAME", "USERNAME", "SHELL", "MAIL" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_named(entry, names[i]))
			return true;
	return !strncmp(entry, "SUDO_", 5);
}

static int add_user(struct list *list, const struct identity *who)
{
	const struct passwd *entry = getpwnam(who->name);
	char mail[300];
	int err = list_add_value(list, "USER", who->name) ?: list_add_value(list, "LOGNAME", who->name);

	if (!err && entry)
		err = list_add_value(list, "HOME", entry->pw_dir) ?:
		      list_add_value(list, "SHELL", *entry->pw_shell ? entry->pw_shell : "/bin/sh");
	snprintf(mail, sizeof(mail), "/var/mail/%s", who->name);
	return err ? err : getenv("MAIL") ? list_add_value(list, "MAIL", mail) : 0;
}

static int copy_ours(struct list *list, const struct identity *who)
{
	int err = 0;

	for (char **entry = environ; *entry && !err; entry++)
		if (who->own || !is_replaced(*entry))
			err = list_add(list, strdup(*entry));
	return err || who->own ? err : add_user(list, who);
}

/* ---- the environment of another process ---- */

/* The environ file of a process with privileges beyond its user's belongs to root and must not be disclosed. -EPERM: not a process
 * of who. */
static int open_environ(pid_t pid, const struct identity *who)
{
	struct identity_saved saved;
	struct stat st;
	char path[64];
	int fd, err = identity_begin(who, &saved);

	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : 0;
	identity_end(&saved);
	if (!err && (fstat(fd, &st) || st.st_uid != who->uid)) {
		close(fd);
		err = -EPERM;
	}
	return err == -EACCES ? -EPERM : err ? err : fd;
}

static ssize_t read_environ(int fd, char *text)
{
	size_t len = 0;

	for (;;) {
		ssize_t n = read(fd, text + len, MAX_BYTES - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : (ssize_t)len;
		len += n;
		if (len == MAX_BYTES)
			return -E2BIG;
	}
}

static int copy_from(struct list *list, pid_t pid, const struct identity *who)
{
	int fd = open_environ(pid, who), err = 0;
	char *text = fd < 0 ? NULL : malloc(MAX_BYTES + 1);
	ssize_t len = fd < 0 ? fd : text ? read_environ(fd, text) : -ENOMEM;

	if (fd >= 0)
		close(fd);
	if (len == 0)
		err = -ENODATA;         /* a kernel thread, or a process that has just ended */
	else if (len < 0)
		err = len;
	else
		text[len] = 0;
	for (char *entry = text; !err && entry < text + len; entry += strlen(entry) + 1)
		if (strchr(entry, '='))
			err = list_add(list, strdup(entry));
	free(text);
	return err;
}

/* ---- public ---- */

static const char *environment_reason(int err)
{
	switch (err) {
	case -EPERM: return "it does not belong to the calling user, or has more rights than that user; name another one";
	case -ENOENT:
	case -ESRCH: return "no such process";
	case -ENODATA: return "it has none";
	default: return strerror(-err);
	}
}

int environment_create(char ***environment, const struct identity *who, pid_t from, char *err_text, size_t err_len)
{
	struct list list = { 0 };
	int err = from ? copy_from(&list, from, who) : copy_ours(&list, who);

	if (!err && !list.v && !(list.v = calloc(1, sizeof(*list.v))))
		err = -ENOMEM;
	if (err) {
		if (from)
			snprintf(err_text, err_len, "cannot take the environment of process %d: %s", from, environment_reason(err));
		else
			snprintf(err_text, err_len, "cannot make the program's environment: %s", strerror(-err));
		environment_free(list.v);
		list.v = NULL;
	}
	*environment = list.v;
	return err;
}

void environment_free(char **environment)
{
	for (char **entry = environment; entry && *entry; entry++)
		free(*entry);
	free(environment);
}

const char *environment_value(char *const *environment, const char *name)
{
	for (char *const *entry = environment; *entry; entry++)
		if (is_named(*entry, name))
			return *entry + strlen(name) + 1;
	return NULL;
}
