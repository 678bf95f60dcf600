/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Starts the processes that record jobs: programs of their own, which inherit nothing from the service.
 */
#include "service/job_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static pid_t start_program(char *const *argv, int socket_fd, int log_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid = null < 0 ? -1 : fork();
	sigset_t none;

	if (pid) {
		pid = pid < 0 ? -errno : pid;
		if (null >= 0)
			close(null);
		return pid;
	}
	setsid();
	dup2(socket_fd >= 0 ? socket_fd : null, RECORDER_SOCKET_FD);
	dup2(log_fd, STDOUT_FILENO);
	dup2(log_fd, STDERR_FILENO);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv("/proc/self/exe", argv);
	_exit(127);
}

/* slots NULL: it records; else it loads programs for this many recordings. */
static pid_t start_for(const struct policy *policy, const char *slots, int log_fd, int *fd)
{
	char ring[32], overhead[32],
		*argv[10 + 2 * (RECORDER_MAX_TABLES + POLICY_MAX_SETTINGS)] = { "ioprobe", RECORDER_COMMAND, "--ring-size",
								       ring,      "--max-overhead", overhead };
	int argc = 6, pair[2];
	pid_t pid;

	if (slots) {
		argv[argc++] = "--load";
		argv[argc++] = (char *)slots;
	}
	snprintf(ring, sizeof(ring), "%g", policy->ring_mib);
	snprintf(overhead, sizeof(overhead), "%g", policy->max_overhead_percent);
	for (size_t i = 0; i < policy->ntables && i < RECORDER_MAX_TABLES; i++) {
		argv[argc++] = "--probes";
		argv[argc++] = policy->tables[i];
	}
	for (size_t i = 0; i < policy->nsettings && i < POLICY_MAX_SETTINGS; i++) {
		argv[argc++] = "--set";
		argv[argc++] = policy->settings[i];
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);    /* the service never waits for a recorder */
	pid = start_program(argv, pair[1], log_fd);
	close(pair[1]);
	if (pid < 0)
		close(pair[0]);
	else
		*fd = pair[0];
	return pid;
}

pid_t job_recorder_start(const struct policy *policy, int log_fd, int *fd)
{
	return start_for(policy, NULL, log_fd, fd);
}

pid_t job_recorder_load(const struct policy *policy, unsigned slots, int log_fd, int *fd)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", slots);
	return start_for(policy, text, log_fd, fd);
}

pid_t job_recorder_recover(const char *state_path, int log_fd)
{
	char *argv[] = { "ioprobe", RECORDER_COMMAND, "--recover", (char *)state_path, NULL };

	return start_program(argv, -1, log_fd);
}
