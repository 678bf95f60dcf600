/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The kernel accepts all points of a link or none, so a refused set is halved until the refused point is isolated.
 */
#include "bpf/attach.h"

#include <errno.h>
#include <stdlib.h>

#define TRACE_UPROBE_MULTI 48
#define TRACE_UPROBE_SESSION 57
struct attachment {
	struct hold_server *server;
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

/* ---- uprobe_multi ---- */

static int create(const struct attachment *a, bool perf, const uint64_t *offsets, const uint64_t *cookies, size_t n)
{
	struct link_spec spec = {
		.perf = perf, .is_return = a->is_return, .program_fd = a->program_fd, .attach_type = a->attach_type, .path = a->path,
		.pid = a->pid, .offsets = offsets, .cookies = cookies, .n = n,
	};

	return links_create(a->server, a->links, &spec);
}

/* Attaches all points with one link; if that is refused, those halves that the kernel accepts. Returns how many points were
 * attached, or -errno. */
static long attach_multi(const struct attachment *a, const struct attach_point *points, const uint64_t *offsets,
			 const uint64_t *cookies, size_t n)
{
	int err = create(a, false, offsets, cookies, n);
	long left, right;

	if (!err)
		return n;
	if (err == -ESRCH || err == -EPIPE || err == -ENOMEM)
		return err;     /* the process has ended, or the hold server has */
	if (n == 1) {
		a->refused(a->arg, points, err);
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

static long attach_all_perf(const struct attachment *a, const struct attach_point *points, size_t n)
{
	long attached = 0;

	for (size_t i = 0; i < n; i++) {
		int err = create(a, true, &points[i].offset, &points[i].cookie, 1);

		if (err)
			a->refused(a->arg, &points[i], err);
		else
			attached++;
	}
	return attached;
}

/* ---- the set ---- */

static void refused_before(void *arg, const struct attach_point *point, int err)
{
	(void)arg, (void)point, (void)err;      /* already reported when its entry was refused */
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

/* Sorts the points: calls first, then those with two entry probes instead of a return probe: their exits, then their entries, so
 * that no call is recorded whose return would be missed. Returns the total number; *ncalls of the first kind. */
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

/* Points behind a prologue always get entry probes: the kernel would take the word at the stack pointer for a return address, if
 * not for this process, then for another one that has its own links to the same file. */
static int attach_sessions(struct attachment *a, const struct attach_point *points, size_t n, size_t ncalls)
{
	int err = ncalls ? run(a, PROGRAM_SESSION, TRACE_UPROBE_SESSION, false, points, ncalls) : 0;

	if (err || n == ncalls)
		return err;
	return run(a, PROGRAM_ENTRY, TRACE_UPROBE_MULTI, false, points + ncalls, n - ncalls);
}

static int attach_pairs(struct attachment *a, const struct attach_point *points, size_t n, size_t ncalls)
{
	int err;

	/* Entries first: a frame without its return probe is closed as abandoned, while a hijacked return address without a frame
	 * could not be restored for an unwinder. */
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
	if (kernel_side_method(a->kernel) == ATTACH_SESSION)
		err = attach_sessions(a, sorted, n, ncalls);
	else
		err = attach_pairs(a, sorted, n, ncalls);
	free(sorted);
	return err;
}

static bool to_second_place(const struct attach_point *point, struct attach_point *out)
{
	*out = *point;
	out->cookie |= IOP_COOKIE_ENTRY_ONLY;
	if (point->exit_offset)
		return true;            /* already an entry probe */
	out->offset = point->second_offset;
	out->cookie |= (uint64_t)point->second_frame << IOP_COOKIE_FRAME_SHIFT;
	return out->offset;
}

static int attach_second(struct attachment *a, const struct attach_point *points, size_t n)
{
	struct attach_point *second = calloc(n, sizeof(*second));
	size_t to = 0;
	int err;

	if (!second)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (to_second_place(&points[i], &second[to]))
			to++;
		else
			a->refused(a->arg, &points[i], -ENXIO);
	}
	err = to ? run(a, PROGRAM_ENTRY, TRACE_UPROBE_MULTI, false, second, to) : 0;
	free(second);
	return err;
}

int attach_points(struct hold_server *server, struct links *links, const struct kernel_side *kernel, enum attach_what what, const char *path, pid_t pid,
		  const struct attach_point *points, size_t n,
		  void (*refused)(void *, const struct attach_point *, int), void *arg)
{
	struct attachment a = { .server = server, .links = links, .kernel = kernel, .path = path, .pid = pid, .refused = refused, .arg = arg };

	if (kernel_side_method(kernel) == ATTACH_NONE)
		for (size_t i = 0; i < n; i++)
			refused(arg, &points[i], -EOPNOTSUPP);
	if (!n || kernel_side_method(kernel) == ATTACH_NONE)
		return 0;
	if (what == ATTACH_UNWINDER)
		return run(&a, PROGRAM_UNWINDER, TRACE_UPROBE_MULTI, false, points, n);
	if (what == ATTACH_RENDEZVOUS)
		return run(&a, PROGRAM_RENDEZVOUS, TRACE_UPROBE_MULTI, false, points, n);
	if (what == ATTACH_SECOND)
		return attach_second(&a, points, n);
	return attach_sorted(&a, points, n);
}
