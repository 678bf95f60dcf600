/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A scan of a process' mappings finds the libraries that were added since the last one, places their probes and notes them.
 */
#include "capture/targets_internal.h"

#include <errno.h>

#include "bpf/rings.h"
#include "capture/libraries.h"
#include "capture/notes.h"

/* Finds the address of a data object in the process: the first module in link order that defines it, so that the executable's copy
 * is preferred. */
static void target_scan_find_communicators(struct targets *targets, const struct proc_modules *modules,
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

static void note_library(struct targets *targets, const struct target *target, const struct plan_layer *layer,
			 const struct proc_modules *modules, const char *path)
{
	const struct table_layer *table = &targets->set->layers[layer->layer];
	static const char *const keys[] = { "comm_world", "comm_self", "comm_null" };
	struct note note = { 0 };

	note_add(&note, "layer", table->name);
	note_add(&note, "file", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	if (layer->version[0])
		note_add(&note, "version", layer->version);
	note_add(&note, "parallel", layer->parallel ? "1" : "0");
	if (knows_abi(targets, modules, layer))
		note_add(&note, "abi", "1");
	if (layer->narrow)
		note_add(&note, "narrow", "1");
	if (table->ncomms) {
		uint64_t comms[TABLE_COMM_KINDS] = { 0 };

		target_scan_find_communicators(targets, modules, comms);
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

static bool target_scan_is_mpi(const struct targets *targets, const struct library *library)
{
	for (size_t i = 0; i < library->plan.nlayers; i++)
		if (targets->set->layers[library->plan.layers[i].layer].ncomms)
			return true;
	return false;
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

		if (library && library->plan.nlayers && (!library->has_streams || (entry && !entry->postponed)))
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
	if (postpone && library->has_streams && !library_everywhere_ns(library, target->links.withheld)) {
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
		note_library(targets, target, &library->plan.layers[i], modules, module->path);
	/* those that were in place before its exec, or before the file was mapped, leave no gap */
	target_note_gaps(targets, target, library, entry->before ? 0 : since_ns, reason);
	if (target_scan_is_mpi(targets, library) && !target->mpi) {
		target->mpi = true;
		note_process(targets->spool, target->pid, true);
	}
}

void target_attach_before_mapped(struct target *target, struct library *library)
{
	struct process_library *entry = process_links_find(&target->links, library) ? NULL :
		process_links_add(&target->links, library);

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
			target_attach_before_mapped(target, library);
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
			target_attach_before_mapped(target, library);
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

void target_follow_switching(struct targets *targets, struct target *target, enum stack_switching switching,
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
		target_note_gaps(targets, target, target->links.v[i]->library, since_ns,
				 "probes were replaced: the program switches stacks");
}

/* Returns whether the process has a library that makes the calls of another one that it would make itself otherwise. Only where its
 * first own call can be made to wait. */
static bool may_withhold(struct targets *targets, const struct target *target, const struct proc_modules *modules)
{
	if (target->links.direct || target->links.withheld || !targets->hold || !bpf_side_holds_at_seal(targets->kernel) ||
	    bpf_side_method(targets->kernel) != ATTACH_SESSION)
		return false;
	for (size_t i = 0; i < modules->n; i++) {
		struct library *library = libraries_get(&targets->libraries, &modules->v[i]);

		for (size_t k = 0; library && k < library->plan.nlayers; k++)
			if (targets->set->layers[library->plan.layers[k].layer].variables_in[0])
				return true;
	}
	return false;
}

/* Opening each mapped file, to identify it, takes longer than reading the list of mappings: a program with plug-ins maps a hundred
 * files, one by one. */
int target_read_modules(struct target *target, const struct target *parent)
{
	const struct proc_modules *before = parent && !target->modules.n ? &parent->modules : &target->modules;
	struct proc_modules now;
	int err = proc_modules_update(target->pid, before, &now);

	if (err)
		return err;
	proc_modules_free(&target->modules);
	target->modules = now;
	return 0;
}

int target_place_probes(struct targets *targets, struct target *target)
{
	const struct proc_modules *modules = &target->modules;
	int err = target_read_modules(target, NULL);

	if (err)
		return err;
	target_follow_switching(targets, target, libraries_switching(&targets->libraries, modules), modules);
	err = add_modules(targets, target, modules, false);
	libraries_place(&targets->libraries);
	return err;
}

int target_scan_for(struct targets *targets, struct target *target, bool held, uint64_t since_ns, const char *reason,
		    const struct target *parent, size_t *demanded)
{
	const struct proc_modules *modules = &target->modules;
	uint64_t mapped_ns = target->mapped_ns && target->mapped_ns < since_ns ? target->mapped_ns : since_ns;
	uint64_t now_ns = monotonic_ns();
	int err = target_read_modules(target, parent);
	uint64_t from_ns = target->postponed_ns ?: since_ns;    /* since when it runs */
	bool fresh = held && !target->ran;                      /* it will run when it has been held */
	bool postpone;

	target->mapped_ns = 0;
	if (err)
		return err;
	target->scanned_ns = now_ns;
	mappings_note(&target->mappings, targets->spool, &targets->libraries, modules, target->pid, mapped_ns);
	postpone = is_postponed(targets, target, modules, fresh ? monotonic_ns() : from_ns);
	if (!postpone)
		target_follow_switching(targets, target, libraries_switching(&targets->libraries, modules), modules);
	if (held && may_withhold(targets, target, modules))
		target->links.withheld = bpf_side_withhold(targets->kernel, target->pid);
	err = add_modules(targets, target, modules, postpone);
	if (demanded && !target->links.demand)
		*demanded = process_links_demand(&target->links, true);
	libraries_place(&targets->libraries);
	if (!postpone)
		target_end_postponed(targets, target, true, monotonic_ns());
	else
		target->postponed_ns = fresh ? monotonic_ns() : from_ns;
	for (size_t i = 0; i < modules->n; i++)
		note_module(targets, target, modules, &modules->v[i], since_ns, reason);
	if (!held)
		target_settle_gaps(targets, target, 0);
	return err;
}

int target_scan(struct targets *targets, struct target *target, bool held, uint64_t since_ns, const char *reason)
{
	return target_scan_for(targets, target, held, since_ns, reason, NULL, NULL);
}

void target_scan_or_gap(struct targets *targets, struct target *target, bool held, uint64_t since_ns, const char *reason)
{
	if (!target_scan(targets, target, held, since_ns, reason))
		return;
	target_add_unread_gap(targets, target, since_ns, reason);
	if (!held)
		target_settle_gaps(targets, target, 0);
}
