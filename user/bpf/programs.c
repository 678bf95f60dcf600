/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Loads the BPF object. Features are found by trying, never by version. Once loaded, the object consists only of descriptors, which
 * can be passed to other processes.
 */
#include "bpf/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "bpf/descriptor_maps.h"
#include "bpf/features.h"
#include "bpf/load.h"
#include "bpf/skeleton.h"
#include "bpf/tracepoints.h"
#include "ioprobe.skel.h"

#define DEFAULT_RING_BYTES_PER_CPU (8ull << 20)
#define DEFAULT_RING_BYTES_MAX (128ull << 20)
#define TRACE_UPROBE_MULTI 48   /* enum bpf_attach_type of newer headers than Debian 12's */
#define TRACE_UPROBE_SESSION 57
#define NO_RING_BYTES 4096
#define SITE_RING_BYTES (8u << 20)      /* some 680 requests, or 740 for callers alone and 170 others */
#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

/* ---- rings ---- */

static uint64_t power_of_two_below(uint64_t n)
{
	uint64_t p = 4096;

	while (p * 2 <= n)
		p *= 2;
	return p;
}

static void choose_rings(struct program_facts *facts, const struct program_options *options)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t total = options->ring_bytes;

	if (cpus < 1)
		cpus = 1;
	facts->rings = cpus < MAX_RINGS ? cpus : MAX_RINGS;
	if (!total)
		total = DEFAULT_RING_BYTES_PER_CPU * cpus;
	if (!options->ring_bytes && total > DEFAULT_RING_BYTES_MAX)
		total = DEFAULT_RING_BYTES_MAX;
	facts->ring_bytes = power_of_two_below(total / facts->rings);
}

static int create_ring_map(struct programs *programs)
{
	LIBBPF_OPTS(bpf_map_create_opts, of_rings);
	const struct program_facts *facts = &programs->facts;

	programs->no_ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ioprobe_no_ring", 0, 0, NO_RING_BYTES, NULL);
	if (programs->no_ring < 0)
		return programs->no_ring;
	of_rings.inner_map_fd = programs->no_ring;
	programs->maps[MAP_RINGS] = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "ioprobe_rings", sizeof(uint32_t), sizeof(uint32_t),
						   facts->slots * (facts->rings + IOP_REQUEST_RINGS), &of_rings);
	return programs->maps[MAP_RINGS] < 0 ? programs->maps[MAP_RINGS] : 0;
}

struct programs *programs_new(void)
{
	struct programs *programs = calloc(1, sizeof(*programs));

	if (!programs)
		return NULL;
	programs->no_ring = programs->lock = -1;
	for (size_t i = 0; i < KERNEL_MAPS; i++)
		programs->maps[i] = -1;
	for (size_t i = 0; i < KERNEL_PROGRAMS; i++)
		programs->programs[i] = programs->links[i] = -1;
	return programs;
}

int programs_create(struct programs **out, const struct program_options *options)
{
	struct programs *programs = programs_new();
	int err;

	if (!programs)
		return -ENOMEM;
	choose_rings(&programs->facts, options);
	programs->facts.slots = options->slots ? options->slots : 1;
	programs->lock = memfd_create("ioprobe-links", MFD_CLOEXEC);
	err = programs->lock < 0 ? -errno : create_ring_map(programs);
	if (err)
		programs_destroy(programs);
	else
		*out = programs;
	return err;
}

/* ---- load ---- */

/* libbpf's message for the last failure: the first line with a reason. */
static char libbpf_words[512];

/* Parts are loaded by several threads. */
static int keep_libbpf_words(enum libbpf_print_level level, const char *format, va_list args)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	if (level != LIBBPF_WARN)
		return 0;
	pthread_mutex_lock(&lock);
	if (!libbpf_words[0])
		vsnprintf(libbpf_words, sizeof(libbpf_words), format, args);
	libbpf_words[strcspn(libbpf_words, "\n")] = 0;
	pthread_mutex_unlock(&lock);
	return 0;
}

static void choose_programs(struct ioprobe_bpf *skel, enum attach_method method)
{
	bool pairs = method == ATTACH_MULTI || method == ATTACH_PERF;

	bpf_program__set_autoload(skel->progs.call_session, method == ATTACH_SESSION);
	bpf_program__set_autoload(skel->progs.call_entry, method != ATTACH_NONE);
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

/* Selects the programs of the tracepoints that every recording needs, in the form that misses no event on this kernel. */
static void choose_tracepoints(struct programs *programs, struct ioprobe_bpf *skel)
{
	bool preempted = !feature_available(FEATURE_ATOMIC_TRACEPOINTS), events = preempted &&
		feature_available(FEATURE_SYSCALL_EVENTS);

	programs->facts.syscall_events = events;
	bpf_program__set_autoload(skel->progs.process_exit_2, preempted);
	bpf_program__set_autoload(skel->progs.process_exec_2, preempted);
	bpf_program__set_autoload(skel->progs.process_fork_2, preempted);
	bpf_program__set_autoload(skel->progs.ioprobe_enter, !events);
	bpf_program__set_autoload(skel->progs.ioprobe_exit, !events);
	bpf_program__set_autoload(skel->progs.ioprobe_enter_event, events);
	bpf_program__set_autoload(skel->progs.ioprobe_exit_event, events);
}

static void set_syscall_probes(struct programs *programs, struct ioprobe_bpf *skel, const struct table_set *set)
{
	size_t max = sizeof(skel->rodata->syscall_probe) / sizeof(skel->rodata->syscall_probe[0]);

	programs->facts.syscalls = programs->facts.uring_wanted = false;
	for (size_t nr = 0; nr < max; nr++)
		skel->rodata->syscall_probe[nr] = UINT16_MAX;
	for (size_t i = 0; i < set->nrows; i++) {
		const struct table_row *row = &set->rows[i];

		if (row->mods & MOD_POLLED) {
			programs->facts.uring_wanted = !row->off;
			skel->rodata->async_layer = row->layer;
		}
		if (row->syscall_nr < 0 || (size_t)row->syscall_nr >= max || row->off)
			continue;
		skel->rodata->syscall_probe[row->syscall_nr] = row->id;
		programs->facts.syscalls = true;
	}
	programs->facts.holds_at_seal = programs->facts.syscalls && skel->rodata->syscall_probe[SYS_mprotect] == UINT16_MAX &&
					programs->facts.task_work_form;
	skel->rodata->hold_at_seal = programs->facts.holds_at_seal;
	if (programs->facts.holds_at_seal)
		skel->rodata->syscall_probe[SYS_mprotect] = IOP_SYSCALL_SEALS_CODE;
	skel->rodata->syscalls_traced = programs->facts.syscalls;
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

/* Duplicates the descriptors: the object is closed afterwards. */
static int keep_maps(struct programs *programs, struct ioprobe_bpf *skel)
{
	const struct bpf_map *maps[KERNEL_MAPS] = {
		[MAP_GLOBALS] = skel->maps.bss, [MAP_COUNTERS] = skel->maps.counters, [MAP_LEFT_OUT] = skel->maps.excluded,
		[MAP_THREADS] = skel->maps.threads, [MAP_TARGETS] = skel->maps.targets, [MAP_TURNED_OFF] = skel->maps.turned_off,
		[MAP_ENTRY_ONLY] = skel->maps.entry_only,
		[MAP_CONSTANTS] = skel->maps.constants, [MAP_DEMANDS] = skel->maps.demands, [MAP_REQUESTS] = skel->maps.requests,
		[MAP_HOLD_WORKS] = skel->maps.hold_works, [MAP_LOOKED_AT] = skel->maps.looked_at,
		[MAP_MAPPED_FILES] = skel->maps.mapped_files, [MAP_PROCESSES] = skel->maps.processes,
		[MAP_SITE_RULES] = skel->maps.site_rules, [MAP_SITE_ASKS] = skel->maps.site_asks,
		[MAP_SITE_PYTHONS] = skel->maps.site_pythons, [MAP_EXCLUDED_OF] = skel->maps.excluded_of,
		[MAP_SITE_NODES] = skel->maps.site_nodes, [MAP_SITE_CODES] = skel->maps.site_codes,
		[MAP_WITHHELD] = skel->maps.withheld,
	};

	for (size_t i = 0; i < KERNEL_MAPS; i++) {
		if (!maps[i])
			continue;
		programs->maps[i] = fcntl(bpf_map__fd(maps[i]), F_DUPFD_CLOEXEC, 0);
		if (programs->maps[i] < 0)
			return -errno;
	}
	return 0;
}

/* Those that this object has loaded. */
static int keep_programs(struct programs *programs, struct ioprobe_bpf *skel)
{
	bool events = programs->facts.syscall_events;
	const struct bpf_program *loaded[KERNEL_PROGRAMS] = {
		[PROGRAM_SESSION] = skel->progs.call_session, [PROGRAM_ENTRY] = skel->progs.call_entry,
		[PROGRAM_RETURN] = skel->progs.call_return, [PROGRAM_UNWINDER] = skel->progs.unwinder_entry,
		[PROGRAM_RENDEZVOUS] = skel->progs.linker_rendezvous, [PROGRAM_TAKE_THREADS] = skel->progs.take_threads,
		[PROGRAM_DROP_THREADS] = skel->progs.drop_threads, [PROGRAM_MEASURE_RECORD] = skel->progs.measure_record,
		[PROGRAM_PROCESS_EXIT] = skel->progs.process_exit, [PROGRAM_PROCESS_EXEC] = skel->progs.process_exec,
		[PROGRAM_PROCESS_FORK] = skel->progs.process_fork, [PROGRAM_PROCESS_EXIT_2] = skel->progs.process_exit_2,
		[PROGRAM_PROCESS_EXEC_2] = skel->progs.process_exec_2, [PROGRAM_PROCESS_FORK_2] = skel->progs.process_fork_2,
		[PROGRAM_SYSCALL_EXIT] = events ? skel->progs.ioprobe_exit_event : skel->progs.ioprobe_exit,
		[PROGRAM_SYSCALL_ENTER] = events ? skel->progs.ioprobe_enter_event : skel->progs.ioprobe_enter,
		[PROGRAM_URING_COMPLETE] = skel->progs.uring_complete, [PROGRAM_URING_OVERFLOW] = skel->progs.uring_overflow,
		[PROGRAM_URING_FAILED] = skel->progs.uring_failed, [PROGRAM_URING_SUBMIT] = skel->progs.uring_submit,
		[PROGRAM_TASK_SWITCH] = skel->progs.task_switch, [PROGRAM_WRITTEN_BACK] = skel->progs.written_back,
		[PROGRAM_PAGE_FAULT] = skel->progs.page_fault, [PROGRAM_REQUEST_QUEUED] = skel->progs.request_queued,
	};

	for (size_t i = 0; i < KERNEL_PROGRAMS; i++) {
		if (bpf_program__fd(loaded[i]) < 0)
			continue;       /* not supported by this kernel, not needed, or of another part */
		programs->programs[i] = fcntl(bpf_program__fd(loaded[i]), F_DUPFD_CLOEXEC, 0);
		if (programs->programs[i] < 0)
			return -errno;
	}
	return 0;
}

int programs_map(struct programs *programs)
{
	void *globals = mmap(NULL, sizeof(*programs->globals), PROT_READ | PROT_WRITE, MAP_SHARED, programs->maps[MAP_GLOBALS], 0);

	if (globals == MAP_FAILED)
		return -errno;
	programs->globals = globals;
	return 0;
}

void programs_unmap(struct programs *programs)
{
	if (programs->globals)
		munmap(programs->globals, sizeof(*programs->globals));
	programs->globals = NULL;
}

/* A smaller one, for tests, by IOPROBE_SITE_NODES. */
static uint32_t site_nodes(void)
{
	const char *text = secure_getenv("IOPROBE_SITE_NODES");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	return n && n < IOP_SITE_MAX_NODES ? n : IOP_SITE_MAX_NODES;
}

static void programs_set_call_sites(struct ioprobe_bpf *skel, unsigned frames)
{
	skel->rodata->call_sites = frames != 0;
	skel->rodata->munmap_nr = SYS_munmap;
	skel->rodata->execve_nr = SYS_execve;
	skel->rodata->execveat_nr = SYS_execveat;
	if (!frames)
		return;
	skel->rodata->site_application_frames = frames;
	bpf_map__set_max_entries(skel->maps.site_rules, IOP_SITE_MAX_RULES);
	bpf_map__set_max_entries(skel->maps.site_nodes, site_nodes());
	bpf_map__set_max_entries(skel->maps.site_pythons, IOP_SITE_MAX_PYTHONS);
	bpf_map__set_max_entries(skel->maps.site_codes, IOP_SITE_MAX_CODES);
	bpf_map__set_max_entries(skel->maps.site_asks, SITE_RING_BYTES);
}

static void set_constants(struct programs *programs, struct ioprobe_bpf *skel, const struct table_set *set,
			  const struct program_options *options)
{
	struct program_facts *facts = &programs->facts;

	set_syscall_probes(programs, skel, set);
	set_filter(skel, options->filter);
	facts->layers = set->nlayers + 1;
	skel->rodata->returns_optional = facts->method == ATTACH_SESSION;
	skel->rodata->typed_loads = feature_available(FEATURE_TYPED_LOADS);
	skel->rodata->recognises = options->recognise;
	skel->rodata->recording_slots = facts->slots;
	skel->rodata->ring_count = facts->rings;
	skel->rodata->ring_wakeup_bytes = facts->ring_bytes / 4;
	skel->rodata->excluded_layers = facts->layers;
	skel->rodata->sockets = options->sockets;
	skel->rodata->device = options->device;
	skel->rodata->cpu_time = options->cpu_time;
	skel->rodata->collectives = options->collectives;
	programs_set_call_sites(skel, options->call_sites);
	bpf_map__set_max_entries(skel->maps.excluded, facts->slots * facts->layers * IOP_FILTERS);
}

/* An object that is ready to be loaded, or NULL with errno. */
static struct ioprobe_bpf *open_chosen(struct programs *programs, const struct table_set *set,
				       const struct program_options *options)
{
	struct ioprobe_bpf *skel = skeleton_open(programs->facts.task_work_form);

	if (!skel)
		return NULL;
	choose_programs(skel, programs->facts.method);
	choose_tracepoints(programs, skel);
	set_constants(programs, skel, set, options);
	tracepoints_choose(skel, programs->facts.uring_wanted, options->device || options->cpu_time, options->mmap_faults);
	programs->facts.uring_followed = bpf_program__autoload(skel->progs.uring_submit);
	return skel;
}

/* Returns how many were opened: all, or errno says why not. On one CPU a single object loads everything. */
static size_t open_parts(struct programs *programs, const struct table_set *set, const struct program_options *options,
			 struct ioprobe_bpf **parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		parts[i] = open_chosen(programs, set, options);
		if (!parts[i])
			return i;
	}
	return n;
}

static int load_and_keep(struct programs *programs, const struct table_set *set, struct ioprobe_bpf **parts, size_t n)
{
	int err = bpf_map__reuse_fd(parts[0]->maps.rings, programs->maps[MAP_RINGS]);

	if (!err)
		err = n > 1 ? load_in_parts(parts, n) : ioprobe_bpf__load(parts[0]);
	if (!err)
		err = descriptor_maps_fill(bpf_map__fd(parts[0]->maps.descriptors),
					   bpf_map__fd(parts[0]->maps.request_descriptors), set);
	if (!err)
		err = keep_maps(programs, parts[0]);
	for (size_t i = 0; i < n && !err; i++)
		err = keep_programs(programs, parts[i]);
	return err;
}

static int try_load(struct programs *programs, const struct table_set *set, const struct program_options *options)
{
	struct ioprobe_bpf *parts[LOAD_PARTS + 1];
	size_t wanted = options->load_parts ?: load_parts_wanted(), n;
	int err;

	wanted += wanted > 1;   /* one for the maps */
	n = open_parts(programs, set, options, parts, wanted);
	err = n < wanted ? -errno : load_and_keep(programs, set, parts, n);
	while (n)
		ioprobe_bpf__destroy(parts[--n]);
	return err ? err : programs_map(programs);
}

static const char *programs_remedy(int err)
{
	if (access(KERNEL_TYPES, R_OK))
		return "the kernel offers no BTF (CONFIG_DEBUG_INFO_BTF)";
	if (err == -EPERM)
		return "needs root, or CAP_BPF and CAP_PERFMON, and a kernel whose lockdown or security module allows it";
	return libbpf_words[0] ? libbpf_words : strerror(-err);
}

/* Returns whether the kernel has what the method needs. */
static bool is_possible(enum attach_method method)
{
	if (method == ATTACH_NONE)
		return true;
	if (!feature_available(FEATURE_SLEEPABLE_UPROBES) || !feature_available(FEATURE_ATTACH_COOKIE))
		return false;
	if (method == ATTACH_SESSION)
		return feature_available(FEATURE_UPROBE_MULTI) && feature_available(FEATURE_UPROBE_SESSION);
	if (method == ATTACH_MULTI)
		return feature_available(FEATURE_UPROBE_MULTI) && feature_available(FEATURE_UPROBE_PROCESS);
	return feature_available(FEATURE_UPROBE_EVENTS);
}

static int load_method(struct programs *programs, const struct table_set *set, const struct program_options *options,
		       enum attach_method method)
{
	int err;

	programs->facts.method = method;
	programs->facts.task_work_form = feature_task_work_form();
	libbpf_words[0] = 0;
	err = try_load(programs, set, options);
	if (err && err != -EPERM && programs->facts.task_work_form) {
		programs->facts.task_work_form = 0;
		err = try_load(programs, set, options);
	}
	return err;
}

/* The verifier may refuse what the features allow: then the next method is tried, and the message is kept. */
static int load_best(struct programs *programs, const struct table_set *set, const struct program_options *options)
{
	int err = -EOPNOTSUPP;

	for (int method = options->best_method; method <= ATTACH_NONE; method++) {
		if (!is_possible(method))
			continue;
		err = load_method(programs, set, options, method);
		if (libbpf_words[0] && !programs->facts.refused[0])
			snprintf(programs->facts.refused, sizeof(programs->facts.refused), "%s", libbpf_words);
		if (!err || err == -EPERM)
			break;
	}
	return err;
}

int programs_load(struct programs *programs, const struct table_set *set, const struct program_options *options, char *err_text,
		  size_t err_len)
{
	enum feature missing;
	int err;

	libbpf_set_print(keep_libbpf_words);
	missing = feature_missing();
	if (missing < FEATURES) {
		snprintf(err_text, err_len, "cannot record on this kernel: %s (%s) is not available: %s",
			 feature_info(missing)->name, feature_info(missing)->since, feature_reason(missing));
		return -EOPNOTSUPP;
	}
	err = load_best(programs, set, options);
	if (err)
		snprintf(err_text, err_len, "cannot load the BPF programs: %s", programs_remedy(err));
	else
		programs->facts.tables = programs_checksum(set);
	return err;
}

uint64_t programs_checksum(const struct table_set *set)
{
	uint64_t sum = crc32(0, NULL, 0);

	for (size_t i = 0; i < set->nrows; i++) {
		struct iop_request_desc requests = { 0 };
		uint8_t off = set->rows[i].off;
		struct iop_desc desc;

		table_row_descriptor(set, &set->rows[i], &desc);
		table_row_requests(set, &set->rows[i], &requests);
		sum = crc32(sum, &off, 1);
		sum = crc32(sum, (const void *)&desc, sizeof(desc));
		sum = crc32(sum, (const void *)&requests, sizeof(requests));
		sum = crc32(sum, (const void *)set->rows[i].name, strlen(set->rows[i].name) + 1);
	}
	return set->nrows << 32 | sum;
}

static void programs_close_all(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

void programs_destroy(struct programs *programs)
{
	if (!programs)
		return;
	programs_detach(programs);
	programs_unmap(programs);
	programs_close_all(programs->maps, KERNEL_MAPS);
	programs_close_all(programs->programs, KERNEL_PROGRAMS);
	programs_close_all(&programs->no_ring, 1);
	programs_close_all(&programs->lock, 1);
	free(programs);
}

/* ---- memory shared by programs and recorders ---- */

struct iop_recording *programs_recordings(const struct programs *programs)
{
	return programs->globals->recordings;
}

struct iop_hold *programs_holds(const struct programs *programs)
{
	return (void *)programs->globals->holds;
}

size_t programs_ids(const struct programs *programs, enum kernel_program first, enum kernel_program end, uint32_t *ids)
{
	size_t n = 0;

	for (enum kernel_program i = first; i < end; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (programs->programs[i] >= 0 && !bpf_obj_get_info_by_fd(programs->programs[i], &info, &len))
			ids[n++] = info.id;
	}
	return n;
}

struct iop_site_counts programs_site_counts(const struct programs *programs)
{
	struct iop_site_counts counts;

	_Static_assert(sizeof(programs->globals->site_counts) == sizeof(counts), "site counts");
	memcpy(&counts, &programs->globals->site_counts, sizeof(counts));
	return counts;
}

void programs_look_for_python(const struct programs *programs)
{
	__atomic_store_n(&programs->globals->python_images, 1, __ATOMIC_RELAXED);
}

uint64_t programs_faults_missed(const struct programs *programs)
{
	return programs->globals->mapped_faults_missed;
}

static uint64_t missed_by(const struct programs *programs, enum kernel_program program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	return programs->programs[program] < 0 || bpf_obj_get_info_by_fd(programs->programs[program], &info, &len) ? 0 :
		info.recursion_misses;
}

/* Of two programs that back each other up, the number of lost events is at most that of the one that missed fewer. */
static uint64_t missed_by_both(const struct programs *programs, enum kernel_program program, enum kernel_program second)
{
	uint64_t missed = missed_by(programs, program), missed_2 = missed_by(programs, second);

	return programs->programs[second] >= 0 && missed_2 < missed ? missed_2 : missed;
}

uint64_t programs_missed(const struct programs *programs)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < KERNEL_PROGRAMS; i++)
		if (i < PROGRAM_PROCESS_EXIT || i > PROGRAM_PROCESS_FORK_2)
			missed += missed_by(programs, i);
	return missed + missed_by_both(programs, PROGRAM_PROCESS_EXIT, PROGRAM_PROCESS_EXIT_2) +
	       missed_by_both(programs, PROGRAM_PROCESS_EXEC, PROGRAM_PROCESS_EXEC_2) +
	       missed_by_both(programs, PROGRAM_PROCESS_FORK, PROGRAM_PROCESS_FORK_2);
}
