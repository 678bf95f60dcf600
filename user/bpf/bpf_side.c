/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A recording in its slot of a set of BPF programs: its rings, its configuration and its counters.
 */
#include "bpf/bpf_side.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <ioprobe/process.h>

#include "bpf/hold_entry.h"
#include "bpf/programs.h"

#define REQUEST_RING_BYTES (1 << 16)
#define FIRST_ID IOP_MAX_RECORDINGS     /* in a set of the recording's own: slot 0, generation 1 */

struct bpf_side {
	struct programs *programs;
	struct iop_recording *recording;        /* shared with the programs; NULL before they are loaded */
	uint32_t id;
	int ring_fds[MAX_RINGS + IOP_REQUEST_RINGS], rings_err;
	uint64_t missed_before;                 /* runs of programs that were skipped before this recording began */
};

static int map_of(const struct bpf_side *kernel, enum kernel_map map)
{
	return kernel->programs->maps[map];
}

bool bpf_side_is_shared(const struct bpf_side *kernel)
{
	return kernel->programs->facts.slots > 1;
}

static uint32_t slot_of(const struct bpf_side *kernel)
{
	return kernel->id & IOP_RECORDING_SLOT;
}

static struct iop_process_key process_key(const struct bpf_side *kernel, pid_t tgid)
{
	return (struct iop_process_key){ tgid, kernel->id };
}

/* ---- rings ---- */

static size_t ring_places(const struct bpf_side *kernel)
{
	return kernel->programs->facts.rings + IOP_REQUEST_RINGS;
}

static int create_rings(struct bpf_side *kernel)
{
	const struct program_facts *facts = &kernel->programs->facts;

	for (size_t i = 0; i < ring_places(kernel); i++) {
		kernel->ring_fds[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ioprobe_ring", 0, 0,
						     i < facts->rings ? facts->ring_bytes : REQUEST_RING_BYTES, NULL);
		if (kernel->ring_fds[i] < 0)
			return kernel->ring_fds[i];
	}
	return 0;
}

/* Each single update waits for all running programs (15 ms); a batch waits once (Linux 5.15). */
static int put_rings(struct programs *programs, uint32_t slot, const int *fds)
{
	uint32_t keys[MAX_RINGS + IOP_REQUEST_RINGS], n = programs->facts.rings + IOP_REQUEST_RINGS;
	int err = 0;

	for (uint32_t i = 0; i < n; i++)
		keys[i] = slot * n + i;
	if (!bpf_map_update_batch(programs->maps[MAP_RINGS], keys, (void *)fds, &n, NULL))
		return 0;
	n = programs->facts.rings + IOP_REQUEST_RINGS;
	for (uint32_t i = 0; i < n && !err; i++)
		err = bpf_map_update_elem(programs->maps[MAP_RINGS], &keys[i], &fds[i], BPF_ANY);
	return err;
}

static void *put_own_rings(void *arg)
{
	struct bpf_side *kernel = arg;

	kernel->rings_err = put_rings(kernel->programs, slot_of(kernel), kernel->ring_fds);
	return NULL;
}

/* Whether it had not been ended before. */
static bool end_id(struct iop_recording *recording, uint32_t id)
{
	return __atomic_compare_exchange_n(&recording->id, &id, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void bpf_side_leave_slot(struct bpf_side *kernel)
{
	struct iop_recording *recording = kernel->recording;

	if (__atomic_load_n(&recording->id, __ATOMIC_SEQ_CST) != kernel->id)
		return;
	recording->left_id = kernel->id;        /* before the id: who gives slots away looks at both */
	end_id(recording, kernel->id);
}

int bpf_side_close_slot(struct programs *programs, uint32_t id)
{
	uint32_t slot = id & IOP_RECORDING_SLOT;
	struct iop_recording *recording = &programs_recordings(programs)[slot];
	int fds[MAX_RINGS + IOP_REQUEST_RINGS];

	if (!end_id(recording, id) && __atomic_load_n(&recording->left_id, __ATOMIC_SEQ_CST) != id)
		return 0;
	recording->left_id = 0;
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		fds[i] = programs->no_ring;
	return put_rings(programs, slot, fds);
}

/* ---- begin and end ---- */

/* Maps whose keys contain the id of a recording, and its offset. */
static const struct { enum kernel_map map; size_t key_len, at; } keyed[] = {
	{ MAP_TURNED_OFF, 8, 4 }, { MAP_ENTRY_ONLY, 8, 4 }, { MAP_CONSTANTS, 8, 4 }, { MAP_DEMANDS, 8, 4 }, { MAP_REQUESTS, 16,
		12 }, { MAP_LOOKED_AT, 24, 16 },
};

static bool is_left(const struct programs *programs, const char *key, size_t at)
{
	uint32_t id;

	memcpy(&id, key + at, sizeof(id));
	return programs_recordings(programs)[id & IOP_RECORDING_SLOT].id != id;
}

#define MAX_SWEPT (1 << 18)     /* limit on entries: others may add some concurrently */

/* Entries of ended recordings match no key of others, but occupy space. */
static void sweep(const struct programs *programs)
{
	for (size_t i = 0; i < sizeof(keyed) / sizeof(keyed[0]); i++) {
		char key[2][24], *last = NULL;
		int fd = programs->maps[keyed[i].map];

		for (unsigned n = 0; n < MAX_SWEPT && !bpf_map_get_next_key(fd, last, key[n & 1]); n++) {
			if (last && is_left(programs, last, keyed[i].at))
				bpf_map_delete_elem(fd, last);
			last = key[n & 1];
		}
		if (last && is_left(programs, last, keyed[i].at))
			bpf_map_delete_elem(fd, last);
	}
}

/* Clears the counters of the slot's previous recording. */
static int clear_counts(const struct bpf_side *kernel)
{
	const struct program_facts *facts = &kernel->programs->facts;
	uint32_t key = slot_of(kernel), first = key * facts->layers * IOP_FILTERS;
	int cpus = libbpf_num_possible_cpus(), err;
	char *zeros = cpus > 0 ? calloc(cpus, sizeof(struct iop_excluded) + sizeof(struct kernel_counts)) : NULL;

	if (!zeros)
		return -ENOMEM;
	err = bpf_map_update_elem(map_of(kernel, MAP_COUNTERS), &key, zeros, BPF_ANY);
	for (key = first; key < first + facts->layers * IOP_FILTERS && !err; key++)
		err = bpf_map_update_elem(map_of(kernel, MAP_LEFT_OUT), &key, zeros, BPF_ANY);
	free(zeros);
	return err;
}

/* From here on threads may get this id. */
static void open_slot(struct bpf_side *kernel, const struct kernel_options *options)
{
	kernel->recording = &programs_recordings(kernel->programs)[slot_of(kernel)];
	*kernel->recording = (struct iop_recording){ .hold_limit_ns = options->hold_limit_ns,
						     .users_rights_only = options->users_rights_only };
	kernel->missed_before = programs_missed(kernel->programs);
	__atomic_store_n(&kernel->recording->id, kernel->id, __ATOMIC_SEQ_CST);
}

static struct bpf_side *bpf_side_new(struct programs *programs, uint32_t id)
{
	struct bpf_side *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	*kernel = (struct bpf_side){ .programs = programs, .id = id };
	for (size_t i = 0; i < sizeof(kernel->ring_fds) / sizeof(kernel->ring_fds[0]); i++)
		kernel->ring_fds[i] = -1;
	return kernel;
}

int bpf_side_open(struct bpf_side **out, struct programs *programs, uint32_t id, const struct kernel_options *options)
{
	struct bpf_side *kernel = bpf_side_new(programs, id);
	int err = kernel ? create_rings(kernel) : -ENOMEM;

	if (!kernel)
		return err;
	sweep(programs);
	if (!err)
		err = clear_counts(kernel);
	if (!err)
		err = put_rings(programs, slot_of(kernel), kernel->ring_fds);
	if (err) {
		kernel->programs = NULL;
		bpf_side_destroy(kernel);
		return err;
	}
	open_slot(kernel, options);
	*out = kernel;
	return 0;
}

/* The rings are put into the map while the programs are verified. */
static int load_own(struct bpf_side *kernel, const struct table_set *set, const struct kernel_options *options, char *err_text,
		    size_t err_len)
{
	pthread_t putting;
	int err = create_rings(kernel);
	bool threaded = !err && !pthread_create(&putting, NULL, put_own_rings, kernel);

	if (!err && !threaded)
		put_own_rings(kernel);
	if (!err)
		err = programs_load(kernel->programs, set, &options->programs, err_text, err_len);
	if (threaded)
		pthread_join(putting, NULL);
	return err ? err : kernel->rings_err;
}

int bpf_side_create(struct bpf_side **out, const struct table_set *set, const struct kernel_options *options,
		       char *err_text, size_t err_len)
{
	struct bpf_side *kernel = bpf_side_new(NULL, FIRST_ID);
	int err = kernel ? programs_create(&kernel->programs, &options->programs) : -ENOMEM;

	err_text[0] = 0;
	if (!err)
		err = load_own(kernel, set, options, err_text, err_len);
	if (err) {
		if (!err_text[0])
			snprintf(err_text, err_len, "cannot make the BPF programs' rings: %s", err == -EPERM ?
				 "needs root, or CAP_BPF and CAP_PERFMON" : strerror(-err));
		bpf_side_destroy(kernel);
		return err;
	}
	open_slot(kernel, options);
	*out = kernel;
	return 0;
}

void bpf_side_destroy(struct bpf_side *kernel)
{
	if (!kernel)
		return;
	if (kernel->recording)
		bpf_side_stop(kernel);
	for (size_t i = 0; i < sizeof(kernel->ring_fds) / sizeof(kernel->ring_fds[0]); i++)
		if (kernel->ring_fds[i] >= 0)
			close(kernel->ring_fds[i]);
	programs_destroy(kernel->programs);
	free(kernel);
}

int bpf_side_attach(struct bpf_side *kernel, char *err_text, size_t err_len)
{
	return programs_attach(kernel->programs, err_text, err_len);
}

static int run_iterator(const struct bpf_side *kernel, enum kernel_program program);

void bpf_side_stop(struct bpf_side *kernel)
{
	programs_detach(kernel->programs);
	bpf_side_close_slot(kernel->programs, kernel->id);
	if (bpf_side_is_shared(kernel))
		run_iterator(kernel, PROGRAM_DROP_THREADS);
}

/* ---- targets ---- */

static int run_iterator(const struct bpf_side *kernel, enum kernel_program program)
{
	int link = bpf_link_create(kernel->programs->programs[program], 0, BPF_TRACE_ITER, NULL), fd, err = 0;
	char buf[64];

	if (link < 0)
		return link;
	fd = bpf_iter_create(link);
	if (fd < 0)
		err = fd;
	else
		while (read(fd, buf, sizeof(buf)) > 0)
			;
	if (fd >= 0)
		close(fd);
	close(link);
	return err;
}

/* What the programs know of a process' first thread: the first members of its struct thread. */
struct thread_head { uint32_t recording, seq, depth, process; };

static struct thread_head thread_head_of(const struct bpf_side *kernel, pid_t tgid)
{
	int pid_fd = syscall(SYS_pidfd_open, tgid, 0);          /* Linux 5.3 */
	struct thread_head head = { 0 };
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	void *thread = NULL;

	if (pid_fd < 0)
		return head;
	if (!bpf_obj_get_info_by_fd(map_of(kernel, MAP_THREADS), &info, &len))
		thread = calloc(1, info.value_size);
	if (thread && !bpf_map_lookup_elem(map_of(kernel, MAP_THREADS), &pid_fd, thread))
		memcpy(&head, thread, sizeof(head));
	free(thread);
	close(pid_fd);
	return head;
}

bool bpf_side_is_foreign(const struct bpf_side *kernel, pid_t tgid)
{
	uint32_t id = bpf_side_is_shared(kernel) ? thread_head_of(kernel, tgid).recording : 0;

	return id && id != kernel->id && programs_recordings(kernel->programs)[id & IOP_RECORDING_SLOT].id == id;
}

int bpf_side_take(struct bpf_side *kernel, pid_t tgid)
{
	struct iop_target target = { .recording = kernel->id, .taker = getpid() };
	uint32_t key = tgid;
	uint64_t before;
	int err = bpf_side_is_foreign(kernel, tgid) ? -EBUSY : bpf_map_update_elem(map_of(kernel, MAP_TARGETS), &key, &target,
		BPF_NOEXIST);

	if (err)
		return err == -EEXIST ? 0 : err;
	/* a thread that was not yet included may have created one meanwhile: repeat until a pass finds none */
	for (int pass = 0; pass < 64; pass++) {
		before = kernel->recording->threads_taken;
		err = run_iterator(kernel, PROGRAM_TAKE_THREADS);
		if (err || kernel->recording->threads_taken == before)
			break;
	}
	bpf_map_delete_elem(map_of(kernel, MAP_TARGETS), &key);
	return err;
}

void bpf_side_take_at_exec(struct bpf_side *kernel, pid_t tgid)
{
	kernel->recording->launch_tgid = tgid;
}

void bpf_side_await(struct bpf_side *kernel, const struct iop_job_matcher *job_matcher)
{
	struct iop_job_matcher entries = *job_matcher;

	entries.on = 0;         /* half-written entries would match more environments */
	kernel->recording->job_matcher = entries;
	__atomic_store_n(&kernel->recording->job_matcher.on, job_matcher->on, __ATOMIC_RELEASE);
}

void bpf_side_links_for_all(struct bpf_side *kernel, unsigned library)
{
	__atomic_fetch_or(&kernel->recording->libraries_for_all, 1ull << library, __ATOMIC_SEQ_CST);
}

void bpf_side_set_off(struct bpf_side *kernel, pid_t tgid, uint32_t flags)
{
	int fd = map_of(kernel, MAP_TURNED_OFF);
	struct iop_process_key key = process_key(kernel, tgid);

	if (flags && !bpf_map_update_elem(fd, &key, &flags, BPF_ANY))
		kernel->recording->any_turned_off = 1;
	else
		bpf_map_delete_elem(fd, &key);
}

void bpf_side_set_entry_only(struct bpf_side *kernel, pid_t tgid, enum iop_entry_only from)
{
	struct iop_process_key key = process_key(kernel, tgid);
	uint32_t value = from;

	if (!tgid || bpf_map_update_elem(map_of(kernel, MAP_ENTRY_ONLY), &key, &value, BPF_ANY))
		kernel->recording->all_entry_only = 1;
	else
		kernel->recording->any_entry_only = 1;
}

void bpf_side_looked_at(struct bpf_side *kernel, uint64_t dev, uint64_t ino)
{
	struct { uint64_t dev, ino, recording; } key = { (uint64_t)major(dev) << 32 | minor(dev), ino, kernel->id };
	uint32_t done = 1;

	bpf_map_update_elem(map_of(kernel, MAP_LOOKED_AT), &key, &done, BPF_ANY);
}

void bpf_side_want_constants(struct bpf_side *kernel, pid_t tgid, const struct iop_constants *constants)
{
	int fd = map_of(kernel, MAP_CONSTANTS);
	struct iop_process_key key = process_key(kernel, tgid);

	if (!constants)
		bpf_map_delete_elem(fd, &key);
	else if (!bpf_map_update_elem(fd, &key, constants, BPF_ANY))
		kernel->recording->any_constants = 1;
}

void bpf_side_set_demand(struct bpf_side *kernel, pid_t tgid, const struct iop_demand *demand)
{
	struct iop_process_key key = process_key(kernel, tgid);

	bpf_map_update_elem(map_of(kernel, MAP_DEMANDS), &key, demand, BPF_ANY);
}

bool bpf_side_demand(struct bpf_side *kernel, pid_t tgid, struct iop_demand *demand)
{
	struct iop_process_key key = process_key(kernel, tgid);

	return !bpf_map_lookup_elem(map_of(kernel, MAP_DEMANDS), &key, demand);
}

bool bpf_side_end_demand(struct bpf_side *kernel, pid_t tgid, struct iop_demand *demand)
{
	struct iop_process_key key = process_key(kernel, tgid);

	return !bpf_map_lookup_and_delete_elem(map_of(kernel, MAP_DEMANDS), &key, demand);
}

void bpf_side_beat(struct bpf_side *kernel, enum kernel_beat whose, uint64_t now_ns)
{
	struct iop_recording *recording = kernel->recording;

	__atomic_store_n(whose == KERNEL_BEAT_SERVER ? &recording->server_beat_ns : &recording->recorder_beat_ns, now_ns,
			 __ATOMIC_RELEASE);
}

uint64_t bpf_side_last_beat(const struct bpf_side *kernel, enum kernel_beat whose)
{
	const struct iop_recording *recording = kernel->recording;

	return __atomic_load_n(whose == KERNEL_BEAT_SERVER ? &recording->server_beat_ns : &recording->recorder_beat_ns,
			       __ATOMIC_ACQUIRE);
}

struct iop_hold *bpf_side_holds(const struct bpf_side *kernel)
{
	return programs_holds(kernel->programs);
}

bool bpf_side_answer(struct bpf_side *kernel, const struct iop_hold_id *id)
{
	return hold_entry_change(bpf_side_holds(kernel), id, IOP_HOLD_WAITING, IOP_HOLD_ANSWERED);
}

uint64_t bpf_side_gave_up(const struct bpf_side *kernel, const struct iop_hold_id *id)
{
	const struct iop_hold *hold = &programs_holds(kernel->programs)[id->slot % IOP_MAX_HOLDS];
	uint64_t gave_up_ns = __atomic_load_n(&hold->gave_up_ns, __ATOMIC_ACQUIRE);

	return hold->word >> 8 == id->word >> 8 ? gave_up_ns : 0;
}

/* ---- access ---- */

bool bpf_side_traces_syscalls(const struct bpf_side *kernel) { return kernel->programs->facts.syscalls; }

bool bpf_side_holds_at_seal(const struct bpf_side *kernel) { return kernel->programs->facts.holds_at_seal; }

bool bpf_side_follows_uring(const struct bpf_side *kernel)
{
	return !kernel->programs->facts.uring_wanted || kernel->programs->facts.uring_followed;
}

enum attach_method bpf_side_method(const struct bpf_side *kernel) { return kernel->programs->facts.method; }
const char *bpf_side_refused(const struct bpf_side *kernel) { return kernel->programs->facts.refused; }
size_t bpf_side_rings(const struct bpf_side *kernel) { return kernel->programs->facts.rings; }
int bpf_side_ring_fd(const struct bpf_side *kernel, size_t i) { return kernel->ring_fds[i]; }

int bpf_side_probe_requests_fd(const struct bpf_side *kernel)
{
	return kernel->ring_fds[kernel->programs->facts.rings + IOP_RING_PROBES];
}

int bpf_side_return_requests_fd(const struct bpf_side *kernel)
{
	return kernel->ring_fds[kernel->programs->facts.rings + IOP_RING_RETURNS];
}

int bpf_side_site_asks_fd(const struct bpf_side *kernel) { return map_of(kernel, MAP_SITE_ASKS); }

int bpf_side_set_rule(const struct bpf_side *kernel, uint32_t image, uint64_t pc, const struct iop_site_rule *rule)
{
	struct iop_site_rule_key key = { pc, image, 0 };

	return bpf_map_update_elem(map_of(kernel, MAP_SITE_RULES), &key, rule, BPF_ANY);
}

uint32_t bpf_side_image(const struct bpf_side *kernel, uint32_t process)
{
	struct process value;

	return bpf_map_lookup_elem(map_of(kernel, MAP_PROCESSES), &process, &value) ? 0 : value.image;
}

uint32_t bpf_side_image_of(const struct bpf_side *kernel, pid_t tgid, uint32_t *process)
{
	struct thread_head head = thread_head_of(kernel, tgid);

	*process = head.process;
	return head.recording == kernel->id && head.process ? bpf_side_image(kernel, head.process) : 0;
}

int bpf_side_set_python(const struct bpf_side *kernel, uint32_t image, const struct iop_python *python)
{
	int err = bpf_map_update_elem(map_of(kernel, MAP_SITE_PYTHONS), &image, python, BPF_ANY);

	if (!err)
		programs_look_for_python(kernel->programs);
	return err;
}

struct iop_site_counts bpf_side_site_counts(const struct bpf_side *kernel) { return programs_site_counts(kernel->programs); }

int bpf_side_program_fd(const struct bpf_side *kernel, enum kernel_program program)
{
	return kernel->programs->programs[program];
}

size_t bpf_side_program_ids(const struct bpf_side *kernel, uint32_t ids[KERNEL_PROGRAMS])
{
	return !kernel || bpf_side_is_shared(kernel) ? 0 : programs_ids(kernel->programs, 0, KERNEL_PROGRAMS, ids);
}

size_t bpf_side_close_call_programs(struct bpf_side *kernel, uint32_t ids[KERNEL_PROGRAMS])
{
	size_t n;

	if (!kernel || bpf_side_is_shared(kernel))
		return 0;
	n = programs_ids(kernel->programs, PROGRAM_SESSION, PROGRAM_RETURN + 1, ids);
	for (enum kernel_program i = PROGRAM_SESSION; i <= PROGRAM_RETURN; i++) {
		if (kernel->programs->programs[i] >= 0)
			close(kernel->programs->programs[i]);
		kernel->programs->programs[i] = -1;
	}
	return n;
}

size_t bpf_side_call_program_ids(const struct bpf_side *kernel, uint32_t ids[KERNEL_PROGRAMS])
{
	return programs_ids(kernel->programs, PROGRAM_SESSION, PROGRAM_RETURN + 1, ids);
}

void bpf_side_close_program(struct bpf_side *kernel, int fd)
{
	for (enum kernel_program i = PROGRAM_SESSION; i <= PROGRAM_RENDEZVOUS; i++)
		if (fd >= 0 && kernel->programs->programs[i] == fd)
			kernel->programs->programs[i] = -1;
	close(fd);
}

void bpf_side_release(struct bpf_side *kernel)
{
	int fds[KERNEL_SERVER_FDS];
	size_t n = bpf_side_server_fds(kernel, fds);

	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	programs_unmap(kernel->programs);
	kernel->recording = NULL;
}

size_t bpf_side_server_fds(const struct bpf_side *kernel, int fds[KERNEL_SERVER_FDS])
{
	size_t n = 0;

	for (enum kernel_program i = PROGRAM_SESSION; i <= PROGRAM_RENDEZVOUS; i++)
		if (kernel->programs->programs[i] >= 0)
			fds[n++] = kernel->programs->programs[i];
	fds[n++] = bpf_side_probe_requests_fd(kernel);
	fds[n++] = bpf_side_return_requests_fd(kernel);
	return n;
}

uint64_t bpf_side_cookie(const struct bpf_side *kernel)
{
	return (uint64_t)slot_of(kernel) << IOP_COOKIE_SLOT_SHIFT;
}

uint64_t bpf_side_mapped_files(const struct bpf_side *kernel, void (*fn)(void *arg, const struct mapped_file *file),
				  void *arg)
{
	struct { uint64_t dev, ino; } key, *last = NULL;
	struct { uint64_t reads, writes, written_back, excluded; } counts;
	int fd = map_of(kernel, MAP_MAPPED_FILES);

	for (; !bpf_map_get_next_key(fd, last, &key); last = &key) {
		struct mapped_file file = { .dev = key.dev, .ino = key.ino };

		if (bpf_map_lookup_elem(fd, &key, &counts))
			continue;
		file.read_faults = counts.reads;
		file.write_faults = counts.writes;
		file.written_back = counts.written_back;
		file.excluded = counts.excluded;
		fn(arg, &file);
	}
	return programs_faults_missed(kernel->programs);
}

int bpf_side_counts(const struct bpf_side *kernel, struct kernel_counts *counts)
{
	int cpus = libbpf_num_possible_cpus(), err;
	struct { uint64_t lost, untracked, unwinds_late, holds_late, no_process_slot, waits_not_followed, privileged, entry_only,
			 unread_environments, compat_programs, compat_calls; }
		*per_cpu;
	uint32_t slot = slot_of(kernel);

	memset(counts, 0, sizeof(*counts));
	per_cpu = cpus > 0 ? calloc(cpus, sizeof(*per_cpu)) : NULL;
	if (!per_cpu)
		return -ENOMEM;
	err = bpf_map_lookup_elem(map_of(kernel, MAP_COUNTERS), &slot, per_cpu);
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
	}
	counts->missed_programs = programs_missed(kernel->programs) - kernel->missed_before;
	counts->lost += counts->missed_programs;
	free(per_cpu);
	return err;
}

int bpf_side_excluded(const struct bpf_side *kernel, size_t layer, enum iop_filter filter, struct iop_excluded *sum)
{
	int cpus = libbpf_num_possible_cpus(), err;
	struct iop_excluded *per_cpu = cpus > 0 ? calloc(cpus, sizeof(*per_cpu)) : NULL;
	uint32_t key = (slot_of(kernel) * kernel->programs->facts.layers + layer) * IOP_FILTERS + filter;

	*sum = (struct iop_excluded){ 0 };
	if (!per_cpu)
		return -ENOMEM;
	err = bpf_map_lookup_elem(map_of(kernel, MAP_LEFT_OUT), &key, per_cpu);
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
