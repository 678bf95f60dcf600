/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The recorder's side: which files are asked for, and the notes of what was answered. The reading process is a new program
 * (stripes_reader.c): a copy of the recorder would keep its BPF maps mapped while a file system does not answer.
 */
#include "capture/stripes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/rings.h"
#include "capture/notes.h"
#include "capture/stripes_reader.h"
#include "util/hash.h"

#define MAGIC_LUSTRE 0x0bd00bd0u
#define MAGIC_VARIABLE "IOPROBE_LUSTRE_MAGIC"   /* of another file system that has such attributes, for tests */
#define FILES_MAX 1000000       /* that are remembered, 64 bytes each; beyond that nothing more is read */
#define BACKLOG_MAX 4096        /* requests; a file beyond them is requested when it is described again */
#define FINISH_MS 1000

struct stripes_seen { struct stripes_file file; UT_hash_handle hh; };

struct stripes_queued { struct stripes_queued *next; size_t len; struct stripes_request request; };

struct stripes {
	uint32_t magic;
	pid_t pid;                      /* of the reading process; 0: none yet, -1: it could not be made, or is gone */
	int socket;
	struct stripes_seen *seen;
	struct stripes_queued *first, **end;    /* requests without an answer, in the order of the answers */
	struct stripes_queued *unsent;          /* the first that was not sent, NULL: all were */
	size_t queued;
};

static void stripes_begin_process(struct stripes *s);

/* Returns whether the kernel has Lustre; without it no process is made. */
static bool stripes_has_lustre(void)
{
	FILE *file = fopen("/proc/filesystems", "re");
	char line[128];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, "\tlustre\n");
	if (file)
		fclose(file);
	return found;
}

struct stripes *stripes_create(void)
{
	struct stripes *s = calloc(1, sizeof(*s));
	const char *magic = secure_getenv(MAGIC_VARIABLE);

	if (!s)
		return NULL;
	s->magic = magic ? strtoul(magic, NULL, 0) : MAGIC_LUSTRE;
	s->socket = -1;
	s->end = &s->first;
	/* now, because later ioprobe itself may lie on a file system that does not answer */
	if (magic || stripes_has_lustre())
		stripes_begin_process(s);
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

/* Returns the process, or -1. Nothing of the recorder is open or mapped in it. */
static pid_t stripes_spawn(int socket)
{
	char *argv[] = { "ioprobe", STRIPES_COMMAND, NULL }, *envp[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	pid_t pid;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, socket, STRIPES_SOCKET_FD);
	for (int fd = 0; fd < STRIPES_SOCKET_FD; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	/* in a session of its own: the recorder handles the terminal's ^C */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	err = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return err ? -1 : pid;
}

static void stripes_begin_process(struct stripes *s)
{
	int pair[2];

	s->pid = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return;
	s->pid = stripes_spawn(pair[1]);
	close(pair[1]);
	s->socket = pair[0];
	if (s->pid < 0)
		stripes_end_process(s);
}

/* Returns whether the file is new; false also if there is no room for it. */
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

	if (!s || rec->sb_magic != s->magic || !S_ISREG(rec->i_mode) || s->queued >= BACKLOG_MAX)
		return;
	q = malloc(sizeof(*q));
	if (!q || !stripes_remember(s, &file)) {        /* not remembered without a request: it would never be read */
		free(q);
		return;
	}
	q->next = NULL;
	q->request = (struct stripes_request){ .file = file, .tgid = rec->rec.tgid, .tid = rec->rec.tid, .fd = rec->fd };
	stripes_set_path(&q->request, rec);
	q->len = offsetof(struct stripes_request, path) + strlen(q->request.path);
	*s->end = q;
	s->end = &q->next;
	s->unsent = s->unsent ? s->unsent : q;
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
	while (s->unsent && send(s->socket, &s->unsent->request, s->unsent->len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		s->unsent = s->unsent->next;
	if (s->unsent && errno != EAGAIN && errno != EINTR && errno != ENOBUFS)
		stripes_end_process(s);         /* it has ended */
}

static void stripes_receive(struct stripes *s, struct spool_writer *spool)
{
	struct stripes_reply reply;
	ssize_t len = -1;

	while (s->first != s->unsent && (len = recv(s->socket, &reply, sizeof(reply), MSG_DONTWAIT)) == sizeof(reply)) {
		stripes_note(spool, &reply.file, reply.error, reply.error ? NULL : &reply.layout);
		stripes_drop_first(s);
	}
	if (!len)
		stripes_end_process(s);
}

void stripes_step(struct stripes *s, struct spool_writer *spool)
{
	if (!s || !s->first)
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
	while (s->first && s->socket >= 0 && monotonic_ns() < until_ns) {
		struct pollfd ready = { s->socket, POLLIN, 0 };

		poll(&ready, 1, 10);
		stripes_step(s, spool);
	}
	while (s->first) {
		stripes_note(spool, &s->first->request.file, s->socket < 0 ? ESRCH : ETIMEDOUT, NULL);
		stripes_drop_first(s);
	}
	stripes_end_process(s);
}
