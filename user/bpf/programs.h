/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A set of BPF programs with its maps, as file descriptors: loaded here, or received from the process that loaded it. One set
 * serves the recordings of up to `slots` processes; its tracepoints are attached as long as one of them holds their links.
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

/* How library probes are attached. Best first; found by trying. */
enum attach_method {
	ATTACH_SESSION,         /* uprobe_multi session links: Linux 6.13, commit d920179b3d48 */
	ATTACH_MULTI,           /* uprobe_multi entry and return links: Linux 6.6, commit 89ae89f53d20 */
	ATTACH_PERF,            /* perf events, one per probe, with a sleepable program for unwinders: Linux 6.0 */
	ATTACH_NONE,            /* system calls only: without that program a return probe could end an application */
};

enum kernel_map {
	MAP_GLOBALS, MAP_RINGS, MAP_COUNTERS, MAP_LEFT_OUT, MAP_THREADS, MAP_TARGETS, MAP_TURNED_OFF, MAP_ENTRY_ONLY, MAP_CONSTANTS,
	MAP_DEMANDS, MAP_REQUESTS, MAP_HOLD_WORKS, MAP_LOOKED_AT, MAP_MAPPED_FILES, MAP_PROCESSES, MAP_SITE_RULES, MAP_SITE_ASKS, KERNEL_MAPS
};

/* Tracepoints in the order in which they are attached: a system call's exit before its enter, which would stay open otherwise. */
enum kernel_program {
	PROGRAM_SESSION, PROGRAM_ENTRY, PROGRAM_RETURN, PROGRAM_UNWINDER, PROGRAM_RENDEZVOUS, PROGRAM_TAKE_THREADS,
	PROGRAM_DROP_THREADS,
	PROGRAM_TRACEPOINTS,
	PROGRAM_PROCESS_EXIT = PROGRAM_TRACEPOINTS, PROGRAM_PROCESS_EXEC, PROGRAM_PROCESS_FORK,
	PROGRAM_PROCESS_EXIT_2, PROGRAM_PROCESS_EXEC_2, PROGRAM_PROCESS_FORK_2,         /* the same again (bpf/tasks.h) */
	PROGRAM_SYSCALL_EXIT,
	PROGRAM_SYSCALL_ENTER, PROGRAM_URING_COMPLETE, PROGRAM_URING_OVERFLOW, PROGRAM_URING_FAILED, PROGRAM_URING_SUBMIT,
	PROGRAM_TASK_SWITCH, PROGRAM_WRITTEN_BACK, PROGRAM_PAGE_FAULT, KERNEL_PROGRAMS
};

/* What a set is loaded for. */
struct program_options {
	enum attach_method best_method; /* do not try better ones than this */
	uint64_t ring_bytes;            /* of all rings of a recording together, 0: default */
	const struct filter *filter;    /* NULL: none */
	unsigned slots;                 /* recordings at once, 0: one */
	bool sockets;                   /* their addresses are recorded */
	bool mmap_faults;               /* page faults on mapped files are counted */
	bool device;                    /* whether system calls waited for devices */
	bool recognise;                 /* a job's processes are to be awaited */
	unsigned call_sites;            /* frames of the application that are wanted of a call's chain, 0: no call sites */
};

#define MAX_RINGS 32

struct programs {
	struct program_facts {          /* sent as it is: both sides are the same program */
		uint32_t slots, method, rings, layers;
		uint64_t ring_bytes;    /* of one ring */
		uint64_t tables;        /* checksum of what was loaded of them */
		bool syscalls;          /* some are wanted */
		bool uring_wanted, uring_followed;
		bool syscall_events;    /* system calls by perf events: the kernel preempts raw tracepoints */
		bool holds_at_seal;     /* new programs are held at a system call */
		uint32_t task_work_form; /* of the BPF object (features.h) */
		char refused[160];      /* libbpf's words where the kernel refused what its features allow; "" if it took the best */
	} facts;
	int maps[KERNEL_MAPS], programs[KERNEL_PROGRAMS];       /* -1: not loaded */
	int no_ring;                    /* a ring that takes nothing, in the places of closed slots */
	int lock;                       /* held while links are attached or closed */
	int links[KERNEL_PROGRAMS];     /* of tracepoints; -1: none */
	struct ioprobe_bpf__bss *globals;
};

/* Chooses the rings and creates their map; loads nothing. Returns 0 or -errno. */
int programs_create(struct programs **out, const struct program_options *options);
/* Loads and verifies everything; attaches nothing. The map of rings may be filled meanwhile. Returns 0 or -errno with one line in
 * err (what failed, why, the remedy). */
int programs_load(struct programs *programs, const struct table_set *set, const struct program_options *options, char *err,
		  size_t err_len);
void programs_destroy(struct programs *programs);       /* detaches what nobody else holds; NULL is fine */

/* Over a local socket, with the id of a recording. What is received is the receiver's; its maps and programs are the sender's, too.
 * Return 0 or -errno; -ENODATA: the socket has ended; -EBADMSG: it is no set. */
int programs_send(int socket, const struct programs *programs, uint32_t id);
int programs_receive(int socket, struct programs **out, uint32_t *id);
struct programs *programs_new(void);            /* an empty one, NULL without memory */
int programs_map(struct programs *programs);    /* makes globals, once their map is there; 0 or -errno */

/* Takes hold of the tracepoints' links, attaching those that no other process holds. Returns 0 or -errno with one line in err. */
int programs_attach(struct programs *programs, char *err, size_t err_len);
void programs_detach(struct programs *programs);

/* Sets that are attached on this node now, whoever loaded them. Returns their number or -errno (it takes CAP_SYS_ADMIN). */
int programs_count_attached(void);

/* A number that differs where tables would make different programs' descriptors of the same rows. */
uint64_t programs_checksum(const struct table_set *set);

struct iop_recording *programs_recordings(const struct programs *programs);     /* IOP_MAX_RECORDINGS, shared with the programs */
struct iop_hold *programs_holds(const struct programs *programs);               /* IOP_MAX_HOLDS, the same */
/* The kernel's ids of the programs from first up to end, those that are loaded. Returns how many. */
size_t programs_ids(const struct programs *programs, enum kernel_program first, enum kernel_program end, uint32_t *ids);
struct iop_site_counts programs_site_counts(const struct programs *programs);
uint64_t programs_faults_missed(const struct programs *programs);               /* page faults that could not be attributed */
/* Runs of tracepoint programs that the kernel skipped because one was already running on the CPU, for whatever process: as many
 * records may be missing, at most. */
uint64_t programs_missed(const struct programs *programs);

#endif
