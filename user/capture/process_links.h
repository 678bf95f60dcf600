/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The links of each process to the libraries that it maps. They are the process' own, so that no other has breakpoints; only of a
 * library that many recorded processes share, links for everybody take over, if that is allowed. See bpf/DESIGN.md.
 */
#ifndef IOPROBE_PROCESS_LINKS_H
#define IOPROBE_PROCESS_LINKS_H

#include "capture/libraries.h"
#include "bpf/links.h"

struct process_links;

/* All processes of a recording. */
struct link_sharing {
	struct libraries *libraries;
	struct kernel_side *kernel;
	struct hold_server *server;
	bool allowed;                   /* links for everybody */
	struct process_links *all;
	struct links replaced;          /* by links for everybody: calls that are open return through them */
	uint64_t replaced_ns;
};

/* A library that the process has mapped. Links to a process outlive its exec; `noted` is about one program. */
struct process_library {
	struct library *library;
	bool noted;
	bool own;                       /* has had links of its own */
	struct links links[POINT_GROUPS];
};

struct process_links {
	struct link_sharing *sharing;
	pid_t pid;
	struct process_library *v;
	size_t n;
	bool demand;                    /* probes on demand are in place */
	unsigned off;                   /* bits: groups that are turned off */
	bool switches_stacks;           /* it gets no return probes */
	struct process_links *prev, *next;
};

void process_links_init(struct process_links *links, struct link_sharing *sharing, pid_t pid);
void process_links_deinit(struct process_links *links);
/* Detaches everything: the links were those of a leader that an exec has replaced, or the process has ended. */
void process_links_forget(struct process_links *links);

struct process_library *process_links_find(const struct process_links *links, const struct library *library);
/* NULL without memory: then it must not be attached, or it would be attached again. Pointers to others become invalid. */
struct process_library *process_links_add(struct process_links *links, struct library *library);
/* Places the probes of one library, demanded ones only if they are in place elsewhere. 0 or -errno (-ESRCH: the process is gone). */
int process_links_attach(struct process_links *links, struct process_library *entry);
/* Places the probes on demand, or takes them away. Returns how many there are. */
size_t process_links_demand(struct process_links *links, bool on);
/* Exchanges what is attached for this process alone, as switches_stacks or the libraries' entries_only have it now. Returns whether
 * anything was. */
bool process_links_replace(struct process_links *links);
void process_links_switch(struct process_links *links, enum point_group group, bool on);

void link_sharing_replace(struct link_sharing *sharing);        /* the same of all processes */
void link_sharing_step(struct link_sharing *sharing, uint64_t now_ns);  /* detaches links that were replaced long ago */
void link_sharing_detach(struct link_sharing *sharing, bool unwinders); /* all links of processes, unwinders only with the flag */

#endif
