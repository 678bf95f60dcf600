/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The _new functions return NULL without memory.
 */
#ifndef IOPROBE_REPLAY_REGISTRY_H
#define IOPROBE_REPLAY_REGISTRY_H

#include "replay/state.h"

struct process *process_new(struct replay *r, uint32_t tgid);           /* replaces the previous process with this number */
struct process *process_get(struct replay *r, uint32_t tgid);           /* created if unknown */
struct thread *thread_new(struct replay *r, uint32_t tid, struct process *process);
struct thread *thread_find(struct replay *r, uint32_t tid);             /* NULL if unknown */

#endif
