/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One entry per process; a scan of its mappings finds the libraries that were added since the last one.
 */
#include "capture/targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/gaps.h"
#include "capture/libraries.h"
#include "capture/mappings.h"
#include "capture/mount_watches.h"
#include "capture/notes.h"
#include "capture/process_links.h"
#include "bpf/rings.h"

struct target {
	pid_t pid;
	uint64_t start_ticks;           /* distinguishes it from a later process with the same pid, 0: unknown */
	struct process_links links;     /* libraries that were processed: probes placed, or none needed */
	struct mappings mappings;       /* recorded mappings of its program */
	bool mpi;
	bool gone;                      /* it had ended when it was last looked up in /proc */
	bool new_program;               /* events of the old program are ignored */
	struct gaps unsettled;          /* until it is known whether the process was held */
	uint64_t unsettled_ns;          /* since when there are any */
	uint64_t mapped_ns;             /* when code was mapped that was not yet inspected, 0: none */
	uint64_t scanned_ns;            /* what was mapped before has been inspected */
	bool ran;                       /* it was released since it executed its program, or not held */
	uint64_t postponed_ns;          /* since when it runs without probes on streams, 0: it does not */
	UT_hash_handle hh;
};

/* A process whose end was read before its beginning, which was in another ring. */
struct early_end { pid_t pid; uint64_t time_ns; UT_hash_handle hh; };
#define EARLY_END_NS 10000000000ull

/* A process that maps code is usually held within this time, before the code runs; its mappings are then inspected. */
#define HELD_SOON_NS 50000000ull
/* No hold lasts longer: a process that was not held by then has run. */
#define HOLD_OVER_NS 3000000000ull

/* How often targets without an exit record are looked up in /proc: about 20 µs each. */
#define CHECK_ENDS_NS 1000000000ull

/* With lazy streams: how long a process must live before its C library is probed. */
#define POSTPONED_NS 10000000ull

struct targets {
	struct target *all;             /* uthash by pid */
	struct libraries libraries;
	struct bpf_side *kernel;
	const struct table_set *set;
	const struct filter *filter;
	struct spool_writer *spool;
	struct early_end *early_ends;
	struct mount_watch *mounts;
	struct hold_server *server;
	bool hold;                      /* new programs are held until their probes are placed */
	bool lazy_streams;              /* short-lived processes do without probes on streams */
	bool rendezvous;                /* linkers are probed: to hold programs there, or to learn of mapped code */
	struct link_sharing sharing;
	size_t processes, no_memory;
	uint64_t ends_checked_ns;
};

int targets_create(struct targets **out, const struct table_set *set, const struct filter *filter, struct parse_pool *parsers,
		   struct spool_writer *spool)
{
	struct targets *targets = calloc(1, sizeof(*targets));

	if (!targets)
		return -ENOMEM;
	targets->set = set;
	targets->filter = filter;
	targets->spool = spool;
	libraries_init(&targets->libraries, set, parsers, spool);
	*out = targets;
	return 0;
}

void targets_plan(struct targets *targets, pid_t pid)
{
	struct proc_modules modules;

	if (proc_modules_read(pid, &modules))
		return;
	for (size_t i = 0; i < modules.n; i++)
		libraries_get(&targets->libraries, &modules.v[i]);
	proc_modules_free(&modules);
}

void targets_begin(struct targets *targets, struct bpf_side *kernel, struct hold_server *server, bool shared_links,
		   bool lazy_streams)
{
	targets->kernel = kernel;
	targets->lazy_streams = lazy_streams;
	targets->server = server;
	libraries_begin(&targets->libraries, kernel, server);
	targets->sharing = (struct link_sharing){ .libraries = &targets->libraries, .kernel = kernel, .server = server, .allowed = shared_links };
	targets->rendezvous = !bpf_side_traces_syscalls(kernel);
}

#define ANY_LAYER "libraries"    /* for a process that could not be inspected */

static const char unprobed_library[] = "a library was used before its probes were in place";

/* It is not known of which layers the code was that a process has run since. */
static void add_unread_gap(struct targets *targets, struct target *target, uint64_t since_ns, const char *reason)
{
	gaps_add(&target->unsettled, targets->spool, target->pid, (struct gap){ ANY_LAYER, reason, since_ns, monotonic_ns() });
}

/* Adds a gap for each layer that the library provides. */
static void add_gaps(struct targets *targets, struct gaps *gaps, pid_t pid, const struct library *library, struct gap gap)
{
	for (size_t i = 0; i < library->plan.nlayers && gap.from_ns < gap.to_ns; i++) {
		const struct table_layer *table = &targets->set->layers[library->plan.layers[i].layer];

		gap.layer = table->name;
		if (!table->off && table->paradigm[0])
			gaps_add(gaps, targets->spool, pid, gap);
	}
}

static const char postponed[] = "probes on streams are placed when a process has lived 10 ms (--lazy-streams)";

/* The time without probes on streams is over: they have been placed, or the program has ended. */
static void end_postponed(struct targets *targets, struct target *target, bool placed, uint64_t to_ns)
{
	struct gaps gaps = { 0 };

	for (size_t i = 0; i < target->links.n; i++) {
		struct process_library *entry = target->links.v[i];
		uint64_t all_ns = entry->library->for_all_ns;

		if (!entry->postponed || (placed && !entry->found))
			continue;
		if (target->postponed_ns)
			add_gaps(targets, &gaps, target->pid, entry->library,
				 (struct gap){ NULL, postponed, target->postponed_ns, all_ns && all_ns < to_ns ? all_ns : to_ns });
		entry->postponed = !placed;
	}
	gaps_write(&gaps, targets->spool, target->pid, 0);
	target->postponed_ns = 0;
}

static void target_forget(struct targets *targets, struct target *target, bool ended)
{
	end_postponed(targets, target, false, monotonic_ns());
	if (target->mapped_ns)
		add_unread_gap(targets, target, target->mapped_ns, unprobed_library);
	process_links_forget(&target->links, ended);
	mappings_forget(&target->mappings);
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

/* Returns whether the process of an event at this time is known to have ended since. */
static bool has_ended(struct targets *targets, pid_t pid, uint64_t since_ns)
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
	if (has_ended(targets, pid, since_ns))
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

/* ---- libraries of a process ---- */

/* Finds the address of a data object in the process: the first module in link order that defines it, so that the executable's copy
 * is preferred. */
static void find_communicators(struct targets *targets, const struct proc_modules *modules,
			       uint64_t comms[TABLE_COMM_KINDS])
{
	for (size_t m = 0; m < modules->n; m++) {
		struct library *library = libraries_get(&targets->libraries, &modules->v[m]);
		uint64_t bias;

		if (!library)
			continue;
		bias = modules->v[m].base - modules->v[m].base_offset - library->plan.first_vaddr;
		for (int k = 0; k < TABLE_COMM_KINDS; k++)
			if (!comms[k] && library->plan.comm_vaddr[k])
				comms[k] = bias + library->plan.comm_vaddr[k];
	}
}

/* The same for standard streams. */
static void note_streams(struct targets *targets, const struct proc_modules *modules, struct note *note)
{
	static const char *const keys[TABLE_STREAMS] = { "stdin", "stdout", "stderr" };
	uint64_t streams[TABLE_STREAMS] = { 0 };

	for (size_t m = 0; m < modules->n; m++) {
		struct library *library = libraries_get(&targets->libraries, &modules->v[m]);

		for (int n = 0; n < TABLE_STREAMS && library; n++)
			if (!streams[n] && library->plan.stream_vaddr[n])
				streams[n] = library->plan.stream_vaddr[n] + modules->v[m].base - modules->v[m].base_offset -
					     library->plan.first_vaddr;
	}
	for (int n = 0; n < TABLE_STREAMS; n++)
		if (streams[n])
			note_addf(note, keys[n], "0x%llx", (unsigned long long)streams[n]);
}

/* Types that a library predefines at run time: the BPF programs read their ids when the library has initialised. */
static void want_constants(struct targets *targets, const struct target *target, size_t index, const struct proc_modules *modules)
{
	const struct table_layer *table = &targets->set->layers[index];
	struct iop_constants wanted = { .layer = index, .n = table->ntypes };
	size_t first = plan_constants_of(targets->set, index);

	for (size_t m = 0; m < modules->n; m++) {
		struct library *library = libraries_get(&targets->libraries, &modules->v[m]);
		uint64_t bias;

		if (!library || !library->plan.constants)
			continue;
		bias = modules->v[m].base - modules->v[m].base_offset - library->plan.first_vaddr;
		for (size_t i = 0; i < table->ntypes; i++)
			if (!wanted.address[i] && library->plan.constants[first + i])
				wanted.address[i] = bias + library->plan.constants[first + i];
	}
	bpf_side_want_constants(targets->kernel, target->pid, &wanted);
}

/* The symbols that identify the layer's ABI may be in another library than its functions (Open MPI 6). */
static bool knows_abi(struct targets *targets, const struct proc_modules *modules, const struct plan_layer *layer)
{
	for (size_t m = 0; m < modules->n && !layer->known_abi; m++) {
		const struct library *library = libraries_get(&targets->libraries, &modules->v[m]);

		if (library && layer->layer < 64 && library->plan.known_abis >> layer->layer & 1)
			return true;
	}
	return layer->known_abi;
}

static void note_library(struct targets *targets, const struct target *target,
			 const struct plan_layer *layer, const struct proc_modules *modules)
{
	const struct table_layer *table = &targets->set->layers[layer->layer];
	static const char *const keys[] = { "comm_world", "comm_self", "comm_null" };
	struct note note = { 0 };

	note_add(&note, "layer", table->name);
	if (layer->version[0])
		note_add(&note, "version", layer->version);
	note_add(&note, "parallel", layer->parallel ? "1" : "0");
	if (knows_abi(targets, modules, layer))
		note_add(&note, "abi", "1");
	if (layer->narrow)
		note_add(&note, "narrow", "1");
	if (table->ncomms) {
		uint64_t comms[TABLE_COMM_KINDS] = { 0 };

		find_communicators(targets, modules, comms);
		for (size_t i = 0; i < table->ncomms; i++) {    /* constants of the layer's ABI, if there is no symbol */
			const struct table_comm *comm = &table->comms[i];

			if (comm->has_value && !comms[comm->kind])
				comms[comm->kind] = comm->value;
		}
		for (int k = 0; k < TABLE_COMM_KINDS; k++)
			if (comms[k])
				note_addf(&note, keys[k], "0x%llx", (unsigned long long)comms[k]);
	}
	if (table->nstreams)
		note_streams(targets, modules, &note);
	spool_writer_text(targets->spool, IOP_REC_LIBRARY, target->pid, monotonic_ns(), note.text, NULL);
	note_free(&note);
	if (table->ntypes && table->types[0].symbol[0])
		want_constants(targets, target, layer->layer, modules);
}

/* Notes the gap from since_ns, if that is not 0, until the library's probes were in place; probes for all were in place before. */
static void note_gaps(struct targets *targets, struct target *target, const struct library *library, uint64_t since_ns,
		      const char *reason)
{
	uint64_t now_ns = monotonic_ns();

	if (since_ns)
		add_gaps(targets, &target->unsettled, target->pid, library,
			 (struct gap){ NULL, reason, since_ns, library->for_all_ns ?: now_ns });
	if (target->unsettled.n && !target->unsettled_ns)
		target->unsettled_ns = now_ns;
}

/* ran_ns: since when the process has run code that was not inspected, UINT64_MAX: it has not. */
static void settle_gaps(struct targets *targets, struct target *target, uint64_t ran_ns)
{
	gaps_write(&target->unsettled, targets->spool, target->pid, ran_ns);
	target->unsettled_ns = 0;
}

static bool is_mpi(const struct targets *targets, const struct library *library)
{
	for (size_t i = 0; i < library->plan.nlayers; i++)
		if (targets->set->layers[library->plan.layers[i].layer].ncomms)
			return true;
	return false;
}

static bool has_streams(const struct library *library)
{
	return library->points[POINTS_STREAM_DATA].n || library->points[POINTS_STREAM_BYTES].n;
}

/* With lazy streams, a process that has just begun goes without probes if it has nothing but the C library's: beside a library of
 * parallel I/O they cost little. */
static bool is_postponed(struct targets *targets, const struct target *target, const struct proc_modules *modules, uint64_t from_ns)
{
	if (!targets->lazy_streams || !from_ns || monotonic_ns() - from_ns >= POSTPONED_NS)
		return false;
	for (size_t i = 0; i < modules->n; i++) {
		struct library *library = libraries_get(&targets->libraries, &modules->v[i]);
		struct process_library *entry = library ? process_links_find(&target->links, library) : NULL;

		if (library && library->plan.nlayers && (!has_streams(library) || (entry && !entry->postponed)))
			return false;
	}
	return true;
}

/* Asks for the probes of a mapped file, or postpones those on streams. Returns false if the process has ended and the file can no
 * longer be opened. */
static bool add_module(struct targets *targets, struct target *target, const struct proc_module *module, bool postpone)
{
	struct library *library = libraries_get(&targets->libraries, module);
	struct process_library *entry = library ? process_links_find(&target->links, library) : NULL;
	bool known = entry;

	if (!library)
		return proc_alive(target->pid);
	if ((entry && entry->noted) || (!entry && !(entry = process_links_add(&target->links, library))))
		return true;
	if (targets->rendezvous && !known)
		library_attach_rendezvous(&targets->libraries, library, target->pid, &entry->links[POINTS_LINKER]);
	if (postpone && has_streams(library) && !library->for_all_ns) {
		entry->postponed = true;
		return true;
	}
	entry->noted = entry->found = true;
	entry->before = known;
	if (library->plan.nlayers && (!known || entry->postponed))
		process_links_attach(&target->links, entry);    /* if the process ends meanwhile, this was a gap until its end */
	return true;
}

/* Notes a file whose probes are in place. */
static void note_module(struct targets *targets, struct target *target, const struct proc_modules *modules,
			const struct proc_module *module, uint64_t since_ns, const char *reason)
{
	struct library *library = libraries_get(&targets->libraries, module);
	struct process_library *entry = library ? process_links_find(&target->links, library) : NULL;

	if (!entry || !entry->found)
		return;
	entry->found = false;
	if (!library->plan.nlayers) {
		bpf_side_looked_at(targets->kernel, module->dev, module->ino);
		return;
	}
	for (size_t i = 0; i < library->plan.nlayers; i++)
		note_library(targets, target, &library->plan.layers[i], modules);
	/* those that were in place before its exec, or before the file was mapped, leave no gap */
	note_gaps(targets, target, library, entry->before ? 0 : since_ns, reason);
	if (is_mpi(targets, library) && !target->mpi) {
		target->mpi = true;
		note_process(targets->spool, target->pid, true);
	}
}

/* Asks for the probes of a file that the process is going to map: they are placed before that. */
static void attach_before_mapped(struct target *target, struct library *library)
{
	struct process_library *entry = process_links_find(&target->links, library) ? NULL : process_links_add(&target->links, library);

	if (entry)
		process_links_attach(&target->links, entry);
}

/* glibc loads its unwinder when a thread is first cancelled: too late to attach then, so it is attached before it is mapped. */
static void prepare_unwinder(struct targets *targets, struct target *target)
{
	static const char *const places[] = {
		"/lib/x86_64-linux-gnu/libgcc_s.so.1", "/usr/lib/x86_64-linux-gnu/libgcc_s.so.1", "/lib64/libgcc_s.so.1",
		"/usr/lib64/libgcc_s.so.1", "/usr/lib/libgcc_s.so.1",
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct library *library;
		struct code_file file;

		if (code_file_open_in_root(&file, target->pid, places[i]))
			continue;
		library = libraries_get_file(&targets->libraries, places[i], &file);
		if (library)
			attach_before_mapped(target, library);
		return;
	}
}

/* Called before any return probe is placed: if a library other than glibc's has an unwinder, it may be mapped behind libraries with
 * calls. */
static void attach_unwinders(struct targets *targets, struct target *target, const struct proc_modules *modules)
{
	for (size_t i = 0; i < modules->n; i++) {
		struct library *library = libraries_get(&targets->libraries, &modules->v[i]);

		if (library && library->plan.npoints && library->points[POINTS_UNWIND].n == library->plan.npoints)
			attach_before_mapped(target, library);
	}
}

/* Asks for the probes of all mapped files that have none. Returns 0 or -ESRCH. */
static int add_modules(struct targets *targets, struct target *target, const struct proc_modules *modules, bool postpone)
{
	int err = 0;

	if (!postpone) {
		prepare_unwinder(targets, target);
		attach_unwinders(targets, target, modules);
	}
	for (size_t i = 0; i < modules->n; i++)
		if (!add_module(targets, target, &modules->v[i], postpone))
			err = -ESRCH;
	return err;
}

/* ---- programs that switch stacks ---- */

/* Where return probes are links of their own, no call can go without one: then return probes are disabled altogether. Always
 * returns true. */
static bool stop_returns(struct targets *targets)
{
	bpf_side_set_entry_only(targets->kernel, 0, IOP_FROM_NOW);
	libraries_stop_returns(&targets->libraries);
	link_sharing_replace(&targets->sharing);
	return true;
}

/* Detached probes may trap for a while. */
static void await_original_code(struct targets *targets, struct target *target, const struct proc_modules *modules)
{
	for (size_t i = 0; i < modules->n; i++) {
		struct library *library = libraries_get(&targets->libraries, &modules->v[i]);

		if (!library || !process_links_find(&target->links, library))
			continue;
		for (enum point_group group = 0; group < POINT_GROUPS; group++)
			if (group != POINTS_UNWIND && group != POINTS_LINKER)
				library_await_original_code(library, group, target->pid, &modules->v[i]);
	}
}

/* Called before anything more is attached for this process. */
static void heed_switching(struct targets *targets, struct target *target, enum stack_switching switching,
			   const struct proc_modules *modules)
{
	bool session = bpf_side_method(targets->kernel) == ATTACH_SESSION, replaced = false;
	bool switches = switching != SWITCHES_NO_STACKS || (target->links.switches_stacks && !target->new_program);
	bool changes = switches != target->links.switches_stacks;
	uint64_t since_ns = monotonic_ns();

	target->new_program = false;
	target->links.switches_stacks = switches;
	if (session && switching == SHARES_STACK)
		bpf_side_set_entry_only(targets->kernel, target->pid, IOP_FROM_NOW);
	if (!session && switches && !targets->libraries.entries_only)
		replaced = stop_returns(targets);
	else if (changes)
		replaced = process_links_replace(&target->links);
	if (switches && replaced)
		await_original_code(targets, target, modules);
	for (size_t i = 0; i < target->links.n && replaced; i++)
		note_gaps(targets, target, target->links.v[i]->library, since_ns, "probes were replaced: the program switches stacks");
}

/* since_ns: time from which the process may have run without its probes, 0: it has not. held: this will be known when it is
 * released. demanded: if not NULL, it is held now: probes on demand are placed, too; their number. */
static int scan_for(struct targets *targets, struct target *target, bool held, uint64_t since_ns, const char *reason,
		    size_t *demanded)
{
	struct proc_modules modules;
	uint64_t mapped_ns = target->mapped_ns && target->mapped_ns < since_ns ? target->mapped_ns : since_ns;
	uint64_t now_ns = monotonic_ns();
	int err = proc_modules_read(target->pid, &modules);
	uint64_t from_ns = target->postponed_ns ?: since_ns;    /* since when it runs */
	bool fresh = held && !target->ran;                      /* it will run when it has been held */
	bool postpone;

	target->mapped_ns = 0;
	if (err)
		return err;
	target->scanned_ns = now_ns;
	mappings_note(&target->mappings, targets->spool, &targets->libraries, &modules, target->pid, mapped_ns);
	postpone = is_postponed(targets, target, &modules, fresh ? monotonic_ns() : from_ns);
	if (!postpone)
		heed_switching(targets, target, libraries_switching(&targets->libraries, &modules), &modules);
	err = add_modules(targets, target, &modules, postpone);
	if (demanded && !target->links.demand)
		*demanded = process_links_demand(&target->links, true);
	libraries_place(&targets->libraries);
	if (!postpone)
		end_postponed(targets, target, true, monotonic_ns());
	else
		target->postponed_ns = fresh ? monotonic_ns() : from_ns;
	for (size_t i = 0; i < modules.n; i++)
		note_module(targets, target, &modules, &modules.v[i], since_ns, reason);
	proc_modules_free(&modules);
	if (!held)
		settle_gaps(targets, target, 0);
	return err;
}

static int scan(struct targets *targets, struct target *target, bool held, uint64_t since_ns, const char *reason)
{
	return scan_for(targets, target, held, since_ns, reason, NULL);
}

/* The same; if the process has ended before it could be inspected, all that it has run since is a gap. */
static void scan_or_gap(struct targets *targets, struct target *target, bool held, uint64_t since_ns, const char *reason)
{
	if (!scan(targets, target, held, since_ns, reason))
		return;
	add_unread_gap(targets, target, since_ns, reason);
	if (!held)
		settle_gaps(targets, target, 0);
}

/* ---- public ---- */

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
	note_scan(targets->spool, pid, targets->filter);
	err = bpf_side_take(targets->kernel, pid);
	if (!err && proc_ended(pid, 0)) /* it had ended before: there will be no exit record */
		err = -ESRCH;
	if (!err)
		err = scan(targets, target, false, 0, "");
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
		uint64_t to_ns = library->for_all_ns && library->for_all_ns < until_ns ? library->for_all_ns : until_ns;

		if (entry && !entry->postponed)
			continue;       /* its code was inspected up to this library */
		add_gaps(targets, &gaps, pid, library, (struct gap){ NULL, unprobed_fork, since_ns, to_ns });
	}
	if (!from)
		gaps_add(&gaps, targets->spool, pid, (struct gap){ ANY_LAYER, unprobed_fork, since_ns, until_ns });
	gaps_write(&gaps, targets->spool, pid, 0);
}

void targets_forked(struct targets *targets, pid_t pid, pid_t parent, uint64_t since_ns)
{
	struct target *target = target_get(targets, pid, since_ns);

	if (target) {
		target->ran = true;
		note_process(targets->spool, pid, false);
		watch_mounts(targets, pid);
	}
	if (!target || scan(targets, target, false, since_ns, unprobed_fork))
		targets_forked_briefly(targets, pid, parent, since_ns, monotonic_ns());
}

static const char unprobed_program[] = "a new program ran before its probes were in place";

void targets_execed(struct targets *targets, pid_t pid, pid_t old_tid, uint64_t since_ns)
{
	struct target *target = target_get(targets, pid, since_ns);

	if (!target)
		return;
	end_postponed(targets, target, false, since_ns);
	if (old_tid != pid)
		target_forget(targets, target, true);   /* the links belonged to the leader that the exec replaced */
	for (int group = 0; group < POINT_GROUPS; group++)
		targets_switch(targets, pid, group, true);
	for (size_t i = 0; i < target->links.n; i++)
		target->links.v[i]->noted = false;
	mappings_forget(&target->mappings);
	target->mpi = false;
	target->new_program = true;
	target->ran = false;
	note_process(targets->spool, pid, false);
	watch_mounts(targets, pid);
	settle_gaps(targets, target, 0);
	scan_or_gap(targets, target, targets->hold, since_ns, unprobed_program);
}

void targets_mapped(struct targets *targets, pid_t pid, uint64_t since_ns)
{
	struct target *target = target_get(targets, pid, since_ns);

	if (target && !targets->hold)
		scan_or_gap(targets, target, false, since_ns, unprobed_library);
	else if (target && !target->mapped_ns && since_ns > target->scanned_ns)
		target->mapped_ns = since_ns;
}

void targets_not_held(struct targets *targets, pid_t pid, uint64_t since_ns)
{
	struct target *target = target_get(targets, pid, since_ns);

	if (!target) {
		note_gap(targets->spool, pid, ANY_LAYER, since_ns, monotonic_ns(), unprobed_library);
		return;
	}
	target->ran = true;
	settle_gaps(targets, target, since_ns);
	scan_or_gap(targets, target, false, since_ns, unprobed_library);
}

size_t targets_held(struct targets *targets, pid_t pid, uint64_t since_ns)
{
	struct target *target = target_get(targets, pid, since_ns);
	size_t demanded = 0;

	if (target)
		scan_for(targets, target, true, since_ns, unprobed_library, &demanded);
	return demanded;
}

void targets_released(struct targets *targets, pid_t pid, uint64_t gave_up_ns)
{
	struct target *target;

	HASH_FIND_INT(targets->all, &pid, target);
	if (!target)
		return;
	target->ran = true;
	settle_gaps(targets, target, gave_up_ns ? gave_up_ns : UINT64_MAX);
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
			scan_or_gap(targets, target, true, target->mapped_ns, unprobed_library);
		}
		if (target->unsettled_ns && now_ns > target->unsettled_ns + HOLD_OVER_NS)
			settle_gaps(targets, target, 0);
	}
}

/* A program that will be held is probed then. */
static void place_postponed(struct targets *targets, uint64_t now_ns)
{
	for (struct target *target = targets->all; target; target = target->hh.next) {
		bool runs = target->ran || !targets->hold;

		if (target->postponed_ns && now_ns > target->postponed_ns + (runs ? POSTPONED_NS : HOLD_OVER_NS))
			scan(targets, target, false, 0, "");
	}
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
}

void targets_ended(struct targets *targets, pid_t pid, uint64_t time_ns)
{
	struct target *target;
	struct early_end *end;

	HASH_FIND_INT(targets->all, &pid, target);
	if (target) {
		end_postponed(targets, target, false, time_ns);
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
	for (struct target *target = targets->all; target; target = target->hh.next)
		end_postponed(targets, target, false, time_ns);
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
	targets->rendezvous = !bpf_side_holds_at_seal(targets->kernel);
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
	heed_switching(targets, target, library->plan.switching, &(struct proc_modules){ 0 });
	if (library->plan.switching == SHARES_STACK)
		bpf_side_set_entry_only(targets->kernel, pid, IOP_FROM_NEXT_EXEC);
	attach_before_mapped(target, library);
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
		.processes = targets->processes, .libraries = HASH_COUNT(targets->libraries.all), .probes = targets->libraries.probes,
		.missing = targets->libraries.missing,
		.single_stepped = targets->libraries.single_stepped, .no_memory = targets->no_memory,
	};
}
