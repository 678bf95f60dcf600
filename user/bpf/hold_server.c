/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Starts the hold server and communicates with it. The process has a session of its own and blocks all signals, so that signals to
 * the recorder do not affect it; it ends when the recorder's end of the sockets is closed.
 */
#include "bpf/hold_server_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/features.h"
#include "bpf/members.h"
#include "bpf/private_mount.h"
#include "bpf/rings.h"

#define FIRST_BEAT_NS 2000000000ull
#define SERVER_NICE (-20)       /* programs wait for it, perhaps on the only processor */

void hold_server_prefer_thread(void)
{
	struct sched_param first = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		setpriority(PRIO_PROCESS, 0, SERVER_NICE);
}

/* ---- in the server process ---- */

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Descriptors it does not need must be closed: others wait for end of file on our output, or on a socket. */
static void close_others(const struct hold_server *server)
{
	int keep[KERNEL_SERVER_FDS + MEMBERS_FDS + 4], null_fd = open("/dev/null", O_RDWR), next = 3;
	size_t n = bpf_side_server_fds(server->kernel, keep);

	for (int fd = 0; fd <= 2 && null_fd >= 0; fd++)
		dup2(null_fd, fd);
	keep[n++] = server->hold_fd;
	keep[n++] = server->link_fd;
	keep[n++] = server->reap_fd;
	if (server->mount_fd >= 0)
		keep[n++] = server->mount_fd;
	if (server->members)
		n += members_fds(server->members, keep + n);
	qsort(keep, n, sizeof(keep[0]), by_number);
	for (size_t i = 0; i < n; i++) {
		if (keep[i] > next)
			syscall(SYS_close_range, next, keep[i] - 1, 0);         /* Linux 5.9 */
		if (keep[i] >= next)
			next = keep[i] + 1;
	}
	syscall(SYS_close_range, next, ~0u, 0);
}

/* In the process that stays for the definitions. */
static void release_recording(void *arg)
{
	struct hold_server *server = arg;

	bpf_side_release(server->kernel);
	close(server->mount_fd);
	close(server->hold_fd);
	close(server->link_fd);
	close(server->reap_fd);
}

static void run_server(struct hold_server *server)
{
	pthread_t links;
	sigset_t all;

	server->places.mount_fd = server->mount_fd;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	setpriority(PRIO_PROCESS, 0, SERVER_NICE);
	prctl(PR_SET_NAME, "ioprobe-hold");
	close_others(server);
	link_turns_init(&server->turns);
	if (pthread_create(&links, NULL, links_serve, server))
		_exit(1);
	link_reapers_begin(server);
	holds_serve(server);
	pthread_join(links, NULL);      /* what it is placing will be in place, and can be removed */
	link_reapers_join(server);
	bpf_side_leave_slot(server->kernel);
	if (server->members)
		members_end(server->members, release_recording, server);
	guard_stay(server);
	_exit(0);
}

static void close_pairs(int pairs[][2], int n)
{
	while (n--)
		close(pairs[n][0]), close(pairs[n][1]);
}

static int fork_server(struct hold_server *server)
{
	int pairs[3][2], *const ends[3] = { &server->hold_fd, &server->link_fd, &server->reap_fd };

	for (int i = 0; i < 3; i++) {
		int err = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[i]) ? -errno : 0;

		if (!err)
			continue;
		close_pairs(pairs, i);
		return err;
	}
	server->pid = fork();
	for (int i = 0; i < 3; i++) {
		*ends[i] = pairs[i][server->pid == 0];
		close(pairs[i][server->pid != 0]);
	}
	if (!server->pid)
		run_server(server);
	return server->pid < 0 ? -errno : 0;
}

/* ---- in the recorder ---- */

int hold_server_create(struct hold_server **out, struct bpf_side *kernel)
{
	struct hold_server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return -ENOMEM;
	*server = (struct hold_server){ .kernel = kernel, .hold_fd = -1, .link_fd = -1, .reap_fd = -1 };
	server->counters = mmap(NULL, sizeof(*server->counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (server->counters == MAP_FAILED) {
		free(server);
		return -ENOMEM;
	}
	server->mount_fd = private_mount("bpf");
	if (server->mount_fd >= 0 && bpf_side_method(kernel) == ATTACH_PERF && feature_available(FEATURE_UPROBE_DEFINITIONS))
		members_create(&server->members, bpf_side_programs(kernel));     /* without it the probes are in all processes */
	err = fork_server(server);
	if (err) {
		hold_server_destroy(server);
		return err;
	}
	*out = server;
	return 0;
}

static void stop_heart(struct hold_server *server)
{
	server->stop = true;
	if (server->beating)
		pthread_join(server->heart, NULL);
	server->beating = false;
	bpf_side_beat(server->kernel, KERNEL_BEAT_RECORDER, 0);
}

/* Waits until the server has ended, or has become a guard, which outlives the recorder and is reaped by init. */
static void await_server(const struct hold_server *server)
{
	while (waitpid(server->pid, NULL, WNOHANG) == 0 && !server->counters->guarding)
		poll(NULL, 0, 1);
}

bool hold_server_has_members(const struct hold_server *server)
{
	return server->members;
}

void hold_server_destroy(struct hold_server *server)
{
	hold_server_leave(server, &(struct hold_guarding){ 0 });
}

void hold_server_leave(struct hold_server *server, struct hold_guarding *guarding)
{
	if (!server)
		return;
	stop_heart(server);
	if (server->hold_fd >= 0)
		close(server->hold_fd);
	if (server->link_fd >= 0)
		close(server->link_fd);
	if (server->reap_fd >= 0)
		close(server->reap_fd);
	if (server->pid > 0)
		await_server(server);
	if (server->pid > 0 && server->counters->guarding)
		*guarding = (struct hold_guarding){ server->pid, server->counters->in_flight, server->counters->in_flight_unread };
	if (server->mount_fd >= 0)
		close(server->mount_fd);
	members_destroy(server->members);
	munmap(server->counters, sizeof(*server->counters));
	free(server);
}

/* Programs held by the server are stopped by ptrace(2): no other process can release them while the server itself is stopped
 * (SIGSTOP). */
static void continue_server(const struct hold_server *server)
{
	siginfo_t info = { 0 };

	if (!waitid(P_PID, server->pid, &info, WSTOPPED | WNOHANG) && info.si_pid == server->pid)
		kill(server->pid, SIGCONT);
}

static void *hold_server_beat(void *arg)
{
	struct hold_server *server = arg;

	hold_server_prefer_thread();
	while (!server->stop) {
		bpf_side_beat(server->kernel, KERNEL_BEAT_RECORDER, monotonic_ns());
		continue_server(server);
		poll(NULL, 0, HEARTBEAT_MS);
	}
	return NULL;
}

int hold_server_start_heartbeat(struct hold_server *server)
{
	int err = pthread_create(&server->heart, NULL, hold_server_beat, server);

	server->beating = !err;
	return -err;
}

bool hold_server_await(const struct hold_server *server)
{
	const struct bpf_side *kernel = server->kernel;
	const uint64_t end_ns = monotonic_ns() + FIRST_BEAT_NS;

	while (!bpf_side_last_beat(kernel, KERNEL_BEAT_SERVER) || !bpf_side_last_beat(kernel, KERNEL_BEAT_RECORDER)) {
		if (monotonic_ns() > end_ns)
			return false;
		poll(NULL, 0, 1);
	}
	return true;
}

int hold_server_fd(const struct hold_server *server)
{
	return server->hold_fd;
}

bool hold_server_next(struct hold_server *server, struct hold_notice *notice)
{
	ssize_t n = recv(server->hold_fd, notice, sizeof(*notice), MSG_DONTWAIT);

	if (n == sizeof(*notice))
		return true;
	notice->type = HOLD_SERVER_GONE;
	return !n || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void hold_server_release(struct hold_server *server, const struct iop_hold_id *id)
{
	send(server->hold_fd, id, sizeof(*id), MSG_NOSIGNAL);
}

uint64_t hold_server_late(const struct hold_server *server)
{
	return server->counters->late;
}

uint64_t hold_server_returns_failed(const struct hold_server *server)
{
	return server->counters->returns_failed;
}
