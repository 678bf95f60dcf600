/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The result is returned over one pipe, completely or not at all. Messages of the C library or a sanitizer are returned over
 * another, non-blocking pipe, without terminal control characters.
 */
#include "privilege/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/progress.h"

#define MAX_TEXT (256u << 20)
#define KEPT 16         /* lower descriptors are moved, so that they do not collide with the standard ones */

struct result { int32_t status; uint32_t err_len; uint64_t text_len; };

/* ---- in the worker ---- */

static int send_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		at += n;
		len -= n;
	}
	return 0;
}

/* Closes all descriptors except the directory and the two pipes. Returns the one for results, and the directory in *dir. */
static int keep_descriptors(int *dir, int results, int complaints)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	*dir = fcntl(*dir, F_DUPFD_CLOEXEC, KEPT);
	results = fcntl(results, F_DUPFD_CLOEXEC, KEPT);
	complaints = fcntl(complaints, F_DUPFD_CLOEXEC, KEPT);
	if (null < 0 || *dir < 0 || results < 0 || complaints < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 || dup2(complaints, STDERR_FILENO) < 0 || dup2(*dir, STDERR_FILENO + 1) < 0 ||
	    dup2(results, STDERR_FILENO + 2) < 0)
		return -1;
	*dir = STDERR_FILENO + 1;
	results = STDERR_FILENO + 2;
	return syscall(SYS_close_range, results + 1, ~0u, 0) ? -1 : results;
}

static void reset_signals(void)
{
	sigset_t none;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The death signal is set last: a change of ids clears it. */
static int worker_confine(const struct worker *worker, int dir, pid_t parent)
{
	const struct rlimit no_processes = { 0, 0 };
	int err;

	setsid();       /* without a controlling terminal it cannot inject input into one */
	if (!worker->threads)
		setrlimit(RLIMIT_NPROC, &no_processes);
	err = identity_become(worker->who);
	if (!err && fchdir(dir))
		err = -errno;
	if (!err && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		err = -errno;
	if (getppid() != parent)
		_exit(1);
	return err;
}

static void run_worker(const struct worker *worker, pid_t parent, int results, int complaints)
{
	char err[1024] = "", *text = NULL;
	size_t text_len = 0;
	int dir = worker->dir;
	struct result result;
	FILE *memory;

	results = keep_descriptors(&dir, results, complaints);
	if (results < 0)
		_exit(1);
	reset_signals();
	result.status = worker_confine(worker, dir, parent);
	if (result.status)
		snprintf(err, sizeof(err), "cannot run as user %s: %s", worker->who->name, strerror(-result.status));
	memory = result.status ? NULL : open_memstream(&text, &text_len);
	if (memory) {
		result.status = worker->run(worker->arg, memory, err, sizeof(err));
		fclose(memory);
	} else if (!result.status) {
		result.status = -ENOMEM;
		snprintf(err, sizeof(err), "%s: out of memory", worker->what);
	}
	result.err_len = strlen(err);
	result.text_len = result.status ? 0 : text_len;
	if (send_all(results, &result, sizeof(result)) || send_all(results, err, result.err_len))
		_exit(1);
	_exit(send_all(results, text, result.text_len) ? 1 : 0);
}

/* ---- in the caller ---- */

static int64_t worker_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* The caller's side of one worker. */
struct waiter { const struct worker *worker; int fd; int64_t deadline_ms; struct progress progress; };  /* deadline_ms 0: none */

static void show_progress(struct waiter *waiter)
{
	volatile struct worker_progress *shared = waiter->worker->progress;

	if (shared)
		progress_update(&waiter->progress, shared->done, shared->total);
}

/* Returns the time until the deadline (left < 0: none), at most until progress is due. */
static int wait_ms(const struct waiter *waiter, int64_t left)
{
	int64_t most = waiter->worker->progress ? PROGRESS_INTERVAL_MS : 1000000;

	return left < 0 || left > most ? most : left;
}

/* Returns 0, -ETIMEDOUT after the deadline, or -ECANCELED if the worker closed the pipe. */
static int worker_receive(struct waiter *waiter, void *data, size_t len)
{
	char *at = data;

	while (len) {
		int64_t left = waiter->deadline_ms ? waiter->deadline_ms - worker_now_ms() : -1;
		struct pollfd ready = { waiter->fd, POLLIN, 0 };
		ssize_t n;

		if (waiter->deadline_ms && left <= 0)
			return -ETIMEDOUT;
		show_progress(waiter);
		if (poll(&ready, 1, wait_ms(waiter, left)) <= 0)
			continue;
		n = read(waiter->fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ECANCELED;
		at += n;
		len -= n;
	}
	return 0;
}

static int receive_result(struct waiter *waiter, struct result *result, char **text, char *err_text, size_t err_len)
{
	char line[1024] = "";
	int err = worker_receive(waiter, result, sizeof(*result));

	if (!err && (result->err_len >= sizeof(line) || result->text_len > MAX_TEXT))
		err = -ECANCELED;
	if (!err)
		err = worker_receive(waiter, line, result->err_len);
	if (!err && !(*text = malloc(result->text_len + 1)))
		err = -ENOMEM;
	if (!err)
		err = worker_receive(waiter, *text, result->text_len);
	if (!err)
		(*text)[result->text_len] = 0;
	if (!err && result->status)
		snprintf(err_text, err_len, "%s", line);
	return err;
}

static void pass_complaints(int fd)
{
	char text[4096];
	ssize_t n;

	while ((n = read(fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if ((text[i] < ' ' && text[i] != '\n') || text[i] == 127)
				text[i] = '?';
		fwrite(text, 1, n, stderr);
	}
}

static void worker_explain(const struct worker *worker, int err, int status, char *err_text, size_t err_len)
{
	if (err == -ETIMEDOUT)
		snprintf(err_text, err_len, "%s was ended: it took longer than %u s", worker->what, worker->limit_s);
	else if (err == -ECANCELED && WIFSIGNALED(status))
		snprintf(err_text, err_len, "%s was ended by signal %d (%s)", worker->what, WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (err == -ECANCELED)
		snprintf(err_text, err_len, "%s ended without a result (status %d)", worker->what, WEXITSTATUS(status));
	else
		snprintf(err_text, err_len, "%s: %s", worker->what, strerror(-err));
}

/* A worker that sleeps in an unresponsive file system cannot be killed: the wait is limited. */
static void reap_soon(pid_t pid, int *status)
{
	const struct timespec pause = { 0, 10000000 };

	for (int i = 0; i < 200 && !waitpid(pid, status, WNOHANG); i++)
		nanosleep(&pause, NULL);
}

/* After the pipe is closed, with or without a result, the worker has nothing left to do: killing it does not change its result. */
static int worker_await(const struct worker *worker, pid_t pid, int fd, char **text, size_t *text_len, char *err_text,
			size_t err_len)
{
	struct waiter waiter = { .worker = worker,
				 .fd = fd,
				 .deadline_ms = worker->limit_s ? worker_now_ms() + 1000ll * worker->limit_s : 0 };
	struct result result = { 0 };
	int err, status = 0;

	progress_begin(&waiter.progress, worker->what);
	err = receive_result(&waiter, &result, text, err_text, err_len);
	progress_end(&waiter.progress);
	kill(pid, SIGKILL);
	if (err == -ETIMEDOUT)
		reap_soon(pid, &status);
	else
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	if (err)
		worker_explain(worker, err, status, err_text, err_len);
	if (err || result.status) {
		free(*text);
		*text = NULL;
		return err ? err : result.status;
	}
	*text_len = result.text_len;
	return 0;
}

int worker_run(const struct worker *worker, char **text, size_t *text_len, char *err_text, size_t err_len)
{
	int results[2], complaints[2], err;
	pid_t parent = getpid(), pid;

	*text = NULL;
	*text_len = 0;
	if (pipe2(results, O_CLOEXEC)) {
		snprintf(err_text, err_len, "%s: %s", worker->what, strerror(errno));
		return -errno;
	}
	if (pipe2(complaints, O_CLOEXEC | O_NONBLOCK)) {
		err = -errno;
		close(results[0]), close(results[1]);
		snprintf(err_text, err_len, "%s: %s", worker->what, strerror(-err));
		return err;
	}
	fflush(NULL);           /* buffered output must not be written twice */
	pid = fork();
	if (!pid)
		run_worker(worker, parent, results[1], complaints[1]);
	err = pid < 0 ? -errno : 0;
	close(results[1]), close(complaints[1]);
	if (err)
		snprintf(err_text, err_len, "%s: cannot start a process: %s", worker->what, strerror(-err));
	else
		err = worker_await(worker, pid, results[0], text, text_len, err_text, err_len);
	pass_complaints(complaints[0]);
	close(results[0]), close(complaints[0]);
	return err;
}
