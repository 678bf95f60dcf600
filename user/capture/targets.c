/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One entry per recorded process, from its beginning to its end.
 */
#include "capture/targets_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/rings.h"
#include "capture/libraries.h"
#include "capture/notes.h"

int targets_create(struct targets **out, const struct table_set *set, const struct filter *filter, struct parse_pool *parsers,
		   struct spool_writer *spool, bool streams_apart)
{
	struct targets *targets = calloc(1, sizeof(*targets));

	if (!targets)
		return -ENOMEM;
	targets->set = set;
	targets->filter = filter;
	targets->spool = spool;
	libraries_init(&targets->libraries, set, parsers, spool, streams_apart);
	*out = targets;
	return 0;
}

void targets_plan(struct targets *targets, pid_t pid)
{
	struct proc_modules modules;

	if (proc_modules_read(pid, &modules))
		return;
	for (size_t i = 0; i < modules.n; i++) {
		struct library *library = libraries_get(&targets->libraries, &modules.v[i]);

		if (library)
			library->planned++;
	}
	proc_modules_free(&modules);
}

void targets_begin(struct targets *targets, struct bpf_side *kernel, struct hold_server *server, bool shared_links,
		   bool lazy_streams)
{
	targets->kernel = kernel;
	targets->lazy_streams = lazy_streams;
	targets->server = server;
	libraries_begin(&targets->libraries, kernel, server);
	targets->sharing = (struct link_sharing){ .libraries = &targets->libraries, .kernel = kernel, .server = server,
		.allowed = shared_links };
	targets->rendezvous = !bpf_side_traces_syscalls(kernel) && !link_sharing_forbids(&targets->sharing);
}

static void target_forget(struct targets *targets, struct target *target, bool ended)
{
	target_end_postponed(targets, target, false, monotonic_ns());
	if (target->mapped_ns)
		target_add_unread_gap(targets, target, target->mapped_ns, UNPROBED_LIBRARY);
	if (target->links.withheld)
		target_end_withholding(targets, target, 0, monotonic_ns());
	process_links_forget(&target->links, ended);
	mappings_forget(&target->mappings);
	proc_modules_free(&target->modules);
	if (target->links.off)
		bpf_side_set_off(targets->kernel, target->pid, 0);
	target->links.off = 0;
	bpf_side_want_constants(targets->kernel, target->pid, NULL);
	gaps_write(&target->unsettled, targets->spool, target->pid, 0);
	target->mapped_ns = 0;
	target->mpi = false;
}

static void target_destroy(struct targets *targets, struct target *target, bool ended)
{
	HASH_DEL(targets->all, target);
	target_forget(targets, target, ended);
	process_links_deinit(&target->links);
	free(target);
}

static void forget_early_ends(struct targets *targets, uint64_t before_ns)
{
	struct early_end *end, *next;

	HASH_ITER(hh, targets->early_ends, end, next) {
		if (end->time_ns >= before_ns)
			continue;
		HASH_DEL(targets->early_ends, end);
		free(end);
	}
}

void targets_detach_calls(struct targets *targets)
{
	if (!targets)
		return;
	link_sharing_detach(&targets->sharing, false);
	libraries_detach_calls(&targets->libraries);
}

void targets_destroy(struct targets *targets)
{
	struct target *target, *next;

	if (!targets)
		return;
	HASH_ITER(hh, targets->all, target, next)
		target_destroy(targets, target, false);
	link_sharing_detach(&targets->sharing, true);
	libraries_detach(&targets->libraries);
	mount_watches_destroy(&targets->mounts);
	forget_early_ends(targets, UINT64_MAX);
	libraries_deinit(&targets->libraries);
	free(targets);
}

bool targets_has_ended(struct targets *targets, pid_t pid, uint64_t since_ns)
{
	struct early_end *end;

	HASH_FIND_INT(targets->early_ends, &pid, end);
	return end && since_ns && since_ns < end->time_ns;
}

/* Returns NULL for a process that has ended. since_ns: 0 if it certainly runs. */
static struct target *target_get(struct targets *targets, pid_t pid, uint64_t since_ns)
{
	struct target *target;

	HASH_FIND_INT(targets->all, &pid, target);
	if (target)
		return target;
	if (targets_has_ended(targets, pid, since_ns))
		return NULL;
	target = calloc(1, sizeof(*target));
	if (target) {
		target->pid = pid;
		HASH_ADD_INT(targets->all, pid, target);
	}
	if (!target || !hash_added(target)) {
		targets->no_memory++;
		free(target);
		return NULL;
	}
	target->start_ticks = proc_start_ticks(pid);
	process_links_init(&target->links, &targets->sharing, pid);
	targets->processes++;
	return target;
}

/* ---- mounts ---- */

static void watch_mounts(struct targets *targets, pid_t pid)
{
	targets->no_memory += mount_watches_add(&targets->mounts, targets->spool, pid) == -ENOMEM;
}

/* The process from which a table was read may have ended: any other one of its namespace is suitable. */
static pid_t process_in_namespace(void *arg, const char *namespace)
{
	const struct targets *targets = arg;
	char ns[64];

	for (struct target *target = targets->all; target; target = target->hh.next)
		if (!proc_link_read(target->pid, "ns/mnt", ns, sizeof(ns)) && !strcmp(ns, namespace))
			return target->pid;
	return 0;
}

/* Of the libraries that a process had beyond its first known ones when it was attached to. */
static void note_late_probes(struct targets *targets, struct target *target, size_t known, uint64_t since_ns)
{
	for (size_t i = known; i < target->links.n; i++)
		target_note_gaps(targets, target, target->links.v[i]->library, since_ns,
				 "a process was attached to before its probes were in place");
	target_settle_gaps(targets, target, 0);
}

/* The entry of a session decides whether the return is observed: its probes change nothing in a process that is not recorded yet.
 * They are placed first, so that library calls are recorded from the same moment on as system calls. Other return probes would
 * replace return addresses that are not restored yet: they come later. */
static int target_take(struct targets *targets, struct target *target)
{
	bool session = bpf_side_method(targets->kernel) == ATTACH_SESSION;
	int err = session ? target_place_probes(targets, target) : 0;
	size_t known = target->links.n;
	uint64_t since_ns;

	if (err)
		return err;
	note_scan(targets->spool, target->pid, targets->filter);
	since_ns = monotonic_ns();
	err = bpf_side_take(targets->kernel, target->pid);
	if (!err && proc_ended(target->pid, 0)) /* it had ended before: there will be no exit record */
		err = -ESRCH;
	if (!err)       /* also what was mapped meanwhile */
		err = target_scan(targets, target, false, 0, "");
	if (!err)
		note_late_probes(targets, target, known, since_ns);
	return err;
}

int targets_attach(struct targets *targets, pid_t pid)
{
	struct target *target;
	int err;

	HASH_FIND_INT(targets->all, &pid, target);
	if (target)
		return 0;
	if (bpf_side_is_foreign(targets->kernel, pid))
		return -EBUSY;
	target = target_get(targets, pid, 0);
	if (!target)
		return -ENOMEM;
	note_process(targets->spool, pid, false);
	watch_mounts(targets, pid);
	err = target_take(targets, target);
	if (err)
		target_destroy(targets, target, err == -ESRCH);
	return err;
}

static const char unprobed_fork[] = "a forked process ran before its own probes were in place";

/* A process that could not be read is assumed to have its parent's libraries; if the parent is unknown too, so are its
 * libraries. */
void targets_forked_briefly(struct targets *targets, pid_t pid, pid_t parent, uint64_t since_ns, uint64_t until_ns)
{
	struct target *from, *target;
	struct gaps gaps = { 0 };

	HASH_FIND_INT(targets->all, &parent, from);
	HASH_FIND_INT(targets->all, &pid, target);
	for (size_t i = 0; from && i < from->links.n; i++) {
		const struct library *library = from->links.v[i]->library;
		const struct process_library *entry = target ? process_links_find(&target->links, library) : NULL;
		uint64_t all_ns = library_everywhere_ns(library, false), to_ns = all_ns && all_ns < until_ns ? all_ns : until_ns;

		if (entry && !entry->postponed)
			continue;       /* its code was inspected up to this library */
		target_add_gaps(targets, &gaps, pid, library, (struct gap){ NULL, unprobed_fork, since_ns, to_ns });
	}
	if (!from)
		gaps_add(&gaps, targets->spool, pid, (struct gap){ ANY_LAYER, unprobed_fork, since_ns, until_ns });
	gaps_write(&gaps, targets->spool, pid, 0);
}

static void set_groups_off(struct targets *targets, pid_t pid, unsigned off)
{
	for (int group = 0; group < POINT_GROUPS; group++)
		targets_switch(targets, pid, group, !(off >> group & 1));
}

void targets_forked(struct targets *targets, pid_t pid, pid_t parent, uint64_t since_ns, unsigned off)
{
	struct target *target = target_get(targets, pid, since_ns), *from;

	HASH_FIND_INT(targets->all, &parent, from);
	if (target) {
		target->program_ns = since_ns;
		target->ran = true;
		set_groups_off(targets, pid, off);
		note_process(targets->spool, pid, false);
		watch_mounts(targets, pid);
	}
	if (!target || target_scan_for(targets, target, false, since_ns, unprobed_fork, from, NULL))
		targets_forked_briefly(targets, pid, parent, since_ns, monotonic_ns());
}

static const char unprobed_program[] = "a new program ran before its probes were in place";

void targets_execed(struct targets *targets, pid_t pid, pid_t old_tid, uint64_t since_ns, unsigned off)
{
	struct target *target = target_get(targets, pid, since_ns);

	if (!target)
		return;
	target_end_postponed(targets, target, false, since_ns);
	if (old_tid != pid)
		target_forget(targets, target, true);   /* the links belonged to the leader that the exec replaced */
	set_groups_off(targets, pid, off);
	for (size_t i = 0; i < target->links.n; i++)
		target->links.v[i]->noted = false;
	mappings_forget(&target->mappings);
	proc_modules_free(&target->modules);
	target->mpi = false;
	target->new_program = true;
	target->ran = false;
	target->program_ns = since_ns;
	target->direct_ns = target->late_since_ns = 0;
	note_process(targets->spool, pid, false);
	watch_mounts(targets, pid);
	target_settle_gaps(targets, target, 0);
	target_scan_or_gap(targets, target, targets->hold, since_ns, unprobed_program);
}

void targets_mapped(struct targets *targets, pid_t pid, uint64_t since_ns)
{
	struct target *target = target_get(targets, pid, since_ns);

	if (target && !targets->hold)
		target_scan_or_gap(targets, target, false, since_ns, UNPROBED_LIBRARY);
	else if (target && !target->mapped_ns && since_ns > target->scanned_ns)
		target->mapped_ns = since_ns;
}

/* The probes first: until they are in place every such call waits. since_ns: since when they may have been needed, 0: the process
 * waits. */
static void place_withheld(struct targets *targets, struct target *target, uint64_t since_ns)
{
	if (!target->links.withheld)
		return;
	process_links_direct(&target->links);
	libraries_place(&targets->libraries);
	target_end_withholding(targets, target, since_ns, monotonic_ns());
}

void targets_place_withheld(struct targets *targets, pid_t pid)
{
	struct target *target;

	HASH_FIND_INT(targets->all, &pid, target);
	if (target)
		place_withheld(targets, target, 0);
}

/* Returns the process of a wait that began at since_ns; NULL if it has ended or executed another program since. */
static struct target *target_of_hold(struct targets *targets, pid_t pid, uint64_t since_ns)
{
	struct target *target;

	HASH_FIND_INT(targets->all, &pid, target);
	return target && since_ns >= target->program_ns ? target : NULL;
}

/* Of several threads the first one to give up is not always the first one to be reported. */
void targets_waited_in_vain(struct targets *targets, pid_t pid, uint64_t since_ns, uint64_t gave_up_ns)
{
	struct target *target = target_of_hold(targets, pid, since_ns);
	uint64_t noted_ns;

	if (!target)
		return;
	noted_ns = target->late_since_ns ? target->late_since_ns : target->direct_ns;
	if (target->links.withheld)
		place_withheld(targets, target, gave_up_ns);
	else if (gave_up_ns < noted_ns)
		target_write_direct_gap(targets, target, gave_up_ns, noted_ns);
}

void targets_not_held(struct targets *targets, pid_t pid, uint64_t since_ns)
{
	struct target *target = target_get(targets, pid, since_ns);

	if (!target) {
		note_gap(targets->spool, pid, ANY_LAYER, since_ns, monotonic_ns(), UNPROBED_LIBRARY);
		return;
	}
	target->ran = true;
	place_withheld(targets, target, since_ns);
	target_settle_gaps(targets, target, since_ns);
	target_scan_or_gap(targets, target, false, since_ns, UNPROBED_LIBRARY);
}

size_t targets_held(struct targets *targets, pid_t pid, uint64_t since_ns)
{
	struct target *target = target_get(targets, pid, since_ns);
	size_t demanded = 0;

	if (target)
		target_scan_for(targets, target, true, since_ns, UNPROBED_LIBRARY, NULL, &demanded);
	return demanded;
}

void targets_released(struct targets *targets, pid_t pid, uint64_t since_ns, uint64_t gave_up_ns)
{
	struct target *target = target_of_hold(targets, pid, since_ns);

	if (!target)
		return;
	target->ran = true;
	target_settle_gaps(targets, target, gave_up_ns ? gave_up_ns : UINT64_MAX);
	if (gave_up_ns && gave_up_ns < target->postponed_ns)
		target->postponed_ns = gave_up_ns;
}

/* Code that was mapped a while ago by a process that was not held: a library without relocated tables to seal, or one that is
 * mapped slowly. */
static void look_after_holds(struct targets *targets, uint64_t now_ns)
{
	for (struct target *target = targets->all; target; target = target->hh.next) {
		if (target->mapped_ns && now_ns > target->mapped_ns + HELD_SOON_NS) {
			target->ran = true;
			target_scan_or_gap(targets, target, true, target->mapped_ns, UNPROBED_LIBRARY);
		}
		if (target->unsettled_ns && now_ns > target->unsettled_ns + HOLD_OVER_NS)
			target_settle_gaps(targets, target, 0);
	}
}

/* A program that will be held is probed then. */
static void place_postponed(struct targets *targets, uint64_t now_ns)
{
	for (struct target *target = targets->all; target; target = target->hh.next) {
		bool runs = target->ran || !targets->hold;

		if (target->postponed_ns && now_ns > target->postponed_ns + (runs ? POSTPONED_NS : HOLD_OVER_NS))
			target_scan(targets, target, false, 0, "");
	}
}

/* Perf events are in the name of a thread, at first of the first one, and go with it. */
static void follow_thread(struct targets *targets, struct target *target, uint64_t since_ns)
{
	if (!proc_first_thread_ended(target->pid))
		return;
	for (size_t i = 0; i < target->links.n; i++)
		if (process_links_join_again(&target->links, target->links.v[i]))
			target_note_gaps(targets, target, target->links.v[i]->library, since_ns,
					 "the thread ended in whose name its probes were (perf events)");
	target_settle_gaps(targets, target, 0);
}

static void follow_threads(struct targets *targets, uint64_t now_ns)
{
	uint64_t last_ns = targets->threads_checked_ns;

	if (now_ns - last_ns < CHECK_ENDS_NS)
		return;
	targets->threads_checked_ns = now_ns;
	for (struct target *target = targets->all; target; target = target->hh.next)
		follow_thread(targets, target, last_ns);
}

void targets_step(struct targets *targets)
{
	mount_watches_check(targets->mounts, targets->spool, process_in_namespace, targets);
	if (targets->hold)
		look_after_holds(targets, monotonic_ns());
	if (targets->lazy_streams)
		place_postponed(targets, monotonic_ns());
	if (targets->early_ends)
		forget_early_ends(targets, monotonic_ns() - EARLY_END_NS);
	link_sharing_step(&targets->sharing, monotonic_ns());
	if (hold_server_has_members(targets->server))
		follow_threads(targets, monotonic_ns());
}

void targets_ended(struct targets *targets, pid_t pid, uint64_t time_ns)
{
	struct target *target;
	struct early_end *end;

	HASH_FIND_INT(targets->all, &pid, target);
	if (target) {
		target_end_postponed(targets, target, false, time_ns);
		target_destroy(targets, target, true);
		return;
	}
	HASH_FIND_INT(targets->early_ends, &pid, end);
	if (!end) {
		end = calloc(1, sizeof(*end));
		if (end) {
			end->pid = pid;
			HASH_ADD_INT(targets->early_ends, pid, end);
		}
		if (!end || !hash_added(end)) {
			targets->no_memory++;
			free(end);
			return;
		}
	}
	end->time_ns = time_ns;
}

void targets_finish(struct targets *targets, uint64_t time_ns)
{
	for (struct target *target = targets->all; target; target = target->hh.next) {
		target_end_postponed(targets, target, false, time_ns);
		if (target->links.withheld)
			target_end_withholding(targets, target, 0, time_ns);
	}
}

static void find_ended(struct targets *targets, uint64_t now_ns)
{
	if (now_ns - targets->ends_checked_ns < CHECK_ENDS_NS)
		return;
	targets->ends_checked_ns = now_ns;
	for (struct target *target = targets->all; target; target = target->hh.next)
		target->gone = proc_ended(target->pid, target->start_ticks);
}

pid_t targets_next_unreported_end(struct targets *targets, uint64_t now_ns)
{
	for (struct target *target = targets->all; target; target = target->hh.next)
		if (target->gone)
			return target->pid;
	find_ended(targets, now_ns);
	return 0;
}

void targets_hold(struct targets *targets)
{
	targets->hold = true;
	targets->rendezvous = !bpf_side_holds_at_seal(targets->kernel) && !link_sharing_forbids(&targets->sharing);
}

bool targets_prepare_linker(struct targets *targets, pid_t pid, const char *path)
{
	struct target *target = targets->rendezvous ? target_get(targets, pid, 0) : NULL;
	struct process_library *entry;
	struct library *library;
	struct code_file file;
	int err = targets->rendezvous ? code_file_open(&file, path) : 0;

	if (!targets->rendezvous)
		return true;
	if (!target || err)
		return false;
	library = libraries_get_file(&targets->libraries, path, &file);
	entry = library && library->plan.rendezvous_offset ? process_links_add(&target->links, library) : NULL;
	if (entry)
		library_attach_rendezvous(&targets->libraries, library, pid, &entry->links[POINTS_LINKER]);
	return entry && !libraries_place(&targets->libraries);
}

void targets_prepare_executable(struct targets *targets, pid_t pid, const char *path)
{
	struct target *target = target_get(targets, pid, 0);
	struct library *library;
	struct code_file file;

	if (!target || code_file_open(&file, path))
		return;
	library = libraries_get_file(&targets->libraries, path, &file);
	if (!library || !library->plan.npoints)
		return;
	target_follow_switching(targets, target, library->plan.switching, &(struct proc_modules){ 0 });
	if (library->plan.switching == SHARES_STACK)
		bpf_side_set_entry_only(targets->kernel, pid, IOP_FROM_NEXT_EXEC);
	target_attach_before_mapped(target, library);
	libraries_place(&targets->libraries);
}

void targets_switch(struct targets *targets, pid_t pid, enum point_group group, bool on)
{
	struct target *target;
	unsigned off;

	HASH_FIND_INT(targets->all, &pid, target);
	if (!target || on == !(target->links.off & 1u << group))
		return;
	off = target->links.off ^ 1u << group;
	bpf_side_set_off(targets->kernel, pid, (off & 1u << POINTS_STREAM_DATA ? IOP_D_STREAM_DATA : 0) |
			    (off & 1u << POINTS_STREAM_BYTES ? IOP_D_STREAM_BYTES : 0));
	process_links_switch(&target->links, group, on);
}

size_t targets_demand(struct targets *targets, pid_t pid, bool on)
{
	struct target *target;
	size_t n;

	HASH_FIND_INT(targets->all, &pid, target);
	n = target && target->links.demand != on ? process_links_demand(&target->links, on) : 0;
	libraries_place(&targets->libraries);
	return n;
}

bool targets_row_single_stepped(const struct targets *targets, uint16_t row)
{
	return targets->libraries.row_single_stepped[row];
}

size_t targets_running(const struct targets *targets)
{
	return HASH_COUNT(targets->all);
}

struct targets_counts targets_count(const struct targets *targets)
{
	return (struct targets_counts){
		.processes = targets->processes, .libraries = HASH_COUNT(targets->libraries.all),
		.probes = targets->libraries.probes, .missing = targets->libraries.missing,
		.single_stepped = targets->libraries.single_stepped, .no_memory = targets->no_memory,
	};
}
