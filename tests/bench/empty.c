/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * empty OBJECT tracepoints | empty OBJECT calls PID | empty OBJECT hits PID: programs that do nothing at enter and exit of all system calls, or at
 * the points that stdin names, "OFFSET FILE" lines: calls and their returns, or plain hits. Prints "ready POINTS METHOD", detaches at SIGTERM.
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
#include <unistd.h>

#define MAX_POINTS 8192
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

static struct bpf_object *load(const char *path, int type)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);

	if (!object)
		return NULL;
	bpf_program__set_expected_attach_type(bpf_object__find_program_by_name(object, "call"), type);
	if (!bpf_object__load(object))
		return object;
	bpf_object__close(object);
	return NULL;
}

static int attach_tracepoints(struct bpf_object *object)
{
	return !bpf_program__attach(bpf_object__find_program_by_name(object, "leave")) ||
	       !bpf_program__attach(bpf_object__find_program_by_name(object, "enter"));
}

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

int main(int argc, char **argv)
{
	int type = TRACE_UPROBE_SESSION, sig;
	struct bpf_object *object;
	sigset_t end;
	long n = 0;

	if (argc < 3)
		return 2;
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	libbpf_set_print(silent);
	hits = !strcmp(argv[2], "hits");
	object = hits ? NULL : load(argv[1], type);
	if (!object)
		object = load(argv[1], type = TRACE_UPROBE_MULTI);
	if (!object)
		return 3;
	if (!strcmp(argv[2], "tracepoints"))
		n = attach_tracepoints(object) ? -1 : 2;
	else
		n = attach_probes(bpf_program__fd(bpf_object__find_program_by_name(object, "call")), atoi(argv[3]), type);
	if (n < 0) {
		fprintf(stderr, "empty: cannot attach: %s\n", strerror(errno));
		return 3;
	}
	printf("ready %ld %s\n", n, type == TRACE_UPROBE_SESSION ? "session" : "pairs");
	fflush(stdout);
	/* Not by a deadly signal: with one pending the kernel cannot take the processes' locks and leaves the probes in them. */
	sigwait(&end, &sig);
	return 0;
}
