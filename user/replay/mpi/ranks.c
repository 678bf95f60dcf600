/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Determines which processes are MPI ranks, and of which job, at the end, when all their properties are known. The launcher's
 * environment variables are inherited, so the children of a rank have them too.
 */
#include "replay/mpi/ranks.h"
#include "replay/locations.h"
#include "replay/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct job *job_of(struct replay *r, uint32_t group)
{
	const char *id = r->infos.v[group].job ? r->infos.v[group].job : "";
	struct job *job;

	for (size_t i = 0; i < r->jobs.n; i++)
		if (!strcmp(r->jobs.v[i].id, id))
			return &r->jobs.v[i];
	job = MODEL_ADD(r->jobs);
	if (job)
		*job = (struct job){ .id = id, .world = REF_NONE, .number = REF_NONE };
	return job;
}

/* ---- ranks ---- */

struct claim { uint32_t group, job; int64_t rank; };

static int ranks_by_place(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

/* A rank has loaded the MPI library: wrapper shells only have the variables. Returns the number of claims, or -ENOMEM. */
static int ranks_collect(struct replay *r, struct claim *claims)
{
	int n = 0;

	for (uint32_t g = 0; g < r->infos.n; g++) {
		const struct group_info *info = &r->infos.v[g];
		struct job *job = info->mpi && info->rank >= 0 ? job_of(r, g) : NULL;

		if (!info->mpi || info->rank < 0)
			continue;
		if (!job)
			return -ENOMEM;
		claims[n++] = (struct claim){ g, job - r->jobs.v, info->rank };
	}
	if (n)
		qsort(claims, n, sizeof(*claims), ranks_by_place);
	return n;
}

static bool is_child_of(const struct replay *r, uint32_t group, uint32_t parent)
{
	const struct group_info *info = &r->infos.v[group];

	if (info->parent != REF_NONE)
		return info->parent == parent;
	return info->ppid && info->ppid == r->model->groups.v[parent].tgid;
}

/* Of several processes with the same rank: the first one that is not a descendant of another. */
static uint32_t ranks_choose(const struct replay *r, const struct claim *claims, int n)
{
	for (int i = 0; i < n; i++) {
		bool child = false;

		for (int k = 0; k < n && !child; k++)
			child = k != i && is_child_of(r, claims[i].group, claims[k].group);
		if (!child)
			return claims[i].group;
	}
	return claims[0].group;
}

/* Returns the number of rejected claims. */
static int ranks_assign(struct replay *r, const struct claim *claims, int n)
{
	int turned_down = 0;

	for (int i = 0, end; i < n; i = end) {
		uint32_t rank;

		for (end = i + 1; end < n && claims[end].job == claims[i].job && claims[end].rank == claims[i].rank; end++)
			;
		rank = ranks_choose(r, claims + i, end - i);
		r->model->groups.v[rank].rank = claims[i].rank;
		r->model->groups.v[rank].job = claims[i].job;
		r->model->groups.v[rank].launch = r->infos.v[rank].job;
		r->model->groups.v[rank].launch_size = r->infos.v[rank].size;
		turned_down += end - i - 1;
	}
	return turned_down;
}

/* Jobs are numbered in the order in which their first ranks appeared. */
static void number_jobs(struct replay *r)
{
	struct model *model = r->model;

	for (size_t g = 0; g < model->groups.n; g++) {
		struct model_group *group = &model->groups.v[g];

		if (group->rank < 0)
			continue;
		if (r->jobs.v[group->job].number == REF_NONE)
			r->jobs.v[group->job].number = model->njobs++;
		group->job = r->jobs.v[group->job].number;
	}
}

/* ---- names and locations ---- */

static int name_groups(struct replay *r)
{
	struct model *model = r->model;

	for (size_t g = 0; g < model->groups.n; g++) {
		struct model_group *group = &model->groups.v[g];
		const char *comm = r->infos.v[g].comm ? r->infos.v[g].comm : "process";

		if (group->rank < 0)
			group->name = model_stringf(model, "%s (pid %u)", comm, group->tgid);
		else if (model->njobs > 1)
			group->name = model_stringf(model, "MPI Rank %lld (job %u)", (long long)group->rank, group->job + 1);
		else
			group->name = model_stringf(model, "MPI Rank %lld", (long long)group->rank);
		if (!group->name)
			return -ENOMEM;
	}
	return 0;
}

/* A communicator lists its members by their locations: a rank without events needs one too. If no calls were recorded at all, every
 * process gets a location: readers reject an archive without locations. */
static int locate_ranks(struct replay *r)
{
	struct model *model = r->model;
	bool all = !model->locations.n;
	bool *located = calloc(model->groups.n + 1, sizeof(*located));
	int ret = located ? 0 : -ENOMEM;

	for (size_t l = 0; l < model->locations.n && !ret; l++)
		located[model->locations.v[l].group] = true;
	for (struct process *p = r->all_processes; p && !ret; p = p->next) {
		uint32_t location;

		if (located[p->group] || (model->groups.v[p->group].rank < 0 && !all))
			continue;
		location = location_new(r, p, p->tgid, thread_find(r, p->tgid));
		if (location == REF_NONE)
			ret = -ENOMEM;
		else
			model->locations.v[location].used = true;
	}
	free(located);
	return ret;
}

/* The same for a recording without processes. */
static int stand_in(struct replay *r)
{
	const struct process *process = r->all_processes ? r->all_processes : process_get(r, 0);

	if (!process)
		return -ENOMEM;
	if (!process->tgid)
		r->infos.v[process->group].comm = "no process";
	return 0;
}

int ranks_finish(struct replay *r)
{
	int ret = stand_in(r), turned_down = 0, n;
	struct claim *claims = ret ? NULL : calloc(r->infos.n + 1, sizeof(*claims));

	n = claims ? ranks_collect(r, claims) : -ENOMEM;

	if (n > 0)
		turned_down = ranks_assign(r, claims, n);
	free(claims);
	if (n < 0)
		return n;
	number_jobs(r);
	ret = name_groups(r);
	if (!ret && turned_down)
		ret = model_note(r->model,
				 "%d processes have the rank of another process (its children, or further programs of its "
				 "launch); they are named by their program",
				 turned_down);
	return ret ? ret : locate_ranks(r);
}
