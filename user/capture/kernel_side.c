/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Loading the BPF object and attaching the tracepoints. Features are found by trying, never by version.
 */
#include "capture/kernel_side.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture/tracepoints.h"
#include "ioprobe.skel.h"

#define DEFAULT_RING_BYTES_PER_CPU (8ull << 20)
#define DEFAULT_RING_BYTES_MAX (128ull << 20)
#define MAX_RINGS 32
#define TRACE_UPROBE_MULTI 48   /* enum bpf_attach_type of newer headers than Debian 12's */
#define TRACE_UPROBE_SESSION 57

struct kernel_side {
	struct ioprobe_bpf *skel;
	enum attach_method method;
	const struct table_set *set;
	bool syscalls;                  /* some are wanted */
	bool uring_wanted;
	struct bpf_link *recognise, *fork, *exec, *exit, *syscall_enter, *syscall_exit;
	int ring_fds[MAX_RINGS], rings_fd, rings_err;
	struct tracepoints tracepoints;
	size_t rings;
	uint64_t ring_bytes;
	bool recognises;
};

const char *attach_method_name(enum attach_method method)
{
	static const char *const names[] = { "uprobe_multi session links", "uprobe_multi entry and return links", "perf events",
					     "system calls only" };

	return names[method];
}

/* ---- load ---- */

/* libbpf's own words of the last failure: the first line that names a reason. */
static char libbpf_words[512];

static int keep_libbpf_words(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN && !libbpf_words[0])
		vsnprintf(libbpf_words, sizeof(libbpf_words), format, args);
	libbpf_words[strcspn(libbpf_words, "\n")] = 0;
	return 0;
}

static uint64_t power_of_two_below(uint64_t n)
{
	uint64_t p = 4096;

	while (p * 2 <= n)
		p *= 2;
	return p;
}

static void choose_rings(struct kernel_side *kernel, const struct kernel_options *options)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t total = options->ring_bytes;

	if (cpus < 1)
		cpus = 1;
	kernel->rings = cpus < MAX_RINGS ? cpus : MAX_RINGS;
	if (!total)
		total = DEFAULT_RING_BYTES_PER_CPU * cpus;
	if (!options->ring_bytes && total > DEFAULT_RING_BYTES_MAX)
		total = DEFAULT_RING_BYTES_MAX;
	kernel->ring_bytes = power_of_two_below(total / kernel->rings);
}

static void choose_programs(struct ioprobe_bpf *skel, enum attach_method method)
{
	bool pairs = method == ATTACH_MULTI || method == ATTACH_PERF;

	bpf_program__set_autoload(skel->progs.call_session, method == ATTACH_SESSION);
	bpf_program__set_autoload(skel->progs.call_entry, pairs);
	bpf_program__set_autoload(skel->progs.call_return, pairs);
	bpf_program__set_autoload(skel->progs.unwinder_entry, method != ATTACH_NONE);
	bpf_program__set_autoload(skel->progs.linker_rendezvous, method != ATTACH_NONE);
	if (method == ATTACH_PERF || method == ATTACH_NONE)
		return;
	bpf_program__set_expected_attach_type(skel->progs.call_session, TRACE_UPROBE_SESSION);
	bpf_program__set_expected_attach_type(skel->progs.call_entry, TRACE_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skel->progs.call_return, TRACE_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skel->progs.unwinder_entry, TRACE_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skel->progs.linker_rendezvous, TRACE_UPROBE_MULTI);
}

static void set_syscall_probes(struct kernel_side *kernel, struct ioprobe_bpf *skel)
{
	const struct table_set *set = kernel->set;
	size_t max = sizeof(skel->rodata->syscall_probe) / sizeof(skel->rodata->syscall_probe[0]);

	for (size_t nr = 0; nr < max; nr++)
		skel->rodata->syscall_probe[nr] = UINT16_MAX;
	for (size_t i = 0; i < set->nrows; i++) {
		const struct table_row *row = &set->rows[i];

		if (row->mods & MOD_POLLED) {
			kernel->uring_wanted = !row->off;
			skel->rodata->async_layer = row->layer;
		}
		if (row->syscall_nr < 0 || (size_t)row->syscall_nr >= max || row->off)
			continue;
		skel->rodata->syscall_probe[row->syscall_nr] = row->id;
		kernel->syscalls = true;
	}
	skel->rodata->syscalls_traced = kernel->syscalls;
	skel->rodata->fcntl_nr = SYS_fcntl;
	skel->rodata->mmap_nr = SYS_mmap;
	skel->rodata->io_setup_nr = SYS_io_setup;
	skel->rodata->io_destroy_nr = SYS_io_destroy;
	skel->rodata->io_submit_nr = SYS_io_submit;
	skel->rodata->io_getevents_nr = SYS_io_getevents;
	skel->rodata->io_pgetevents_nr = SYS_io_pgetevents;
}

static void set_filter(struct ioprobe_bpf *skel, const struct filter *filter)
{
	if (!filter)
		return;
	_Static_assert(sizeof(skel->rodata->path_filters) == sizeof(filter->paths), "path filters");
	skel->rodata->filter_files = filter_by_file(filter);
	skel->rodata->filter_kinds = filter->kinds ? filter->kinds : 0xffff;
	skel->rodata->path_filter_count = filter->npaths;
	memcpy(skel->rodata->path_filters, filter->paths, sizeof(filter->paths));
	for (size_t i = 0; i < filter->npaths; i++)
		skel->rodata->filter_wants_paths |= !filter->paths[i].exclude;
	skel->rodata->filter_min_ns = filter->min_duration_ns;
	skel->rodata->filter_min_bytes = filter->min_bytes;
	skel->rodata->filter_streams = filter->count_streams;
	skel->rodata->filter_calls = filter->min_duration_ns || filter->min_bytes || filter->count_streams;
}

/* ---- rings ---- */

static int create_rings(struct kernel_side *kernel)
{
	LIBBPF_OPTS(bpf_map_create_opts, of_rings);

	for (uint32_t i = 0; i < kernel->rings; i++) {
		kernel->ring_fds[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ioprobe_ring", 0, 0, kernel->ring_bytes, NULL);
		if (kernel->ring_fds[i] < 0)
			return kernel->ring_fds[i];
	}
	of_rings.inner_map_fd = kernel->ring_fds[0];
	kernel->rings_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "ioprobe_rings", sizeof(uint32_t), sizeof(uint32_t),
					  kernel->rings, &of_rings);
	return kernel->rings_fd < 0 ? kernel->rings_fd : 0;
}

/* Each update waits for all running programs (15 ms), a batch does once (Linux 5.15). A thread of its own: meanwhile the
 * programs are verified. */
static void *put_rings(void *arg)
{
	struct kernel_side *kernel = arg;
	uint32_t keys[MAX_RINGS], n = kernel->rings;

	for (uint32_t i = 0; i < n; i++)
		keys[i] = i;
	if (!bpf_map_update_batch(kernel->rings_fd, keys, kernel->ring_fds, &n, NULL))
		return NULL;
	for (uint32_t i = 0; i < kernel->rings && !kernel->rings_err; i++)
		kernel->rings_err = bpf_map_update_elem(kernel->rings_fd, &i, &kernel->ring_fds[i], BPF_ANY);
	return NULL;
}

/* ---- programs ---- */

static int try_load(struct kernel_side *kernel, const struct kernel_options *options)
{
	struct ioprobe_bpf *skel = ioprobe_bpf__open();
	int err;

	if (!skel)
		return -errno;
	choose_programs(skel, kernel->method);
	bpf_program__set_autoload(skel->progs.recognise, options->recognise);
	kernel->recognises = options->recognise;
	skel->rodata->users_rights_only = options->users_rights_only;
	set_syscall_probes(kernel, skel);
	tracepoints_choose(skel, kernel->uring_wanted, options->device, options->mmap_faults);
	set_filter(skel, options->filter);
	skel->rodata->ring_count = kernel->rings;
	skel->rodata->ring_wakeup_bytes = kernel->ring_bytes / 4;
	skel->rodata->sockets = options->sockets;
	skel->rodata->device = options->device;
	skel->rodata->hold_limit_ns = options->hold_limit_ns;
	bpf_map__set_max_entries(skel->maps.left_out, (kernel->set->nlayers + 1) * IOP_FILTERS);
	err = bpf_map__reuse_fd(skel->maps.rings, kernel->rings_fd);
	if (!err)
		err = ioprobe_bpf__load(skel);
	if (err) {
		ioprobe_bpf__destroy(skel);
		return err;
	}
	kernel->skel = skel;
	return 0;
}

static int fill_descriptors(struct kernel_side *kernel)
{
	int fd = bpf_map__fd(kernel->skel->maps.descriptors);

	for (size_t i = 0; i < kernel->set->nrows; i++) {
		const struct table_row *row = &kernel->set->rows[i];
		struct iop_request_desc requests;
		struct iop_desc desc;
		uint32_t key = row->id;
		int err;

		table_row_descriptor(kernel->set, row, &desc);
		err = bpf_map_update_elem(fd, &key, &desc, BPF_ANY);
		if (!err && table_row_requests(kernel->set, row, &requests))
			err = bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.request_descriptors), &key, &requests, BPF_ANY);
		if (err)
			return err;
	}
	return 0;
}

static const char *remedy(int err)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return "the kernel offers no BTF (CONFIG_DEBUG_INFO_BTF)";
	if (err == -EPERM)
		return "needs root, or CAP_BPF with CAP_PERFMON, CAP_SYS_PTRACE and CAP_SYS_ADMIN";
	return libbpf_words[0] ? libbpf_words : strerror(-err);
}

int kernel_side_create(struct kernel_side **out, const struct table_set *set, const struct kernel_options *options,
		       char *err_text, size_t err_len)
{
	struct kernel_side *kernel = calloc(1, sizeof(*kernel));
	pthread_t putting;
	bool threaded = false;
	int err = -ENOMEM;

	if (!kernel)
		goto fail;
	for (int i = 0; i < MAX_RINGS; i++)
		kernel->ring_fds[i] = -1;
	kernel->rings_fd = -1;
	kernel->set = set;
	libbpf_set_print(keep_libbpf_words);
	choose_rings(kernel, options);
	err = create_rings(kernel);
	if (!err)
		threaded = !pthread_create(&putting, NULL, put_rings, kernel);
	if (!err && !threaded)
		put_rings(kernel);
	for (int method = options->best_method; !err && method <= ATTACH_NONE; method++) {
		kernel->method = method;
		libbpf_words[0] = 0;
		err = try_load(kernel, options);
		if (!err || err == -EPERM)
			break;
		if (method < ATTACH_NONE)
			err = 0;        /* the next one may do */
	}
	if (threaded)
		pthread_join(putting, NULL);
	if (!err)
		err = kernel->rings_err;
	if (!err)
		err = fill_descriptors(kernel);
	if (!err) {
		*out = kernel;
		return 0;
	}
fail:
	snprintf(err_text, err_len, "cannot load the BPF programs: %s", remedy(err));
	kernel_side_destroy(kernel);
	return err;
}

void kernel_side_destroy(struct kernel_side *kernel)
{
	if (!kernel)
		return;
	kernel_side_detach_syscalls(kernel);
	tracepoints_detach(&kernel->tracepoints);
	bpf_link__destroy(kernel->recognise);
	bpf_link__destroy(kernel->fork);
	bpf_link__destroy(kernel->exec);
	bpf_link__destroy(kernel->exit);
	for (int i = 0; i < MAX_RINGS; i++)
		if (kernel->ring_fds[i] >= 0)
			close(kernel->ring_fds[i]);
	if (kernel->rings_fd >= 0)
		close(kernel->rings_fd);
	ioprobe_bpf__destroy(kernel->skel);
	free(kernel);
}

/* ---- tracepoints ---- */

static int attach_one(struct bpf_program *program, struct bpf_link **link, const char *what, char *err_text, size_t err_len)
{
	*link = bpf_program__attach(program);
	if (*link)
		return 0;
	snprintf(err_text, err_len, "cannot attach to tracepoint %s: %s", what, strerror(errno));
	return -errno;
}

/* A system call's exit is attached first: an enter without its exit would stay open, an exit without its enter is ignored.
 * Programs of one tracepoint run in the order in which they were attached: a job's process is recognised before its exec is
 * recorded. */
int kernel_side_attach(struct kernel_side *kernel, char *err_text, size_t err_len)
{
	struct ioprobe_bpf *skel = kernel->skel;
	const struct { struct bpf_program *program; struct bpf_link **link; const char *name; } tracepoints[] = { /* system calls last */
		{ skel->progs.process_exit, &kernel->exit, "sched_process_exit" },
		{ skel->progs.recognise, &kernel->recognise, "sched_process_exec" },
		{ skel->progs.process_exec, &kernel->exec, "sched_process_exec" },
		{ skel->progs.process_fork, &kernel->fork, "sched_process_fork" },
		{ skel->progs.syscall_exit, &kernel->syscall_exit, "sys_exit" },
		{ skel->progs.syscall_enter, &kernel->syscall_enter, "sys_enter" },
	};
	int err = 0;

	for (size_t i = 0; i < (kernel->syscalls ? 6 : 4) && !err; i++)
		if (tracepoints[i].program != skel->progs.recognise || kernel->recognises)
			err = attach_one(tracepoints[i].program, tracepoints[i].link, tracepoints[i].name, err_text, err_len);
	return err ? err : tracepoints_attach(&kernel->tracepoints, skel, err_text, err_len);
}

void kernel_side_detach_syscalls(struct kernel_side *kernel)
{
	bpf_link__destroy(kernel->syscall_enter);
	bpf_link__destroy(kernel->syscall_exit);
	kernel->syscall_enter = kernel->syscall_exit = NULL;
}

/* ---- targets ---- */

/* Runs the task iterator once. */
static int take_once(struct kernel_side *kernel)
{
	struct bpf_link *link = bpf_program__attach_iter(kernel->skel->progs.take_threads, NULL);
	char buf[64];
	int fd, err = 0;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		err = fd;
	else
		while (read(fd, buf, sizeof(buf)) > 0)
			;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}

int kernel_side_take(struct kernel_side *kernel, pid_t tgid)
{
	uint32_t key = tgid, slot = 0;
	uint64_t before;
	int err = bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.targets), &key, &slot, BPF_NOEXIST);

	if (err)
		return err == -EEXIST ? 0 : err;
	/* A thread that was not yet taken may have made one meanwhile: until a pass finds none. */
	for (int pass = 0; pass < 64; pass++) {
		before = kernel->skel->bss->threads_taken;
		err = take_once(kernel);
		if (err || kernel->skel->bss->threads_taken == before)
			break;
	}
	bpf_map_delete_elem(bpf_map__fd(kernel->skel->maps.targets), &key);
	return err;
}

void kernel_side_take_at_exec(struct kernel_side *kernel, pid_t tgid)
{
	kernel->skel->bss->launch_tgid = tgid;
}

void kernel_side_await(struct kernel_side *kernel, const struct iop_awaited *awaited)
{
	kernel->skel->bss->awaited = *awaited;
}

void kernel_side_links_for_all(struct kernel_side *kernel)
{
	kernel->skel->bss->links_for_all = 1;
}

void kernel_side_set_off(struct kernel_side *kernel, pid_t tgid, uint32_t flags)
{
	int fd = bpf_map__fd(kernel->skel->maps.turned_off);
	uint32_t key = tgid;

	if (flags && !bpf_map_update_elem(fd, &key, &flags, BPF_ANY))
		kernel->skel->bss->any_turned_off = 1;
	else
		bpf_map_delete_elem(fd, &key);
}

void kernel_side_looked_at(struct kernel_side *kernel, uint64_t dev, uint64_t ino)
{
	struct { uint64_t dev, ino; } key = { (uint64_t)major(dev) << 32 | minor(dev), ino };
	uint32_t done = 1;

	bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.looked_at), &key, &done, BPF_ANY);
}

void kernel_side_want_constants(struct kernel_side *kernel, pid_t tgid, const struct iop_constants *constants)
{
	int fd = bpf_map__fd(kernel->skel->maps.constants);
	uint32_t key = tgid;

	if (!constants)
		bpf_map_delete_elem(fd, &key);
	else if (!bpf_map_update_elem(fd, &key, constants, BPF_ANY))
		kernel->skel->bss->any_constants = 1;
}

void kernel_side_set_demand(struct kernel_side *kernel, pid_t tgid, const struct iop_demand *demand)
{
	uint32_t key = tgid;

	bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.demands), &key, demand, BPF_ANY);
}

bool kernel_side_demand(struct kernel_side *kernel, pid_t tgid, struct iop_demand *demand)
{
	uint32_t key = tgid;

	return !bpf_map_lookup_elem(bpf_map__fd(kernel->skel->maps.demands), &key, demand);
}

bool kernel_side_end_demand(struct kernel_side *kernel, pid_t tgid, struct iop_demand *demand)
{
	uint32_t key = tgid;

	return !bpf_map_lookup_and_delete_elem(bpf_map__fd(kernel->skel->maps.demands), &key, demand);
}

void kernel_side_answer(struct kernel_side *kernel, uint64_t pid_tgid)
{
	uint32_t done = 1;

	bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.holds), &pid_tgid, &done, BPF_EXIST);
}

/* ---- access ---- */

bool kernel_side_traces_syscalls(const struct kernel_side *kernel) { return kernel->syscalls; }

bool kernel_side_follows_uring(const struct kernel_side *kernel)
{
	return !kernel->uring_wanted || bpf_program__autoload(kernel->skel->progs.uring_submit);
}


enum attach_method kernel_side_method(const struct kernel_side *kernel) { return kernel->method; }
size_t kernel_side_rings(const struct kernel_side *kernel) { return kernel->rings; }
int kernel_side_ring_fd(const struct kernel_side *kernel, size_t i) { return kernel->ring_fds[i]; }

int kernel_side_probe_requests_fd(const struct kernel_side *kernel)
{
	return bpf_map__fd(kernel->skel->maps.probe_requests);
}

int kernel_side_return_requests_fd(const struct kernel_side *kernel)
{
	return bpf_map__fd(kernel->skel->maps.return_requests);
}

int kernel_side_program_fd(const struct kernel_side *kernel, enum kernel_program program)
{
	const struct bpf_program *programs[] = {
		[PROGRAM_SESSION] = kernel->skel->progs.call_session,
		[PROGRAM_ENTRY] = kernel->skel->progs.call_entry,
		[PROGRAM_RETURN] = kernel->skel->progs.call_return,
		[PROGRAM_UNWINDER] = kernel->skel->progs.unwinder_entry,
		[PROGRAM_RENDEZVOUS] = kernel->skel->progs.linker_rendezvous,
	};

	return bpf_program__fd(programs[program]);
}

uint64_t kernel_side_mapped_files(const struct kernel_side *kernel, void (*fn)(void *arg, const struct mapped_file *file),
				  void *arg)
{
	struct { uint64_t dev, ino; } key, *last = NULL;
	struct { uint64_t reads, writes, written_back, left_out; } counts;
	int fd = bpf_map__fd(kernel->skel->maps.mapped_files);

	for (; !bpf_map_get_next_key(fd, last, &key); last = &key) {
		struct mapped_file file = { .dev = key.dev, .ino = key.ino };

		if (bpf_map_lookup_elem(fd, &key, &counts))
			continue;
		file.read_faults = counts.reads;
		file.write_faults = counts.writes;
		file.written_back = counts.written_back;
		file.left_out = counts.left_out;
		fn(arg, &file);
	}
	return kernel->skel->bss->mapped_faults_missed;
}

/* Runs of tracepoint programs that the kernel skipped because one was already running on the CPU: calls that were not seen. */
static uint64_t missed_runs(const struct kernel_side *kernel)
{
	struct bpf_program *program;
	uint64_t missed = 0;

	bpf_object__for_each_program(program, kernel->skel->obj) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (bpf_program__fd(program) >= 0 && !bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
			missed += info.recursion_misses;
	}
	return missed;
}

int kernel_side_counts(const struct kernel_side *kernel, struct kernel_counts *counts)
{
	int cpus = libbpf_num_possible_cpus(), err;
	struct { uint64_t lost, untracked, unwinds, unwinds_late, holds_late, no_process_slot, waits_not_followed, privileged, unread_environments; }
		*per_cpu;
	uint32_t zero = 0;

	memset(counts, 0, sizeof(*counts));
	per_cpu = cpus > 0 ? calloc(cpus, sizeof(*per_cpu)) : NULL;
	if (!per_cpu)
		return -ENOMEM;
	err = bpf_map_lookup_elem(bpf_map__fd(kernel->skel->maps.counters), &zero, per_cpu);
	for (int i = 0; i < cpus && !err; i++) {
		counts->lost += per_cpu[i].lost;
		counts->untracked += per_cpu[i].untracked;
		counts->unwinds += per_cpu[i].unwinds;
		counts->unwinds_late += per_cpu[i].unwinds_late;
		counts->holds_late += per_cpu[i].holds_late;
		counts->no_process_slot += per_cpu[i].no_process_slot;
		counts->waits_not_followed += per_cpu[i].waits_not_followed;
		counts->privileged += per_cpu[i].privileged;
		counts->unread_environments += per_cpu[i].unread_environments;
	}
	counts->missed_programs = missed_runs(kernel);
	free(per_cpu);
	return err;
}

int kernel_side_left_out(const struct kernel_side *kernel, size_t layer, enum iop_filter filter, struct iop_left_out *sum)
{
	int cpus = libbpf_num_possible_cpus(), err;
	struct iop_left_out *per_cpu = cpus > 0 ? calloc(cpus, sizeof(*per_cpu)) : NULL;
	uint32_t key = layer * IOP_FILTERS + filter;

	*sum = (struct iop_left_out){ 0 };
	if (!per_cpu)
		return -ENOMEM;
	err = bpf_map_lookup_elem(bpf_map__fd(kernel->skel->maps.left_out), &key, per_cpu);
	for (int i = 0; i < cpus && !err; i++) {
		sum->calls += per_cpu[i].calls;
		sum->read_bytes += per_cpu[i].read_bytes;
		sum->written_bytes += per_cpu[i].written_bytes;
		sum->unknown += per_cpu[i].unknown;
		sum->time_ns += per_cpu[i].time_ns;
	}
	free(per_cpu);
	return err;
}
