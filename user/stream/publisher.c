/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A child at the other end of a pipe.
 */
#include "stream/publisher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STREAM_PROGRAM "ldmsd_stream_publish"
#define MESSAGE_PROGRAM "ldms_msg_publish"
#define PAUSE_NS 20000000
#define EXPLAIN_MS 1000 /* a program that has closed its input ends soon */

const char *const publisher_names[] = { STREAM_PROGRAM, MESSAGE_PROGRAM, NULL };

/* Those of the connector; an empty value is none, as there. */
static char *publisher_setting(const char *variable, const char *value)
{
	const char *set = getenv(variable);

	return (char *)(set && *set ? set : value);
}

/* Does not return. The second program takes lines from a file only. */
static void publisher_run(const char *name, int in)
{
	char *xprt = publisher_setting("DARSHAN_LDMS_XPRT", "sock"), *host = publisher_setting("DARSHAN_LDMS_HOST", "localhost"),
	     *port = publisher_setting("DARSHAN_LDMS_PORT", "412"), *auth = publisher_setting("DARSHAN_LDMS_AUTH", "munge"),
	     *stream = publisher_setting("DARSHAN_LDMS_STREAM", "darshanConnector");
	char *streams[] = { (char *)name, "-x", xprt, "-h", host, "-p", port, "-a", auth, "-s", stream, "-t", "json", "-l", NULL };
	char *messages[] = { (char *)name, "-x",   xprt, "-h",  host, "-p",         port, "-a", auth, "-m",
			     stream,       "-t", "json", "-f", "/dev/stdin", "-l", NULL };

	if (dup2(in, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(126);
	signal(SIGPIPE, SIG_DFL);
	execvp(name, strcmp(name, STREAM_PROGRAM) ? messages : streams);
	_exit(errno == ENOENT ? 127 : 126);
}

int publisher_start(struct publisher *publisher, const char *name, FILE **out, char *err, size_t err_len)
{
	int ends[2] = { -1, -1 }, ret = 0;
	pid_t pid = -1;

	*out = NULL;
	signal(SIGPIPE, SIG_IGN);
	if (!pipe2(ends, O_CLOEXEC))
		pid = fork();
	if (!pid)
		publisher_run(name, ends[0]);
	if (pid > 0)
		*out = fdopen(ends[1], "w");
	if (!*out)
		ret = errno ? -errno : -EIO;
	if (ends[0] >= 0)
		close(ends[0]);
	if (!*out && ends[1] >= 0)
		close(ends[1]); /* ends the program, if there is one */
	*publisher = (struct publisher){ .name = name, .pid = pid > 0 ? pid : 0 };
	if (ret)
		snprintf(err, err_len, "%s: cannot start it: %s", name, strerror(-ret));
	return ret;
}

/* Returns whether it has ended, after at most wait_ms. */
static bool publisher_has_ended(struct publisher *publisher, uint64_t wait_ms)
{
	const struct timespec pause = { 0, PAUSE_NS };

	for (uint64_t waited_ns = 0; publisher->pid; waited_ns += PAUSE_NS) {
		if (waitpid(publisher->pid, &publisher->status, WNOHANG))
			publisher->pid = 0;
		else if (waited_ns >= wait_ms * 1000000)
			break;
		else
			nanosleep(&pause, NULL);
	}
	return !publisher->pid;
}

void publisher_explain(struct publisher *publisher, char *err, size_t err_len)
{
	if (!publisher_has_ended(publisher, EXPLAIN_MS))
		return;
	if (WIFEXITED(publisher->status) && WEXITSTATUS(publisher->status) == 127)
		snprintf(err, err_len, "%s: cannot publish the stream: it is not in PATH: install LDMS", publisher->name);
	else
		snprintf(err, err_len, "%s: cannot publish the stream: it ended early, with %s %d: check DARSHAN_LDMS_HOST, _PORT, "
			 "_XPRT and _AUTH",
			 publisher->name, WIFSIGNALED(publisher->status) ? "signal" : "status",
			 WIFSIGNALED(publisher->status) ? WTERMSIG(publisher->status) : WEXITSTATUS(publisher->status));
}

int publisher_finish(struct publisher *publisher, FILE *out, unsigned wait_s, char *err, size_t err_len)
{
	int ret = out && fclose(out) ? -errno : 0;

	if (!publisher_has_ended(publisher, wait_s * 1000ull)) {
		kill(publisher->pid, SIGKILL);
		waitpid(publisher->pid, &publisher->status, 0);
		publisher->pid = 0;
		snprintf(err, err_len, "%s: it did not end within %u s and was killed: lines may be missing", publisher->name,
			 wait_s);
		return -ETIMEDOUT;
	}
	if (!ret && WIFEXITED(publisher->status) && !WEXITSTATUS(publisher->status))
		return 0;
	publisher_explain(publisher, err, err_len);
	return ret ? ret : -EIO;
}
