/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Probes that are defined in tracefs, and perf events on them. A probe is in those processes only for which it has an event. A
 * definition without an event has no effect, but it survives its owner and keeps its file's file system busy.
 */
#ifndef IOPROBE_PROBE_EVENTS_H
#define IOPROBE_PROBE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A definition's name has its place: GROUP/eN_DEVICE_INODE of its file. */
struct probe_definition {
	char name[120];
	int event;
	uint64_t device, inode, offset;
	bool is_return;
};

struct probe_definitions { struct probe_definition *v; size_t n, cap; };

struct probe_events {
	int tracefs, list;      /* descriptors: the root directory, the list of definitions */
	unsigned defined;
	struct probe_definitions own;   /* all that were defined, or adopted */
	struct probe_definitions left;  /* of recordings that have ended, and that the kernel has not given up yet */
	char group[56];         /* named after the process, so that others can remove what it left */
};

/* Returns 0 or -errno. */
int probe_events_open(struct probe_events *events);
void probe_events_close(struct probe_events *events);
/* Names the group after the calling process, and removes the definitions of others that have ended, or notes that they may be
 * adopted. */
void probe_events_begin(struct probe_events *events);

/* Adopts a definition that another recording has left, or makes one. Returns the number of its event, for probe_event_open, or
 * -errno. */
int probe_events_define(struct probe_events *events, bool is_return, const char *path, uint64_t offset);
/* Removes the n-th definition, from 0. Returns 0, or -errno (-EBUSY: an event uses it). */
int probe_events_undefine(const struct probe_events *events, unsigned n);

/* Bytes of the list are locks on definitions, at the number of the event. The recording whose programs are linked to it has one
 * alone; all that have an event on it, for which the kernel keeps it, share another one. From probe_events_release on others may
 * adopt this recording's. probe_events_claim takes back the n-th one to remove it, or returns false: another one uses it, and will
 * remove it; then it is to be forgotten. */
void probe_events_release(const struct probe_events *events);
bool probe_events_claim(const struct probe_events *events, unsigned n);
void probe_events_forget(const struct probe_events *events, unsigned n);

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
