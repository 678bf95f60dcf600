/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Perf events in recorded processes only: each probe is defined once, with the link to its program, and is placed in the processes
 * that have an event of it, its members. Part of the hold server. See bpf/DESIGN.md, "Perf events".
 */
#ifndef IOPROBE_MEMBERS_H
#define IOPROBE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/link_request.h"

struct members;
struct programs;

/* Before the fork of the hold server: both processes must hold the events, so that they outlive each of them. Returns 0 or -errno:
 * this kernel, or our privileges, allow perf events in all processes only. programs must outlive them (map_calls.h). */
int members_create(struct members **out, const struct programs *programs);
void members_destroy(struct members *members);          /* NULL is allowed */
/* Lists the descriptors that the hold server needs. Returns their number. */
#define MEMBERS_FDS 4
size_t members_fds(const struct members *members, int fds[MEMBERS_FDS]);

/* ---- in the hold server's thread that makes links ---- */

void members_begin(struct members *members, int mount_fd);
/* Defines the probe of a request and places it in the members of its file; is_call: its program sees calls, it does not serve
 * unwinders. Returns its number with LINK_OF_SERVER, or -errno. */
int members_define(struct members *members, const struct link_request *request, bool is_call);
/* Places the probes of a file in a process. Returns the member's number with LINK_OF_SERVER, or -errno (-ENOSPC: too many). */
int members_join(struct members *members, const struct link_request *request);
/* At the end of each message. */
void members_end_message(struct members *members);
/* No process on the node removes such probes from the first request on until members_idle is called, which should be soon: when
 * there was none for MEMBERS_IDLE_MS. */
#define MEMBERS_IDLE_MS 300
bool members_are_busy(const struct members *members);
void members_idle(struct members *members);
/* Removes a probe from its members, or the probes of a file from a member. */
void members_close(struct members *members, int number);
/* Removes the probes on calls from all members, then their links; returns when the kernel has begun to forget them. */
void members_close_calls(struct members *members);
/* Lists where the file's unwinders are. Returns their number. */
size_t members_unwinders(const struct members *members, const char *path, uint64_t *offsets, size_t max);

/* When the recorder has ended: removes everything, leaving the definitions, which the kernel does not give up yet, to a process of
 * its own. release is called in that process. */
void members_end(struct members *members, void (*release)(void *arg), void *arg);

#endif
