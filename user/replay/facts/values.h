/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Values of static facts as text.
 */
#ifndef IOPROBE_REPLAY_FACTS_VALUES_H
#define IOPROBE_REPLAY_FACTS_VALUES_H

#include "replay/state.h"

/* The number, or its name in the table. */
void fact_number(const struct table_fact *fact, int64_t number, char *text, size_t len);
/* The value of an argument; false if it is unknown. */
bool fact_value(const struct replay *r, const struct thread *thread, const struct frame *f, const struct table_arg *arg, char *text,
		size_t len);

#endif
