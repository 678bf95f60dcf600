/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The events are kept in maps: the kernel closes them in a worker when the last holder of the map ends, however that happens.
 * Closing an event is quick as long as another one of its definition is open; the last one takes the kernel 0.1 s, under a lock
 * that new events need. So each definition has an event without a process, its keeper, until the recording has ended.
 */
#include "bpf/members.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/map_calls.h"
#include "bpf/probe_events.h"
#include "bpf/rings.h"

#define MAX_EVENTS (128 << 10)          /* of all members: 1.3 KiB of the kernel's memory each */
#define MAX_DEFINITIONS (16 << 10)
#define NO_DEFINITION SIZE_MAX
#define SETTLE_MS 50                    /* until the kernel's worker has closed what was removed from the map */
#define REMOVE_PAUSE_MS 100             /* between two definitions, so that who places probes gets the lock */
#define RETRY_PAUSE_MS 20
#define REMOVE_LIMIT 100                /* attempts to remove one */

struct definition {
	char path[sizeof(((struct link_request *)0)->path)];
	uint64_t offset, cookie;
	int program_fd, event, number;
	bool is_return, is_call;
	bool closed;                    /* has no members; its link stays, since a new one would wait for the kernel to remove it */
};

struct member_event { size_t definition; uint32_t key; };

struct member {
	char path[sizeof(((struct link_request *)0)->path)];
	pid_t pid, tid;                 /* tid: the thread in whose name its events are */
	int number, leader;             /* leader: of the events of this message, -1: none yet */
	struct member_event *v;
	size_t n, cap;
};

struct members {
	const struct programs *programs;
	struct probe_events events;
	int map, mount_fd;
	int keepers;                    /* map of events, by the number of their definition */
	bool locked;                    /* until no request has come for a while */
	pid_t stand_in;                 /* process for events without a process, 0: none yet */
	struct definition *definitions;
	size_t ndefinitions;
	struct member *v;
	size_t n;
	uint32_t *free_keys;
	uint32_t nfree;
};

/* ---- begin and end ---- */

static int create_map(const char *name, uint32_t n)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_PRESERVE_ELEMS);

	return bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, name, sizeof(uint32_t), sizeof(int), n, &options);
}

int members_create(struct members **out, const struct programs *programs)
{
	struct members *members = calloc(1, sizeof(*members));
	int err;

	if (!members)
		return -ENOMEM;
	members->programs = programs;
	members->map = members->keepers = -1;
	err = probe_events_open(&members->events);
	members->free_keys = calloc(MAX_EVENTS, sizeof(*members->free_keys));
	if (!err && !members->free_keys)
		err = -ENOMEM;
	if (!err)
		members->map = err = create_map("ioprobe_members", MAX_EVENTS);
	if (err >= 0)
		members->keepers = err = create_map("ioprobe_keepers", MAX_DEFINITIONS);
	if (err < 0) {
		members_destroy(members);
		return err;
	}
	while (members->nfree < MAX_EVENTS) {
		members->free_keys[members->nfree] = MAX_EVENTS - 1 - members->nfree;
		members->nfree++;
	}
	*out = members;
	return 0;
}

void members_destroy(struct members *members)
{
	if (!members)
		return;
	probe_events_close(&members->events);
	if (members->map >= 0)
		close(members->map);
	if (members->keepers >= 0)
		close(members->keepers);
	for (size_t i = 0; i < members->n; i++)
		free(members->v[i].v);
	free(members->v);
	free(members->definitions);
	free(members->free_keys);
	free(members);
}

size_t members_fds(const struct members *members, int fds[MEMBERS_FDS])
{
	fds[0] = members->events.tracefs;
	fds[1] = members->events.list;
	fds[2] = members->map;
	fds[3] = members->keepers;
	return MEMBERS_FDS;
}

void members_begin(struct members *members, int mount_fd)
{
	members->mount_fd = mount_fd;
	probe_events_begin(&members->events);
}

/* ---- the events of a member ---- */

static bool reserve_event(struct member *member)
{
	size_t cap = member->cap ? 2 * member->cap : 64;
	struct member_event *v;

	if (member->n < member->cap)
		return true;
	v = realloc(member->v, cap * sizeof(*v));
	if (!v)
		return false;
	member->v = v;
	member->cap = cap;
	return true;
}

/* The map keeps the event; the descriptor stays the caller's. */
static int keep_event(struct members *members, struct member *member, size_t definition, int fd)
{
	uint32_t key;
	int err;

	if (!reserve_event(member))
		return -ENOMEM;
	if (!members->nfree)
		return -ENOSPC;
	key = members->free_keys[members->nfree - 1];
	err = MAP_CALL(members->programs, bpf_map_update_elem(members->map, &key, &fd, BPF_ANY));
	if (err)
		return err;
	members->nfree--;
	member->v[member->n++] = (struct member_event){ definition, key };
	return 0;
}

static void drop_event(struct members *members, struct member *member, size_t i)
{
	MAP_CALL(members->programs, bpf_map_delete_elem(members->map, &member->v[i].key));
	members->free_keys[members->nfree++] = member->v[i].key;
	member->v[i] = member->v[--member->n];
}

/* Without a leader each switch to the thread costs 15 ns per event. */
static int members_lead(struct members *members, struct member *member)
{
	int err;

	if (member->leader >= 0)
		return 0;
	member->leader = probe_event_lead(member->tid);
	if (member->leader < 0)
		return member->leader;
	err = keep_event(members, member, NO_DEFINITION, member->leader);
	if (err) {
		close(member->leader);
		member->leader = -1;
	}
	return err;
}

static int members_place(struct members *members, struct member *member, size_t definition)
{
	int err = members_lead(members, member), fd;

	if (err)
		return err;
	fd = probe_event_open(members->definitions[definition].event, member->tid, member->leader);
	if (fd < 0)
		return fd == -ENODEV ? -ESRCH : fd;     /* the leader went with its thread */
	err = keep_event(members, member, definition, fd);
	close(fd);
	return err;
}

/* ---- definitions ---- */

/* A process that does nothing, has the address space of no other one, and ends with the message. */
static int begin_stand_in(struct members *members)
{
	if (members->stand_in)
		return 0;
	members->stand_in = fork();
	if (!members->stand_in) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			syscall(SYS_pause);
	}
	if (members->stand_in > 0)
		return 0;
	members->stand_in = 0;
	return -errno;
}

/* Returns the descriptor of the link. The event lives longer than that. */
static int link_program(struct members *members, const struct definition *definition)
{
	struct { uint32_t prog_fd, target_fd, attach_type, flags; uint64_t cookie; } link = {
		.prog_fd = definition->program_fd, .attach_type = BPF_PERF_EVENT, .cookie = definition->cookie };
	int err = begin_stand_in(members), fd = err ? err : probe_event_keep(definition->event, members->stand_in), link_fd;
	uint32_t key = members->events.defined - 1;

	if (fd < 0)
		return fd;
	link.target_fd = fd;
	err = MAP_CALL(members->programs, bpf_map_update_elem(members->keepers, &key, &fd, BPF_ANY));
	if (err)
		link_fd = err;
	else if ((link_fd = syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link))) < 0)
		link_fd = -errno;
	close(fd);
	return link_fd;
}

static void drop_definition(struct members *members, size_t definition)
{
	if (members->definitions[definition].closed)
		return;
	for (size_t i = 0; i < members->n; i++)
		for (size_t k = members->v[i].n; k--;)
			if (members->v[i].v[k].definition == definition)
				drop_event(members, &members->v[i], k);
	members->definitions[definition].closed = true;
}

/* A member that ends meanwhile needs no probe. */
static int place_in_all(struct members *members, size_t definition)
{
	for (size_t i = 0; i < members->n; i++) {
		int err = strcmp(members->v[i].path, members->definitions[definition].path) ? 0 :
			  members_place(members, &members->v[i], definition);

		if (err && err != -ESRCH) {
			drop_definition(members, definition);
			return err;
		}
	}
	members->definitions[definition].closed = false;
	return 0;
}

static bool is_same(const struct definition *a, const struct definition *b)
{
	return a->offset == b->offset && a->cookie == b->cookie && a->program_fd == b->program_fd && a->is_return == b->is_return &&
	       !strcmp(a->path, b->path);
}

static size_t find_closed(const struct members *members, const struct definition *wanted)
{
	for (size_t i = 0; i < members->ndefinitions; i++)
		if (members->definitions[i].closed && is_same(&members->definitions[i], wanted))
			return i;
	return NO_DEFINITION;
}

static void members_lock(struct members *members)
{
	if (!members->locked)
		probe_events_lock_placing(&members->events);
	members->locked = true;
}

static int add_definition(struct members *members, struct definition definition, size_t *index)
{
	struct definition *v = realloc(members->definitions, (members->ndefinitions + 1) * sizeof(*v));
	int fd, err;

	if (!v)
		return -ENOMEM;
	members->definitions = v;
	if (members->events.defined == MAX_DEFINITIONS)
		return -ENOSPC;
	definition.event = probe_events_define(&members->events, definition.is_return, definition.path, definition.offset);
	if (definition.event < 0)
		return definition.event;
	fd = link_program(members, &definition);
	err = fd < 0 ? fd : link_pin(members->mount_fd, definition.number, fd);
	if (err < 0)
		return err;
	*index = members->ndefinitions++;
	v[*index] = definition;
	return 0;
}

int members_define(struct members *members, const struct link_request *request, bool is_call)
{
	struct definition wanted = {
		.offset = request->v[0], .cookie = request->v[request->n], .program_fd = request->program_fd,
		.number = request->number, .is_return = request->is_return, .is_call = is_call };
	size_t index;
	int err = 0;

	members_lock(members);
	memcpy(wanted.path, request->path, sizeof(wanted.path));
	index = find_closed(members, &wanted);
	if (index == NO_DEFINITION)
		err = add_definition(members, wanted, &index);
	if (!err)
		err = place_in_all(members, index);
	return err ? err : members->definitions[index].number | LINK_OF_SERVER;
}

/* ---- members ---- */

static void remove_member(struct members *members, struct member *member)
{
	while (member->n)
		drop_event(members, member, member->n - 1);
	free(member->v);
	if (member->leader >= 0)
		close(member->leader);
	*member = members->v[--members->n];
}

/* The first thread may have ended while others run: events in its name would be of no address space. */
static pid_t living_thread(pid_t pid)
{
	char path[32];
	struct dirent *entry;
	pid_t found = 0;
	DIR *dir;
	int fd = probe_event_lead(pid);

	if (fd >= 0)
		found = pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = found ? NULL : opendir(path);
	while (!found && dir && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		fd = tid > 0 ? probe_event_lead(tid) : -1;
		if (fd >= 0)
			found = tid;
	}
	if (dir)
		closedir(dir);
	if (fd >= 0)
		close(fd);
	return found;
}

static const struct member *find_living(const struct members *members, const struct link_request *request)
{
	for (size_t i = 0; i < members->n; i++) {
		int fd = members->v[i].pid == request->pid && !strcmp(members->v[i].path, request->path) ?
			 probe_event_lead(members->v[i].tid) : -1;

		if (fd < 0)
			continue;
		close(fd);
		return &members->v[i];
	}
	return NULL;
}

int members_join(struct members *members, const struct link_request *request)
{
	const struct member *living = request->kind == LINK_JOIN_AGAIN ? find_living(members, request) : NULL;
	struct member *v, *member;
	int err = 0;

	if (living)
		return living->number | LINK_OF_SERVER;
	v = realloc(members->v, (members->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	members_lock(members);
	members->v = v;
	member = &v[members->n];
	*member = (struct member){ .pid = request->pid, .tid = living_thread(request->pid), .number = request->number,
		.leader = -1 };
	memcpy(member->path, request->path, sizeof(member->path));
	if (!member->tid)
		return -ESRCH;
	members->n++;
	for (size_t i = 0; i < members->ndefinitions && !err; i++)
		if (!members->definitions[i].closed && !strcmp(members->definitions[i].path, member->path))
			err = members_place(members, member, i);
	if (!err)
		return member->number | LINK_OF_SERVER;
	remove_member(members, member);
	return err;
}

void members_end_message(struct members *members)
{
	for (size_t i = 0; i < members->n; i++) {
		if (members->v[i].leader >= 0)
			close(members->v[i].leader);
		members->v[i].leader = -1;
	}
	if (members->stand_in) {
		kill(members->stand_in, SIGKILL);
		waitpid(members->stand_in, NULL, 0);
		members->stand_in = 0;
	}
}

bool members_are_busy(const struct members *members)
{
	return members->locked;
}

void members_idle(struct members *members)
{
	if (members->locked)
		probe_events_unlock(&members->events);
	members->locked = false;
}

void members_close(struct members *members, int number)
{
	number &= ~LINK_OF_SERVER;
	for (size_t i = 0; i < members->n; i++)
		if (members->v[i].number == number) {
			remove_member(members, &members->v[i]);
			return;
		}
	for (size_t i = 0; i < members->ndefinitions; i++)
		if (members->definitions[i].number == number)
			drop_definition(members, i);
}

/* In cookies of calls the same bit means an exit. */
size_t members_unwinders(const struct members *members, const char *path, uint64_t *offsets, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < members->ndefinitions && n < max; i++)
		if (!members->definitions[i].is_call && members->definitions[i].cookie & IOP_COOKIE_WALKS &&
		    !strcmp(members->definitions[i].path, path))
			offsets[n++] = members->definitions[i].offset;
	return n;
}

/* ---- the end ---- */

static void unlink_links(struct members *members, bool calls)
{
	char name[16];

	for (size_t i = 0; i < members->ndefinitions; i++) {
		if (calls && !members->definitions[i].is_call)
			continue;
		snprintf(name, sizeof(name), "%d", members->definitions[i].number);
		unlinkat(members->mount_fd, name, 0);
	}
}

static bool is_call(const struct members *members, size_t definition)
{
	return definition != NO_DEFINITION && members->definitions[definition].is_call;
}

/* What is deleted from a map is closed by a worker of the kernel after a grace period. */
static void members_settle(const struct members *members)
{
	if (!members->ndefinitions)
		return;
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	poll(NULL, 0, SETTLE_MS);
}

/* First the events of members, which are removed at once. */
void members_close_calls(struct members *members)
{
	members_lock(members);
	for (size_t i = 0; i < members->n; i++)
		for (size_t k = members->v[i].n; k--;)
			if (is_call(members, members->v[i].v[k].definition))
				drop_event(members, &members->v[i], k);
	for (size_t i = 0; i < members->ndefinitions; i++)
		members->definitions[i].closed |= members->definitions[i].is_call;
	members_settle(members);
	unlink_links(members, true);
}

/* Returns when the kernel has given up the definition, or never will. */
static void remove_definition(const struct members *members, uint32_t key)
{
	int attempts = 0;

	MAP_CALL(members->programs, bpf_map_delete_elem(members->keepers, &key));
	while (probe_events_undefine(&members->events, key) == -EBUSY && attempts++ < REMOVE_LIMIT)
		poll(NULL, 0, RETRY_PAUSE_MS);
}

/* In a process of its own. If that is killed, the next hold server does its work. */
static void remove_definitions(const struct members *members)
{
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &term, NULL);
	prctl(PR_SET_NAME, "ioprobe-remover");
	if (chdir("/"))
		return;
	probe_events_release(&members->events);
	probe_events_await_turn(&members->events);
	for (uint32_t key = 0; key < members->events.defined; key++) {
		if (!probe_events_claim(&members->events, key)) {
			/* quick: the other recording has an event, too */
			MAP_CALL(members->programs, bpf_map_delete_elem(members->keepers, &key));
			probe_events_forget(&members->events, key);
			continue;
		}
		probe_events_lock_removing(&members->events);
		remove_definition(members, key);
		probe_events_unlock(&members->events);
		poll(NULL, 0, REMOVE_PAUSE_MS);
	}
}

void members_end(struct members *members, void (*release)(void *arg), void *arg)
{
	members_lock(members);
	while (members->n)
		remove_member(members, &members->v[members->n - 1]);
	members_settle(members);
	unlink_links(members, false);
	members_idle(members);
	close(members->map);
	members->map = -1;
	if (members->events.defined && !fork()) {
		release(arg);
		remove_definitions(members);
		_exit(0);
	}
	probe_events_close(&members->events);
	close(members->keepers);
	members->keepers = -1;
}
