/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads /proc/PID, see proc(5). A process may end at any time: a partial result is never returned.
 */
#include "proc/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu       /* PROC_PID_INIT_INO of include/linux/proc_ns.h */

/* ---- text files ---- */

/* For a process that has ended the kernel returns a missing file or ESRCH. */
static int procfs_gone(int err)
{
	return err == ENOENT ? -ESRCH : -err;
}

static int procfs_read_all(int fd, char **text, size_t *len)
{
	size_t cap = 4096, used = 0;
	char *buf = malloc(cap);

	while (buf) {
		ssize_t n = read(fd, buf + used, cap - used - 1);
		char *grown;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			n = -errno;
			free(buf);
			return n;
		}
		used += n;
		buf[used] = 0;
		if (!n) {
			*text = buf;
			*len = used;
			return 0;
		}
		if (cap - used > 1)
			continue;
		grown = realloc(buf, cap *= 2);
		if (!grown)
			free(buf);
		buf = grown;
	}
	return -ENOMEM;
}

int proc_text_read(pid_t pid, const char *name, char **text, size_t *len)
{
	char path[320];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return procfs_gone(errno);
	err = procfs_read_all(fd, text, len);
	close(fd);
	return err;
}

int proc_link_read(pid_t pid, const char *name, char *buf, size_t buf_len)
{
	char path[320];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	n = readlink(path, buf, buf_len);
	if (n < 0)
		return procfs_gone(errno);
	if ((size_t)n >= buf_len)
		return -ENAMETOOLONG;
	buf[n] = 0;
	return 0;
}

const char *proc_env_get(const char *environ_text, size_t len, const char *name)
{
	const char *end = environ_text + len;
	size_t name_len = strlen(name);

	for (const char *at = environ_text; at < end; at += strnlen(at, end - at) + 1)
		if ((size_t)(end - at) > name_len && !memcmp(at, name, name_len) && at[name_len] == '=')
			return at + name_len + 1;
	return NULL;
}

/* ---- stat and status ---- */

#define PF_KTHREAD 0x00200000   /* linux/sched.h; visible in proc_pid_stat(5) */

struct proc_stat { char state; pid_t ppid; unsigned flags; int threads; uint64_t start_ticks; };

/* Parses the fields of /proc/PID/stat after the command name, which may contain any characters. */
static int stat_parse(const char *text, struct proc_stat *out)
{
	const char *name_end = strrchr(text, ')');
	unsigned long long start;

	if (!name_end || sscanf(name_end + 1, " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
				&out->state, &out->ppid, &out->flags, &out->threads, &start) != 5)
		return -EINVAL;
	out->start_ticks = start;
	return 0;
}

static int stat_read(pid_t pid, struct proc_stat *out)
{
	char *text;
	size_t len;
	int err = proc_text_read(pid, "stat", &text, &len);

	if (err)
		return err;
	err = stat_parse(text, out);
	free(text);
	return err;
}

bool proc_initial_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NAMESPACE;
}

/* A leader that has exited is shown as a zombie while other threads run: the process lives until the leader alone is left. */
static bool stat_alive(const struct proc_stat *stat)
{
	return (stat->state != 'Z' && stat->state != 'X') || stat->threads > 1;
}

bool proc_alive(pid_t pid)
{
	struct proc_stat stat;

	return !stat_read(pid, &stat) && stat_alive(&stat);
}

bool proc_is_kernel_thread(pid_t pid)
{
	struct proc_stat stat;

	return !stat_read(pid, &stat) && (stat.flags & PF_KTHREAD);
}

uint64_t proc_start_ticks(pid_t pid)
{
	struct proc_stat stat;

	return stat_read(pid, &stat) ? 0 : stat.start_ticks;
}

bool proc_ended(pid_t pid, uint64_t start_ticks)
{
	struct proc_stat stat;
	int err = stat_read(pid, &stat);

	if (err)
		return err == -ESRCH || err == -ENOENT;
	return !stat_alive(&stat) || (start_ticks && stat.start_ticks != start_ticks);
}

bool proc_first_thread_ended(pid_t pid)
{
	struct proc_stat stat;

	return !stat_read(pid, &stat) && stat.state == 'Z';
}

/* Returns the real ids. */
int proc_ids_read(pid_t pid, pid_t *ppid, uid_t *uid, gid_t *gid, uint64_t *start_ticks)
{
	const char *uids, *gids;
	struct proc_stat stat;
	char *text;
	size_t len;
	int err = stat_read(pid, &stat);

	if (!err)
		err = proc_text_read(pid, "status", &text, &len);
	if (err)
		return err;
	uids = strstr(text, "\nUid:");
	gids = strstr(text, "\nGid:");
	if (!uids || !gids || sscanf(uids + 5, "%u", uid) != 1 || sscanf(gids + 5, "%u", gid) != 1)
		err = -EINVAL;
	free(text);
	*ppid = stat.ppid;
	*start_ticks = stat.start_ticks;
	return err;
}

/* ---- numbered entries of a directory ---- */

static int numbers_read(const char *path, int **out, size_t *nout)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int *numbers = NULL;
	size_t n = 0, cap = 0;

	if (!dir)
		return procfs_gone(errno);
	while (errno = 0, (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (n == cap) {
			int *grown = realloc(numbers, (cap = cap ? 2 * cap : 64) * sizeof(*numbers));

			if (!grown) {
				errno = ENOMEM;
				break;
			}
			numbers = grown;
		}
		numbers[n++] = atoi(entry->d_name);
	}
	if (errno) {
		int err = procfs_gone(errno);

		free(numbers);
		closedir(dir);
		return err;
	}
	closedir(dir);
	*out = numbers;
	*nout = n;
	return 0;
}

int proc_threads_read(pid_t pid, pid_t **tids, size_t *n)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return numbers_read(path, tids, n);
}

enum kinship { UNKNOWN, BEING_LOOKED_AT, ANCESTOR, DESCENDANT, OTHER };
struct family { pid_t pid, parent; enum kinship kinship; };

static int by_pid(const void *a, const void *b)
{
	const struct family *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct family *find_member(struct family *all, size_t n, pid_t pid)
{
	struct family wanted = { .pid = pid };

	return bsearch(&wanted, all, n, sizeof(*all), by_pid);
}

/* Climbs to the first process whose answer is known, and stores the answer for all on the way: no process is visited more than
 * twice. */
static void find_kinship(struct family *all, size_t n, struct family *member)
{
	enum kinship found = OTHER;
	struct family *at = member;

	for (; at && at->kinship == UNKNOWN; at = find_member(all, n, at->parent))
		at->kinship = BEING_LOOKED_AT;
	if (at && (at->kinship == ANCESTOR || at->kinship == DESCENDANT))
		found = DESCENDANT;
	for (at = member; at && at->kinship == BEING_LOOKED_AT; at = find_member(all, n, at->parent))
		at->kinship = found;
}

static int family_read(struct family **out, pid_t **pids, size_t *nout)
{
	struct proc_stat stat;
	size_t n, known = 0;
	int err = numbers_read("/proc", pids, &n);

	if (err)
		return err;
	*out = calloc(n + 1, sizeof(**out));
	if (!*out) {
		free(*pids);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		if (!stat_read((*pids)[i], &stat))
			(*out)[known++] = (struct family){ (*pids)[i], stat.ppid, UNKNOWN };
	qsort(*out, known, sizeof(**out), by_pid);
	*nout = known;
	return 0;
}

int proc_descendants_read(const pid_t *ancestors, size_t nancestors, pid_t **pids, size_t *nout)
{
	struct family *all, *ancestor;
	size_t n;
	int err = family_read(&all, pids, &n);

	if (err)
		return err;
	for (size_t i = 0; i < nancestors; i++)
		if ((ancestor = find_member(all, n, ancestors[i])))
			ancestor->kinship = ANCESTOR;
	*nout = 0;
	for (size_t i = 0; i < n; i++) {
		find_kinship(all, n, &all[i]);
		if (all[i].kinship == DESCENDANT)
			(*pids)[(*nout)++] = all[i].pid;
	}
	free(all);
	return 0;
}

/* ---- descriptors ---- */

static uint64_t info_number(const char *text, const char *key, int base, uint64_t otherwise)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, base) : otherwise;
}

static int fd_info_read(pid_t pid, struct proc_fd *fd)
{
	char name[48], *text;
	size_t len;
	int err;

	snprintf(name, sizeof(name), "fdinfo/%d", fd->fd);
	err = proc_text_read(pid, name, &text, &len);
	if (err)
		return err;
	fd->pos = info_number(text, "pos:", 10, 0);
	fd->flags = info_number(text, "flags:", 8, 0);
	fd->mnt_id = info_number(text, "mnt_id:", 10, 0);
	free(text);
	return 0;
}

static int fd_read(pid_t pid, struct proc_fd *fd)
{
	char name[48], path[80], target[8192];
	struct stat st;
	int err;

	snprintf(name, sizeof(name), "fd/%d", fd->fd);
	err = proc_link_read(pid, name, target, sizeof(target));
	if (!err)
		err = fd_info_read(pid, fd);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	if (!stat(path, &st)) {
		fd->dev = st.st_dev;
		fd->ino = st.st_ino;
		fd->mode = st.st_mode;
	}
	fd->target = strdup(target);
	return fd->target ? 0 : -ENOMEM;
}

int proc_fds_read(pid_t pid, struct proc_fds *out)
{
	char path[64];
	int *numbers, err;
	size_t n;

	*out = (struct proc_fds){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	err = numbers_read(path, &numbers, &n);
	if (err)
		return err;
	out->v = calloc(n + 1, sizeof(*out->v));
	if (!out->v)
		err = -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		struct proc_fd *fd = &out->v[out->n];

		fd->fd = numbers[i];
		err = fd_read(pid, fd);
		if (!err)
			out->n++;
		else if (err == -ESRCH && proc_alive(pid))
			err = 0;        /* closed meanwhile */
	}
	free(numbers);
	if (err)
		proc_fds_free(out);
	return err;
}

void proc_fds_free(struct proc_fds *fds)
{
	for (size_t i = 0; i < fds->n; i++)
		free(fds->v[i].target);
	free(fds->v);
	*fds = (struct proc_fds){ 0 };
}
