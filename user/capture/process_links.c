/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One entry per process and library. When links for all replace links per process, they are attached before they are used.
 */
#include "capture/process_links.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/rings.h"

/* Every link to a library makes each hit in every process more expensive (60 ns here): for more processes than this, one link
 * serves all, although untraced processes then pay for it too. Both kinds at once would be the worst: in an untraced process the
 * links of others would not decline the return probe. */
#define MAX_OWN_LINKS 8

/* Longer than most calls: a call that lasts longer is recorded as abandoned. */
#define REPLACED_NS 10000000000ull

void process_links_init(struct process_links *links, struct link_sharing *sharing, pid_t pid)
{
	*links = (struct process_links){ .sharing = sharing, .pid = pid, .next = sharing->all };
	if (links->next)
		links->next->prev = links;
	sharing->all = links;
}

void process_links_forget(struct process_links *links, bool ended)
{
	struct hold_server *server = links->sharing->server;
	struct links all = { 0 };

	for (size_t i = 0; i < links->n; i++) {
		for (int group = 0; group < POINT_GROUPS; group++)
			links_move(server, &all, &links->v[i]->links[group]);
		links_move(server, &all, &links->v[i]->member);
		links->v[i]->library->owners -= links->v[i]->own;
	}
	if (ended)
		links_reap(server, &all);
	else
		links_detach(server, &all);
	if (links->demand)
		process_links_demand(links, false);
	while (links->n)
		free(links->v[--links->n]);
	free(links->v);
	links->v = NULL;
	links->direct = false;
}

void process_links_deinit(struct process_links *links)
{
	process_links_forget(links, false);
	if (links->prev)
		links->prev->next = links->next;
	else
		links->sharing->all = links->next;
	if (links->next)
		links->next->prev = links->prev;
}

struct process_library *process_links_find(const struct process_links *links, const struct library *library)
{
	for (size_t i = 0; i < links->n; i++)
		if (links->v[i]->library == library)
			return links->v[i];
	return NULL;
}

struct process_library *process_links_add(struct process_links *links, struct library *library)
{
	struct process_library **v = realloc(links->v, (links->n + 1) * sizeof(*v));

	if (!v)
		return NULL;
	links->v = v;
	v[links->n] = calloc(1, sizeof(**v));
	if (!v[links->n])
		return NULL;
	v[links->n]->library = library;
	return v[links->n++];
}

/* ---- probes on demand ---- */

static size_t demand_library(struct process_links *links, struct process_library *entry, bool on)
{
	struct libraries *libraries = links->sharing->libraries;
	struct library *library = entry->library;
	size_t n = library->points[POINTS_DEMAND].n;

	if (n && library->for_all_ns)
		library_demand_for_all(libraries, library, on);
	else if (n && on)
		library_attach_own(libraries, library, POINTS_DEMAND, links->pid, links->switches_stacks,
				   &entry->links[POINTS_DEMAND]);
	return n;
}

size_t process_links_demand(struct process_links *links, bool on)
{
	size_t n = 0;

	for (size_t i = 0; i < links->n; i++) {
		n += demand_library(links, links->v[i], on);
		if (!on)
			links_detach(links->sharing->server, &links->v[i]->links[POINTS_DEMAND]);
	}
	links->demand = on && n;
	return n;
}

/* ---- probes of direct calls ---- */

static void direct_library(struct process_links *links, struct process_library *entry)
{
	struct libraries *libraries = links->sharing->libraries;
	struct library *library = entry->library;

	if (!library->points[POINTS_DIRECT].n || links->withheld || entry->links[POINTS_DIRECT].n)
		return;
	links->direct = true;
	if (library->for_all_ns)
		library_direct_for_all(libraries, library);
	else
		library_attach_own(libraries, library, POINTS_DIRECT, links->pid, links->switches_stacks,
				   &entry->links[POINTS_DIRECT]);
}

void process_links_direct(struct process_links *links)
{
	links->withheld = false;
	for (size_t i = 0; i < links->n; i++)
		if (!links->v[i]->postponed)
			direct_library(links, links->v[i]);
}

/* ---- links for all ---- */

static bool wants_links_for_all(const struct link_sharing *sharing, const struct library *library)
{
	if (bpf_side_method(sharing->kernel) == ATTACH_PERF)
		return true;    /* cannot be attached for one process */
	return sharing->allowed && library->number && (library->owners >= MAX_OWN_LINKS || library->planned > MAX_OWN_LINKS);
}

static void replace_own_links(struct process_links *links, struct process_library *entry)
{
	for (int group = 0; group < POINT_GROUPS; group++)
		if (group != POINTS_LINKER)
			links_move(links->sharing->server, &links->sharing->replaced, &entry->links[group]);
}

/* Unwinders that were asked for before are placed before. */
static void attach_for_all(struct link_sharing *sharing, struct library *library)
{
	struct process_library *entry;

	libraries_place(sharing->libraries);
	library_attach_for_all(sharing->libraries, library);
	library->for_all_ns = monotonic_ns();
	for (struct process_links *links = sharing->all; links; links = links->next) {
		entry = process_links_find(links, library);
		if (entry && links->demand)
			demand_library(links, entry, true);
		if (!entry || links->withheld || !library->points[POINTS_DIRECT].n)
			continue;
		links->direct = true;
		library_direct_for_all(sharing->libraries, library);
	}
	libraries_place(sharing->libraries);
	bpf_side_links_for_all(sharing->kernel, library->number);
	library->for_all_ns = monotonic_ns();
	sharing->replaced_ns = library->for_all_ns;
	for (struct process_links *links = sharing->all; links; links = links->next)
		if ((entry = process_links_find(links, library)))
			replace_own_links(links, entry);
}

/* ---- one process ---- */

/* The unwinder first: no return address may be replaced before it can be restored. */
static void attach_own(struct process_links *links, struct process_library *entry)
{
	static const enum point_group order[] = { POINTS_UNWIND, POINTS_OWN, POINTS_STREAM_DATA, POINTS_STREAM_BYTES };
	struct library *library = entry->library;

	if (!entry->own && library->plan.npoints) {
		entry->own = true;
		library->owners++;
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (!(links->off & 1u << order[i]))
			library_attach_own(links->sharing->libraries, library, order[i], links->pid, links->switches_stacks,
					   &entry->links[order[i]]);
}

static void process_links_join(struct process_links *links, struct process_library *entry)
{
	if (entry->library->plan.npoints && !entry->member.n)
		library_join(links->sharing->libraries, entry->library, links->pid, false, &entry->member);
}

bool process_links_join_again(struct process_links *links, struct process_library *entry)
{
	struct links old = entry->member;
	bool same;

	if (!old.n)
		return false;
	entry->member = (struct links){ 0 };
	library_join(links->sharing->libraries, entry->library, links->pid, true, &entry->member);
	libraries_place(links->sharing->libraries);
	same = entry->member.n && entry->member.v[0] == old.v[0];
	if (same)
		free(old.v);
	else
		links_detach(links->sharing->server, &old);
	return !same;
}

bool link_sharing_forbids(const struct link_sharing *sharing)
{
	return bpf_side_method(sharing->kernel) == ATTACH_PERF && !sharing->allowed && !hold_server_has_members(sharing->server);
}

void process_links_attach(struct process_links *links, struct process_library *entry)
{
	struct library *library = entry->library;
	bool members = hold_server_has_members(links->sharing->server);

	if (link_sharing_forbids(links->sharing)) {
		library_note_forbidden(library);
		return;
	}
	if (!library->for_all_ns && library->plan.npoints && wants_links_for_all(links->sharing, library)) {
		attach_for_all(links->sharing, library);
		if (members)
			process_links_join(links, entry);
		return;
	}
	if (library->for_all_ns && members)
		process_links_join(links, entry);
	if (!library->for_all_ns)
		attach_own(links, entry);
	direct_library(links, entry);
	if (links->demand)
		demand_library(links, entry, true);
}

void process_links_switch(struct process_links *links, enum point_group group, bool on)
{
	links->off ^= 1u << group;
	for (size_t i = 0; i < links->n; i++) {
		struct process_library *entry = links->v[i];

		if (!on)
			links_detach(links->sharing->server, &entry->links[group]);
		else if (!entry->library->for_all_ns && !entry->postponed)
			library_attach_own(links->sharing->libraries, entry->library, group, links->pid, links->switches_stacks,
					   &entry->links[group]);
	}
	libraries_place(links->sharing->libraries);
}

bool process_links_replace(struct process_links *links)
{
	static const enum point_group calls[] = { POINTS_OWN, POINTS_STREAM_DATA, POINTS_STREAM_BYTES, POINTS_DEMAND,
						  POINTS_DIRECT };
	bool any = false;

	for (size_t i = 0; i < links->n; i++) {
		struct process_library *entry = links->v[i];

		for (size_t g = 0; g < sizeof(calls) / sizeof(calls[0]); g++) {
			if (!entry->links[calls[g]].n)
				continue;
			any = true;
			links_detach(links->sharing->server, &entry->links[calls[g]]);
			library_attach_own(links->sharing->libraries, entry->library, calls[g], links->pid, links->switches_stacks,
					   &entry->links[calls[g]]);
		}
	}
	libraries_place(links->sharing->libraries);
	return any;
}

/* ---- all ---- */

void link_sharing_replace(struct link_sharing *sharing)
{
	links_detach(sharing->server, &sharing->replaced);
	libraries_place(sharing->libraries);    /* what is for all */
	for (struct process_links *links = sharing->all; links; links = links->next)
		process_links_replace(links);
}

void link_sharing_step(struct link_sharing *sharing, uint64_t now_ns)
{
	if (sharing->replaced.n && now_ns - sharing->replaced_ns >= REPLACED_NS)
		links_detach(sharing->server, &sharing->replaced);
}

void link_sharing_detach(struct link_sharing *sharing, bool unwinders)
{
	for (struct process_links *links = sharing->all; links; links = links->next)
		for (size_t i = 0; i < links->n; i++)
			for (int group = 0; group < POINT_GROUPS; group++)
				if (unwinders || group != POINTS_UNWIND)
					links_detach(sharing->server, &links->v[i]->links[group]);
	links_detach(sharing->server, &sharing->replaced);
}
