/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One follower's stream at the collector: its token, its store, and what it is answered. Knows no network.
 */
#ifndef IOPROBE_COLLECT_SESSION_H
#define IOPROBE_COLLECT_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/counts.h"
#include "collect/space.h"
#include "stream/token.h"

struct session;

/* space: where the stores are, and how large they may become; counts: what is added to. All stay the caller's. NULL without
 * memory. */
struct session *session_create(const struct token_secret *secret, struct collect_space *space, struct collect_counts *counts);
void session_destroy(struct session *session);

/* Takes bytes in the order in which they came. *answer: lines for the follower, which the caller frees; NULL: none. Returns false
 * if the connection must be closed when the answer is sent; the reason is in session_reason. */
bool session_take(struct session *session, const char *bytes, size_t len, char **answer);
const char *session_reason(const struct session *session);

#endif
