/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * How the agent reads and changes BPF maps while programs are recorded. During such a call the kernel skips the programs of perf
 * events on that CPU (bpf_disable_instrumentation), also for other tasks if the agent is preempted in it. So where system calls are
 * recorded by perf events, the thread has a real-time priority during the call.
 */
#ifndef IOPROBE_MAP_CALLS_H
#define IOPROBE_MAP_CALLS_H

#include "bpf/programs.h"

/* Returns the policy to restore, or -1: nothing was changed. */
int map_calls_begin(const struct programs *programs);
/* errno stays as it is. */
void map_calls_end(int policy);

#define MAP_CALL(programs, call) \
	__extension__({ \
		int map_policy = map_calls_begin(programs), map_ret = (call); \
		map_calls_end(map_policy); \
		map_ret; \
	})

#endif
