/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A link takes all its points or none, so a refused set is halved until the refused point stands alone.
 */
#include "capture/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRACE_UPROBE_MULTI 48
#define TRACE_UPROBE_SESSION 57
#define UPROBE_MULTI_RETURN 1

/* The uprobe_multi part of union bpf_attr's link_create, which older headers lack (include/uapi/linux/bpf.h, Linux 6.6). */
struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid;
	uint32_t pad;
};

struct attachment {
	struct links *links;
	const struct kernel_side *kernel;
	const char *path;
	pid_t pid;
	int program_fd;
	uint32_t attach_type;
	bool is_return;
	void (*refused)(void *, const struct attach_point *, int);
	void *arg;
};

void links_destroy(struct links *links)
{
	for (size_t i = 0; i < links->n; i++)
		close(links->fds[i]);
	free(links->fds);
	*links = (struct links){ 0 };
}

static int links_add(struct links *links, int fd)
{
	int *fds = realloc(links->fds, (links->n + 1) * sizeof(int));

	if (!fds) {
		close(fd);
		return -ENOMEM;
	}
	links->fds = fds;
	links->fds[links->n++] = fd;
	return 0;
}

void links_move(struct links *to, struct links *from)
{
	while (from->n && !links_add(to, from->fds[from->n - 1]))
		from->n--;
	if (from->n)            /* without memory links_add closed the one that it could not take */
		from->n--;
	links_destroy(from);
}

/* ---- uprobe_multi ---- */

static int link_create(const struct attachment *a, const uint64_t *offsets, const uint64_t *cookies, size_t n)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = a->program_fd, .attach_type = a->attach_type,
		.path = (uintptr_t)a->path, .offsets = (uintptr_t)offsets, .cookies = (uintptr_t)cookies, .cnt = n,
		.multi_flags = a->is_return ? UPROBE_MULTI_RETURN : 0, .pid = a->pid,
	};
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, offsetof(struct link_create_uprobe_multi, pad));

	return fd < 0 ? -errno : fd;
}

/* One link for all points, or by halves those that the kernel takes. Returns how many points were attached, or -errno. */
static long attach_multi(const struct attachment *a, const struct attach_point *points, const uint64_t *offsets,
			 const uint64_t *cookies, size_t n)
{
	int fd = link_create(a, offsets, cookies, n);
	long left, right;

	if (fd >= 0)
		return links_add(a->links, fd) ?: (long)n;
	if (fd == -ESRCH)
		return fd;      /* the process is gone */
	if (n == 1) {
		a->refused(a->arg, points, fd);
		return 0;
	}
	left = attach_multi(a, points, offsets, cookies, n / 2);
	if (left < 0)
		return left;
	right = attach_multi(a, points + n / 2, offsets + n / 2, cookies + n / 2, n - n / 2);
	return right < 0 ? right : left + right;
}

static long attach_all_multi(const struct attachment *a, const struct attach_point *points, size_t n)
{
	uint64_t *offsets = calloc(n, sizeof(*offsets)), *cookies = calloc(n, sizeof(*cookies));
	long attached = -ENOMEM;

	for (size_t i = 0; i < n && offsets && cookies; i++) {
		offsets[i] = points[i].offset;
		cookies[i] = points[i].cookie | kernel_side_cookie(a->kernel);
	}
	if (offsets && cookies)
		attached = attach_multi(a, points, offsets, cookies, n);
	free(offsets);
	free(cookies);
	return attached;
}

/* ---- perf events, for kernels without uprobe_multi ---- */

static int read_number(const char *path, const char *format, int *value)
{
	FILE *file = fopen(path, "re");
	int n;

	if (!file)
		return -errno;
	n = fscanf(file, format, value);
	fclose(file);
	return n == 1 ? 0 : -EINVAL;
}

/* For all tasks on all CPUs: such an event with a pid would see one thread only. Tasks that are not traced leave the program at
 * once. */
static int perf_open(const struct attachment *a, const struct attach_point *point)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .config1 = (uintptr_t)a->path, .config2 = point->offset };
	struct link_create_perf { uint32_t prog_fd, target_fd, attach_type, flags; uint64_t cookie; } link = { 0 };
	int type = 0, bit = 0, fd, link_fd, err = read_number("/sys/bus/event_source/devices/uprobe/type", "%d", &type);

	if (!err && a->is_return)
		err = read_number("/sys/bus/event_source/devices/uprobe/format/retprobe", "config:%d", &bit);
	if (err)
		return err;
	attr.type = type;
	attr.config = a->is_return ? 1ull << bit : 0;
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link = (struct link_create_perf){ a->program_fd, fd, BPF_PERF_EVENT, 0, point->cookie | kernel_side_cookie(a->kernel) };
	link_fd = syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));
	if (link_fd < 0)
		link_fd = -errno;
	close(fd);      /* the link keeps the event */
	return link_fd;
}

static long attach_all_perf(const struct attachment *a, const struct attach_point *points, size_t n)
{
	long attached = 0;

	for (size_t i = 0; i < n; i++) {
		int fd = perf_open(a, &points[i]);

		if (fd < 0)
			a->refused(a->arg, &points[i], fd);
		else if (!links_add(a->links, fd))
			attached++;
	}
	return attached;
}

/* ---- the set ---- */

static void refused_before(void *arg, const struct attach_point *point, int err)
{
	(void)arg, (void)point, (void)err;      /* told when its entry was refused */
}

static int run(struct attachment *a, enum kernel_program program, uint32_t type, bool is_return,
	       const struct attach_point *points, size_t n)
{
	long attached;

	a->program_fd = kernel_side_program_fd(a->kernel, program);
	a->attach_type = type;
	a->is_return = is_return;
	if (a->program_fd < 0)
		return -EOPNOTSUPP;
	attached = kernel_side_method(a->kernel) == ATTACH_PERF ? attach_all_perf(a, points, n) : attach_all_multi(a, points, n);
	if (attached < 0)
		return attached;
	return attached ? 0 : -EINVAL;
}

/* The points of calls first, then those that have two plain probes instead of a return probe: their exits, so that no call is
 * seen whose return would not be, and their entries. Returns the number of all; *ncalls of the first kind. */
static size_t sort_points(const struct attach_point *points, size_t n, struct attach_point *sorted, size_t *ncalls)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++)
		if (!points[i].exit_offset)
			sorted[to++] = points[i];
	*ncalls = to;
	for (size_t i = 0; i < n; i++) {
		if (!points[i].exit_offset)
			continue;
		sorted[to] = points[i];
		sorted[to].offset = points[i].exit_offset;
		sorted[to++].cookie |= IOP_COOKIE_EXIT;
	}
	for (size_t i = 0; i < n; i++)
		if (points[i].exit_offset)
			sorted[to++] = points[i];
	return to;
}

static int attach_calls(struct attachment *a, const struct attach_point *points, size_t n, size_t ncalls)
{
	int err;

	if (kernel_side_method(a->kernel) == ATTACH_SESSION)
		return run(a, PROGRAM_SESSION, TRACE_UPROBE_SESSION, false, points, n);
	/* Entries first: a frame without its return probe is closed as abandoned, while a hijacked return address without a
	 * frame could not be given back to an unwinder. */
	err = run(a, PROGRAM_ENTRY, TRACE_UPROBE_MULTI, false, points, n);
	if (err || !ncalls)
		return err;
	a->refused = refused_before;
	return run(a, PROGRAM_RETURN, TRACE_UPROBE_MULTI, true, points, ncalls);
}

static int attach_sorted(struct attachment *a, const struct attach_point *points, size_t n)
{
	struct attach_point *sorted = calloc(2 * n, sizeof(*sorted));
	size_t ncalls;
	int err;

	if (!sorted)
		return -ENOMEM;
	n = sort_points(points, n, sorted, &ncalls);
	err = attach_calls(a, sorted, n, ncalls);
	free(sorted);
	return err;
}

int attach_points(struct links *links, const struct kernel_side *kernel, enum attach_what what, const char *path, pid_t pid,
		  const struct attach_point *points, size_t n,
		  void (*refused)(void *, const struct attach_point *, int), void *arg)
{
	struct attachment a = { .links = links, .kernel = kernel, .path = path, .pid = pid, .refused = refused, .arg = arg };

	if (kernel_side_method(kernel) == ATTACH_NONE)
		for (size_t i = 0; i < n; i++)
			refused(arg, &points[i], -EOPNOTSUPP);
	if (!n || kernel_side_method(kernel) == ATTACH_NONE)
		return 0;
	if (what == ATTACH_UNWINDER)
		return run(&a, PROGRAM_UNWINDER, TRACE_UPROBE_MULTI, false, points, n);
	if (what == ATTACH_RENDEZVOUS)
		return run(&a, PROGRAM_RENDEZVOUS, TRACE_UPROBE_MULTI, false, points, n);
	return attach_sorted(&a, points, n);
}
