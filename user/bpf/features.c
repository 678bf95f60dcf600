/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The list of features and their results. The tests are in feature_probes.c.
 */
#include "bpf/features.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/feature_probes.h"

#define REASON_LEN 200

static const struct feature_info infos[FEATURES] = {
	[FEATURE_BTF] = { "btf", "Linux 5.4", "the layout of the kernel's structures", "nothing can be recorded", true },
	[FEATURE_RING_BUFFER] = { "ring-buffer", "Linux 5.8", "records leave the kernel in order",
				  "nothing can be recorded", true },
	[FEATURE_TASK_ITERATOR] = { "task-iterator", "Linux 5.8", "running threads are found", "nothing can be recorded", true },
	[FEATURE_TASK_STORAGE] = { "task-storage", "Linux 5.11", "each thread has its stack of open calls",
				   "nothing can be recorded", true },
	[FEATURE_TASK_REGISTERS] = { "task-registers", "Linux 5.15", "a thread's registers can be read",
				     "nothing can be recorded", true },
	[FEATURE_LOOPS] = { "loops", "Linux 5.17", "arrays of asynchronous operations are read", "nothing can be recorded", true },
	[FEATURE_ATTACH_COOKIE] = { "attach-cookie", "Linux 5.15", "probes carry the number of their function",
				    "library calls are not recorded" },
	[FEATURE_SLEEPABLE_UPROBES] = { "sleepable-uprobes", "Linux 6.0", "unwinders get their return addresses back",
					"library calls are not recorded: C++ exceptions through probed calls would end a program" },
	[FEATURE_UPROBE_EVENTS] = { "uprobe-events", "Linux 4.17", "library probes by perf events",
				    "only uprobe_multi links can be used" },
	[FEATURE_UPROBE_DEFINITIONS] = { "uprobe-definitions", "any Linux", "perf events in recorded processes only",
					 "perf events are in every process that uses a probed library" },
	[FEATURE_UPROBE_MULTI] = { "uprobe-multi", "Linux 6.6", "one link for all probes of a library",
				   "perf events are used: probes are placed and removed one by one" },
	[FEATURE_UPROBE_PROCESS] = { "uprobe-process", "Linux 6.10", "links are hit by every thread of their process",
				     "perf events are used, as without uprobe-multi" },
	[FEATURE_UPROBE_SESSION] = { "uprobe-session", "Linux 6.13", "one link for entry and return",
				     "entry and return have a link each; calls of coroutines are recorded without their end" },
	[FEATURE_ATOMIC_TRACEPOINTS] = { "atomic-tracepoints", "up to Linux 7.1", "no run of a tracepoint's program is skipped",
					 "system calls are recorded by perf events, starts and ends of processes by two programs "
					 "each" },
	[FEATURE_SYSCALL_EVENTS] = { "syscall-events", "any Linux",
		"perf events on system calls, for kernels without atomic-tracepoints",
				     "without atomic-tracepoints system calls can be missed, which is counted in 'records lost'" },
	[FEATURE_TYPED_LOADS] = { "typed-loads", "Linux 6.2", "kernel structures are read by plain loads",
				  "they are read by helpers, which costs more" },
	[FEATURE_TASK_WORK] = { "task-work", "Linux 6.18", "new programs wait at a system call until their probes are in place",
				"they wait in their dynamic linker, or not at all if they start within 1 ms of their fork" },
	[FEATURE_URING] = { "io-uring", "Linux 6.0", "operations of io_uring are followed", "only its system calls are recorded" },
};

static struct { bool tried, available; char reason[REASON_LEN]; } results[FEATURES];

const struct feature_info *feature_info(enum feature feature)
{
	return &infos[feature];
}

/* The variable is ignored if the program has more privileges than its caller. */
static bool is_excluded(const char *name)
{
	const char *list = secure_getenv("IOPROBE_WITHOUT");
	size_t len = strlen(name);

	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (n == len && !strncmp(list, name, len))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

bool feature_available(enum feature feature)
{
	if (results[feature].tried)
		return results[feature].available;
	results[feature].tried = true;
	if (is_excluded(infos[feature].name))
		snprintf(results[feature].reason, REASON_LEN, "excluded by IOPROBE_WITHOUT");
	else
		results[feature].available = feature_probes[feature](results[feature].reason, REASON_LEN);
	return results[feature].available;
}

const char *feature_reason(enum feature feature)
{
	return feature_available(feature) ? "" : results[feature].reason;
}

enum feature feature_missing(void)
{
	enum feature feature = 0;

	while (feature < FEATURES && (!infos[feature].required || feature_available(feature)))
		feature++;
	return feature;
}
