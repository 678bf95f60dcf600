/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A recording in its slot of a set of BPF programs: its rings, its begin and end, its programs.
 */
#include "bpf/bpf_side_internal.h"
#include "bpf/map_calls.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <ioprobe/maps.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_RING_BYTES (1 << 16)
#define FIRST_ID IOP_MAX_RECORDINGS     /* in a set of the recording's own: slot 0, generation 1 */

const struct programs *bpf_side_programs(const struct bpf_side *kernel)
{
	return kernel->programs;
}

bool bpf_side_is_shared(const struct bpf_side *kernel)
{
	return kernel->programs->facts.slots > 1;
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
	if (!MAP_CALL(programs, bpf_map_update_batch(programs->maps[MAP_RINGS], keys, (void *)fds, &n, NULL)))
		return 0;
	n = programs->facts.rings + IOP_REQUEST_RINGS;
	for (uint32_t i = 0; i < n && !err; i++)
		err = MAP_CALL(programs, bpf_map_update_elem(programs->maps[MAP_RINGS], &keys[i], &fds[i], BPF_ANY));
	return err;
}

static void *put_own_rings(void *arg)
{
	struct bpf_side *kernel = arg;

	kernel->rings_err = put_rings(kernel->programs, bpf_side_slot(kernel), kernel->ring_fds);
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
	{ MAP_TURNED_OFF, sizeof(struct iop_process_key), offsetof(struct iop_process_key, recording) },
	{ MAP_ENTRY_ONLY, sizeof(struct iop_process_key), offsetof(struct iop_process_key, recording) },
	{ MAP_CONSTANTS, sizeof(struct iop_process_key), offsetof(struct iop_process_key, recording) },
	{ MAP_DEMANDS, sizeof(struct iop_process_key), offsetof(struct iop_process_key, recording) },
	{ MAP_WITHHELD, sizeof(struct iop_process_key), offsetof(struct iop_process_key, recording) },
	{ MAP_REQUESTS, sizeof(struct iop_request_key), offsetof(struct iop_request_key, process.recording) },
	{ MAP_LOOKED_AT, sizeof(struct iop_file_key), offsetof(struct iop_file_key, recording) },
	{ MAP_EXCLUDED_OF, sizeof(struct iop_excluded_key), offsetof(struct iop_excluded_key, recording) },
};

static bool is_left(const struct programs *programs, const char *key, size_t at)
{
	uint32_t id;

	memcpy(&id, key + at, sizeof(id));
	return programs_recordings(programs)[id & IOP_RECORDING_SLOT].id != id;
}

#define MAX_SWEPT (1 << 18)     /* limit on entries: others may add some concurrently */

/* Entries of ended recordings match no key of others, but occupy space. */
static void bpf_side_sweep(const struct programs *programs)
{
	for (size_t i = 0; i < sizeof(keyed) / sizeof(keyed[0]); i++) {
		char key[2][sizeof(struct iop_file_key)], *last = NULL; /* the longest of them */
		int fd = programs->maps[keyed[i].map];

		for (unsigned n = 0; n < MAX_SWEPT && !bpf_map_get_next_key(fd, last, key[n & 1]); n++) {
			if (last && is_left(programs, last, keyed[i].at))
				MAP_CALL(programs, bpf_map_delete_elem(fd, last));
			last = key[n & 1];
		}
		if (last && is_left(programs, last, keyed[i].at))
			MAP_CALL(programs, bpf_map_delete_elem(fd, last));
	}
}

/* From here on threads may get this id. */
static void open_slot(struct bpf_side *kernel, const struct kernel_options *options)
{
	kernel->recording = &programs_recordings(kernel->programs)[bpf_side_slot(kernel)];
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
	bpf_side_sweep(programs);
	if (!err)
		err = bpf_side_clear_counts(kernel);
	if (!err)
		err = put_rings(programs, bpf_side_slot(kernel), kernel->ring_fds);
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

void bpf_side_stop(struct bpf_side *kernel)
{
	programs_detach(kernel->programs);
	bpf_side_close_slot(kernel->programs, kernel->id);
	if (bpf_side_is_shared(kernel))
		bpf_side_run_iterator(kernel, PROGRAM_DROP_THREADS);
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

int bpf_side_site_asks_fd(const struct bpf_side *kernel) { return bpf_side_map(kernel, MAP_SITE_ASKS); }

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
	return (uint64_t)bpf_side_slot(kernel) << IOP_COOKIE_SLOT_SHIFT;
}
