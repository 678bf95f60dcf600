/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The calls that the guard's iterator reports, and which of them are in flight.
 */
#include "bpf/guard_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define CPU_SHARE 100                   /* a look may take a hundredth of the time */
#define LONGEST_PAUSE_MS 3600000u

/* ---- a sorted list ---- */

bool guard_calls_add(struct guard_calls *calls, const struct iop_replaced_return *call)
{
	if (calls->n == calls->cap) {
		size_t cap = calls->cap ? 2 * calls->cap : 64;
		struct iop_replaced_return *v = realloc(calls->v, cap * sizeof(*v));

		if (!v)
			return false;
		calls->v = v;
		calls->cap = cap;
	}
	calls->v[calls->n++] = *call;
	return true;
}

static pid_t process_of_call(const struct iop_replaced_return *call)
{
	return call->pid_tgid >> 32;
}

static int compare_calls(const void *a, const void *b)
{
	const struct iop_replaced_return *x = a, *y = b;

	if (x->pid_tgid != y->pid_tgid)
		return x->pid_tgid < y->pid_tgid ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static int compare_call_process(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = process_of_call(b);

	return x < y ? -1 : x > y;
}

void guard_calls_sort(struct guard_calls *calls)
{
	if (calls->n)
		qsort(calls->v, calls->n, sizeof(*calls->v), compare_calls);
}

bool guard_calls_contain(const struct guard_calls *calls, const struct iop_replaced_return *call)
{
	return calls->n && bsearch(call, calls->v, calls->n, sizeof(*calls->v), compare_calls);
}

bool guard_calls_contain_process(const struct guard_calls *calls, pid_t pid)
{
	return calls->n && bsearch(&pid, calls->v, calls->n, sizeof(*calls->v), compare_call_process);
}

/* ---- /proc ---- */

static int guard_read_word(pid_t pid, uint64_t address, uint64_t *word)
{
	struct iovec local = { word, sizeof(*word) }, remote = { (void *)(uintptr_t)address, sizeof(*word) };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(*word) ? 0 : errno ? -errno : -EFAULT;
}

struct guard_areas { struct guard_area *v; size_t n, cap; };

static int guard_area_add(struct guard_areas *areas, uint64_t low, uint64_t high)
{
	if (areas->n == GUARD_MAPS_LINES)
		return -E2BIG;
	if (areas->n == areas->cap) {
		size_t cap = areas->cap ? 2 * areas->cap : 256;
		struct guard_area *v = realloc(areas->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		areas->v = v;
		areas->cap = cap;
	}
	areas->v[areas->n++] = (struct guard_area){ low, high };
	return 0;
}

static ssize_t guard_read_areas(pid_t pid, struct guard_area **found)
{
	struct guard_areas areas = { 0 };
	char path[32], line[512];
	bool begins = true;             /* the text is not the rest of a line with a long name */
	int err = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while (!err && fgets(line, sizeof(line), maps)) {
		unsigned long long low, high;

		if (begins && sscanf(line, "%llx-%llx ", &low, &high) == 2)
			err = guard_area_add(&areas, low, high);
		begins = strchr(line, '\n');
	}
	fclose(maps);
	if (err)
		free(areas.v);
	else
		*found = areas.v;
	return err ? err : (ssize_t)areas.n;
}

const struct guard_access guard_access_proc = { guard_read_word, guard_read_areas };

/* ---- in flight or not ---- */

/* The kernel keeps the entries of calls that were left by an unwinder or longjmp: their slots have been overwritten ... */
static bool slot_is_replaced(const struct iop_replaced_return *call, const struct guard_access *access)
{
	uint64_t found = 0;
	int err = access->read_word(process_of_call(call), call->address, &found);

	if (err)
		return err != -ESRCH && err != -EFAULT;
	return (found & ~(uint64_t)4095) == call->trampoline;
}

/* ... or are below the stack pointer, of the same stack: a call on another one (a signal handler's) cannot be compared. */
static bool is_below_stack(const struct iop_replaced_return *call)
{
	return call->address < call->sp;
}

static int compare_area(const void *a, const void *b)
{
	uint64_t address = *(const uint64_t *)a;
	const struct guard_area *area = b;

	return address < area->low ? -1 : address >= area->high;
}

static bool is_left_call(const struct iop_replaced_return *call, const struct guard_area *areas, size_t n)
{
	const struct guard_area *area = n ? bsearch(&call->address, areas, n, sizeof(*areas), compare_area) : NULL;

	return is_below_stack(call) && area && call->sp >= area->low && call->sp < area->high;
}

static size_t guard_process_end(const struct guard_calls *calls, size_t begin, bool *below)
{
	size_t end = begin;

	for (*below = false; end < calls->n && process_of_call(&calls->v[end]) == process_of_call(&calls->v[begin]); end++)
		*below |= is_below_stack(&calls->v[end]);
	return end;
}

static size_t guard_processes_to_read(const struct guard_calls *calls)
{
	size_t n = 0;
	bool below;

	for (size_t i = 0; i < calls->n; n += below)
		i = guard_process_end(calls, i, &below);
	return n;
}

static void guard_keep_replaced(struct guard_calls *calls, const struct guard_access *access)
{
	size_t kept = 0;

	for (size_t i = 0; i < calls->n; i++)
		if (slot_is_replaced(&calls->v[i], access))
			calls->v[kept++] = calls->v[i];
	calls->n = kept;
}

/* Appends those of a process' calls that are not left to the first kept ones. Returns how many are kept now; *unread: how many of
 * them are undecided. */
static size_t guard_keep_process(struct guard_calls *calls, size_t kept, size_t begin, size_t end,
				 const struct guard_access *access, size_t *unread)
{
	struct guard_area *areas = NULL;
	ssize_t n = access ? access->read_areas(process_of_call(&calls->v[begin]), &areas) : -EAGAIN;

	for (size_t i = begin; i < end; i++) {
		const struct iop_replaced_return call = calls->v[i];

		if (n >= 0 && is_left_call(&call, areas, n))
			continue;
		*unread += n < 0 && is_below_stack(&call);
		calls->v[kept++] = call;
	}
	free(areas);
	return kept;
}

size_t guard_calls_keep_in_flight(struct guard_calls *calls, const struct guard_access *access, size_t turn)
{
	size_t kept = 0, number = 0, unread = 0, processes, first;
	bool below;

	guard_calls_sort(calls);
	guard_keep_replaced(calls, access);
	processes = guard_processes_to_read(calls);
	first = processes > GUARD_MAPS_READS ? turn * GUARD_MAPS_READS % processes : 0;
	for (size_t begin = 0, end; begin < calls->n; begin = end) {
		bool its_turn;

		end = guard_process_end(calls, begin, &below);
		its_turn = below && (number + processes - first) % processes < GUARD_MAPS_READS;
		if (below) {
			kept = guard_keep_process(calls, kept, begin, end, its_turn ? access : NULL, &unread);
			number++;
		} else {
			memmove(&calls->v[kept], &calls->v[begin], (end - begin) * sizeof(*calls->v));
			kept += end - begin;
		}
	}
	calls->n = kept;
	return unread;
}

unsigned guard_calls_pause(unsigned pause_ms, uint64_t cpu_ns)
{
	uint64_t least_ms = cpu_ns * (CPU_SHARE - 1) / 1000000;

	return least_ms <= pause_ms ? pause_ms : least_ms < LONGEST_PAUSE_MS ? least_ms : LONGEST_PAUSE_MS;
}
