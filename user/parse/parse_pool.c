/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The agent's side: starts parser processes, sends requests, kills processes that do not answer.
 */
#include "parse/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/rings.h"
#include "parse/parse_wire.h"
#include "parse/plan_wire.h"
#include "parse/tables_wire.h"

#define MAX_PROCESSES 4         /* at a time; the one that was idle longest is replaced */
#define MAX_OWNERS 64           /* owners with failures: a larger number can only be caused by one user */
#define MAX_FAILURES 8          /* per owner of files, in one recording */

struct parse_process {
	pid_t pid;              /* 0: none */
	uid_t uid; /* owner of the files that it reads; root's and nobody's have one process each, although both run as nobody */
	int fd;
	uint64_t used_ns;
};

struct parse_pool {
	const struct table_set *set;
	int tables_fd;          /* memfd */
	struct parse_process processes[MAX_PROCESSES];
	struct { uid_t uid; unsigned n; } failures[MAX_OWNERS];
	size_t nowners;
	uint64_t last_id;
	struct { int fd; void (*fn)(void *arg); void *arg; } work;      /* fn NULL: none */
};

/* One request in progress. */
struct exchange {
	struct parse_pool *pool;
	struct parse_process *process;
	enum parse_kind kind;
	int fd;
	const char *name;
	uint64_t limit_ns, deadline_ns;
	char *err;
	size_t err_len;
};

/* ---- processes ---- */

/* Empty, except for a sanitizer's options, which say where it logs what it finds: a parser's messages go to /dev/null. */
static void parser_environment(char *envp[3])
{
	size_t n = 0;
#ifdef __SANITIZE_ADDRESS__
	for (char **entry = environ; *entry && n < 2; entry++)
		if (!strncmp(*entry, "ASAN_OPTIONS=", 13) || !strncmp(*entry, "UBSAN_OPTIONS=", 14))
			envp[n++] = *entry;
#endif
	envp[n] = NULL;
}

static int parse_pool_start(struct parse_process *process, uid_t uid)
{
	char uid_text[16], *argv[] = { "ioprobe", PARSE_COMMAND, uid_text, NULL }, *envp[3];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	snprintf(uid_text, sizeof(uid_text), "%u", uid);
	parser_environment(envp);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair[1], PARSE_SOCKET_FD);
	for (int fd = 0; fd < PARSE_SOCKET_FD; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	/* in a session of its own: the agent handles the terminal's ^C */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	err = posix_spawn(&process->pid, "/proc/self/exe", &actions, &attributes, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	close(pair[1]);
	if (err) {
		close(pair[0]);
		process->pid = 0;
		return -err;
	}
	process->fd = pair[0];
	process->uid = uid;
	return 0;
}

/* Kills the process. Returns its wait status, -1 if it is stuck in the kernel: then init reaps it later. */
static int parse_pool_end(struct parse_process *process)
{
	int status = -1;

	close(process->fd);
	kill(process->pid, SIGKILL);
	for (int tries = 0; tries < 200 && waitpid(process->pid, &status, WNOHANG) == 0; tries++)
		usleep(1000);
	*process = (struct parse_process){ 0 };
	return status;
}

static struct parse_process *find_process(struct parse_pool *pool, uid_t uid)
{
	for (size_t i = 0; i < MAX_PROCESSES; i++)
		if (pool->processes[i].pid && pool->processes[i].uid == uid)
			return &pool->processes[i];
	return NULL;
}

static struct parse_process *parse_pool_make_room(struct parse_pool *pool)
{
	struct parse_process *oldest = &pool->processes[0];

	for (size_t i = 0; i < MAX_PROCESSES; i++) {
		if (!pool->processes[i].pid)
			return &pool->processes[i];
		if (pool->processes[i].used_ns < oldest->used_ns)
			oldest = &pool->processes[i];
	}
	parse_pool_end(oldest);
	return oldest;
}

/* ---- requests ---- */

/* The owner of a file can stop the process that reads it; this must not delay all others. */
static bool is_stopped(pid_t pid)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, pid, &info, WSTOPPED | WNOHANG | WNOWAIT) && info.si_pid == pid;
}

/* Returns 0 when there may be data to read, -ECANCELED if the process was stopped, -ETIMEDOUT, or -errno. */
static int wait_for_answer(const struct exchange *e)
{
	const struct parse_pool *pool = e->pool;
	struct pollfd ready[] = { { e->process->fd, POLLIN, 0 }, { pool->work.fn ? pool->work.fd : -1, POLLIN, 0 } };

	if (monotonic_ns() >= e->deadline_ns)
		return -ETIMEDOUT;
	if (poll(ready, 2, PARSE_WORK_MS) < 0 && errno != EINTR)
		return -errno;
	if (pool->work.fn && !ready[0].revents)
		pool->work.fn(pool->work.arg);
	return is_stopped(e->process->pid) ? -ECANCELED : 0;
}

static int send_request(const struct exchange *e, enum parse_kind kind, int fd, const char *name)
{
	union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct parse_request request = { .magic = PARSE_MAGIC, .kind = kind, .id = e->pool->last_id };
	struct iovec iov = { &request, sizeof(request) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	snprintf(request.name, sizeof(request.name), "%s", name);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(e->process->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Receives one packet of exactly len bytes. -EPIPE if the process ended, -EBADMSG for another length. */
static int parse_pool_receive(const struct exchange *e, void *bytes, size_t len)
{
	ssize_t n;

	for (;;) {
		n = recv(e->process->fd, bytes, len, MSG_DONTWAIT | MSG_TRUNC);
		if (n == (ssize_t)len)
			return 0;
		if (n >= 0)
			return n ? -EBADMSG : -EPIPE;
		if (errno == EAGAIN)
			n = wait_for_answer(e);
		else if (errno != EINTR)
			return errno == ECONNRESET ? -EPIPE : -errno;
		else
			n = 0;
		if (n)
			return n;
	}
}

static int receive_answer(const struct exchange *e, struct parse_answer *answer, char **payload)
{
	int err = parse_pool_receive(e, answer, sizeof(*answer));

	if (err)
		return err;
	if (answer->magic != PARSE_MAGIC || answer->id != e->pool->last_id || answer->len > PARSE_MAX_PAYLOAD ||
	    answer->status > 0 || answer->status < -4095)
		return -EBADMSG;
	*payload = malloc(answer->len + 1);
	if (!*payload)
		return -ENOMEM;
	for (size_t at = 0; at < answer->len && !err; at += PARSE_PACKET_BYTES) {
		size_t left = answer->len - at;

		err = parse_pool_receive(e, *payload + at, left < PARSE_PACKET_BYTES ? left : PARSE_PACKET_BYTES);
	}
	(*payload)[answer->len] = 0;
	if (err)
		free(*payload);
	return err;
}

/* ---- failures ---- */

/* Returns NULL if there are too many owners with failures. */
static unsigned *failures_of(struct parse_pool *pool, uid_t uid)
{
	for (size_t i = 0; i < pool->nowners; i++)
		if (pool->failures[i].uid == uid)
			return &pool->failures[i].n;
	if (pool->nowners == MAX_OWNERS)
		return NULL;
	pool->failures[pool->nowners].uid = uid;
	return &pool->failures[pool->nowners++].n;
}

static void describe_end(int status, bool symbols, char *text, size_t len)
{
	if (status == -1)
		snprintf(text, len, "the parser does not end");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		snprintf(text, len, "the parser needed more than %d s of CPU time", symbols ? PARSE_SYMBOLS_CPU_S : PARSE_CPU_S);
	else if (WIFSIGNALED(status))
		snprintf(text, len, "the parser was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == PARSE_EXIT_CONFINE)
		snprintf(text, len, "the parser could not give up its rights");
	else
		snprintf(text, len, "the parser ended with status %d", WEXITSTATUS(status));
}

/* The process is discarded; the next file of this owner gets a new one. A process that ended by itself keeps its status: SIGKILL
 * comes too late. */
static int parse_pool_give_up(struct exchange *e, int err)
{
	unsigned *failures = failures_of(e->pool, e->process->uid);
	int status = parse_pool_end(e->process);

	if (failures)
		++*failures;
	if (err == -ETIMEDOUT)
		snprintf(e->err, e->err_len, "the parser did not answer within %llu s",
			 (unsigned long long)e->limit_ns / 1000000000);
	else if (err == -ECANCELED)
		snprintf(e->err, e->err_len, "the parser was stopped from outside, and was ended");
	else if (err == -EBADMSG)
		snprintf(e->err, e->err_len, "the parser's answer was malformed");
	else if (err == -EPIPE)
		describe_end(status, e->kind == PARSE_SYMBOLS, e->err, e->err_len);
	else
		snprintf(e->err, e->err_len, "the parser could not be asked: %s", strerror(-err));
	return -EIO;
}

static bool may_start(struct parse_pool *pool, uid_t uid)
{
	const unsigned *failures = failures_of(pool, uid);

	return failures && *failures < MAX_FAILURES;
}

/* Returns the owner's process; starts it if needed. */
static int choose_process(struct exchange *e, uid_t uid)
{
	int err;

	e->process = find_process(e->pool, uid);
	if (e->process)
		return 0;
	if (!may_start(e->pool, uid)) {
		snprintf(e->err, e->err_len, "the parser for files of user %u failed %d times and is not started again", uid,
			 MAX_FAILURES);
		return -EIO;
	}
	e->process = parse_pool_make_room(e->pool);
	err = parse_pool_start(e->process, uid);
	if (err) {
		snprintf(e->err, e->err_len, "the parser could not be started: %s", strerror(-err));
		return err;
	}
	err = send_request(e, PARSE_TABLES, e->pool->tables_fd, "");
	return err ? parse_pool_give_up(e, err) : 0;
}

/* A process that ended while idle is replaced: this file is not the cause. */
static int send_to_process(struct exchange *e, uid_t uid)
{
	for (int tries = 0; ; tries++) {
		int err = choose_process(e, uid);

		if (err)
			return err;
		err = send_request(e, e->kind, e->fd, e->name);
		if (!err)
			return 0;
		parse_pool_give_up(e, err);
		if (tries)
			return -EIO;
	}
}

/* Returns 0, or the status in the answer with its reason in err, or -EIO. The caller owns *payload, which has a NUL after its len
 * bytes and is not validated. */
static int parse_pool_ask(struct exchange *e, uid_t uid, char **payload, size_t *len)
{
	struct parse_answer answer;
	int err;

	e->pool->last_id++;
	e->limit_ns = e->kind == PARSE_SYMBOLS ? PARSE_SYMBOLS_DEADLINE_NS : PARSE_DEADLINE_NS;
	e->deadline_ns = monotonic_ns() + e->limit_ns;
	err = send_to_process(e, uid);
	if (err)
		return err;
	err = receive_answer(e, &answer, payload);
	if (err)
		return parse_pool_give_up(e, err);
	e->process->used_ns = monotonic_ns();
	*len = answer.len;
	if (!answer.status)
		return 0;
	for (char *c = *payload; *c; c++)
		if (*c < 0x20 || *c >= 0x7f)
			*c = '?';
	snprintf(e->err, e->err_len, "%s", *payload);
	free(*payload);
	return answer.status;
}

static int ask_about_file(struct exchange *e, const struct code_file *file, char **payload, size_t *len)
{
	int err;

	e->fd = code_file_reader(file);
	if (e->fd < 0) {
		snprintf(e->err, e->err_len, "it cannot be opened for reading: %s", strerror(-e->fd));
		return e->fd == -ENOEXEC ? -EIO : e->fd;
	}
	err = parse_pool_ask(e, file->uid, payload, len);
	close(e->fd);
	return err;
}

/* ---- public ---- */

int parse_plan(struct parse_pool *pool, const struct code_file *file, const char *name, struct plan *out, char *err_text,
	       size_t err_len)
{
	struct exchange e = { .pool = pool, .kind = PARSE_PLAN, .name = name, .err = err_text, .err_len = err_len };
	const char *wrong;
	char *payload;
	size_t len;
	int err = ask_about_file(&e, file, &payload, &len);

	*out = (struct plan){ 0 };
	if (err)
		return err;
	err = plan_wire_decode(payload, len, pool->set, file->size, out, &wrong);
	free(payload);
	if (err == -EBADMSG) {
		parse_pool_give_up(&e, err);
		snprintf(err_text, err_len, "the parser's answer was refused: %s", wrong);
		return -EIO;
	}
	if (err)
		snprintf(err_text, err_len, "%s", strerror(-err));
	return err;
}

/* A file's property of one word; "" if it has none. valid: the characters that it may have, NULL: all but NUL. */
static int ask_for_word(struct exchange *e, const struct code_file *file, const char *valid, char *buf, size_t len)
{
	char *payload;
	size_t payload_len;
	int err = ask_about_file(e, file, &payload, &payload_len);

	buf[0] = 0;
	if (err)
		return err;
	if (payload_len < len && (valid ? strspn(payload, valid) : strlen(payload)) == payload_len)
		memcpy(buf, payload, payload_len + 1);
	free(payload);
	return 0;
}

int parse_interpreter(struct parse_pool *pool, const struct code_file *file, char *buf, size_t len, char *err_text, size_t err_len)
{
	struct exchange e = { .pool = pool, .kind = PARSE_INTERPRETER, .name = "", .err = err_text, .err_len = err_len };

	return ask_for_word(&e, file, NULL, buf, len);
}

/* ---- unwind rules and symbols ---- */

int parse_build_id(struct parse_pool *pool, const struct code_file *file, char *buf, size_t len, char *err_text, size_t err_len)
{
	struct exchange e = { .pool = pool, .kind = PARSE_BUILD_ID, .name = "", .err = err_text, .err_len = err_len };

	return ask_for_word(&e, file, "0123456789abcdef", buf, len);
}

static bool is_rule(const struct iop_site_rule *rule)
{
	return rule->kind >= IOP_RULE_SP && rule->kind <= IOP_RULE_END && rule->bp_saved <= IOP_BP_AT_BP &&
	       !(rule->flags & ~IOP_RULE_TRUNCATED);
}

int parse_rule(struct parse_pool *pool, const struct code_file *file, uint64_t offset, struct iop_site_rule *rule, char *err_text,
	       size_t err_len)
{
	char name[24];
	struct exchange e = { .pool = pool, .kind = PARSE_RULE, .name = name, .err = err_text, .err_len = err_len };
	char *payload;
	size_t len;
	int err;

	snprintf(name, sizeof(name), "%llx", (unsigned long long)offset);
	err = ask_about_file(&e, file, &payload, &len);
	if (err)
		return err;
	if (len == sizeof(*rule))
		memcpy(rule, payload, len);
	free(payload);
	return len == sizeof(*rule) && is_rule(rule) ? 0 : parse_pool_give_up(&e, -EBADMSG);
}

int parse_python(struct parse_pool *pool, const struct code_file *file, struct python_file *out, char *err_text, size_t err_len)
{
	struct exchange e = { .pool = pool, .kind = PARSE_PYTHON, .name = "", .err = err_text, .err_len = err_len };
	char *payload;
	size_t len;
	int err = ask_about_file(&e, file, &payload, &len);

	*out = (struct python_file){ 0 };
	if (err)
		return err;
	if (len == sizeof(*out))
		memcpy(out, payload, len);
	free(payload);
	return len == sizeof(*out) && (!out->known || python_file_is_valid(out)) ? 0 : parse_pool_give_up(&e, -EBADMSG);
}

int parse_symbols(struct parse_pool *pool, const struct code_file *file, const uint64_t *offsets, size_t n, char **text,
		  char *err_text, size_t err_len)
{
	char name[sizeof(((struct parse_request *)0)->name)] = "";
	struct exchange e = { .pool = pool, .kind = PARSE_SYMBOLS, .name = name, .err = err_text, .err_len = err_len };
	size_t len, used = 0;
	int err;

	for (size_t i = 0; i < n && used + 18 < sizeof(name); i++)
		used += snprintf(name + used, sizeof(name) - used, "%s%llx", i ? "," : "", (unsigned long long)offsets[i]);
	err = ask_about_file(&e, file, text, &len);
	if (!err && strlen(*text) != len) {
		free(*text);
		return parse_pool_give_up(&e, -EBADMSG);
	}
	return err;
}

int parse_debug_file(struct parse_pool *pool, const struct code_file *file, int fd, const char *key, char *err_text, size_t err_len)
{
	struct exchange e = { .pool = pool, .kind = PARSE_DEBUG_FILE, .name = key, .fd = fd, .err = err_text, .err_len = err_len };
	char *payload;
	size_t len;
	int err = parse_pool_ask(&e, file->uid, &payload, &len);

	if (!err)
		free(payload);
	return err;
}

void parse_pool_warm(struct parse_pool *pool)
{
	char reason[128];
	struct exchange e = { .pool = pool, .err = reason, .err_len = sizeof(reason) };

	choose_process(&e, 0);          /* if that fails, the first file reports the reason */
}

void parse_pool_set_work(struct parse_pool *pool, int fd, void (*work)(void *arg), void *arg)
{
	pool->work.fd = fd;
	pool->work.fn = work;
	pool->work.arg = arg;
}

int parse_pool_create(struct parse_pool **out, const struct table_set *set)
{
	struct parse_pool *pool = calloc(1, sizeof(*pool));
	int err;

	if (!pool)
		return -ENOMEM;
	pool->set = set;
	pool->tables_fd = memfd_create("ioprobe-tables", MFD_CLOEXEC);
	err = pool->tables_fd < 0 ? -errno : tables_wire_write(set, pool->tables_fd);
	if (err)
		parse_pool_destroy(pool);
	else
		*out = pool;
	return err;
}

void parse_pool_destroy(struct parse_pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < MAX_PROCESSES; i++)
		if (pool->processes[i].pid)
			parse_pool_end(&pool->processes[i]);
	if (pool->tables_fd >= 0)
		close(pool->tables_fd);
	free(pool);
}
