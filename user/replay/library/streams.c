/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Standard streams of a C library. Their addresses come with the process' LIBRARY record: at the latest when its probes are in
 * place, so only after an attach can a call be earlier.
 */
#include "replay/library/streams.h"
#include "replay/fd/fds.h"
#include "replay/frame.h"
#include "replay/library/handles.h"
#include "replay/outcome.h"

#include <otf2/OTF2_Definitions.h>

uint64_t stream_key(const struct process *process, uint32_t layer, uint64_t value)
{
	for (unsigned n = 0; n < TABLE_STREAMS && layer < MAX_LAYERS; n++)
		if (value && process->libraries[layer].streams[n] == value)
			return STANDARD_STREAM(n);
	return value;
}

void stream_describe(struct replay *r, struct process *process, struct fd_table *table, struct object *object, uint64_t time_ns)
{
	uint64_t n = STANDARD_STREAM(0) - object->key.value;
	struct open_file *inc;

	if (n >= TABLE_STREAMS)
		return;
	inc = fd_find(r, process, table, n, time_ns);
	object->name = fd_standard_name(n);
	object->mode = n == TABLE_STDIN ? OTF2_IO_ACCESS_MODE_READ_ONLY : OTF2_IO_ACCESS_MODE_WRITE_ONLY;
	object->file = inc ? inc->file : REF_NONE;
}

void stream_learn(struct replay *r, struct process *process, uint32_t layer, unsigned n, uint64_t address, uint64_t time_ns)
{
	struct object *object = object_find(process, layer, address);

	process->libraries[layer].streams[n] = address;
	if (!object || object_find(process, layer, STANDARD_STREAM(n)) || !object_rename(process, object, STANDARD_STREAM(n)))
		return;
	stream_describe(r, process, process->table, object, time_ns);
	if (object->ref == REF_NONE)
		return;
	r->model->handles.v[object->ref].name = object->name;
	r->model->handles.v[object->ref].file = object->file;
}

#define IN_BACKUP 0x100         /* glibc: reads bytes that ungetc has put back; musl has no such flag */

/* Without a system call inside, the buffer must have been long enough. */
uint64_t stream_bytes_read(const struct replay *r, const struct frame *f)
{
	int64_t state, state2 = 0, unread, unread2, limit, limit2, bytes;

	/* fgets puts nothing back: rows without the state afterwards */
	if (!frame_arg(r, f, ROLE_STATE, &state) ||
	    (frame_info(r, f)->arg[ROLE_STATE2] >= 0 && !frame_arg(r, f, ROLE_STATE2, &state2)) || (state | state2) & IN_BACKUP)
		return BYTES_UNKNOWN;
	if (!frame_arg(r, f, ROLE_UNREAD, &unread) || !frame_arg(r, f, ROLE_UNREAD2, &unread2) ||
	    !frame_arg(r, f, ROLE_LIMIT, &limit) || !frame_arg(r, f, ROLE_LIMIT2, &limit2) || unread > limit || unread2 > limit2)
		return BYTES_UNKNOWN;
	if (f->doubtful || f->inner_other || outcome_may_miss_system_calls(r) || (!f->inner_reads && limit != limit2))
		return BYTES_UNKNOWN;
	bytes = (limit - unread) + (int64_t)f->inner_bytes - (limit2 - unread2);
	return bytes >= 0 ? (uint64_t)bytes : BYTES_UNKNOWN;
}
