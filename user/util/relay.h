/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Passes items from one thread to another, in their order and in batches. The number of batches is fixed: a producer that is faster
 * than the consumer waits, so memory is bounded.
 */
#ifndef IOPROBE_UTIL_RELAY_H
#define IOPROBE_UTIL_RELAY_H

#include <stdbool.h>
#include <stddef.h>

#define RELAY_ITEM_MAX 4096     /* bytes */
#define RELAY_BATCH_BYTES (128u << 10)
#define RELAY_BATCHES 8

struct relay;

/* Processes items that lie one after the other, each aligned to 8 bytes. */
typedef void (*relay_fn)(void *arg, const void *items, size_t len);

/* Without a thread, each item is processed by the caller when it is added. Returns NULL without memory. */
struct relay *relay_create(void);
/* What processes the items: to be called before the first one, also if the thread exists already. */
void relay_bind(struct relay *relay, relay_fn fn, void *arg);

/* From here on a thread of its own processes the items, RELAY_BATCHES * RELAY_BATCH_BYTES later at most. Returns false if the
 * process may use one CPU only, or there is no memory or no thread: then the caller goes on to process them. */
bool relay_start(struct relay *relay);

bool relay_is_running(const struct relay *relay);       /* there is a thread */

/* Returns room for an item of up to RELAY_ITEM_MAX bytes; waits while all batches are full. The item is added by relay_add, with
 * its length, a multiple of 8. */
void *relay_room(struct relay *relay);
void relay_add(struct relay *relay, size_t len);

/* Waits until all items have been processed: what that has written can be read and changed by the caller, until it adds an item. */
void relay_sync(struct relay *relay);
/* Waits until all items have been processed, and ends the thread: all that it wrote can be read by the caller. Items that are added
 * later are processed by the caller. */
void relay_finish(struct relay *relay);
void relay_destroy(struct relay *relay);        /* the same, and frees it; NULL is allowed */

#endif
