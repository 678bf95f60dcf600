/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Counters of a recording in its slot, summed up over all CPUs.
 */
#include "bpf/bpf_side_internal.h"
#include "bpf/map_calls.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <ioprobe/maps.h>
#include <stdlib.h>
#include <string.h>

struct iop_site_counts bpf_side_site_counts(const struct bpf_side *kernel) { return programs_site_counts(kernel->programs); }

uint64_t bpf_side_mapped_files(const struct bpf_side *kernel, void (*fn)(void *arg, const struct mapped_file *file),
				  void *arg)
{
	struct iop_mapped_key key, *last = NULL;
	struct iop_mapped_counts counts;
	int fd = bpf_side_map(kernel, MAP_MAPPED_FILES);

	for (; !bpf_map_get_next_key(fd, last, &key); last = &key) {
		struct mapped_file file = { .dev = key.dev, .ino = key.ino };

		if (MAP_CALL(kernel->programs, bpf_map_lookup_elem(fd, &key, &counts)))
			continue;
		file.read_faults = counts.reads;
		file.write_faults = counts.writes;
		/* file systems without a block device have the first count only, msync and fsync the second one */
		file.written_back = counts.written_back > counts.queued ? counts.written_back : counts.queued;
		file.excluded = counts.excluded;
		fn(arg, &file);
	}
	return programs_faults_missed(kernel->programs);
}

int bpf_side_counts(const struct bpf_side *kernel, struct kernel_counts *counts)
{
	int cpus = libbpf_num_possible_cpus(), err;
	struct iop_counters *per_cpu;
	uint32_t slot = bpf_side_slot(kernel);

	memset(counts, 0, sizeof(*counts));
	per_cpu = cpus > 0 ? calloc(cpus, sizeof(*per_cpu)) : NULL;
	if (!per_cpu)
		return -ENOMEM;
	err = MAP_CALL(kernel->programs, bpf_map_lookup_elem(bpf_side_map(kernel, MAP_COUNTERS), &slot, per_cpu));
	for (int i = 0; i < cpus && !err; i++) {
		counts->lost += per_cpu[i].lost;
		counts->untracked += per_cpu[i].untracked;
		counts->unwinds_late += per_cpu[i].unwinds_late;
		counts->holds_late += per_cpu[i].holds_late;
		counts->no_process_slot += per_cpu[i].no_process_slot;
		counts->waits_not_followed += per_cpu[i].waits_not_followed;
		counts->privileged += per_cpu[i].privileged;
		counts->entry_only += per_cpu[i].entry_only;
		counts->unread_environments += per_cpu[i].unread_environments;
		counts->compat_programs += per_cpu[i].compat_programs;
		counts->compat_calls += per_cpu[i].compat_calls;
		counts->fd_unordered += per_cpu[i].fd_unordered;
	}
	counts->missed_programs = programs_missed(kernel->programs) - kernel->missed_before;
	counts->lost += counts->missed_programs;
	free(per_cpu);
	return err;
}

/* ---- what filters excluded ---- */

static struct iop_excluded bpf_side_excluded_sum(const struct iop_excluded *per_cpu, int cpus)
{
	struct iop_excluded sum = { 0 };

	for (int i = 0; i < cpus; i++) {
		sum.calls += per_cpu[i].calls;
		sum.read_bytes += per_cpu[i].read_bytes;
		sum.written_bytes += per_cpu[i].written_bytes;
		sum.unknown += per_cpu[i].unknown;
		sum.time_ns += per_cpu[i].time_ns;
	}
	return sum;
}

int bpf_side_excluded(const struct bpf_side *kernel, size_t layer, enum iop_filter filter, struct iop_excluded *sum)
{
	int cpus = libbpf_num_possible_cpus(), err;
	struct iop_excluded *per_cpu = cpus > 0 ? calloc(cpus, sizeof(*per_cpu)) : NULL;
	uint32_t key = (bpf_side_slot(kernel) * kernel->programs->facts.layers + layer) * IOP_FILTERS + filter;

	*sum = (struct iop_excluded){ 0 };
	if (!per_cpu)
		return -ENOMEM;
	err = MAP_CALL(kernel->programs, bpf_map_lookup_elem(bpf_side_map(kernel, MAP_LEFT_OUT), &key, per_cpu));
	if (!err)
		*sum = bpf_side_excluded_sum(per_cpu, cpus);
	free(per_cpu);
	return err;
}

/* Keys that are added meanwhile may come or not: the walk is bounded. */
int bpf_side_excluded_each(const struct bpf_side *kernel,
			   int (*fn)(void *arg, const struct iop_excluded_key *key, const struct iop_excluded *sum), void *arg)
{
	int cpus = libbpf_num_possible_cpus(), fd = bpf_side_map(kernel, MAP_EXCLUDED_OF), err = 0;
	struct iop_excluded *per_cpu = cpus > 0 ? calloc(cpus, sizeof(*per_cpu)) : NULL, sum;
	struct iop_excluded_key key, next, *last = NULL;

	if (!per_cpu)
		return -ENOMEM;
	for (int i = 0; i < 2 * IOP_MAX_EXCLUDED && !err && !bpf_map_get_next_key(fd, last, &next); i++) {
		key = next;
		last = &key;
		if (key.recording != kernel->id || MAP_CALL(kernel->programs, bpf_map_lookup_elem(fd, &key, per_cpu)))
			continue;
		sum = bpf_side_excluded_sum(per_cpu, cpus);
		err = fn(arg, &key, &sum);
	}
	free(per_cpu);
	return err;
}

int bpf_side_excluded_remove(const struct bpf_side *kernel, const struct iop_excluded_key *key, struct iop_excluded *sum)
{
	int cpus = libbpf_num_possible_cpus(), err;
	struct iop_excluded *per_cpu = cpus > 0 ? calloc(cpus, sizeof(*per_cpu)) : NULL;

	if (!per_cpu)
		return -ENOMEM;
	err = MAP_CALL(kernel->programs, bpf_map_lookup_and_delete_elem(bpf_side_map(kernel, MAP_EXCLUDED_OF), key, per_cpu));
	if (!err)
		*sum = bpf_side_excluded_sum(per_cpu, cpus);
	free(per_cpu);
	return err;
}

int bpf_side_clear_counts(const struct bpf_side *kernel)
{
	const struct program_facts *facts = &kernel->programs->facts;
	uint32_t key = bpf_side_slot(kernel), first = key * facts->layers * IOP_FILTERS;
	int cpus = libbpf_num_possible_cpus(), err;
	char *zeros = cpus > 0 ? calloc(cpus, sizeof(struct iop_excluded) + sizeof(struct iop_counters)) : NULL;

	if (!zeros)
		return -ENOMEM;
	err = MAP_CALL(kernel->programs, bpf_map_update_elem(bpf_side_map(kernel, MAP_COUNTERS), &key, zeros, BPF_ANY));
	for (key = first; key < first + facts->layers * IOP_FILTERS && !err; key++)
		err = MAP_CALL(kernel->programs, bpf_map_update_elem(bpf_side_map(kernel, MAP_LEFT_OUT), &key, zeros, BPF_ANY));
	free(zeros);
	return err;
}
