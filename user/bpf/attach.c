/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From points to links. The kernel accepts all points of a link or none, so a refused set is halved until the refused point is
 * isolated.
 */
#include "bpf/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_UPROBE_MULTI 48
#define TRACE_UPROBE_SESSION 57
#define NO_GROUP SIZE_MAX

/* One link, or its halves if the kernel refuses it. */
struct attach_step {
	struct link_spec spec;          /* path, offsets and cookies belong to the step */
	struct attach_point *points;    /* for messages */
	char path[64];
	/* Links of a group are made only if something of the group that it needs was attached: no return probe without an entry. */
	size_t group, needs;
	attach_refused *refused;
	void *arg;
};

/* What is common to the links of one file. */
struct attachment {
	struct attachments *all;
	struct links *links;
	const char *path;
	pid_t pid;
	attach_refused *refused;
	void *arg;
};

/* ---- steps ---- */

static void step_deinit(struct attach_step *step)
{
	free((void *)step->spec.offsets);
	free(step->points);
}

static bool step_copy_points(struct attach_step *step, const struct attach_point *points, size_t n, uint64_t cookie_bits)
{
	uint64_t *numbers = calloc(2 * n, sizeof(*numbers));

	step->points = calloc(n, sizeof(*step->points));
	step->spec.offsets = numbers;
	if (!numbers || !step->points)
		return false;
	memcpy(step->points, points, n * sizeof(*points));
	for (size_t i = 0; i < n; i++) {
		numbers[i] = points[i].offset;
		numbers[n + i] = points[i].cookie | cookie_bits;
	}
	step->spec.cookies = numbers + n;
	step->spec.n = n;
	return true;
}

static bool reserve_step(struct attachments *all)
{
	size_t cap = all->cap ? all->cap * 2 : 32;
	struct attach_step *v;

	if (all->n < all->cap)
		return true;
	v = realloc(all->v, cap * sizeof(*v));
	if (!v)
		return false;
	all->v = v;
	all->cap = cap;
	return true;
}

static bool add_step(const struct attachment *a, struct attach_step step, const struct attach_point *points, size_t n)
{
	struct attachments *all = a->all;

	step.spec.pid = a->pid;
	step.spec.links = a->links;
	step.refused = a->refused;
	step.arg = a->arg;
	snprintf(step.path, sizeof(step.path), "%s", a->path);
	if (step_copy_points(&step, points, n, bpf_side_cookie(all->kernel)) && reserve_step(all)) {
		all->v[all->n++] = step;
		return true;
	}
	step_deinit(&step);
	for (size_t i = 0; i < n; i++)
		a->refused(a->arg, &points[i], -ENOMEM);
	return false;
}

/* Adds one link for all points; perf events have one point each. Returns the group's number. */
static size_t attach_add_group(const struct attachment *a, enum kernel_program program, uint32_t type, bool is_return,
			       const struct attach_point *points, size_t n, size_t needs)
{
	struct attachments *all = a->all;
	struct attach_step step = {
		.group = all->groups++, .needs = needs,
		.spec = { .perf = bpf_side_method(all->kernel) == ATTACH_PERF, .is_return = is_return, .attach_type = type,
			  .program_fd = bpf_side_program_fd(all->kernel, program) },
	};
	size_t at_once = step.spec.perf ? 1 : n;

	for (size_t i = 0; i < n && step.spec.program_fd >= 0; i += at_once)
		if (!add_step(a, step, points + i, at_once))
			break;
	return step.group;
}

/* ---- placing ---- */

/* Returns how many points of the range were attached, or -errno. */
static long place_range(struct attachments *all, const struct attach_step *step, size_t first, size_t n)
{
	struct link_spec spec = step->spec;
	long left, right;
	int err;

	spec.path = step->path;
	spec.offsets += first;
	spec.cookies += first;
	spec.n = n;
	if (links_create(all->server, &spec, 1, &err))
		return n;
	if (err == -ESRCH || err == -EPIPE)
		return err;     /* the process has ended, or the hold server has */
	if (n == 1) {
		step->refused(step->arg, &step->points[first], err);
		return 0;
	}
	left = place_range(all, step, first, n / 2);
	if (left < 0)
		return left;
	right = place_range(all, step, first + n / 2, n - n / 2);
	return right < 0 ? right : left + right;
}

/* The link was refused as a whole. */
static long place_parts(struct attachments *all, const struct attach_step *step, int err)
{
	size_t n = step->spec.n;
	long left, right;

	if (err == -ESRCH || err == -EPIPE)
		return err;
	if (n <= 1) {
		step->refused(step->arg, step->points, err);
		return 0;
	}
	left = place_range(all, step, 0, n / 2);
	right = left < 0 ? left : place_range(all, step, n / 2, n - n / 2);
	return right < 0 ? right : left + right;
}

/* What is known while links are made. */
struct placing {
	size_t *attached;       /* points of each group */
	pid_t gone;             /* this process has ended: it gets no more links */
};

static bool is_skipped(const struct placing *placing, const struct attach_step *step)
{
	return (step->needs != NO_GROUP && !placing->attached[step->needs]) || (placing->gone && step->spec.pid == placing->gone);
}

/* Copies the links that may be made next. Returns their number. A group's links stand directly behind those that they need: whether
 * they can be made is known when it is their turn. */
static size_t next_specs(const struct attachments *all, const struct placing *placing, size_t *first, struct link_spec *specs)
{
	size_t n = 0;

	while (*first < all->n && is_skipped(placing, &all->v[*first]))
		++*first;
	for (size_t i = *first; i < all->n && (!placing->gone || all->v[i].spec.pid != placing->gone); i++) {
		specs[n] = all->v[i].spec;
		specs[n++].path = all->v[i].path;
	}
	return n;
}

static int place_all(struct attachments *all, struct placing *placing, struct link_spec *specs)
{
	size_t i = 0, n;

	while ((n = next_specs(all, placing, &i, specs))) {
		int err;
		size_t made = links_create(all->server, specs, n, &err);
		long parts;

		for (; made; made--, i++)
			placing->attached[all->v[i].group] += all->v[i].spec.join ? 1 : all->v[i].spec.n;
		if (!err)
			continue;
		parts = place_parts(all, &all->v[i], err);
		if (parts == -ESRCH && all->v[i].spec.pid)
			placing->gone = all->v[i].spec.pid;
		else if (parts < 0)
			return parts;
		else
			placing->attached[all->v[i].group] += parts;
		i++;
	}
	return placing->gone ? -ESRCH : 0;
}

static void attach_clear(struct attachments *all)
{
	for (size_t i = 0; i < all->n; i++)
		step_deinit(&all->v[i]);
	free(all->v);
	*all = (struct attachments){ .server = all->server, .kernel = all->kernel };
}

int attachments_place(struct attachments *all)
{
	struct placing placing = { .attached = calloc(all->groups + 1, sizeof(*placing.attached)) };
	size_t total = 0;
	struct link_spec *specs = calloc(all->n + 1, sizeof(*specs));
	bool any = all->groups;
	int err = -ENOMEM;

	if (placing.attached && specs)
		err = place_all(all, &placing, specs);
	for (size_t i = 0; i < all->n && err == -ENOMEM; i++)
		for (size_t k = 0; k < all->v[i].spec.n || !k; k++)
			all->v[i].refused(all->v[i].arg, &all->v[i].points[k], err);
	for (size_t i = 0; i < all->groups && placing.attached; i++)
		total += placing.attached[i];
	free(placing.attached);
	free(specs);
	attach_clear(all);
	return err ? err : any && !total ? -EINVAL : 0;
}

/* ---- the links of a file ---- */

/* Sorts the points: calls first, then those with two entry probes instead of a return probe: their exits, then their entries, so
 * that no call is recorded whose return would be missed. Returns the total number; *ncalls of the first kind. */
static size_t attach_sort_points(const struct attach_point *points, size_t n, struct attach_point *sorted, size_t *ncalls)
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
static void add_sessions(struct attachment *a, const struct attach_point *points, size_t n, size_t ncalls)
{
	size_t calls = NO_GROUP;

	if (ncalls)
		calls = attach_add_group(a, PROGRAM_SESSION, TRACE_UPROBE_SESSION, false, points, ncalls, NO_GROUP);
	if (n > ncalls)
		attach_add_group(a, PROGRAM_ENTRY, TRACE_UPROBE_MULTI, false, points + ncalls, n - ncalls, calls);
}

static void refused_before(void *arg, const struct attach_point *point, int err)
{
	(void)arg, (void)point, (void)err;      /* already reported when its entry was refused */
}

/* Entries first: a frame without its return probe is closed as abandoned, while a hijacked return address without a frame could not
 * be restored for an unwinder. */
static void add_pairs(struct attachment *a, const struct attach_point *points, size_t n, size_t ncalls)
{
	size_t entries = attach_add_group(a, PROGRAM_ENTRY, TRACE_UPROBE_MULTI, false, points, n, NO_GROUP);

	a->refused = refused_before;
	if (ncalls)
		attach_add_group(a, PROGRAM_RETURN, TRACE_UPROBE_MULTI, true, points, ncalls, entries);
}

static void refuse_all(const struct attachment *a, const struct attach_point *points, size_t n, int err)
{
	for (size_t i = 0; i < n; i++)
		a->refused(a->arg, &points[i], err);
}

static void add_calls(struct attachment *a, const struct attach_point *points, size_t n)
{
	struct attach_point *sorted = calloc(2 * n, sizeof(*sorted));
	size_t ncalls, nsorted;

	if (!sorted) {
		refuse_all(a, points, n, -ENOMEM);
		return;
	}
	nsorted = attach_sort_points(points, n, sorted, &ncalls);
	if (bpf_side_method(a->all->kernel) == ATTACH_SESSION)
		add_sessions(a, sorted, nsorted, ncalls);
	else
		add_pairs(a, sorted, nsorted, ncalls);
	free(sorted);
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

static void add_second(struct attachment *a, const struct attach_point *points, size_t n)
{
	struct attach_point *second = calloc(n, sizeof(*second));
	size_t to = 0;

	if (!second) {
		refuse_all(a, points, n, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (to_second_place(&points[i], &second[to]))
			to++;
		else
			a->refused(a->arg, &points[i], -ENXIO);
	}
	if (to)
		attach_add_group(a, PROGRAM_ENTRY, TRACE_UPROBE_MULTI, false, second, to, NO_GROUP);
	free(second);
}

void attachments_add(struct attachments *all, struct links *links, enum attach_what what, const char *path, pid_t pid,
		     const struct attach_point *points, size_t n, attach_refused *refused, void *arg)
{
	struct attachment a = { .all = all, .links = links, .path = path, .pid = pid, .refused = refused, .arg = arg };

	if (!n)
		return;
	if (bpf_side_method(all->kernel) == ATTACH_NONE)
		refuse_all(&a, points, n, -EOPNOTSUPP);
	else if (what == ATTACH_UNWINDER)
		attach_add_group(&a, PROGRAM_UNWINDER, TRACE_UPROBE_MULTI, false, points, n, NO_GROUP);
	else if (what == ATTACH_RENDEZVOUS)
		attach_add_group(&a, PROGRAM_RENDEZVOUS, TRACE_UPROBE_MULTI, false, points, n, NO_GROUP);
	else if (what == ATTACH_SECOND)
		add_second(&a, points, n);
	else
		add_calls(&a, points, n);
}

void attachments_add_member(struct attachments *all, struct links *links, const char *path, pid_t pid, bool again,
			    const struct attach_point *point, attach_refused *refused, void *arg)
{
	struct attachment a = { .all = all, .links = links, .path = path, .pid = pid, .refused = refused, .arg = arg };
	struct attach_step step = { .group = all->groups++, .needs = NO_GROUP, .spec = { .join = true, .again = again } };

	if (add_step(&a, step, point, 1))
		all->v[all->n - 1].spec.n = 0;
}

int attach_points(struct hold_server *server, struct links *links, const struct bpf_side *kernel, enum attach_what what,
		  const char *path, pid_t pid,
		  const struct attach_point *points, size_t n, attach_refused *refused, void *arg)
{
	struct attachments all = { .server = server, .kernel = kernel };

	attachments_add(&all, links, what, path, pid, points, n, refused, arg);
	return attachments_place(&all);
}
