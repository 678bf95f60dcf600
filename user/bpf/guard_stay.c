/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The hold server after its recording: it stays, small and mostly asleep, until no call of the recording is in flight any more.
 */
#include "bpf/hold_server_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "bpf/guard_calls.h"
#include "bpf/links.h"
#include "bpf/rings.h"

#define FIRST_LOOK_MS 20        /* programs that found the slot open have ended by then */
#define LAST_LOOK_MS 5000
/* After SIGTERM: programs that got it, too, may cancel their threads. Less than the limits of SLURM and systemd. */
#define TERM_NS 20000000000ull
/* Shared programs do not end with their links: how long the kernel takes to detach. */
#define DETACH_MULTI_NS 10000000000ull
#define DETACH_PERF_NS 150000000000ull
#define DETACH_MEMBERS_NS 2000000000ull /* programs may end before the events that place return probes */

/* Until when return addresses may still be replaced. */
struct ending { uint32_t ids[KERNEL_PROGRAMS]; size_t nids; uint64_t until_ns; };

static void begin_ending(struct ending *ending, const struct bpf_side *kernel, bool members)
{
	bool shared = bpf_side_is_shared(kernel);

	ending->nids = shared ? 0 : bpf_side_call_program_ids(kernel, ending->ids);
	ending->until_ns = members ? monotonic_ns() + DETACH_MEMBERS_NS : 0;
	if (!members && shared && bpf_side_method(kernel) != ATTACH_SESSION)        /* sessions look at the slot */
		ending->until_ns = monotonic_ns() + (bpf_side_method(kernel) == ATTACH_PERF ? DETACH_PERF_NS : DETACH_MULTI_NS);
}

static bool calls_may_begin(const struct ending *ending)
{
	return !links_wait_gone(ending->ids, ending->nids, 0) || monotonic_ns() < ending->until_ns;
}

/* Links that could not be pinned are descriptors of the server, and those of a recorder that died are still open. */
static void close_links(const struct guard *guard)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char target[64] = "";
		int fd = atoi(entry->d_name);

		if (!isdigit((unsigned char)entry->d_name[0]) || guard_has_link(guard, fd) ||
		    readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) < 0)
			continue;
		if (!strcmp(target, "anon_inode:bpf_link") || !strcmp(target, "anon_inode:bpf-link"))
			close(fd);
	}
	if (dir)
		closedir(dir);
}

/* Nothing of the recording may stay with this process: programs, rings, a directory. */
static void leave_recording(struct hold_server *server)
{
	bpf_side_release(server->kernel);
	if (server->mount_fd >= 0)
		close(server->mount_fd);
	server->mount_fd = -1;
	close_links(server->guard);
	close(server->hold_fd);
	close(server->link_fd);
	close(server->reap_fd);
	guard_places_deinit(&server->places);
	malloc_trim(0);
	if (chdir("/"))
		return;         /* a directory that cannot be left keeps its file system busy, no more */
	prctl(PR_SET_NAME, "ioprobe-guard");
}

/* Returns whether SIGTERM came. */
static bool sleep_ms(unsigned ms)
{
	const struct timespec pause = { ms / 1000, ms % 1000 * 1000000l };
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	return sigtimedwait(&term, NULL, &pause) == SIGTERM;
}

static uint64_t guard_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How long to sleep after a look, in ms. */
static unsigned guard_sleep_ms(unsigned pause_ms, uint64_t cpu_ns, uint64_t end_ns)
{
	uint64_t now_ns = monotonic_ns(), left_ms = now_ns < end_ns ? (end_ns - now_ns) / 1000000 + 1 : 1;
	unsigned ms = guard_calls_pause(pause_ms, cpu_ns);

	return ms < left_ms ? ms : left_ms;
}

void guard_stay(struct hold_server *server)
{
	uint64_t end_ns = UINT64_MAX;
	unsigned pause_ms = FIRST_LOOK_MS;
	struct ending ending;

	if (!server->guard)
		return;
	begin_ending(&ending, server->kernel, server->members);
	leave_recording(server);
	sleep_ms(pause_ms);
	while (monotonic_ns() < end_ns) {
		bool begun = calls_may_begin(&ending);
		uint64_t cpu_ns = guard_cpu_ns();
		size_t unread = 0, calls = guard_look(server->guard, begun, &unread);

		if (!calls && !begun)
			break;
		server->counters->in_flight = calls;
		server->counters->in_flight_unread = unread;
		server->counters->guarding = true;
		pause_ms = pause_ms < LAST_LOOK_MS / 2 ? pause_ms * 2 : LAST_LOOK_MS;
		if (sleep_ms(guard_sleep_ms(pause_ms, guard_cpu_ns() - cpu_ns, end_ns)) && end_ns == UINT64_MAX)
			end_ns = monotonic_ns() + TERM_NS;
	}
	guard_destroy(server->guard);
	server->guard = NULL;
}
