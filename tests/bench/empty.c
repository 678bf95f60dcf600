/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * empty OBJECT tracepoints: programs that do nothing at enter and exit of all system calls.
 * empty OBJECT classic NAME…: the same by the classic tracepoints of these system calls (needs tracefs).
 * empty OBJECT calls PID | empty OBJECT hits PID: at the points that stdin names, "OFFSET FILE" lines: calls and their returns, or
 * plain hits.
 * empty OBJECT least PID: the least recorder at all system calls of the process and at the points that stdin names.
 * Prints "ready POINTS METHOD", detaches at SIGTERM, prints "records N milliseconds N": what the recorder sent, how long detaching
 * took.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_POINTS 8192
#define MAX_LINKS 512
#define TRACE_UPROBE_MULTI 48
#define TRACE_UPROBE_SESSION 57

/* The uprobe_multi part of union bpf_attr's link_create, which older headers lack (include/uapi/linux/bpf.h, Linux 6.6). */
struct link_create_uprobe_multi {
	__u32 prog_fd, target_fd, attach_type, flags;
	__u64 path, offsets, ref_ctr_offsets, cookies;
	__u32 cnt, multi_flags, pid;
	__u32 pad;
};

static int hits; /* no returns */

struct points { char path[4096]; __u64 offsets[MAX_POINTS]; unsigned n; };

static int link_points(int program, const struct points *points, int pid, int type, int is_return)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = program, .attach_type = type, .path = (uintptr_t)points->path, .offsets = (uintptr_t)points->offsets,
		.cnt = points->n, .multi_flags = is_return, .pid = pid,
	};

	return syscall(SYS_bpf, BPF_LINK_CREATE, &attr, offsetof(struct link_create_uprobe_multi, pad));
}

/* All points of one file; the links stay with this process. */
static int attach_file(int program, const struct points *points, int pid, int type)
{
	if (type == TRACE_UPROBE_SESSION || hits)
		return link_points(program, points, pid, type, 0) < 0;
	return link_points(program, points, pid, type, 0) < 0 || link_points(program, points, pid, type, 1) < 0;
}

/* Returns the number of points, or -1. The lines of one file stand together. */
static long attach_probes(int program, int pid, int type)
{
	static struct points points;
	char path[4096];
	__u64 offset;
	long total = 0;

	while (scanf("%llu %4095[^\n]", &offset, path) == 2) {
		if (points.n && (strcmp(path, points.path) || points.n == MAX_POINTS)) {
			if (attach_file(program, &points, pid, type))
				return -1;
			points.n = 0;
		}
		strcpy(points.path, path);
		points.offsets[points.n++] = offset;
		total++;
	}
	return points.n && attach_file(program, &points, pid, type) ? -1 : total;
}

struct wanted { const char *call, *enter, *leave; int classic, pid; };

static void choose(struct bpf_object *object, const struct wanted *wanted, int type)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) {
		const char *name = bpf_program__name(program);
		int is_call = wanted->call && !strcmp(name, wanted->call);

		bpf_program__set_autoload(
			program, is_call || (wanted->enter && (!strcmp(name, wanted->enter) || !strcmp(name, wanted->leave))) ||
					 (wanted->classic && !strcmp(name, "classic")));
		if (is_call)
			bpf_program__set_expected_attach_type(program, type);
	}
}

static struct bpf_object *load(const char *path, const struct wanted *wanted, int type)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_map *map;

	if (!object)
		return NULL;
	choose(object, wanted, type);
	map = bpf_object__find_map_by_name(object, "empty_bp.rodata") ?: bpf_object__find_map_by_name(object, ".rodata");
	if (map && bpf_map__set_initial_value(map, &wanted->pid, sizeof(wanted->pid)))
		return NULL;
	if (!bpf_object__load(object))
		return object;
	bpf_object__close(object);
	return NULL;
}

static struct bpf_link *links[MAX_LINKS];
static int nlinks;

static int keep(struct bpf_link *link)
{
	if (!link || nlinks == MAX_LINKS)
		return -1;
	links[nlinks++] = link;
	return 0;
}

static int attach_tracepoints(struct bpf_object *object, const struct wanted *wanted)
{
	return keep(bpf_program__attach(bpf_object__find_program_by_name(object, wanted->leave))) ||
	       keep(bpf_program__attach(bpf_object__find_program_by_name(object, wanted->enter)));
}

/* Both tracepoints of each system call. Returns their number, or -1. */
static long attach_classic(struct bpf_object *object, char **names)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, "classic");
	char name[64];

	for (; *names; names++) {
		snprintf(name, sizeof(name), "sys_exit_%s", *names);
		if (keep(bpf_program__attach_tracepoint(program, "syscalls", name)))
			return -1;
		snprintf(name, sizeof(name), "sys_enter_%s", *names);
		if (keep(bpf_program__attach_tracepoint(program, "syscalls", name)))
			return -1;
	}
	return nlinks;
}

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

static long records;

static int count(void *arg, void *data, size_t len)
{
	(void)arg, (void)data, (void)len;
	records++;
	return 0;
}

/* Waits for the end; meanwhile takes the records out of the ring, as an agent would, every 20 ms. Not ended by a deadly signal:
 * with one pending the kernel cannot take the processes' locks and leaves the probes in them. */
static void wait_for_end(struct bpf_object *object, const sigset_t *end, int recording)
{
	struct ring_buffer *ring =
		recording ? ring_buffer__new(bpf_map__fd(bpf_object__find_map_by_name(object, "ring")), count, NULL, NULL) : NULL;
	const struct timespec round = { .tv_nsec = 20000000 };
	int sig;

	if (!ring) {
		sigwait(end, &sig);
		return;
	}
	while (sigtimedwait(end, NULL, &round) < 0)
		ring_buffer__consume(ring);
	ring_buffer__consume(ring);
	ring_buffer__free(ring);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void detach(void)
{
	double begin = now_ms();

	while (nlinks)
		bpf_link__destroy(links[--nlinks]);
	printf("records %ld milliseconds %.1f\n", records, now_ms() - begin);
}

static int understand(int argc, char **argv, struct wanted *wanted)
{
	if (argc >= 3 && !strcmp(argv[2], "tracepoints"))
		*wanted = (struct wanted){ .enter = "enter", .leave = "leave" };
	else if (argc > 3 && !strcmp(argv[2], "classic"))
		*wanted = (struct wanted){ .classic = 1 };
	else if (argc == 4 && (!strcmp(argv[2], "calls") || !strcmp(argv[2], "hits")))
		*wanted = (struct wanted){ .call = "call", .pid = atoi(argv[3]) };
	else if (argc == 4 && !strcmp(argv[2], "least"))
		*wanted = (struct wanted){
			.call = "least_call", .enter = "least_enter", .leave = "least_leave", .pid = atoi(argv[3])
		};
	else
		return -1;
	return 0;
}

static long attach(struct bpf_object *object, const struct wanted *wanted, char **names, int type)
{
	long n = 0;

	if (wanted->enter && attach_tracepoints(object, wanted))
		return -1;
	if (wanted->classic)
		return attach_classic(object, names);
	if (wanted->call)
		n = attach_probes(bpf_program__fd(bpf_object__find_program_by_name(object, wanted->call)), wanted->pid, type);
	return n < 0 ? -1 : n + nlinks;
}

int main(int argc, char **argv)
{
	int type = TRACE_UPROBE_SESSION;
	struct bpf_object *object;
	struct wanted wanted;
	sigset_t end;
	long n;

	if (understand(argc, argv, &wanted))
		return 2;
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	libbpf_set_print(silent);
	hits = !strcmp(argv[2], "hits");
	object = hits ? NULL : load(argv[1], &wanted, type);
	if (!object && wanted.call && !wanted.enter)
		object = load(argv[1], &wanted, type = TRACE_UPROBE_MULTI);
	if (!object) {
		fprintf(stderr, "empty: cannot load: %s\n", strerror(errno));
		return 3;
	}
	n = attach(object, &wanted, argv + 3, type);
	if (n < 0) {
		fprintf(stderr, "empty: cannot attach: %s\n", strerror(errno));
		return 3;
	}
	printf("ready %ld %s\n", n, type == TRACE_UPROBE_SESSION ? "session" : "pairs");
	fflush(stdout);
	wait_for_end(object, &end, wanted.call && wanted.enter);
	detach();
	return 0;
}
