/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A set of BPF programs with its maps, as file descriptors: loaded here, or received from the process that loaded it. One set
 * serves up to `slots` recordings; its tracepoints are attached as long as one of them holds their links.
 */
#ifndef IOPROBE_PROGRAMS_H
#define IOPROBE_PROGRAMS_H

#include <ioprobe/recording.h>
#include <ioprobe/request.h>
#include <ioprobe/sites.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/filter.h"
#include "table/table.h"

/* How library probes are attached. The best available method is found by trying. */
enum attach_method {
	ATTACH_SESSION,         /* uprobe_multi session links: Linux 6.13, commit d920179b3d48 */
	ATTACH_MULTI,           /* uprobe_multi entry and return links: Linux 6.6, commit 89ae89f53d20 */
	ATTACH_PERF,            /* perf events, one per probe, with a sleepable program for unwinders: Linux 6.0 */
	ATTACH_NONE,            /* system calls only: without that program a return probe could crash an application */
};

enum kernel_map {
	MAP_GLOBALS, MAP_RINGS, MAP_COUNTERS, MAP_LEFT_OUT, MAP_THREADS, MAP_TARGETS, MAP_TURNED_OFF, MAP_ENTRY_ONLY, MAP_CONSTANTS,
	MAP_DEMANDS, MAP_REQUESTS, MAP_HOLD_WORKS, MAP_LOOKED_AT, MAP_MAPPED_FILES, MAP_PROCESSES, MAP_SITE_RULES, MAP_SITE_ASKS,
	MAP_SITE_PYTHONS, MAP_EXCLUDED_OF, MAP_WITHHELD, MAP_SITE_NODES, MAP_SITE_CODES, KERNEL_MAPS
};

/* Tracepoints in the order in which they are attached: a system call's exit before its enter, otherwise a call would stay open. */
enum kernel_program {
	PROGRAM_SESSION, PROGRAM_ENTRY, PROGRAM_RETURN, PROGRAM_UNWINDER, PROGRAM_RENDEZVOUS, PROGRAM_TAKE_THREADS,
	PROGRAM_DROP_THREADS, PROGRAM_MEASURE_RECORD,
	PROGRAM_TRACEPOINTS,
	PROGRAM_PROCESS_EXIT = PROGRAM_TRACEPOINTS, PROGRAM_PROCESS_EXEC, PROGRAM_PROCESS_FORK,
	PROGRAM_PROCESS_EXIT_2, PROGRAM_PROCESS_EXEC_2, PROGRAM_PROCESS_FORK_2,         /* second instances (bpf/tasks.bpf.h) */
	PROGRAM_SYSCALL_EXIT,
	PROGRAM_SYSCALL_ENTER, PROGRAM_URING_COMPLETE, PROGRAM_URING_OVERFLOW, PROGRAM_URING_FAILED, PROGRAM_URING_SUBMIT,
	PROGRAM_TASK_SWITCH, PROGRAM_WRITTEN_BACK, PROGRAM_PAGE_FAULT, PROGRAM_REQUEST_QUEUED, KERNEL_PROGRAMS
};

/* Configuration of a set. */
struct program_options {
	enum attach_method best_method; /* do not try better methods than this */
	uint64_t ring_bytes;            /* total size of all rings of a recording, 0: default */
	const struct filter *filter;    /* NULL: none */
	unsigned slots;                 /* number of concurrent recordings, 0: one */
	bool sockets;                   /* record addresses of sockets */
	bool mmap_faults;               /* count page faults on mapped files */
	bool device;                    /* record whether system calls accessed devices or waited for I/O */
	bool cpu_time;                  /* record when threads are off their CPU in outermost calls */
	bool collectives;               /* record collective calls of MPI next to outermost calls */
	bool recognise;                 /* recordings may wait for a job's processes */
	unsigned call_sites;            /* number of application frames in a chain, 0: no call sites */
	size_t load_parts;              /* of load_parts_wanted(), 0: as many as CPUs are idle when loading begins */
};

#define MAX_RINGS 32

struct programs {
	struct program_facts {          /* sent in this layout: both sides are the same program */
		uint32_t slots, method, rings, layers;
		uint64_t ring_bytes;    /* per ring */
		uint64_t tables;        /* checksum of the tables' parts that were loaded */
		bool syscalls;          /* some system calls are recorded */
		bool uring_wanted, uring_followed;
		bool syscall_events;    /* system calls by perf events, because the kernel preempts raw tracepoints */
		bool holds_at_seal;     /* new programs are held at a system call */
		uint32_t task_work_form; /* of the BPF object (features.h) */
		/* libbpf's message if the kernel refused what its features allow; "" if the best method was accepted */
		char refused[160];
	} facts;
	int maps[KERNEL_MAPS], programs[KERNEL_PROGRAMS];       /* -1: not loaded */
	int no_ring;                    /* a ring without space, in the place of closed slots */
	int lock;                       /* held while links are attached or closed */
	int links[KERNEL_PROGRAMS];     /* of tracepoints; -1: none */
	struct ioprobe_bpf__bss *globals;
};

/* Chooses the size of the rings and creates their map; loads nothing. Returns 0 or -errno. */
int programs_create(struct programs **out, const struct program_options *options);
/* Loads and verifies everything; attaches nothing. The map of rings may be filled concurrently. Returns 0 or -errno with one line
 * in err (action, reason, remedy). */
int programs_load(struct programs *programs, const struct table_set *set, const struct program_options *options, char *err,
		  size_t err_len);
void programs_destroy(struct programs *programs);       /* detaches what no other process holds; NULL is allowed */

/* Sends or receives a set over a local socket, with the id of a recording. The receiver owns the received descriptors; maps and
 * programs are shared with the sender. Return 0 or -errno; -ENODATA: the socket was closed; -EBADMSG: not a set. */
int programs_send(int socket, const struct programs *programs, uint32_t id);
int programs_receive(int socket, struct programs **out, uint32_t *id);
struct programs *programs_new(void);            /* an empty one, NULL without memory */
int programs_map(struct programs *programs);    /* maps the global variables, once their map is present; 0 or -errno */
void programs_unmap(struct programs *programs);

/* Holds the tracepoints' links, attaching those that no other process holds. Returns 0 or -errno with one line in err. */
int programs_attach(struct programs *programs, char *err, size_t err_len);
void programs_detach(struct programs *programs);

/* Counts the sets that are attached on this node, whichever process loaded them. Returns their number or -errno (requires
 * CAP_SYS_ADMIN). */
int programs_count_attached(void);

/* Returns a number that differs if tables would produce different descriptors for the same rows. */
uint64_t programs_checksum(const struct table_set *set);

struct iop_recording *programs_recordings(const struct programs *programs);     /* IOP_MAX_RECORDINGS, shared with the programs */
struct iop_hold *programs_holds(const struct programs *programs);               /* IOP_MAX_HOLDS, the same */
/* Lists the kernel ids of the loaded programs in [first, end). Returns their number. */
size_t programs_ids(const struct programs *programs, enum kernel_program first, enum kernel_program end, uint32_t *ids);
struct iop_site_counts programs_site_counts(const struct programs *programs);
void programs_look_for_python(const struct programs *programs); /* from now on the programs do */
/* Call sites: the highest number that was given. */
uint32_t programs_last_site(const struct programs *programs);
uint64_t programs_faults_missed(const struct programs *programs);               /* page faults that could not be attributed */
/* Returns the number of runs of tracepoint programs that the kernel skipped because one was already running on the CPU, in any
 * process: an upper bound for the missing records. */
uint64_t programs_missed(const struct programs *programs);

#endif
