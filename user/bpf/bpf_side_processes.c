/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Settings of single processes for the BPF programs: which are recorded, what of them, which wait for an answer, the rules of
 * their call sites.
 */
#include "bpf/bpf_side_internal.h"
#include "bpf/map_calls.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <ioprobe/maps.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bpf/hold_entry.h"

int bpf_side_run_iterator(const struct bpf_side *kernel, enum kernel_program program)
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

/* What the programs know of a process' first thread. */
static struct iop_thread_head thread_head_of(const struct bpf_side *kernel, pid_t tgid)
{
	int pid_fd = syscall(SYS_pidfd_open, tgid, 0);          /* Linux 5.3 */
	struct iop_thread_head head = { 0 };
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	void *thread = NULL;

	if (pid_fd < 0)
		return head;
	if (!bpf_obj_get_info_by_fd(bpf_side_map(kernel, MAP_THREADS), &info, &len))
		thread = calloc(1, info.value_size);
	if (thread && !MAP_CALL(kernel->programs, bpf_map_lookup_elem(bpf_side_map(kernel, MAP_THREADS), &pid_fd, thread)))
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
	int err = -EBUSY;

	if (!bpf_side_is_foreign(kernel, tgid))
		err = MAP_CALL(kernel->programs,
			       bpf_map_update_elem(bpf_side_map(kernel, MAP_TARGETS), &key, &target, BPF_NOEXIST));
	if (err)
		return err == -EEXIST ? 0 : err;
	/* a thread that was not yet included may have created one meanwhile: repeat until a pass finds none */
	for (int pass = 0; pass < 64; pass++) {
		before = kernel->recording->threads_taken;
		err = bpf_side_run_iterator(kernel, PROGRAM_TAKE_THREADS);
		if (err || kernel->recording->threads_taken == before)
			break;
	}
	MAP_CALL(kernel->programs, bpf_map_delete_elem(bpf_side_map(kernel, MAP_TARGETS), &key));
	return err;
}

void bpf_side_take_at_exec(struct bpf_side *kernel, pid_t tgid)
{
	kernel->recording->launch_tgid = tgid;
}

void bpf_side_set_measuring(struct bpf_side *kernel, pid_t tgid)
{
	kernel->recording->measuring_tgid = tgid;
}

uint32_t bpf_side_measure(const struct bpf_side *kernel, const uint64_t request[IOP_MEASURE_WORDS])
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = request, .ctx_size_in = IOP_MEASURE_WORDS * sizeof(*request));

	return bpf_prog_test_run_opts(kernel->programs->programs[PROGRAM_MEASURE_RECORD], &run) ? 0 : run.retval;
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
	int fd = bpf_side_map(kernel, MAP_TURNED_OFF);
	struct iop_process_key key = bpf_side_process_key(kernel, tgid);

	if (flags && !MAP_CALL(kernel->programs, bpf_map_update_elem(fd, &key, &flags, BPF_ANY)))
		kernel->recording->any_turned_off = 1;
	else
		MAP_CALL(kernel->programs, bpf_map_delete_elem(fd, &key));
}

void bpf_side_set_entry_only(struct bpf_side *kernel, pid_t tgid, enum iop_entry_only from)
{
	struct iop_process_key key = bpf_side_process_key(kernel, tgid);
	uint32_t value = from;

	if (!tgid || MAP_CALL(kernel->programs, bpf_map_update_elem(bpf_side_map(kernel, MAP_ENTRY_ONLY), &key, &value, BPF_ANY)))
		kernel->recording->all_entry_only = 1;
	else
		kernel->recording->any_entry_only = 1;
}

bool bpf_side_withhold(struct bpf_side *kernel, pid_t tgid)
{
	struct iop_process_key key = bpf_side_process_key(kernel, tgid);
	uint64_t value = IOP_WITHHELD;

	if (MAP_CALL(kernel->programs, bpf_map_update_elem(bpf_side_map(kernel, MAP_WITHHELD), &key, &value, BPF_ANY)))
		return false;
	kernel->recording->any_withheld = 1;
	return true;
}

uint64_t bpf_side_end_withholding(struct bpf_side *kernel, pid_t tgid)
{
	struct iop_process_key key = bpf_side_process_key(kernel, tgid);
	int fd = bpf_side_map(kernel, MAP_WITHHELD);
	uint64_t value = 0;

	if (MAP_CALL(kernel->programs, bpf_map_lookup_and_delete_elem(fd, &key, &value)))   /* Linux 5.14 */
		return 0;
	return value == IOP_WITHHELD ? 0 : value;
}

void bpf_side_looked_at(struct bpf_side *kernel, uint64_t dev, uint64_t ino)
{
	struct iop_file_key key = { (uint64_t)major(dev) << 32 | minor(dev), ino, kernel->id };
	uint32_t done = 1;

	MAP_CALL(kernel->programs, bpf_map_update_elem(bpf_side_map(kernel, MAP_LOOKED_AT), &key, &done, BPF_ANY));
}

void bpf_side_want_constants(struct bpf_side *kernel, pid_t tgid, const struct iop_constants *constants)
{
	int fd = bpf_side_map(kernel, MAP_CONSTANTS);
	struct iop_process_key key = bpf_side_process_key(kernel, tgid);

	if (!constants)
		MAP_CALL(kernel->programs, bpf_map_delete_elem(fd, &key));
	else if (!MAP_CALL(kernel->programs, bpf_map_update_elem(fd, &key, constants, BPF_ANY)))
		kernel->recording->any_constants = 1;
}

void bpf_side_set_demand(struct bpf_side *kernel, pid_t tgid, const struct iop_demand *demand)
{
	struct iop_process_key key = bpf_side_process_key(kernel, tgid);

	MAP_CALL(kernel->programs, bpf_map_update_elem(bpf_side_map(kernel, MAP_DEMANDS), &key, demand, BPF_ANY));
}

bool bpf_side_demand(struct bpf_side *kernel, pid_t tgid, struct iop_demand *demand)
{
	struct iop_process_key key = bpf_side_process_key(kernel, tgid);

	return !MAP_CALL(kernel->programs, bpf_map_lookup_elem(bpf_side_map(kernel, MAP_DEMANDS), &key, demand));
}

bool bpf_side_end_demand(struct bpf_side *kernel, pid_t tgid, struct iop_demand *demand)
{
	struct iop_process_key key = bpf_side_process_key(kernel, tgid);

	return !MAP_CALL(kernel->programs, bpf_map_lookup_and_delete_elem(bpf_side_map(kernel, MAP_DEMANDS), &key, demand));
}

/* ---- processes that wait ---- */

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

/* ---- call sites ---- */

int bpf_side_set_rule(const struct bpf_side *kernel, uint32_t image, uint64_t pc, const struct iop_site_rule *rule)
{
	struct iop_site_rule_key key = { pc, image, 0 };

	return MAP_CALL(kernel->programs, bpf_map_update_elem(bpf_side_map(kernel, MAP_SITE_RULES), &key, rule, BPF_ANY));
}

uint32_t bpf_side_image(const struct bpf_side *kernel, uint32_t process)
{
	struct process value;

	if (MAP_CALL(kernel->programs, bpf_map_lookup_elem(bpf_side_map(kernel, MAP_PROCESSES), &process, &value)))
		return 0;
	return value.image;
}

uint32_t bpf_side_image_of(const struct bpf_side *kernel, pid_t tgid, uint32_t *process)
{
	struct iop_thread_head head = thread_head_of(kernel, tgid);

	*process = head.process;
	return head.recording == kernel->id && head.process ? bpf_side_image(kernel, head.process) : 0;
}

int bpf_side_set_python(const struct bpf_side *kernel, uint32_t image, const struct iop_python *python)
{
	int err = MAP_CALL(kernel->programs, bpf_map_update_elem(bpf_side_map(kernel, MAP_SITE_PYTHONS), &image, python, BPF_ANY));

	if (!err)
		programs_look_for_python(kernel->programs);
	return err;
}
