/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The links of each process to the libraries that it maps. They belong to the process, so that no other process has breakpoints;
 * only for a library that many recorded processes share, links for all replace them, if that is allowed. See bpf/DESIGN.md.
 */
#ifndef IOPROBE_PROCESS_LINKS_H
#define IOPROBE_PROCESS_LINKS_H

#include "capture/libraries.h"
#include "bpf/links.h"

struct process_links;

/* Shared by all processes of a recording. */
struct link_sharing {
	struct libraries *libraries;
	struct bpf_side *kernel;
	struct hold_server *server;
	bool allowed;                   /* links for all are allowed */
	struct process_links *all;
	struct links replaced;          /* replaced by links for all, but kept: calls that are open return through them */
	uint64_t replaced_ns;
};

/* A library that the process has mapped. Links of a process survive an exec; `noted` refers to one program. */
struct process_library {
	struct library *library;
	bool noted;
	bool found;                     /* by the current search: is noted when all probes are in place */
	bool before;                    /* had its probes before the current search */
	bool own;                       /* has had its own links */
	bool postponed;                 /* has no probes yet: those of streams wait until the process has lived a while */
	struct links links[POINT_GROUPS];
	struct links member;            /* probes for all that are placed in this process */
};

struct process_links {
	struct link_sharing *sharing;
	pid_t pid;
	struct process_library **v;
	size_t n;
	bool demand;                    /* probes on demand are in place */
	unsigned off;                   /* bits: groups that are detached by the overhead limit */
	bool switches_stacks;           /* no return probes are attached to it */
	bool direct;                    /* probes for its own calls of layers that others use for it are in place; else withheld */
	bool withheld;
	struct process_links *prev, *next;
};

void process_links_init(struct process_links *links, struct link_sharing *sharing, pid_t pid);
void process_links_deinit(struct process_links *links);
/* Detaches everything. ended: the process has ended, or an exec has replaced the leader that the links belonged to. */
void process_links_forget(struct process_links *links, bool ended);

struct process_library *process_links_find(const struct process_links *links, const struct library *library);
/* Returns NULL without memory: the library must then not be attached, or it would be attached again. */
struct process_library *process_links_add(struct process_links *links, struct library *library);
/* Asks for the probes of one library, for libraries_place; on-demand probes only if they are in place elsewhere. */
void process_links_attach(struct process_links *links, struct process_library *entry);
/* Places the member's probes again if they went with the thread in whose name they were. Returns whether they did. */
bool process_links_join_again(struct process_links *links, struct process_library *entry);
/* Asks for the probes on demand, for libraries_place, or removes them. Returns their number. */
size_t process_links_demand(struct process_links *links, bool on);
/* Asks for the probes that were withheld, for libraries_place. */
void process_links_direct(struct process_links *links);
/* Replaces what is attached for this process alone, according to the current switches_stacks and the libraries' entries_only.
 * Returns whether anything was attached. */
bool process_links_replace(struct process_links *links);
void process_links_switch(struct process_links *links, enum point_group group, bool on);

/* Returns whether no probe may be placed: they would be in all processes, which is not allowed. */
bool link_sharing_forbids(const struct link_sharing *sharing);
void link_sharing_replace(struct link_sharing *sharing);        /* the same for all processes */
void link_sharing_step(struct link_sharing *sharing, uint64_t now_ns);  /* detaches links that were replaced long ago */
/* all links of processes; unwinders only if the flag is set */
void link_sharing_detach(struct link_sharing *sharing, bool unwinders);

#endif
