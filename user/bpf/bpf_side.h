/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A recording's interface to the BPF programs: a slot in a set of them, which is its own or shared, with rings and counters.
 */
#ifndef IOPROBE_BPF_SIDE_H
#define IOPROBE_BPF_SIDE_H

#include <ioprobe/recording.h>
#include <ioprobe/demand.h>
#include <ioprobe/request.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/programs.h"
#include "table/table.h"

struct bpf_side;

struct kernel_options {
	struct program_options programs;        /* for a set of the recording's own */
	uint64_t hold_limit_ns;         /* longest time that new programs wait for their probes */
	bool users_rights_only;         /* set-uid and otherwise privileged programs are not recorded, only counted */
};

/* Loads and verifies a set of programs for one recording; attaches nothing. Returns 0 or -errno with one line in err (action,
 * reason, remedy). */
int bpf_side_create(struct bpf_side **out, const struct table_set *set, const struct kernel_options *options,
		       char *err, size_t err_len);
/* The same with a shared set: the id's slot must be free. On success takes ownership of the programs. Returns 0 or -errno. */
int bpf_side_open(struct bpf_side **out, struct programs *programs, uint32_t id, const struct kernel_options *options);
void bpf_side_destroy(struct bpf_side *kernel);   /* detaches what is attached; NULL is allowed */

/* Closes the slot of a recorder that died, for the owner of the slots: no thread is recorded with this id any more, and its rings
 * are no longer used. Idempotent. Returns 0 or -errno. */
int bpf_side_close_slot(struct programs *programs, uint32_t id);
/* What the hold server does for a recorder that died, since there may be no service that knows its slot: no thread is
 * recorded with this id any more. The rings stay in their places: the slot may have been given away meanwhile. In a set of
 * the recording's own, too: no return probe is placed any more. */
void bpf_side_leave_slot(struct bpf_side *kernel);

/* Attaches the tracepoints of processes (fork, exec, exit) and system calls. Returns 0 or -errno with one line in err. */
int bpf_side_attach(struct bpf_side *kernel, char *err, size_t err_len);
/* Detaches them: all records are in the rings when it returns. */
void bpf_side_stop(struct bpf_side *kernel);

const struct programs *bpf_side_programs(const struct bpf_side *kernel);
bool bpf_side_is_shared(const struct bpf_side *kernel);   /* the set of programs is shared with other recordings */

/* Returns whether the process belongs to another recording of the same set; it can be in only one. */
bool bpf_side_is_foreign(const struct bpf_side *kernel, pid_t tgid);

/* Includes every thread of a process, including those that it creates meanwhile. -EBUSY: it belongs to another recording. */
int bpf_side_take(struct bpf_side *kernel, pid_t tgid);
/* Includes this process at its next exec. */
void bpf_side_take_at_exec(struct bpf_side *kernel, pid_t tgid);
/* From the next exec on, includes processes with this owner and environment (needs options.programs.recognise). */
void bpf_side_await(struct bpf_side *kernel, const struct iop_job_matcher *job_matcher);

/* Processes that map this file need no further work. dev as in stat(2). */
void bpf_side_looked_at(struct bpf_side *kernel, uint64_t dev, uint64_t ino);

/* From now on the links for all to the library of this number are used, and those of single processes are ignored
 * (IOP_COOKIE_OWN). */
void bpf_side_links_for_all(struct bpf_side *kernel, unsigned library);

/* The process that measures what calls cost; 0: none any more. */
void bpf_side_set_measuring(struct bpf_side *kernel, pid_t tgid);
/* To be called by that process, which may be a fork of one with threads: takes no lock. Returns what the BPF programs answer
 * (enum iop_measure); 0 also if they cannot be run. */
uint32_t bpf_side_measure(const struct bpf_side *kernel, const uint64_t request[IOP_MEASURE_WORDS]);

/* Probes with these descriptor flags are being detached from a process: their open calls will not be seen to return. 0: none. */
void bpf_side_set_off(struct bpf_side *kernel, pid_t tgid, uint32_t flags);

/* Calls of this process, and of its later children, are recorded at their entry only; tgid 0: of all processes. */
void bpf_side_set_entry_only(struct bpf_side *kernel, pid_t tgid, enum iop_entry_only from);

/* Probes that only the process' own calls of a layer need are withheld: its first such call waits (IOP_HOLD_DIRECT). Returns
 * whether that is so. */
bool bpf_side_withhold(struct bpf_side *kernel, pid_t tgid);
/* Returns when the process began a wait for them that was in vain, and went on without (CLOCK_MONOTONIC); 0: it did not. */
uint64_t bpf_side_end_withholding(struct bpf_side *kernel, pid_t tgid);

/* Sets the addresses of the process' constants, which are to be sent; NULL: no longer. */
void bpf_side_want_constants(struct bpf_side *kernel, pid_t tgid, const struct iop_constants *constants);
/* Probes on demand: state of a process that has or has requested them. _demand and _end_demand return whether there is one; after
 * the latter the next call of such a layer requests them again. */
void bpf_side_set_demand(struct bpf_side *kernel, pid_t tgid, const struct iop_demand *demand);
bool bpf_side_demand(struct bpf_side *kernel, pid_t tgid, struct iop_demand *demand);
bool bpf_side_end_demand(struct bpf_side *kernel, pid_t tgid, struct iop_demand *demand);

/* Threads begin to wait for answers only while both heartbeats come, about every 20 ms (CLOCK_MONOTONIC), and keep waiting while
 * the server's does. */
enum kernel_beat { KERNEL_BEAT_SERVER, KERNEL_BEAT_RECORDER };
void bpf_side_beat(struct bpf_side *kernel, enum kernel_beat whose, uint64_t now_ns);
uint64_t bpf_side_last_beat(const struct bpf_side *kernel, enum kernel_beat whose);       /* 0: none yet, or it has ended */
/* Ends the wait of a thread that sent a request. Returns false if it no longer waits. */
bool bpf_side_answer(struct bpf_side *kernel, const struct iop_hold_id *id);
struct iop_hold *bpf_side_holds(const struct bpf_side *kernel);         /* entries of waiting threads, IOP_MAX_HOLDS */
/* Returns when the thread gave up waiting; 0: unknown. */
uint64_t bpf_side_gave_up(const struct bpf_side *kernel, const struct iop_hold_id *id);
/* Returns whether new programs are held at a system call. If not, and to learn of mapped code if system calls are not traced,
 * probes on the dynamic linker's rendezvous are needed. */
bool bpf_side_holds_at_seal(const struct bpf_side *kernel);

enum attach_method bpf_side_method(const struct bpf_side *kernel);
/* Returns libbpf's message on programs that the kernel refused although its features allow them; "" if the best method was
 * accepted. */
const char *bpf_side_refused(const struct bpf_side *kernel);
/* Lists ids of the programs that end with this recording: not those that are shared. Returns their number. */
size_t bpf_side_program_ids(const struct bpf_side *kernel, uint32_t ids[KERNEL_PROGRAMS]);
/* Closes the descriptors of the programs for library calls: they end with their last link, and nothing can be attached to them
 * afterwards. Returns their number. */
size_t bpf_side_close_call_programs(struct bpf_side *kernel, uint32_t ids[KERNEL_PROGRAMS]);
/* Lists the ids of the programs for library calls, which place return probes. Returns their number. */
size_t bpf_side_call_program_ids(const struct bpf_side *kernel, uint32_t ids[KERNEL_PROGRAMS]);
/* In the hold server: closes this descriptor of a program. */
void bpf_side_close_program(struct bpf_side *kernel, int fd);
/* In the hold server, which outlives the recording: closes what bpf_side_server_fds lists and gives up the memory of the
 * programs. */
void bpf_side_release(struct bpf_side *kernel);
/* Lists the descriptors that a hold server needs: programs for links, rings of requests. Returns their number. */
#define KERNEL_SERVER_FDS (PROGRAM_RENDEZVOUS + 1 + IOP_REQUEST_RINGS)
size_t bpf_side_server_fds(const struct bpf_side *kernel, int fds[KERNEL_SERVER_FDS]);
/* Returns the cookie bits for every link, by which programs recognise the recording. */
uint64_t bpf_side_cookie(const struct bpf_side *kernel);
int bpf_side_program_fd(const struct bpf_side *kernel, enum kernel_program program); /* -1: not supported by this kernel */

/* Map descriptors for libbpf's ring_buffer. */
size_t bpf_side_rings(const struct bpf_side *kernel);
int bpf_side_ring_fd(const struct bpf_side *kernel, size_t i);
int bpf_side_probe_requests_fd(const struct bpf_side *kernel);
int bpf_side_return_requests_fd(const struct bpf_side *kernel);

/* Call sites (capture/sites.h): descriptors of the ring of requests and of the map of rules; the current image number of a process'
 * code, by its slot, 0: being changed; counters. */
int bpf_side_site_asks_fd(const struct bpf_side *kernel);
int bpf_side_set_rule(const struct bpf_side *kernel, uint32_t image, uint64_t pc, const struct iop_site_rule *rule);
uint32_t bpf_side_image(const struct bpf_side *kernel, uint32_t process);
/* The same of a process by its pid; 0 also if it is not known to be recorded. */
uint32_t bpf_side_image_of(const struct bpf_side *kernel, pid_t tgid, uint32_t *process);
int bpf_side_set_python(const struct bpf_side *kernel, uint32_t image, const struct iop_python *python);
struct iop_site_counts bpf_side_site_counts(const struct bpf_side *kernel);
uint32_t bpf_side_last_site(const struct bpf_side *kernel);     /* the highest number of a node or call */
uint32_t bpf_side_node_room(const struct bpf_side *kernel);     /* size of the map of nodes */

/* The images that processes have at this moment, in ascending order. v is to be freed, also on error. Returns 0 or -errno. */
struct image_numbers { uint32_t *v; size_t n; };
int bpf_side_images(const struct bpf_side *kernel, struct image_numbers *images);
bool image_numbers_have(const struct image_numbers *numbers, uint32_t number);
/* Drops rules, nodes and code objects of all other images. *nodes: how many nodes remain. Returns 0 or -errno. */
int bpf_side_keep_images(const struct bpf_side *kernel, const struct image_numbers *images, size_t *nodes);

/* Returns whether any system call is recorded. If not, their tracepoints are not attached, and mapped code is reported by the
 * dynamic linker's probe. */
bool bpf_side_traces_syscalls(const struct bpf_side *kernel);

/* Sums up over all CPUs what was excluded of processes for which there was no room. Returns 0 or -errno. */
int bpf_side_excluded(const struct bpf_side *kernel, size_t layer, enum iop_filter filter, struct iop_excluded *sum);
/* Calls fn for each process, layer and filter of the recording with excluded calls. Returns 0 or -errno. */
int bpf_side_excluded_each(const struct bpf_side *kernel,
			   int (*fn)(void *arg, const struct iop_excluded_key *key, const struct iop_excluded *sum), void *arg);
/* Removes the counts of a process that has ended. Returns 0, with the sum of what was counted until then, or -errno. */
int bpf_side_excluded_remove(const struct bpf_side *kernel, const struct iop_excluded_key *key, struct iop_excluded *sum);

/* Returns whether operations of io_uring can be tracked, or are not selected; their system calls are recorded in any case. */
bool bpf_side_follows_uring(const struct bpf_side *kernel);

/* Page faults on one mapped file, and number of its pages that the kernel has written back. */
struct mapped_file { uint64_t dev, ino, read_faults, write_faults, written_back; bool excluded; };

/* Calls fn for each. Returns the number of faults that could not be attributed. */
uint64_t bpf_side_mapped_files(const struct bpf_side *kernel, void (*fn)(void *arg, const struct mapped_file *file),
				  void *arg);

/* lost: records dropped by a full ring, and runs of programs that the kernel skipped (missed_programs): each of those would have
 * sent at most one record, perhaps of a process that is not recorded. */
struct kernel_counts {
	uint64_t lost, untracked, unwinds_late, holds_late, no_process_slot, waits_not_followed, privileged,
		entry_only, unread_environments, compat_programs, compat_calls, fd_unordered, missed_programs;
};
int bpf_side_counts(const struct bpf_side *kernel, struct kernel_counts *counts);

#endif
