/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Locations, OTF2's streams of events, one per thread. A location is closed as soon as no more events can come for it, so that the
 * sinks need memory for the living threads only: with its thread, unless operations that it began are pending; a leader's with its
 * process, because an exec makes another thread the leader.
 */
#include "replay/locations.h"

#include <errno.h>

uint32_t location_new(struct replay *r, struct process *process, uint32_t tid, const struct thread *thread)
{
	struct location_use *use = MODEL_ADD(r->location_uses);
	struct model_lifetime *life = use ? MODEL_ADD(r->model->lifetimes) : NULL;
	struct model_location *location = life ? MODEL_ADD(r->model->locations) : NULL;

	if (!location) {
		r->location_uses.n -= use != NULL;
		r->model->lifetimes.n -= life != NULL;
		return REF_NONE;
	}
	life->begin_ns = thread && thread->process == process ? thread->begin_ns : r->model->processes.v[process->group].begin_ns;
	life->was_running = tid == process->tgid ? r->model->processes.v[process->group].was_running
						 : !thread || thread->maker == MAKER_UNKNOWN;
	/* Unique in the job: the high half identifies this recording (host and start), the low half counts. Ranks are not suitable:
	 * the rank of a process is often known only after its first events. */
	location->id = r->location_base | (r->model->locations.n - 1);
	location->group = process->group;
	location->tid = tid;
	location->name = tid == process->tgid ? "Master thread" : model_stringf(r->model, "Thread %u", tid);
	if (tid == process->tgid)
		process->master_location = r->model->locations.n - 1;
	return location->name ? r->model->locations.n - 1 : REF_NONE;
}

static int end_if_unused(struct replay *r, uint32_t location)
{
	struct location_use *use = &r->location_uses.v[location];
	int ret = 0;

	if (!use->thread_gone || use->operations || use->ended)
		return 0;
	use->ended = true;
	for (size_t i = 0; i < r->nsinks && !ret; i++)
		if (r->sinks[i]->location_end)
			ret = r->sinks[i]->location_end(r->sinks[i], r->model, location);
	return ret;
}

void location_hold(struct replay *r, uint32_t location)
{
	if (location != REF_NONE)
		r->location_uses.v[location].operations++;
}

int location_release(struct replay *r, uint32_t location)
{
	if (location == REF_NONE)
		return 0;
	r->location_uses.v[location].operations--;
	return end_if_unused(r, location);
}

int location_thread_gone(struct replay *r, uint32_t location, uint64_t last_ns)
{
	if (location == REF_NONE)
		return 0;
	r->location_uses.v[location].thread_gone = true;
	r->location_uses.v[location].last_ns = last_ns;
	return end_if_unused(r, location);
}

uint64_t *location_last_ns(struct replay *r, struct process *process, uint32_t location)
{
	return location == process->master_location ? &process->master_last_ns : &r->location_uses.v[location].last_ns;
}
