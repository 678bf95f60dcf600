/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Processes and threads: creation, inheritance, exec and exit. Pids and tids are reused: a fork creates a new process or thread
 * even if its number is known.
 */
#ifndef IOPROBE_REPLAY_PROCESS_H
#define IOPROBE_REPLAY_PROCESS_H

#include "replay/state.h"

struct thread *thread_get(struct replay *r, uint32_t tid, uint32_t tgid);
int process_exec_thread(struct replay *r, const struct iop_rec_exec *rec);      /* the calling thread becomes the leader */
int thread_end(struct replay *r, struct thread *thread, uint64_t time_ns);
/* thread NULL: found by the scan at attach */
int process_fork(struct replay *r, struct thread *thread, const struct iop_rec_fork *rec);
int process_exec(struct replay *r, struct thread *thread, const struct iop_rec_exec *rec);
int process_task_exit(struct replay *r, struct thread *thread, const struct iop_rec_task_exit *rec);
int process_cwd(struct process *process, const struct iop_rec_fd *rec);
void process_free_all(struct replay *r);

#endif
