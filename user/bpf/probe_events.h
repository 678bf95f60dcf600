/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Probes that are defined in tracefs, and perf events on them. A probe is in those processes only for which it has an event. A
 * definition without an event has no effect, but it survives its owner and keeps its file's file system busy.
 */
#ifndef IOPROBE_PROBE_EVENTS_H
#define IOPROBE_PROBE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct probe_events {
	int tracefs, list;      /* descriptors: the root directory, the list of definitions */
	unsigned defined;       /* definitions have the names e1 … eN */
	char group[56];         /* named after the process, so that others can remove what it left */
};

/* Returns 0 or -errno. */
int probe_events_open(struct probe_events *events);
void probe_events_close(struct probe_events *events);
/* Names the group after the calling process, and removes the definitions of others that have ended. */
void probe_events_begin(struct probe_events *events);

/* Returns the number of the new event, for probe_event_open, or -errno. */
int probe_events_define(struct probe_events *events, bool is_return, const char *path, uint64_t offset);
/* Removes the definition eN. Returns 0, or -errno (-EBUSY: an event uses it). */
int probe_events_undefine(const struct probe_events *events, unsigned n);

/* The kernel removes a probe, when its last event is closed, under a lock that every new event needs, and holds that for 0.1 s. So
 * those who remove probes do it one after the other, and not while anybody places some. */
void probe_events_lock_placing(const struct probe_events *events);      /* by many at a time; waits one second at most */
void probe_events_lock_removing(const struct probe_events *events);     /* by one, who is alone */
void probe_events_unlock(const struct probe_events *events);
/* Waits until no other process removes probes. Returns a descriptor to be closed afterwards, or -errno. */
int probe_events_await_turn(const struct probe_events *events);

/* Opens an event that places the probe in the address space of a thread. It is never scheduled, and belongs to the group of a
 * leader if that is not -1. Returns a descriptor or -errno. */
int probe_event_open(int event, pid_t tid, int leader);
/* Opens an event that places no probe, as long as the process does not execute a program. Returns a descriptor or -errno. */
int probe_event_keep(int event, pid_t pid);
/* Opens the leader of a group: what the kernel looks at when it switches to the thread, instead of each event. */
int probe_event_lead(pid_t tid);

#endif
