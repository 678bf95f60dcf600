/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A ring of batches. Full batches belong to the consumer; the batch that is being filled and empty ones belong to the producer.
 * The two share only the number of full batches.
 */
#include "util/relay.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>

struct relay_batch { size_t used; char *bytes; };

struct relay {
	relay_fn fn;
	void *arg;
	alignas(8) char item[RELAY_ITEM_MAX];   /* without a thread */
	struct relay_batch batches[RELAY_BATCHES];
	unsigned filling;               /* the producer's: the batch, the place of its next item, and where its room ends */
	char *at, *end;
	unsigned taken;                 /* the consumer's */
	bool running;                   /* there is a thread */
	pthread_t thread;
	pthread_mutex_t lock;           /* of full and ended: */
	pthread_cond_t changed;
	unsigned full;
	bool ended;                     /* no further batch will come */
};

struct relay *relay_create(void)
{
	struct relay *relay = calloc(1, sizeof(*relay));

	if (!relay)
		return NULL;
	pthread_mutex_init(&relay->lock, NULL);
	pthread_cond_init(&relay->changed, NULL);
	return relay;
}

void relay_bind(struct relay *relay, relay_fn fn, void *arg)
{
	relay->fn = fn;
	relay->arg = arg;
}

void relay_destroy(struct relay *relay)
{
	if (!relay)
		return;
	relay_finish(relay);
	pthread_cond_destroy(&relay->changed);
	pthread_mutex_destroy(&relay->lock);
	free(relay);
}

/* ---- the consumer ---- */

/* Returns the next full batch; NULL after the last one. */
static struct relay_batch *relay_take(struct relay *relay)
{
	bool any;

	pthread_mutex_lock(&relay->lock);
	while (!relay->full && !relay->ended)
		pthread_cond_wait(&relay->changed, &relay->lock);
	any = relay->full;
	pthread_mutex_unlock(&relay->lock);
	return any ? &relay->batches[relay->taken] : NULL;
}

static void relay_give_back(struct relay *relay, struct relay_batch *batch)
{
	batch->used = 0;
	relay->taken = (relay->taken + 1) % RELAY_BATCHES;
	pthread_mutex_lock(&relay->lock);
	relay->full--;
	pthread_cond_signal(&relay->changed);
	pthread_mutex_unlock(&relay->lock);
}

static void *relay_main(void *arg)
{
	struct relay *relay = arg;
	struct relay_batch *batch;

	while ((batch = relay_take(relay))) {
		relay->fn(relay->arg, batch->bytes, batch->used);
		relay_give_back(relay, batch);
	}
	return NULL;
}

/* ---- the producer ---- */

/* The producer fills the next batch, which is empty. */
static void relay_fill(struct relay *relay)
{
	relay->at = relay->batches[relay->filling].bytes;
	relay->end = relay->at + RELAY_BATCH_BYTES - RELAY_ITEM_MAX;
}

static void relay_free_batches(struct relay *relay)
{
	relay->at = NULL;
	for (int i = 0; i < RELAY_BATCHES; i++) {
		free(relay->batches[i].bytes);
		relay->batches[i] = (struct relay_batch){ 0 };
	}
}

static bool allocate_batches(struct relay *relay)
{
	for (int i = 0; i < RELAY_BATCHES; i++) {
		relay->batches[i].bytes = malloc(RELAY_BATCH_BYTES);
		if (!relay->batches[i].bytes)
			return false;
	}
	return true;
}

/* Signals are for the caller's thread. */
static bool relay_start_thread(struct relay *relay)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = !pthread_create(&relay->thread, NULL, relay_main, relay);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

static bool one_cpu(void)
{
	cpu_set_t cpus;

	return !sched_getaffinity(0, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) == 1;    /* more CPUs than the set has: -EINVAL */
}

bool relay_start(struct relay *relay)
{
	if (relay->running)
		return true;
	if (one_cpu())
		return false;
	relay->ended = false;
	relay->filling = relay->taken = 0;
	if (allocate_batches(relay))
		relay_fill(relay);
	relay->running = relay->at && relay_start_thread(relay);
	if (!relay->running)
		relay_free_batches(relay);
	return relay->running;
}

static void relay_close_batch(struct relay *relay)
{
	relay->batches[relay->filling].used = relay->at - relay->batches[relay->filling].bytes;
}

bool relay_is_running(const struct relay *relay)
{
	return relay->running;
}

/* Passes the batch to the consumer, and waits until the next one is empty. */
static void relay_pass(struct relay *relay)
{
	relay_close_batch(relay);
	relay->filling = (relay->filling + 1) % RELAY_BATCHES;
	pthread_mutex_lock(&relay->lock);
	relay->full++;
	pthread_cond_signal(&relay->changed);
	while (relay->full == RELAY_BATCHES)
		pthread_cond_wait(&relay->changed, &relay->lock);
	pthread_mutex_unlock(&relay->lock);
	relay_fill(relay);
}

void *relay_room(struct relay *relay)
{
	if (!relay->running)
		return relay->item;
	if (relay->at > relay->end)
		relay_pass(relay);
	return relay->at;
}

void relay_add(struct relay *relay, size_t len)
{
	if (relay->running)
		relay->at += len;
	else
		relay->fn(relay->arg, relay->item, len);
}

void relay_sync(struct relay *relay)
{
	if (!relay->running)
		return;
	if (relay->at > relay->batches[relay->filling].bytes)
		relay_pass(relay);
	pthread_mutex_lock(&relay->lock);
	while (relay->full)
		pthread_cond_wait(&relay->changed, &relay->lock);
	pthread_mutex_unlock(&relay->lock);
}

void relay_finish(struct relay *relay)
{
	if (!relay->running)
		return;
	relay_close_batch(relay);
	pthread_mutex_lock(&relay->lock);
	relay->full += relay->batches[relay->filling].used > 0;
	relay->ended = true;
	pthread_cond_signal(&relay->changed);
	pthread_mutex_unlock(&relay->lock);
	pthread_join(relay->thread, NULL);
	relay->running = false;
	relay_free_batches(relay);
}
