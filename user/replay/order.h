/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Puts records in time order: records that the rings delivered in rounds are kept until no earlier record can arrive, then sorted.
 */
#ifndef IOPROBE_ORDER_H
#define IOPROBE_ORDER_H

#include <ioprobe/record.h>
#include <stddef.h>
#include <stdint.h>

/* A record of time t is in its ring by t + this: a BPF program may be interrupted between clock and ring. Later records are
 * accepted and counted. */
#define ORDER_SLACK_NS 200000000ull

struct order;
typedef int (*order_fn)(void *arg, const struct iop_rec *rec);

struct order *order_create(order_fn fn, void *arg);     /* NULL without memory */
void order_destroy(struct order *order);                /* NULL is allowed */

/* Copies the record. Records of a thread are released in the order in which they were added, even if a timestamp is older than the
 * one before it. Returns 0, -ENOMEM, or the return value of fn. */
int order_add(struct order *order, const struct iop_rec *rec, size_t len);
/* All rings were drained up to this time. */
int order_round(struct order *order, uint64_t time_ns);
int order_finish(struct order *order);
uint64_t order_released_ns(const struct order *order);  /* all records before this time have been released */
uint64_t order_late(const struct order *order);         /* records that were older than ones released before them */

#endif
