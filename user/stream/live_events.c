/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Calls one by one, as --events asks for them.
 */
#include "stream/live_internal.h"

#include <string.h>

const char *live_op_name(enum live_op op)
{
	static const char *const names[] = { [LIVE_OP_OTHER] = "other", [LIVE_OP_OPEN] = "open",   [LIVE_OP_READ] = "read",
					     [LIVE_OP_WRITE] = "write", [LIVE_OP_CLOSE] = "close", [LIVE_OP_FLUSH] = "flush" };

	return names[op];
}

static bool is_flush(const char *call)
{
	static const char *const names[] = { "fflush", "fflush_unlocked", "H5Fflush", "H5Fflush_async", "H5Dflush" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(call, names[i]))
			return true;
	return false;
}

static bool live_events_is_wanted(struct live_sink *s, const struct ended_call *call, uint64_t *weight)
{
	*weight = 1;
	switch (s->options.events) {
	case LIVE_EVENTS_NONE: return false;
	case LIVE_EVENTS_ERRORS: return call->failed;
	case LIVE_EVENTS_SLOW: return call->end_ns - call->begin_ns >= s->options.slow_ns;
	case LIVE_EVENTS_SAMPLE: *weight = s->options.sample; return s->nevents++ % s->options.sample == 0;
	case LIVE_EVENTS_ALL: return true;
	}
	return false;
}

static int report_event(struct live_sink *s, struct live_event *event)
{
	int ret = live_report_process(s, event->process);

	if (!ret)
		ret = REPORT(s, event, &s->now, event);
	return ret;
}

int live_ended_call(void *arg, const struct ended_call *call)
{
	struct live_sink *s = arg;
	const struct model *m = s->model;
	const struct model_location *location = &m->locations.v[call->location];
	char name[256], path[FILE_NAME_ROOM];
	struct live_process process = live_describe_process(s, location->group, name, sizeof(name));
	struct live_file file;
	struct live_event event;
	uint32_t id;
	int ret = 0;

	event.process = &process;
	event.file = NULL;
	event.name = NULL;
	if (call->handle < m->handles.n) {
		ret = live_file_of(s, call->handle, &id);
		file = live_describe_file(s, id, id, path, sizeof(path));
		event.file = &file;
		event.name = m->handles.v[call->handle].name && m->handles.v[call->handle].name[0] ? m->handles.v[call->handle].name
												   : NULL;
		if (s->options.names != LIVE_NAMES_FULL)
			event.name = NULL;
	}
	event.tid = location->tid;
	event.layer = m->regions.v[call->region].paradigm;
	event.call = m->regions.v[call->region].name;
	event.op = call->op == LIVE_OP_OTHER && is_flush(event.call) ? LIVE_OP_FLUSH : call->op;
	event.begin_ns = live_steady_ns(m, call->begin_ns);
	event.end_ns = live_steady_ns(m, call->end_ns);
	event.offset = call->offset;
	event.asked = call->asked;
	event.moved = call->moved;
	event.failed = call->failed;
	event.error = call->error;
	if (!ret)
		ret = darshan_count(s->darshan, &event);
	event.end_ns = model_realtime_ns(m, call->end_ns);
	event.begin_ns = event.end_ns - (call->end_ns - call->begin_ns); /* the clock may have been set in between */
	if (ret || !live_events_is_wanted(s, call, &event.weight))
		return ret;
	return report_event(s, &event);
}
