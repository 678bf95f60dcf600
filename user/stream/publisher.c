/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A child at the other end of a pipe.
 */
#include "stream/publisher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STREAM_PROGRAM "ldmsd_stream_publish"
#define MESSAGE_PROGRAM "ldms_msg_publish"
#define PAUSE_NS 20000000
#define LOOK_MS 200 /* between two looks whether the recording is over */
#define EXPLAIN_MS 1000 /* a program that has closed its input ends soon */

const char *const publisher_names[] = { STREAM_PROGRAM, MESSAGE_PROGRAM, NULL };

/* Those of the connector; an empty value is none, as there. */
static char *publisher_setting(const char *variable, const char *value)
{
	const char *set = getenv(variable);

	return (char *)(set && *set ? set : value);
}

/* Does not return. The second program takes lines from a file only. */
static void publisher_run(const char *name, int in, pid_t parent)
{
	char *xprt = publisher_setting("DARSHAN_LDMS_XPRT", "sock"), *host = publisher_setting("DARSHAN_LDMS_HOST", "localhost"),
	     *port = publisher_setting("DARSHAN_LDMS_PORT", "412"), *auth = publisher_setting("DARSHAN_LDMS_AUTH", "munge"),
	     *stream = publisher_setting("DARSHAN_LDMS_STREAM", "darshanConnector");
	char *streams[] = { (char *)name, "-x", xprt, "-h", host, "-p", port, "-a", auth, "-s", stream, "-t", "json", "-l", NULL };
	char *messages[] = { (char *)name, "-x",   xprt, "-h",  host, "-p",         port, "-a", auth, "-m",
			     stream,       "-t", "json", "-f", "/dev/stdin", "-l", NULL };

	if (dup2(in, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(126);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(126);
	signal(SIGPIPE, SIG_DFL);
	execvp(name, strcmp(name, STREAM_PROGRAM) ? messages : streams);
	_exit(errno == ENOENT ? 127 : 126);
}

static void publisher_kill(struct publisher *publisher)
{
	kill(publisher->pid, SIGKILL);
	waitpid(publisher->pid, &publisher->status, 0);
	publisher->pid = 0;
	publisher->too_slow = true;
}

/* Waits for room in the pipe. Returns false if there is none when the grace period is up: the program is killed then. */
static bool publisher_wait(struct publisher *publisher)
{
	struct pollfd wanted = { .fd = publisher->in, .events = POLLOUT };

	if (!publisher->too_slow && !grace_is_up(&publisher->grace, publisher->output, false)) {
		poll(&wanted, 1, LOOK_MS);
		return true;
	}
	if (publisher->pid)
		publisher_kill(publisher);
	errno = ETIMEDOUT;
	return false;
}

/* Of a stream (fopencookie(3)), which takes less than all for an error. A program that does not read must not hold the follower for
 * ever. */
static ssize_t publisher_write(void *cookie, const char *bytes, size_t len)
{
	struct publisher *publisher = cookie;

	for (size_t done = 0; done < len;) {
		ssize_t n = write(publisher->in, bytes + done, len - done);

		if (n >= 0)
			done += n;
		else if ((errno != EAGAIN && errno != EINTR) || !publisher_wait(publisher))
			return 0;
	}
	return len;
}

static int publisher_close(void *cookie)
{
	return close(((struct publisher *)cookie)->in);
}

int publisher_start(struct publisher *publisher, const char *name, const struct live_output *output, FILE **out, char *err,
		    size_t err_len)
{
	const cookie_io_functions_t functions = { .write = publisher_write, .close = publisher_close };
	int ends[2] = { -1, -1 }, ret = 0;
	pid_t pid = -1, parent = getpid();

	*out = NULL;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* inherited as ignored it would hide how the program ends */
	if (!pipe2(ends, O_CLOEXEC) && !fcntl(ends[1], F_SETFL, O_NONBLOCK))
		pid = fork();
	if (!pid)
		publisher_run(name, ends[0], parent);
	*publisher = (struct publisher){ .name = name, .pid = pid > 0 ? pid : 0, .in = ends[1], .output = output };
	grace_init(&publisher->grace);
	if (pid > 0)
		*out = fopencookie(publisher, "w", functions);
	if (!*out)
		ret = errno ? -errno : -EIO;
	if (ends[0] >= 0)
		close(ends[0]);
	if (!*out && ends[1] >= 0)
		close(ends[1]); /* ends the program, if there is one */
	if (ret)
		snprintf(err, err_len, "%s: cannot start it: %s", name, strerror(-ret));
	return ret;
}

/* Returns whether it has ended, after at most wait_ms. */
static bool publisher_has_ended(struct publisher *publisher, uint64_t wait_ms)
{
	const struct timespec pause = { 0, PAUSE_NS };

	for (uint64_t waited_ns = 0; publisher->pid; waited_ns += PAUSE_NS) {
		pid_t ended = waitpid(publisher->pid, &publisher->status, WNOHANG);

		if (ended < 0)
			publisher->status = 126 << 8;
		if (ended)
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
	if (publisher->too_slow) {
		snprintf(err, err_len,
			 "%s: cannot publish the stream: it did not read or end within %llu s and was killed: is ldmsd running?",
			 publisher->name, (unsigned long long)(publisher->grace.length_ns / 1000000000));
		return;
	}
	if (!publisher_has_ended(publisher, EXPLAIN_MS))
		return;
	if (WIFEXITED(publisher->status) && WEXITSTATUS(publisher->status) == 127)
		snprintf(err, err_len, "%s: cannot publish the stream: it is not in PATH: install LDMS", publisher->name);
	else if (WIFEXITED(publisher->status) && WEXITSTATUS(publisher->status) == 126)
		snprintf(err, err_len,
			 "%s: cannot publish the stream: this user cannot execute it: check its permissions and those of PATH",
			 publisher->name);
	else
		snprintf(err, err_len, "%s: cannot publish the stream: it ended early, with %s %d: check DARSHAN_LDMS_HOST, _PORT, "
			 "_XPRT and _AUTH",
			 publisher->name, WIFSIGNALED(publisher->status) ? "signal" : "status",
			 WIFSIGNALED(publisher->status) ? WTERMSIG(publisher->status) : WEXITSTATUS(publisher->status));
}

int publisher_finish(struct publisher *publisher, FILE *out, char *err, size_t err_len)
{
	int ret = out && fclose(out) ? -errno : 0;

	if (!publisher_has_ended(publisher, publisher->grace.length_ns / 1000000))
		publisher_kill(publisher);
	if (!ret && !publisher->too_slow && WIFEXITED(publisher->status) && !WEXITSTATUS(publisher->status))
		return 0;
	publisher_explain(publisher, err, err_len);
	return ret ? ret : -EIO;
}
