/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * How long threads were on a CPU, asleep or waiting for a CPU in outermost calls, and between them (--cpu-time).
 */
#ifndef IOPROBE_REPLAY_CPU_TIME_H
#define IOPROBE_REPLAY_CPU_TIME_H

#include "replay/state.h"

int cpu_record(struct thread *thread, const struct iop_rec_cpu *rec);
/* Fills the times of an outermost call that ends. quiet: the call is not written to the trace, and its time counts as time between
 * calls. Returns whether anything is known. */
bool cpu_of_call(const struct replay *r, struct thread *thread, const struct frame *f, bool quiet, struct model_cpu *cpu);

#endif
