/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The stack of open calls of a thread, rebuilt from the records; Enter and Leave events; handling of lost records.
 */
#include "replay/calls.h"
#include "replay/call_names.h"
#include "replay/cpu_time.h"
#include "replay/events.h"
#include "replay/facts/lists.h"
#include "replay/fd/fd_epochs.h"
#include "replay/frame.h"
#include "replay/library/handles.h"
#include "replay/ops.h"
#include "replay/outcome.h"
#include "replay/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX 65536        /* bytes of a file's header that are kept: as many as are recorded */

/* ---- reading arguments ---- */

static unsigned calls_min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The strings follow the padded arguments: length, bytes. If one is unreadable, the string of an earlier record is kept. */
static void read_strings(struct frame *f, const struct row_info *info, const struct iop_rec_call *rec)
{
	const char *at = (const char *)&rec->args[IOP_MAX_ARGS], *end = (const char *)rec + rec->rec.len;

	for (unsigned i = 0; i < info->nstrings && end - at >= 2; i++) {
		uint16_t len;
		bool truncated;

		memcpy(&len, at, sizeof(len));
		at += 2;
		if (len == 0xffff)
			continue;
		truncated = len & 0x8000;
		len &= 0x7fff;
		if (len > end - at)
			return;
		if (!truncated)         /* part of a path would name another file */
			f->str[info->strings[i]] = (struct str){ at, len };
		at += len;
	}
}

/* Copies the strings of an open call, which are needed after its ENTER record is gone. */
static int keep_strings(struct frame *f, const struct row_info *info)
{
	size_t total = 0;
	char *at;

	for (unsigned i = 0; i < info->nstrings; i++)
		total += f->str[info->strings[i]].len;
	if (total > f->text_size) {
		char *grown = realloc(f->text, total);

		if (!grown)
			return -ENOMEM;
		f->text = grown;
		f->text_size = total;
	}
	at = f->text;
	for (unsigned i = 0; i < info->nstrings; i++) {
		struct str *s = &f->str[info->strings[i]];

		if (!s->p || !s->len)
			continue;
		memcpy(at, s->p, s->len);
		s->p = at;
		at += s->len;
	}
	return 0;
}

static void read_arguments(struct frame *f, const struct row_info *info, const struct iop_rec_call *rec)
{
	unsigned n = rec->nargs;

	memcpy(f->args, rec->args, n * sizeof(f->args[0]));
	f->unread = rec->arg_failed | (n < IOP_MAX_ARGS ? 0xff << n : 0);
	if (rec->rec.flags & IOP_F_STRINGS)
		read_strings(f, info, rec);
}

/* Adds the values of an EXIT: OUT arguments only, or all arguments if it has strings. */
static void read_results(struct frame *f, const struct row_info *info, const struct iop_rec_call *rec)
{
	if (rec->rec.flags & IOP_F_STRINGS) {
		read_arguments(f, info, rec);
		return;
	}
	for (unsigned i = 0; i < info->nout; i++) {
		unsigned bit = 1 << info->out[i];

		f->unread |= bit;
		if (i >= rec->nargs || rec->arg_failed & 1 << i)
			continue;
		f->args[info->out[i]] = rec->args[i];
		f->unread &= ~bit;
	}
}

/* ---- frames ---- */

/* Not a constant, for the reason of event_blank. */
static const volatile size_t frame_bytes = sizeof(struct frame);

static struct frame *frame_push(struct thread *thread)
{
	struct frame *f, kept;

	if (thread->nframes == thread->cap) {
		unsigned cap = thread->cap ? 2 * thread->cap : 8;

		f = reallocarray(thread->frames, cap, sizeof(*f));
		if (!f)
			return NULL;
		memset(f + thread->cap, 0, (cap - thread->cap) * sizeof(*f));
		thread->frames = f;
		thread->cap = cap;
	}
	f = &thread->frames[thread->nframes++];
	kept.text = f->text, kept.text_size = f->text_size;
	kept.path = f->path, kept.path_size = f->path_size;
	memset(f, 0, frame_bytes);
	f->text = kept.text, f->text_size = kept.text_size;
	f->path = kept.path, f->path_size = kept.path_size;
	f->ref = f->file = f->comm = f->used = f->site = REF_NONE;
	if (f->path)
		f->path[0] = 0;
	return f;
}

static void frame_pop(struct thread *thread)
{
	struct frame *f = &thread->frames[--thread->nframes];

	object_release(f->object);
	f->object = NULL;
	fact_list_free(f->facts);
	f->facts = NULL;
	free(f->header);
	f->header = NULL;
}

/* Returns whether a call only updates the model and is not written to the trace (inquiries and the like). */
static bool calls_quiet(const struct replay *r, const struct frame *f)
{
	return frame_row(r, f)->op == OP_LEARN;
}

static int enter_event(struct replay *r, struct thread *thread, const struct frame *f)
{
	struct model_event event = event_blank;

	if (calls_quiet(r, f))
		return 0;
	event.type = EV_ENTER;
	event.u.call.region = f->probe;
	event.u.call.site = f->site + 1;        /* REF_NONE: 0 */
	r->model->totals.calls++;
	r->model->totals.system_calls += frame_layer(r, f)->syscalls;
	return call_event(r, thread, &event, f->enter_ns);
}

static void calls_add_mapping(const struct replay *r, const struct frame *f, struct model_event *event)
{
	int64_t bytes = 0, offset = 0;

	frame_arg(r, f, ROLE_BYTES, &bytes);
	frame_arg(r, f, ROLE_OFFSET, &offset);
	event->u.call.maps = true;
	event->u.call.mapped_handle = f->used;
	event->u.call.mapped_bytes = bytes;
	event->u.call.mapped_offset = offset;
}

static int leave_event(struct replay *r, struct thread *thread, const struct frame *f, bool outermost)
{
	struct model_cpu cpu;
	struct model_event event = event_blank;

	event.type = EV_LEAVE;
	event.u.call.region = f->probe;
	event.u.call.abandoned = f->abandoned;
	event.u.call.failed = f->failed;
	event.u.call.device_bytes = f->device_bytes;
	event.u.call.wait_ns = f->wait_ns;
	if (outermost && !f->held)
		event.u.call.cpu = cpu_of_call(r, thread, f, calls_quiet(r, f), &cpu) ? &cpu : NULL;
	if (calls_quiet(r, f))
		return 0;
	if (f->maps)
		calls_add_mapping(r, f, &event);
	if (f->failed)
		event.u.call.error = outcome_error(r, f);
	if (call_names_add(r, thread, f, &event))
		return -ENOMEM;
	r->model->totals.failed_calls += f->failed;
	r->model->totals.abandoned += f->abandoned;
	return call_event(r, thread, &event, f->leave_ns);
}

/* Returns the innermost frame below this index whose call may read a header; NULL if there is none. */
static struct frame *header_frame(const struct replay *r, const struct thread *thread, unsigned index)
{
	while (index--)
		if (frame_row(r, &thread->frames[index])->mods & MOD_HEADER)
			return &thread->frames[index];
	return NULL;
}

static void header_drop(struct frame *f)
{
	free(f->header);
	f->header = NULL;
	f->header_len = 0;
}

/* A call that has another layer open the file (nc_open_par in PnetCDF) has not read its header itself. */
static void header_hand_up(const struct replay *r, struct thread *thread)
{
	struct frame *inner = &thread->frames[thread->nframes - 1], *outer;

	if (!inner->header || !inner->path || !inner->path[0])
		return;
	outer = header_frame(r, thread, thread->nframes - 1);
	if (!outer || outer->header_ambiguous || outer->header_len >= inner->header_len || !outer->path ||
	    strcmp(outer->path, inner->path))
		return;
	header_drop(outer);
	outer->header = inner->header;
	outer->header_len = inner->header_len;
	inner->header = NULL;
}

static int calls_leave(struct replay *r, struct thread *thread)
{
	unsigned index = thread->nframes - 1;
	int ret = op_leave(r, thread, index);

	if (!ret && thread->epochs.n)
		ret = fd_epoch_leave(r, thread, &thread->frames[index]);
	if (!ret)
		ret = leave_event(r, thread, &thread->frames[index], !index);
	if (index)
		outcome_hand_up(r, &thread->frames[index - 1], &thread->frames[index]);
	header_hand_up(r, thread);
	frame_pop(thread);
	return ret;
}

int call_abandon_to(struct replay *r, struct thread *thread, unsigned keep, uint64_t time_ns)
{
	int ret = 0;

	while (thread->nframes > keep && !ret) {
		struct frame *f = &thread->frames[thread->nframes - 1];

		f->abandoned = true;
		f->leave_ns = time_ns;
		ret = calls_leave(r, thread);
		thread->disturbed = true;
	}
	return ret;
}

/* An outermost call's own. Inside of a call that is not written to the trace it is that call's, for nothing else tells where the
 * program was. The call's frame is the last one. */
static uint32_t site_of_call(const struct replay *r, const struct thread *thread, const struct iop_rec_call *rec)
{
	const struct frame *caller = thread->nframes > 1 ? &thread->frames[thread->nframes - 2] : NULL;

	if (!rec->depth)
		return call_sites_lookup(r->sites, rec);
	return caller && calls_quiet(r, caller) ? caller->site : REF_NONE;
}

static int call_enter(struct replay *r, struct thread *thread, const struct iop_rec_call *rec, bool complete)
{
	const struct row_info *info = &r->rows[rec->probe];
	struct frame *f;
	int ret;

	/* frames at or above this depth are gone: their EXIT was lost */
	if (thread->nframes > rec->depth) {
		ret = call_abandon_to(r, thread, rec->depth, rec->enter_ns);
		if (ret)
			return ret;
	}
	f = frame_push(thread);
	if (!f)
		return -ENOMEM;
	f->probe = rec->probe;
	f->enter_ns = rec->enter_ns;
	f->site = site_of_call(r, thread, rec);
	f->unaligned = rec->rec.flags & IOP_F_UNALIGNED;
	read_arguments(f, info, rec);
	if (complete)
		outcome_set(r, f, rec);
	else if (keep_strings(f, info))
		return -ENOMEM;
	ret = enter_event(r, thread, f);
	return ret ? ret : op_enter(r, thread, thread->nframes - 1);
}

/* Returns the index of the open frame of an EXIT record: same function, same time of entry. */
static int frame_of_exit(const struct thread *thread, const struct iop_rec_call *rec)
{
	for (int i = thread->nframes - 1; i >= 0; i--)
		if (thread->frames[i].probe == rec->probe && thread->frames[i].enter_ns == rec->enter_ns)
			return i;
	return -1;
}

static int call_exit(struct replay *r, struct thread *thread, const struct iop_rec_call *rec)
{
	int index = frame_of_exit(thread, rec), ret;
	struct frame *f;

	if (index < 0) {        /* its ENTER was lost */
		r->orphans++;
		return call_abandon_to(r, thread, calls_min(thread->nframes, rec->depth), rec->rec.time_ns);
	}
	ret = call_abandon_to(r, thread, index + 1, rec->rec.time_ns);
	if (ret)
		return ret;
	for (int i = 0; i < index; i++)
		thread->frames[i].doubtful = false;     /* frames below a living frame are alive */
	f = &thread->frames[index];
	f->unseen = rec->rec.flags & IOP_F_UNSEEN;
	if (rec->rec.flags & IOP_F_ABANDONED)
		return call_abandon_to(r, thread, index, rec->rec.time_ns);
	read_results(f, frame_info(r, f), rec);
	outcome_set(r, f, rec);
	return calls_leave(r, thread);
}

int call_record(struct replay *r, struct thread *thread, const struct iop_rec_call *rec)
{
	int ret;

	if (rec->probe >= r->set.nrows)
		return replay_fail(r, -EINVAL, "call record of thread %u names probe %u, the tables have %zu", rec->rec.tid,
				   rec->probe, r->set.nrows);
	switch (rec->rec.type) {
	case IOP_REC_ENTER:
		ret = call_enter(r, thread, rec, false);
		break;
	case IOP_REC_EXIT:
		ret = call_exit(r, thread, rec);
		break;
	default:
		ret = call_enter(r, thread, rec, true);
		if (!ret)
			ret = calls_leave(r, thread);
	}
	if (!(rec->rec.flags & IOP_F_ABANDONED) && rec->rec.time_ns >= thread->last_ns)
		thread->disturbed = false;
	return ret;
}

int call_collective(struct replay *r, struct thread *thread, const struct iop_rec_collective *rec)
{
	struct iop_rec_call call = { .rec = rec->rec, .probe = rec->probe, .enter_ns = rec->enter_ns, .ret = rec->ret };
	int ret;

	if (rec->probe >= r->set.nrows)
		return replay_fail(r, -EINVAL, "collective call of thread %u names probe %u, the tables have %zu", rec->rec.tid,
				   rec->probe, r->set.nrows);
	memcpy(call.site, rec->site, sizeof(call.site));
	call.rec.type = IOP_REC_CALL;
	call.rec.time_ns = rec->leave_ns;
	ret = call_enter(r, thread, &call, true);
	if (ret)
		return ret;
	thread->frames[thread->nframes - 1].held = true;
	return calls_leave(r, thread);
}

/* Appends the part of the record behind the known bytes. A record that would leave a hole, that only repeats known bytes, or that
 * exceeds HEADER_MAX is ignored. */
static int header_append(struct frame *f, const struct iop_rec_contents *rec)
{
	uint64_t end = rec->offset + rec->len;
	uint8_t *grown;

	if (rec->offset > f->header_len || end <= f->header_len || end > HEADER_MAX)
		return 0;
	grown = realloc(f->header, end);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + rec->offset, rec->bytes, rec->len);
	f->header = grown;
	f->header_len = end;
	return 0;
}

int call_contents(struct replay *r, struct thread *thread, const struct iop_rec_contents *rec)
{
	struct frame *f = header_frame(r, thread, thread->nframes);

	if (!f || f->header_ambiguous || rec->offset > HEADER_MAX)
		return 0;
	if (rec->len)
		return header_append(f, rec);
	header_drop(f);
	f->header_ambiguous = true;
	return 0;
}

int call_device(struct replay *r, struct thread *thread, const struct iop_rec_device *rec)
{
	struct model_totals *totals = &r->model->totals;

	if (!thread->nframes)
		return 0;
	thread->frames[thread->nframes - 1].device_bytes = rec->read_bytes;
	thread->frames[thread->nframes - 1].wait_ns = rec->wait_ns;
	totals->device_calls++;
	totals->device_bytes += rec->read_bytes;
	totals->device_wait_ns += rec->wait_ns;
	return 0;
}

int call_loss(struct replay *r, struct thread *thread, uint64_t from_ns, uint64_t to_ns, uint32_t records)
{
	r->gap_records += records;
	thread->disturbed = true;
	thread->cpu.lost = true;
	thread->process->counts_comms = false;
	thread->process->from_start = false;
	for (unsigned i = 0; i < thread->nframes; i++) {
		thread->frames[i].doubtful = true;
		header_drop(&thread->frames[i]);        /* that another file has a header, too, may be in what was lost */
		thread->frames[i].header_ambiguous = true;
	}
	if (r->loss_notes++ >= LOSS_NOTES_MAX)
		return 0;
	return model_note_exact(r->model, "%u records of thread %u (process %u) were lost between %llu and %llu ns", records,
				thread->tid, thread->process->tgid, (unsigned long long)from_ns, (unsigned long long)to_ns);
}
