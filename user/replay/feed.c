/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads the spool and puts the records in order. With a relay this thread reads ahead of the replay, which runs on the relay's: all
 * but this file's state is that thread's then, except after feed_wait.
 */
#include "replay/feed.h"
#include "replay/order.h"
#include "replay/texts.h"
#include "util/relay.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

struct feed {
	struct replay *r;
	feed_fn fn;
	struct spool_reader *spool;
	struct order *order;
	struct relay *relay;            /* NULL: the replay runs on this thread */
	atomic_int error;               /* of the replay on the relay's thread */
};

/* ---- to the replay ---- */

/* On the relay's thread. */
static void feed_take(void *arg, const void *records, size_t len)
{
	struct feed *feed = arg;
	const char *at = records, *end = at + len;
	int ret = atomic_load_explicit(&feed->error, memory_order_relaxed);

	for (; at < end && !ret; at += iop_rec_size((const struct iop_rec *)at))
		ret = feed->fn(feed->r, (const struct iop_rec *)at);
	if (ret)
		atomic_store_explicit(&feed->error, ret, memory_order_relaxed);
}

/* Waits until the replay has processed all that came before: from here on, until the next record, its state is this thread's. */
static int feed_wait(struct feed *feed)
{
	if (feed->relay)
		relay_sync(feed->relay);
	return atomic_load_explicit(&feed->error, memory_order_relaxed);
}

static int feed_directly(struct feed *feed, const struct iop_rec *rec)
{
	int ret = feed_wait(feed);

	return ret ? ret : feed->fn(feed->r, rec);
}

/* Called by the order with each record in its turn. */
static int feed_record(void *arg, const struct iop_rec *rec)
{
	struct feed *feed = arg;
	size_t len = iop_rec_size(rec);

	if (!feed->relay)
		return feed->fn(feed->r, rec);
	if (len > RELAY_ITEM_MAX)
		return feed_directly(feed, rec);
	memcpy(relay_room(feed->relay), rec, len);
	relay_add(feed->relay, len);
	return atomic_load_explicit(&feed->error, memory_order_relaxed);
}

/* ---- the spool ---- */

static int report_time(struct replay *r, const struct order *order)
{
	int ret = 0;

	/* so far */
	r->model->totals.lost_records = r->lost_records > r->gap_records ? r->lost_records : r->gap_records;
	for (size_t i = 0; i < r->nsinks && !ret; i++)
		if (r->sinks[i]->time)
			ret = r->sinks[i]->time(r->sinks[i], r->model, order_released_ns(order));
	return ret;
}

static int feed_round(struct feed *feed, const struct iop_rec *rec)
{
	int ret = order_round(feed->order, rec->time_ns);

	if (ret || !feed->r->followed)
		return ret;
	ret = feed_wait(feed);
	return ret ? ret : report_time(feed->r, feed->order);
}

/* END comes early if the recording has ended, in the head of the file. */
static int feed_end(struct feed *feed, const struct iop_rec *rec, size_t len)
{
	int ret = feed_wait(feed);

	feed->r->bound_ns = text_bound_ns((const void *)rec);
	return ret ? ret : order_add(feed->order, rec, len);
}

/* HOST and TABLE records come first; all others depend on them, so they are processed at once, without ordering. */
static int feed_one(struct feed *feed, const struct iop_rec *rec, size_t len)
{
	feed->r->read_records += rec->type < IOP_REC_AGENT;
	switch (rec->type) {
	case IOP_REC_HOST:
	case IOP_REC_TABLE: return feed_directly(feed, rec);
	case IOP_REC_ROUND: return feed_round(feed, rec);
	case IOP_REC_END: return feed_end(feed, rec, len);
	default: return order_add(feed->order, rec, len);
	}
}

/* Reads to the spool's end, or to its last intact block: then *damaged is set. */
static int feed_all(struct feed *feed, bool *damaged)
{
	const struct iop_rec *rec;
	size_t len;
	int ret;

	while ((ret = spool_reader_next(feed->spool, &rec, &len)) == 1) {
		ret = feed_one(feed, rec, len);
		if (ret)
			return ret;
	}
	*damaged = ret == -EBADMSG;
	return *damaged ? 0 : ret;
}

static int feed_damage(struct feed *feed)
{
	int ret = feed_wait(feed);

	return ret ? ret : model_note(feed->r->model, "the spool is damaged or cut off; all records before that place are in "
				      "the archive");
}

static int feed_through(struct feed *feed)
{
	bool damaged = false;
	int ret = feed_all(feed, &damaged), waited;

	if (!ret && damaged)
		ret = feed_damage(feed);
	if (!ret)
		ret = order_finish(feed->order);
	waited = feed_wait(feed);
	feed->r->late += order_late(feed->order);
	if (damaged)
		feed->r->model->complete = false;       /* END is in the head of the file and is read even if the rest is damaged */
	return ret ? ret : waited;
}

int feed_spool(struct replay *r, struct spool_reader *spool, struct relay *relay, feed_fn fn)
{
	struct feed feed = { .r = r, .fn = fn, .spool = spool, .relay = relay && relay_is_running(relay) ? relay : NULL };
	int ret;

	feed.order = order_create(feed_record, &feed);
	if (!feed.order)
		return -ENOMEM;
	if (feed.relay)
		relay_bind(feed.relay, feed_take, &feed);
	ret = feed_through(&feed);
	order_destroy(feed.order);
	return ret;
}
