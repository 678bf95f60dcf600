/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Whether a call failed, and its error: from its result, or, if the result only shows that it failed (ISO C streams), from the
 * system calls inside it.
 */
#include "replay/outcome.h"
#include "replay/frame.h"

#include <string.h>

static int64_t result_of(const struct table_row *row, int64_t ret)
{
	return row->result_int ? (int32_t)ret : ret;
}

static bool result_failed(const struct replay *r, const struct frame *f)
{
	const struct table_row *row = frame_row(r, f);
	const struct table_layer *layer = frame_layer(r, f);

	if (layer->syscalls)
		return f->ret < 0 && f->ret >= -4095;
	switch (row->result) {
	case RESULT_STATUS:
		return layer->success == SUCCESS_ZERO ? f->ret != 0 : layer->success == SUCCESS_NONNULL ? !f->ret : f->ret < 0;
	case RESULT_HANDLE:
		return layer->handle_kind == HANDLE_POINTER ? !f->ret : f->ret < 0;
	case RESULT_POINTER:
	case RESULT_SIZE:
		return !f->ret;
	case RESULT_BYTES:
	case RESULT_OFFSET:
	case RESULT_CHAR:
	case RESULT_COUNT:
	case RESULT_TYPE:
	case RESULT_SPACE:
	case RESULT_TRANSFER:
	case RESULT_SELECTED:
	case RESULT_EXTENT:
	case RESULT_NDIMS:
	case RESULT_VARIABLE:
	case RESULT_CLASS:
	case RESULT_EQUAL:
	case RESULT_REFERENCES:
		return f->ret < 0;
	default:
		return false;
	}
}

bool outcome_may_miss_system_calls(const struct replay *r)
{
	for (size_t i = 0; i < r->model->excluded.n; i++) {
		const char *layer = r->model->excluded.v[i].layer;

		if (!layer)
			return true;
		for (size_t l = 0; l < r->set.nlayers; l++)
			if (r->set.layers[l].syscalls && !strcmp(r->set.layers[l].name, layer))
				return true;
	}
	return false;
}

#define STREAM_AT_END 0x10      /* in a stream's flags, of glibc and of musl: then reads need no system call to fail */

static bool stream_was_at_end(const struct replay *r, const struct frame *f)
{
	int64_t state;

	return !f->inner_reads && frame_arg(r, f, ROLE_STATE, &state) && state & STREAM_AT_END;
}

/* errno is that of the last failed system call inside. End of file looks like an error, but then the last read returned 0. */
static void consult_inner(const struct replay *r, struct frame *f)
{
	const struct table_row *row = frame_row(r, f);

	f->at_end = f->failed && row->op == OP_READ && (f->inner_at_end || (!f->inner_error && stream_was_at_end(r, f)));
	f->end_or_error = f->failed && row->op == OP_READ && !f->at_end && !f->inner_error && outcome_may_miss_system_calls(r);
	if (f->at_end || f->end_or_error)
		f->failed = false;
	if (f->inner_error && row->result == RESULT_ITEMS && !f->ret)
		f->failed = true;
}

void outcome_set(const struct replay *r, struct frame *f, const struct iop_rec_call *rec)
{
	const struct table_row *row = frame_row(r, f);

	f->complete = true;
	f->leave_ns = rec->rec.time_ns;
	f->ret = result_of(row, rec->ret);
	f->failed = !(row->mods & MOD_CALLBACK) && result_failed(r, f);
	if (frame_layer(r, f)->sets_errno)
		consult_inner(r, f);
}

static void hand_up_bytes(const struct replay *r, struct frame *outer, const struct frame *f)
{
	bool same = f->begun && outer->object && outer->object->file != REF_NONE &&
		    r->model->handles.v[f->used].file == outer->object->file;

	if (!f->complete || f->failed || frame_row(r, f)->op != OP_READ)
		return;
	outer->inner_reads = true;
	outer->inner_other |= !same;
	outer->inner_bytes += f->ret;
}

void outcome_hand_up(const struct replay *r, struct frame *outer, const struct frame *f)
{
	if (!frame_layer(r, f)->syscalls) {
		outer->inner_reads |= f->inner_reads;
		outer->inner_other |= f->inner_other || (f->inner_reads && f->object != outer->object);
		outer->inner_bytes += f->inner_bytes;
		outer->inner_error = f->inner_error ? f->inner_error : outer->inner_error;
		outer->inner_at_end = f->inner_at_end;
		return;
	}
	hand_up_bytes(r, outer, f);
	if (f->failed)
		outer->inner_error = -f->ret;
	outer->inner_at_end = f->complete && frame_row(r, f)->op == OP_READ && !f->ret;
}

int32_t outcome_error(const struct replay *r, const struct frame *f)
{
	enum table_result result = frame_row(r, f)->result;

	if (frame_layer(r, f)->syscalls)
		return -f->ret;
	if (frame_layer(r, f)->sets_errno)
		return f->inner_error;
	/* -1 is the usual result of a failed call, not an error code of a library */
	return (result == RESULT_STATUS || result == RESULT_HANDLE) && f->ret != -1 ? f->ret : 0;
}
