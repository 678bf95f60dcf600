/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The process executes the program again, so that it shares no memory with the recorder: mappings of rings would keep BPF objects
 * alive.
 */
#include "stream/follower.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "privilege/output.h"
#include "stream/follow.h"
#include "stream/outputs.h"
#include "util/quantity.h"

#define DIRECTORY_FD 3
#define REPORT_FD 4
#define NICE 10 /* lower priority than the recorded programs */
#define PAUSE_NS 20000000
#define LEAST_INTERVAL_NS 100000000ull
#define LONGEST_INTERVAL_NS 3600000000000ull

static const char *const names_words[] = { [LIVE_NAMES_FULL] = "full", [LIVE_NAMES_MOUNT] = "mount", [LIVE_NAMES_HASH] = "hash" };

bool follower_interval(const char *text, uint64_t *ns)
{
	return quantity_ns(text, ns) && *ns >= LEAST_INTERVAL_NS && *ns <= LONGEST_INTERVAL_NS;
}

bool follower_names(const char *text, enum live_names *names)
{
	for (size_t i = 0; i < sizeof(names_words) / sizeof(names_words[0]); i++)
		if (!strcmp(text, names_words[i])) {
			*names = i;
			return true;
		}
	return false;
}

bool follower_events(const char *text, struct live_options *options)
{
	char *end;

	if (!strncmp(text, "slow=", 5)) {
		options->events = LIVE_EVENTS_SLOW;
		return quantity_ns(text + 5, &options->slow_ns);
	}
	if (!strncmp(text, "1/", 2)) {
		options->events = LIVE_EVENTS_SAMPLE;
		options->sample = strtoull(text + 2, &end, 10);
		return text[2] >= '0' && text[2] <= '9' && !*end && options->sample > 0 && options->sample <= 1000000000;
	}
	options->events = !strcmp(text, "all") ? LIVE_EVENTS_ALL : !strcmp(text, "errors") ? LIVE_EVENTS_ERRORS : LIVE_EVENTS_NONE;
	return options->events != LIVE_EVENTS_NONE || !strcmp(text, "none");
}

/* ---- in the recording ---- */

static uint64_t follower_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Removes the variables that identify a job: otherwise the follower would be taken for a process of it. */
static char **follower_environment(char **room, size_t max)
{
	static const char *const kept[] = { "PATH",   "LANG",         "LC_ALL",       "TZ",           "HOME",
					    "TMPDIR", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS" };
	extern char **environ;
	size_t n = 0;

	for (char **entry = environ; *entry && n + 1 < max; entry++) {
		bool keep = !strncmp(*entry, "DARSHAN_LDMS_", 13) || !strncmp(*entry, "IOPROBE_COLLECT_", 16) ||
			    !strncmp(*entry, "IOPROBE_STREAM_", 15);

		for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
			keep |= !strncmp(*entry, kept[i], strlen(kept[i])) && (*entry)[strlen(kept[i])] == '=';
		if (keep)
			room[n++] = *entry;
	}
	room[n] = NULL;
	return room;
}

/* A file of one size: the follower's user could otherwise end the follower by making it shorter. Returns -1 if there is none. */
static int follower_make_report(void)
{
	int fd = memfd_create("ioprobe-stream", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (!ftruncate(fd, sizeof(struct live_report)) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	close(fd);
	return -1;
}

static void follower_close_report(struct follower *f)
{
	if (f->report >= 0)
		close(f->report);
	f->report = -1;
}

static void run_in_child(char *const *argv, char *const *env, int dir, int report)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	setpgid(0, 0); /* the terminal's interrupt is for the program and the recorder */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_IGN);
	dir = fcntl(dir, F_DUPFD_CLOEXEC, 16);
	report = fcntl(report >= 0 ? report : null, F_DUPFD_CLOEXEC, 16);
	if (null < 0 || dir < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(dir, DIRECTORY_FD) < 0 ||
	    dup2(report, REPORT_FD) < 0 || syscall(SYS_close_range, REPORT_FD + 1, ~0u, 0))
		_exit(126);
	execve("/proc/self/exe", argv, env);
	_exit(127);
}

int follower_start(struct follower *f, const struct follower_options *options, const struct output *out)
{
	char uid[16], gid[16], *env[64], *argv[9 + FOLLOWER_MAX_OUTPUTS] = { "ioprobe", FOLLOWER_COMMAND, uid, gid };
	size_t argc = 4;
	pid_t pid;

	snprintf(uid, sizeof(uid), "%u", out->owner->uid);
	snprintf(gid, sizeof(gid), "%u", out->owner->gid);
	argv[argc++] = (char *)(options->interval ? options->interval : "1s");
	argv[argc++] = (char *)(options->names ? options->names : names_words[LIVE_NAMES_FULL]);
	argv[argc++] = (char *)(options->events ? options->events : "");
	argv[argc++] = (char *)out->path;
	for (size_t i = 0; i < options->noutputs && i < FOLLOWER_MAX_OUTPUTS; i++)
		argv[argc++] = (char *)options->outputs[i];
	argv[argc] = NULL;
	follower_environment(env, sizeof(env) / sizeof(env[0]));
	*f = (struct follower){ .report = follower_make_report(), .begin_ns = follower_now_ns(), .noutputs = options->noutputs };
	pid = fork();
	if (!pid)
		run_in_child(argv, env, out->dir, f->report);
	if (pid > 0) {
		f->pid = pid;
		return 0;
	}
	pid = -errno;
	follower_close_report(f);
	return pid;
}

static void follower_limit(uint64_t *value, uint64_t most)
{
	*value = *value < most ? *value : most;
}

bool follower_report(const struct follower *f, struct live_report *report)
{
	uint64_t lived_ns = follower_now_ns() - f->begin_ns, most = lived_ns / LEAST_INTERVAL_NS + 2;

	if (!f->pid || f->report < 0 || pread(f->report, report, sizeof(*report), 0) != sizeof(*report))
		return false;
	follower_limit(&report->intervals, most);
	follower_limit(&report->missed, most * f->noutputs);
	if (__builtin_mul_overflow(report->intervals, lived_ns, &most) || most > INT64_MAX)
		most = INT64_MAX;
	follower_limit(&report->lag_ns, most);
	return true;
}

bool follower_await(const struct follower *f, unsigned wait_ms)
{
	struct timespec pause = { 0, PAUSE_NS };
	siginfo_t info = { 0 };

	for (uint64_t waited_ns = 0; f->pid; waited_ns += PAUSE_NS) {
		if (waitid(P_PID, f->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid)
			return true;
		if (waited_ns >= wait_ms * 1000000ull)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

int follower_finish(struct follower *f, unsigned wait_ms)
{
	pid_t pid = f->pid, ended;
	int status;

	if (!pid)
		return 0;
	if (!follower_await(f, wait_ms))
		return -ETIMEDOUT;
	ended = waitpid(pid, &status, 0);
	f->pid = 0;
	follower_close_report(f);
	return ended == pid && WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

void follower_discard(struct follower *f, const struct output *out)
{
	static const char *const files[] = { FOLLOWER_STORE, FOLLOWER_STORE "-wal", FOLLOWER_STORE "-shm",
					     FOLLOWER_STORE "-journal" };
	struct identity_saved saved;

	if (!f->pid)
		return;
	kill(-f->pid, SIGKILL);         /* with the programs that it feeds */
	kill(f->pid, SIGKILL);          /* it may not be a group of its own yet */
	waitpid(f->pid, NULL, 0);
	f->pid = 0;
	follower_close_report(f);
	if (identity_begin(out->owner, &saved))
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlinkat(out->dir, files[i], 0);
	identity_end(&saved);
}

/* ---- in the follower ---- */

static int follower_become(uid_t uid, gid_t gid)
{
	struct identity who = { 0 };
	int ret;

	if (uid == geteuid())
		return 0;
	ret = identity_user(&who, uid, gid);
	if (!ret)
		ret = identity_become(&who);
	identity_deinit(&who);
	return ret;
}

/* The recorder's file; NULL: it has none. */
static struct live_report *follower_map_report(void)
{
	struct live_report *report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED, REPORT_FD, 0);

	close(REPORT_FD);
	return report == MAP_FAILED ? NULL : report;
}

static int follower_follow(const char *name, struct live_options *options, char **texts, size_t n, char *err, size_t err_len)
{
	struct live_output *outputs[FOLLOWER_MAX_OUTPUTS] = { 0 };
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++)
		ret = live_output_create(&outputs[i], texts[i], err, err_len);
	if (!ret)
		ret = follow_recording(DIRECTORY_FD, name, outputs, n, options, err, err_len);
	for (size_t i = 0; i < n; i++)
		if (outputs[i])
			outputs[i]->destroy(outputs[i]);
	return ret;
}

/* UID GID INTERVAL NAMES EVENTS DIRECTORY'S-NAME OUTPUT... */
static bool follower_parse(int argc, char **argv, struct live_options *options)
{
	if (argc < 8 || argc > 7 + FOLLOWER_MAX_OUTPUTS || !follower_interval(argv[3], &options->interval_ns) ||
	    !follower_names(argv[4], &options->names))
		return false;
	for (int i = 7; i < argc && !argv[5][0]; i++)
		if (live_output_wants_events(argv[i]))
			options->events = LIVE_EVENTS_ALL;
	return !argv[5][0] || follower_events(argv[5], options);
}

int follower_main(int argc, char **argv)
{
	struct live_options options = { 0 };
	char err[4800] = "";
	int ret;

	if (!follower_parse(argc, argv, &options)) {
		fprintf(stderr, "ioprobe: --stream: this command is for ioprobe itself\n");
		return 2;
	}
	fcntl(DIRECTORY_FD, F_SETFD, FD_CLOEXEC);       /* not for the programs that it feeds */
	setpriority(PRIO_PROCESS, 0, NICE);
	options.report = follower_map_report();
	ret = follower_become(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
	if (!ret && fchdir(DIRECTORY_FD))
		ret = -errno;
	if (ret)
		snprintf(err, sizeof(err), "%s: cannot take the rights of its owner: %s", argv[6], strerror(-ret));
	else
		ret = follower_follow(argv[6], &options, argv + 7, argc - 7, err, sizeof(err));
	if (ret)
		fprintf(stderr, "ioprobe: --stream: %s; the recording goes on\n", err[0] ? err : strerror(-ret));
	return ret ? 1 : 0;
}
