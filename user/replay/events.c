/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Writes events of threads to the sinks with timestamps that never decrease per location; sets the error that ends a replay.
 */
#include "replay/events.h"
#include "replay/locations.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

const struct model_event event_blank;

int replay_fail(struct replay *r, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!r->failed)
		vsnprintf(r->err, r->err_len, format, args);
	va_end(args);
	r->failed = true;
	return error;
}

/* Timestamps of a location must not decrease. After a loss or an abandoned frame an earlier time is raised to that of the last
 * event; elsewhere it would be a defect of the recording, and is counted. */
static uint64_t location_time(struct replay *r, struct thread *thread, uint64_t time_ns)
{
	if (time_ns < thread->last_ns) {
		r->backwards += !thread->disturbed;
		time_ns = thread->last_ns;
	}
	return thread->last_ns = time_ns;
}

int call_event(struct replay *r, struct thread *thread, struct model_event *event, uint64_t time_ns)
{
	struct model *model = r->model;

	if (thread->location == REF_NONE) {
		thread->location = location_new(r, thread->process, thread->tid, thread);
		if (thread->location == REF_NONE)
			return -ENOMEM;
	}
	event->location = thread->location;
	event->time_ns = location_time(r, thread, time_ns);
	model->locations.v[thread->location].used = true;
	model->groups.v[thread->process->group].used = true;
	if (event->time_ns < model->clock_begin_ns)
		model->clock_begin_ns = event->time_ns;
	if (event->time_ns > model->clock_end_ns)
		model->clock_end_ns = event->time_ns;
	for (size_t i = 0; i < r->nsinks; i++) {
		int ret = r->sinks[i]->event(r->sinks[i], model, event);

		if (ret)
			return ret;
	}
	return 0;
}
