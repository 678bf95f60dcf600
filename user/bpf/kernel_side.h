/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A recording's side of the BPF programs: a slot in a set of them, which is its own or shared, with rings and counts.
 */
#ifndef IOPROBE_KERNEL_SIDE_H
#define IOPROBE_KERNEL_SIDE_H

#include <ioprobe/recording.h>
#include <ioprobe/demand.h>
#include <ioprobe/request.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/programs.h"
#include "table/table.h"

struct kernel_side;

struct kernel_options {
	struct program_options programs;        /* of a set of one's own */
	uint64_t hold_limit_ns;         /* new programs wait so long for their probes at most */
	bool users_rights_only;         /* programs with rights that their user does not have are not recorded, but counted */
};

/* Loads and verifies a set of programs for one recording; attaches nothing. Returns 0 or -errno with one line in err (what failed,
 * why, the remedy). */
int kernel_side_create(struct kernel_side **out, const struct table_set *set, const struct kernel_options *options,
		       char *err, size_t err_len);
/* The same with a set that is shared: the id's slot must be free. Takes the programs over, unless it fails. Returns 0 or -errno. */
int kernel_side_open(struct kernel_side **out, struct programs *programs, uint32_t id, const struct kernel_options *options);
void kernel_side_destroy(struct kernel_side *kernel);   /* detaches what is attached; NULL is fine */

/* What whoever gives the slots away does for a recorder that died: no thread is recorded with this id any more, and none of its
 * rings is used. Nothing happens if that was done already. Returns 0 or -errno. */
int kernel_side_close_slot(struct programs *programs, uint32_t id);

/* Attaches the life of processes (fork, exec, exit) and the system calls. Returns 0 or -errno with one line in err. */
int kernel_side_attach(struct kernel_side *kernel, char *err, size_t err_len);
/* Ends that: all records are in the rings when it returns. */
void kernel_side_stop(struct kernel_side *kernel);

/* Whether another recording of the same set has the process, which can be in one only. */
bool kernel_side_is_foreign(const struct kernel_side *kernel, pid_t tgid);

/* Makes every thread of a process traced, those too that it makes meanwhile. -EBUSY: another recording has it. */
int kernel_side_take(struct kernel_side *kernel, pid_t tgid);
/* This process is taken at its next exec. */
void kernel_side_take_at_exec(struct kernel_side *kernel, pid_t tgid);
/* From the next exec on, processes of this owner and environment are taken (needs options.programs.recognise). */
void kernel_side_await(struct kernel_side *kernel, const struct iop_awaited *awaited);

/* Processes that map this file need no attention any more. dev as in stat(2). */
void kernel_side_looked_at(struct kernel_side *kernel, uint64_t dev, uint64_t ino);

/* From now on links for all to the library of this number count, and those of one process no more (IOP_COOKIE_OWN). */
void kernel_side_links_for_all(struct kernel_side *kernel, unsigned library);

/* Probes with these descriptor flags are being detached from a process: calls of theirs that are open will not be seen to
 * return. 0: none. */
void kernel_side_set_off(struct kernel_side *kernel, pid_t tgid, uint32_t flags);

/* Calls of this process are recorded at their entry only, as are those of the processes that it forks; tgid 0: of all. */
void kernel_side_set_entry_only(struct kernel_side *kernel, pid_t tgid, enum iop_entry_only from);

/* Where the process has constants that are to be sent; NULL: they are not wanted any more. */
void kernel_side_want_constants(struct kernel_side *kernel, pid_t tgid, const struct iop_constants *constants);
/* Probes on demand: what the kernel side knows of a process that wants or has them. _demand and _end_demand return whether it
 * does; the latter makes the next call of such a layer want them anew. */
void kernel_side_set_demand(struct kernel_side *kernel, pid_t tgid, const struct iop_demand *demand);
bool kernel_side_demand(struct kernel_side *kernel, pid_t tgid, struct iop_demand *demand);
bool kernel_side_end_demand(struct kernel_side *kernel, pid_t tgid, struct iop_demand *demand);

/* Threads begin to wait for answers only while these come, every 20 ms or so (CLOCK_MONOTONIC), and wait while the server's do. */
enum kernel_beat { KERNEL_BEAT_SERVER, KERNEL_BEAT_RECORDER };
void kernel_side_beat(struct kernel_side *kernel, enum kernel_beat whose, uint64_t now_ns);
uint64_t kernel_side_last_beat(const struct kernel_side *kernel);       /* the recorder's */
/* Ends the wait of a thread that asked for something. False: it waits no more. */
bool kernel_side_answer(struct kernel_side *kernel, const struct iop_hold_id *id);
/* Between these two the thread waits until the second, so its stack may be written. False: it waits no more, nothing may be. */
bool kernel_side_begin_writing(struct kernel_side *kernel, const struct iop_hold_id *id);
void kernel_side_end_writing(struct kernel_side *kernel, const struct iop_hold_id *id);
/* When the thread gave up waiting; 0: unknown. */
uint64_t kernel_side_gave_up(const struct kernel_side *kernel, const struct iop_hold_id *id);
/* Whether new programs are held at a system call; else, and to learn of mapped code where system calls are not traced, probes on
 * dynamic linkers' rendezvous are needed. */
bool kernel_side_holds_at_seal(const struct kernel_side *kernel);

enum attach_method kernel_side_method(const struct kernel_side *kernel);
/* libbpf's words on programs that the kernel refused although its features allow them; "" if it took the best. */
const char *kernel_side_refused(const struct kernel_side *kernel);
/* Ids of the programs that end with this recording: none of those that it shares. Returns how many. */
size_t kernel_side_program_ids(const struct kernel_side *kernel, uint32_t ids[KERNEL_PROGRAMS]);
/* Closes the descriptors of those that see library calls: they end with their last link, and nothing can be attached to them
 * afterwards. Returns how many there were. */
size_t kernel_side_close_call_programs(struct kernel_side *kernel, uint32_t ids[KERNEL_PROGRAMS]);
/* The descriptors that a hold server needs: programs that links are made to, rings of requests. Returns how many. */
#define KERNEL_SERVER_FDS (PROGRAM_RENDEZVOUS + 1 + IOP_REQUEST_RINGS)
size_t kernel_side_server_fds(const struct kernel_side *kernel, int fds[KERNEL_SERVER_FDS]);
/* Bits for the cookie of every link, by which programs know whose it is. */
uint64_t kernel_side_cookie(const struct kernel_side *kernel);
int kernel_side_program_fd(const struct kernel_side *kernel, enum kernel_program program);      /* -1: this kernel has it not */

/* Map descriptors, for libbpf's ring_buffer. */
size_t kernel_side_rings(const struct kernel_side *kernel);
int kernel_side_ring_fd(const struct kernel_side *kernel, size_t i);
int kernel_side_probe_requests_fd(const struct kernel_side *kernel);
int kernel_side_return_requests_fd(const struct kernel_side *kernel);

/* Call sites (capture/sites.h): descriptors of the ring of asks and of the map of rules; the number that a process' code has now, by
 * its slot, 0: it is just changing; what was counted. */
int kernel_side_site_asks_fd(const struct kernel_side *kernel);
int kernel_side_set_rule(const struct kernel_side *kernel, uint32_t image, uint64_t pc, const struct iop_site_rule *rule);
uint32_t kernel_side_image(const struct kernel_side *kernel, uint32_t process);
struct iop_site_counts kernel_side_site_counts(const struct kernel_side *kernel);

/* Whether any system call is wanted. If not, their tracepoints are not attached, and mapped code is told by the dynamic linker's
 * probe. */
bool kernel_side_traces_syscalls(const struct kernel_side *kernel);

/* The sum over all CPUs. Returns 0 or -errno. */
int kernel_side_left_out(const struct kernel_side *kernel, size_t layer, enum iop_filter filter, struct iop_left_out *sum);

/* Whether operations of io_uring can be followed, or are not wanted; their system calls are recorded in any case. */
bool kernel_side_follows_uring(const struct kernel_side *kernel);

/* Page faults on one mapped file, and pages of it that the kernel has written back. */
struct mapped_file { uint64_t dev, ino, read_faults, write_faults, written_back; bool left_out; };

/* Calls fn for each. Returns the number of faults that could not be attributed. */
uint64_t kernel_side_mapped_files(const struct kernel_side *kernel, void (*fn)(void *arg, const struct mapped_file *file),
				  void *arg);

/* lost: records that found their ring full, and runs of programs that the kernel skipped (missed_programs): each would have sent
 * one at most, of a recorded process or of none. */
struct kernel_counts {
	uint64_t lost, untracked, unwinds_late, holds_late, no_process_slot, waits_not_followed, privileged,
		entry_only, unread_environments, compat_programs, compat_calls, missed_programs;
};
int kernel_side_counts(const struct kernel_side *kernel, struct kernel_counts *counts);

#endif
