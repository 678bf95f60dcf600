/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Records in time order: what the rings delivered in rounds is kept until no earlier record can come, then sorted.
 */
#ifndef IOPROBE_ORDER_H
#define IOPROBE_ORDER_H

#include <ioprobe/record.h>
#include <stddef.h>
#include <stdint.h>

/* A record of time t is in its ring at t + this at the latest: a program may be interrupted between clock and ring. What comes
 * later still is taken and counted. */
#define ORDER_SLACK_NS 200000000ull

struct order;
typedef int (*order_fn)(void *arg, const struct iop_rec *rec);

struct order *order_create(order_fn fn, void *arg);     /* NULL without memory */
void order_destroy(struct order *order);                /* NULL is fine */

/* Takes a copy of the record. Within a thread, records leave in the order they came even if a clock value is older than the one
 * before it. Returns 0, -ENOMEM, or what fn returned. */
int order_add(struct order *order, const struct iop_rec *rec, size_t len);
/* All rings were drained up to this time. */
int order_round(struct order *order, uint64_t time_ns);
int order_finish(struct order *order);
uint64_t order_released_ns(const struct order *order);  /* all records before this time have left */
uint64_t order_late(const struct order *order);         /* records older than others that had left before */

#endif
