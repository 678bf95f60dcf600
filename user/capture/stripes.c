/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The file is opened with O_PATH, by the descriptor of the process, else by its path in the mount namespace of the process, else by
 * the same path in the recorder's: nothing waits on a FIFO or a lease, no position, lock or open file description is shared, and
 * no symbolic link is followed. Device and inode must equal what the kernel reported for the open file.
 */
#include "capture/stripes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "bpf/rings.h"
#include "capture/lov.h"
#include "capture/notes.h"
#include "util/hash.h"

#define MAGIC_LUSTRE 0x0bd00bd0u
#define MAGIC_VARIABLE "IOPROBE_LUSTRE_MAGIC"   /* of another file system that has such attributes, for tests */
#define FILES_MAX 1000000       /* that are remembered, 64 bytes each; beyond that nothing more is read */
#define BACKLOG_MAX 4096        /* requests; a file that found no place is taken at its next use */
#define FINISH_MS 1000
#define PATH_ROOM 4096

struct stripes_file { uint32_t dev_major, dev_minor; uint64_t ino; };

/* Messages over a socket that keeps their bounds. A request is as long as its path. */
struct stripes_request { struct stripes_file file; pid_t tgid, tid; int32_t fd; char path[PATH_ROOM]; };
struct stripes_reply { struct stripes_file file; int32_t error; struct lov_layout layout; };

struct stripes_seen { struct stripes_file file; UT_hash_handle hh; };

struct stripes_queued { struct stripes_queued *next; size_t len; struct stripes_request request; };

struct stripes {
	uint32_t magic;
	pid_t pid;                      /* of the reading process; 0: none yet, -1: it could not be made, or is gone */
	int socket;
	struct stripes_seen *seen;
	struct stripes_queued *first, **end;
	size_t queued, asked;           /* asked: sent and not answered */
};

/* ---- in the reading process: a copy of one thread of the recorder, so nothing that takes a lock ---- */

static bool stripes_is_file(int fd, const struct stripes_file *file)
{
	struct statx st;

	return fd >= 0 && !syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_TYPE, &st) &&
	       S_ISREG(st.stx_mode) && st.stx_dev_major == file->dev_major && st.stx_dev_minor == file->dev_minor &&
	       st.stx_ino == file->ino;
}

/* Closes what is not the file. */
static int stripes_checked(int fd, const struct stripes_file *file)
{
	if (stripes_is_file(fd, file))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int stripes_open_below(const char *root, const struct stripes_request *q)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	int fd, top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (top < 0)
		return -1;
	fd = syscall(SYS_openat2, top, q->path, &how, sizeof(how));
	close(top);
	return stripes_checked(fd, &q->file);
}

static int stripes_open(const struct stripes_request *q)
{
	char name[64];
	int fd = -1;

	if (q->fd >= 0) {
		snprintf(name, sizeof(name), "/proc/%d/task/%d/fd/%d", q->tgid, q->tid, q->fd);
		fd = stripes_checked(open(name, O_PATH | O_CLOEXEC), &q->file);
	}
	if (fd < 0 && q->path[0]) {
		snprintf(name, sizeof(name), "/proc/%d/root", q->tgid);
		fd = stripes_open_below(name, q);
	}
	return fd < 0 && q->path[0] ? stripes_open_below("/", q) : fd;
}

/* fgetxattr(2) refuses descriptors made with O_PATH. */
static void stripes_read(const struct stripes_request *q, struct stripes_reply *reply)
{
	static char attribute[65536];
	int fd = stripes_open(q);
	char name[64];
	ssize_t len;

	*reply = (struct stripes_reply){ .file = q->file, .error = ENOENT };
	if (fd < 0)
		return;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = getxattr(name, LOV_ATTRIBUTE, attribute, sizeof(attribute));
	reply->error = len < 0 ? errno : -lov_layout_parse(attribute, len, &reply->layout);
	close(fd);
}

/* It must keep no probe, map or ring of the recorder open. */
static void stripes_serve(int socket, pid_t recorder)
{
	static struct stripes_request request;
	static struct stripes_reply reply;
	ssize_t len;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder || dup2(socket, STDERR_FILENO + 1) < 0 || syscall(SYS_close_range, STDERR_FILENO + 2, ~0u, 0))
		_exit(1);
	socket = STDERR_FILENO + 1;
	while ((len = recv(socket, &request, sizeof(request) - 1, 0)) >= (ssize_t)offsetof(struct stripes_request, path)) {
		((char *)&request)[len] = 0;
		stripes_read(&request, &reply);
		if (send(socket, &reply, sizeof(reply), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

/* ---- in the recorder ---- */

struct stripes *stripes_create(void)
{
	struct stripes *s = calloc(1, sizeof(*s));
	const char *magic = secure_getenv(MAGIC_VARIABLE);

	if (!s)
		return NULL;
	s->magic = magic ? strtoul(magic, NULL, 0) : MAGIC_LUSTRE;
	s->socket = -1;
	s->end = &s->first;
	return s;
}

/* A process that hangs in a call of the file system ends when that returns: it is not waited for. */
static void stripes_end_process(struct stripes *s)
{
	if (s->socket >= 0)
		close(s->socket);
	s->socket = -1;
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, WNOHANG);
	}
	s->pid = -1;
}

void stripes_destroy(struct stripes *s)
{
	struct stripes_seen *seen, *next;

	if (!s)
		return;
	stripes_end_process(s);
	HASH_ITER(hh, s->seen, seen, next) {
		HASH_DEL(s->seen, seen);
		free(seen);
	}
	for (struct stripes_queued *q; (q = s->first);) {
		s->first = q->next;
		free(q);
	}
	free(s);
}

static void stripes_begin_process(struct stripes *s)
{
	pid_t recorder = getpid();
	int pair[2];

	s->pid = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return;
	s->pid = fork();
	if (!s->pid)
		stripes_serve(pair[1], recorder);
	close(pair[1]);
	s->socket = pair[0];
	if (s->pid < 0)
		stripes_end_process(s);
}

/* Whether the file was taken now; not if it was before, or if there is no memory. */
static bool stripes_remember(struct stripes *s, const struct stripes_file *file)
{
	struct stripes_seen *seen;

	HASH_FIND(hh, s->seen, file, sizeof(*file), seen);
	if (seen || HASH_COUNT(s->seen) >= FILES_MAX)
		return false;
	seen = calloc(1, sizeof(*seen));
	if (!seen)
		return false;
	seen->file = *file;
	HASH_ADD(hh, s->seen, file, sizeof(seen->file), seen);
	if (hash_added(seen))
		return true;
	free(seen);
	return false;
}

/* The names are leaf first. A path that is not whole is left empty. */
static void stripes_set_path(struct stripes_request *q, const struct iop_rec_fd *rec)
{
	size_t used = sizeof(q->path) - 1;

	q->path[used] = 0;
	for (size_t at = 0, len; at < rec->path_len; at += len + 1) {
		len = strnlen(rec->path + at, rec->path_len - at);
		if (at + len == rec->path_len || len + 1 > used || (rec->state & (IOP_FD_TRUNCATED | IOP_FD_DELETED))) {
			q->path[0] = 0;
			return;
		}
		used -= len;
		memcpy(q->path + used, rec->path + at, len);
		q->path[--used] = '/';
	}
	memmove(q->path, q->path + used, sizeof(q->path) - used);
}

void stripes_take(struct stripes *s, const struct iop_rec_fd *rec)
{
	struct stripes_file file = { rec->dev_major, rec->dev_minor, rec->ino };
	struct stripes_queued *q;

	if (!s || rec->sb_magic != s->magic || !S_ISREG(rec->i_mode) || s->queued >= BACKLOG_MAX || !stripes_remember(s, &file))
		return;
	q = malloc(sizeof(*q));
	if (!q)
		return;
	q->next = NULL;
	q->request = (struct stripes_request){ .file = file, .tgid = rec->rec.tgid, .tid = rec->rec.tid, .fd = rec->fd };
	stripes_set_path(&q->request, rec);
	q->len = offsetof(struct stripes_request, path) + strlen(q->request.path);
	*s->end = q;
	s->end = &q->next;
	s->queued++;
}

static void stripes_note(struct spool_writer *spool, const struct stripes_file *file, int error, const struct lov_layout *l)
{
	struct note note = { 0 };

	note_addf(&note, "dev_major", "%u", file->dev_major);
	note_addf(&note, "dev_minor", "%u", file->dev_minor);
	note_addf(&note, "ino", "%llu", (unsigned long long)file->ino);
	if (error)
		note_add(&note, "error", strerror(error));
	if (l && l->stripe_bytes)
		note_addf(&note, "size", "%llu", (unsigned long long)l->stripe_bytes);
	if (l && l->stripe_count)
		note_addf(&note, "count", "%u", l->stripe_count);
	if (l && l->devices[0])
		note_add(&note, "devices", l->devices);
	if (l && l->pool[0])
		note_add(&note, "pool", l->pool);
	if (l && l->components[0])
		note_add(&note, "components", l->components);
	if (note.text)
		spool_writer_text(spool, IOP_REC_STRIPES, 0, monotonic_ns(), note.text, NULL);
	note_free(&note);
}

static void stripes_drop_first(struct stripes *s)
{
	struct stripes_queued *q = s->first;

	s->first = q->next;
	if (!s->first)
		s->end = &s->first;
	s->queued--;
	free(q);
}

static void stripes_send(struct stripes *s)
{
	while (s->first && send(s->socket, &s->first->request, s->first->len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
		s->asked++;
		stripes_drop_first(s);
	}
}

static void stripes_receive(struct stripes *s, struct spool_writer *spool)
{
	struct stripes_reply reply;
	ssize_t len;

	while ((len = recv(s->socket, &reply, sizeof(reply), MSG_DONTWAIT)) == sizeof(reply)) {
		s->asked -= s->asked > 0;
		stripes_note(spool, &reply.file, reply.error, reply.error ? NULL : &reply.layout);
	}
	if (!len)
		stripes_end_process(s);
}

void stripes_step(struct stripes *s, struct spool_writer *spool)
{
	if (!s || (!s->first && !s->asked))
		return;
	if (!s->pid)
		stripes_begin_process(s);
	if (s->socket >= 0)
		stripes_receive(s, spool);
	if (s->socket >= 0)
		stripes_send(s);
}

void stripes_finish(struct stripes *s, struct spool_writer *spool)
{
	uint64_t until_ns = monotonic_ns() + FINISH_MS * 1000000ull;

	if (!s)
		return;
	stripes_step(s, spool);
	while ((s->first || s->asked) && s->socket >= 0 && monotonic_ns() < until_ns) {
		struct pollfd ready = { s->socket, POLLIN, 0 };

		poll(&ready, 1, 10);
		stripes_step(s, spool);
	}
	while (s->first) {
		stripes_note(spool, &s->first->request.file, ETIMEDOUT, NULL);
		stripes_drop_first(s);
	}
	stripes_end_process(s);
}
