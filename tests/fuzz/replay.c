/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Records, into a replay that nothing is written from. The input is bent so far that most of it is reached: lengths are cut to the
 * input, threads are few, sequence numbers count. Incomplete records are skipped here; the reader's own check of them is
 * part of the target.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"
#include "sink/summary/summary.h"

#define THREADS 8
#define ROOM (1 << 20)

struct input { const uint8_t *at; size_t left; };
struct output { char *v; size_t used, nrows; uint32_t seq[THREADS]; };

static void put_text(struct output *out, enum iop_rec_type type, const char *head, const char *raw)
{
	size_t len = strlen(head) + strlen(raw), size = (sizeof(struct iop_rec_text) + len + 7) & ~(size_t)7;
	struct iop_rec_text *rec = (void *)(out->v + out->used);

	memset(rec, 0, size);
	rec->rec = (struct iop_rec){ .len = size <= 65528 ? size : 0, .type = type };
	rec->text_len = len;
	memcpy(rec->text, head, strlen(head));
	memcpy(rec->text + strlen(head), raw, strlen(raw));
	out->used += size;
}

static bool is_call(uint8_t type)
{
	return type == IOP_REC_CALL || type == IOP_REC_ENTER || type == IOP_REC_EXIT;
}

static void bend(struct output *out, struct iop_rec *rec)
{
	struct iop_rec_call *call = (void *)rec;

	rec->tid %= THREADS;
	rec->tgid = rec->tid / 3;
	if (rec->type == IOP_REC_FORK && rec->len >= sizeof(struct iop_rec_fork)) {
		((struct iop_rec_fork *)rec)->child_tid %= THREADS;
		((struct iop_rec_fork *)rec)->child_tgid %= THREADS / 2;
	}
	rec->time_ns &= 0xffffff;
	if (rec->seq)
		rec->seq = rec->seq % 7 ? ++out->seq[rec->tid] : rec->seq & 0xff;
	if (is_call(rec->type) && rec->len >= sizeof(*call)) {
		call->probe %= out->nrows + 1;
		call->depth %= 6;
		if (call->nargs > IOP_MAX_ARGS || rec->flags & IOP_F_STRINGS)
			call->nargs = IOP_MAX_ARGS;
	}
}

/* One record of the input; its length is made to be a multiple of 8 within what is left. */
static void take_record(struct input *in, struct output *out)
{
	struct iop_rec *rec = (void *)(out->v + out->used);
	size_t len;

	memcpy(rec, in->at, sizeof(*rec));
	len = rec->len & ~7u;
	len = len < sizeof(*rec) ? sizeof(*rec) : len;
	len = len > (in->left & ~7ul) ? in->left & ~7ul : len;
	memcpy(rec, in->at, len);
	in->at += len;
	in->left -= len;
	rec->len = len;
	bend(out, rec);
	if (rec->type != IOP_REC_TABLE && iop_rec_valid(rec, len))
		out->used += len;
}

static size_t rows(void)
{
	static size_t n;
	struct table_set set;
	char err[512];

	if (n)
		return n;
	table_set_init(&set);
	if (table_parse(&set, "fuzz", fuzz_tables(), err, sizeof(err))) {
		fprintf(stderr, "fuzz: %s\n", err);
		_Exit(3);
	}
	n = set.nrows;
	table_set_deinit(&set);
	return n;
}

static void run(const struct output *out, bool summary)
{
	struct spool_reader *reader;
	struct sink *sink = NULL;
	struct model model;
	char err[512], *text = NULL;
	size_t len;
	FILE *memory = summary ? open_memstream(&text, &len) : NULL;

	if (memory && summary_sink_create(&sink, memory, true))
		_Exit(3);
	if (spool_reader_of_records(&reader, out->v, out->used))
		_Exit(3);
	replay_run(reader, &model, &sink, sink != NULL, err, sizeof(err));
	model_deinit(&model);
	spool_reader_destroy(reader);
	summary_sink_destroy(sink);
	if (memory)
		fclose(memory);
	free(text);
}

/* Whatever it is: nothing beyond it is looked at. */
static void check_alone(const uint8_t *data, size_t size)
{
	struct iop_rec *rec = malloc(size ? size : 1);

	if (!rec)
		return;
	memcpy(rec, data, size);
	if (iop_rec_valid(rec, size) && iop_rec_size(rec) > size)
		abort();
	free(rec);
}

int fuzz_replay(const uint8_t *data, size_t size)
{
	struct output out = { .nrows = rows() };
	struct input in = { data + 1, size - 1 };

	if (size < 1 || size > ROOM / 2)
		return 0;
	check_alone(in.at, in.left);
	out.v = malloc(ROOM);
	if (!out.v)
		return 0;
	put_text(&out, IOP_REC_HOST, "host=node1\nrealtime_ns=1000000\nmonotonic_ns=0\n", "");
	put_text(&out, IOP_REC_TABLE, "name=fuzz\n\n", fuzz_tables());
	while (in.left >= sizeof(struct iop_rec))
		take_record(&in, &out);
	run(&out, data[0] & 1);
	free(out.v);
	return 0;
}
