/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The measuring process is a fork of the recorder that calls empty functions and makes system calls in batches; the best batch
 * counts, since what disturbs only makes it longer. How much of a call's cost is between its own two time stamps is seen in its
 * records. Parts of it are measured in the same process: calls without a site, and records without a call (bpf/measure.bpf.h).
 */
#include "capture/probe_costs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/attach.h"
#include "bpf/rings.h"
#include "capture/calibrate.h"
#include "capture/notes.h"

#define BATCHES 10
#define HITS 10                 /* of a batch: 10 batches of 16 kinds, each in three ways, take some 10 ms */
#define SAMPLES (BATCHES * HITS)
#define MAX_KINDS 16
#define LIVES_NS 2000000000ull  /* a machine on which it takes longer has no time to measure */
#define DELAY_NS 300000000ull
#define NICE 10
#define ANSWER_TRIES 200        /* in all, until the rules of call sites are there: some 5 on an idle machine */
#define ANSWER_US 1000          /* between them */

/* One empty function for each kind, the last two not empty. */
#define FUNCTION_BYTES 32
extern const char probe_cost_functions[], probe_cost_single_stepped[], probe_cost_nested[];
extern int probe_cost_fd;
int probe_cost_fd = -1;
__asm__(".text\n.balign 32\nprobe_cost_functions:\n"
	".rept 16\n.balign 32\n\tpush %rbp\n\tpop %rbp\n\tret\n.endr\n"
	".balign 32\nprobe_cost_single_stepped:\n\tmov %rsp, %rax\n\tret\n"
	".balign 32\nprobe_cost_nested:\n\tpush %rbp\n\tmov probe_cost_fd(%rip), %edi\n\tlea probe_cost_functions(%rip), %rsi\n"
	"\tmov $1, %edx\n\tmov $1, %eax\n\tsyscall\n\tpop %rbp\n\tret\n");

/* What is measured; total_ns: 0 unknown. */
struct kind {
	const struct table_row *row;    /* that the calls are recorded by */
	const char *function;
	bool in_parts;                  /* also calls without a site, and records without a call */
	bool sited;                     /* a recorded call had a site */
	uint64_t total_ns;              /* of a call; of a nested one with its system call */
	uint32_t inside[SAMPLES];       /* its durations as recorded, with sites if there are any */
	unsigned n;
};

/* Shared with the measuring process. */
struct measured {
	bool hides_sites;               /* batches of calls of the kinds in parts are in turn without and with sites */
	struct measured_call {
		uint64_t begin_ns;      /* calls that began before were not timed; 0: none yet */
		uint64_t total_ns, siteless_ns;
		uint64_t record_ns;     /* 0: unknown */
		bool site_found;        /* the site was complete in the last call of each timed batch */
	} calls[MAX_KINDS + 3];
	uint64_t memory[512] __attribute__((aligned(4096)));    /* that pointer arguments point to */
};

struct probe_costs {
	const struct table_set *set;
	struct bpf_side *kernel;
	struct hold_server *server;
	struct links links;
	struct kind kinds[MAX_KINDS + 3];       /* libraries', single-stepped, nested, system call */
	unsigned nlibraries, nkinds;
	const struct table_row *write;
	uint64_t bare_ns, begin_ns, deadline_ns;        /* begin_ns: of measuring, 0: not yet */
	volatile struct measured *measured;
	pid_t pid;                      /* 0: none, or it was waited for */
	uint32_t tgid;                  /* of the same, also afterwards: its records may still be in the rings; 0: none */
	uint64_t gone_ns;               /* when it was waited for: later records with its number are another process'; 0: not yet */
	int go;
	unsigned rounds;                /* since its end */
	bool call_sites, done;
};

/* ---- what to measure ---- */

static bool has_registers_only(const struct iop_desc *desc)
{
	for (unsigned i = 0; i < desc->nargs; i++)
		if (desc->arg[i].source >= 6)
			return false;
	return true;
}

static bool is_measurable(const struct table_set *set, const struct table_row *row)
{
	struct iop_desc desc;

	if (row->off || row->syscall_nr >= 0 || table_row_is_internal(row) || row->op == OP_LEARN)
		return false;
	table_row_descriptor(set, row, &desc);
	return !(desc.flags & (IOP_D_NO_RETURN | IOP_D_NESTED | IOP_D_UNWIND)) && !(desc.requests & ~IOP_R_DEMAND) &&
	       !desc.heap_handle && has_registers_only(&desc);
}

/* A function that moves data, as most calls do; any other if there is none. */
static const struct table_row *row_of_layer(const struct table_set *set, size_t layer)
{
	const struct table_row *best = NULL;

	for (size_t i = 0; i < set->nrows; i++) {
		const struct table_row *row = &set->rows[i];

		if (row->layer != layer || !is_measurable(set, row))
			continue;
		if ((row->op == OP_READ || row->op == OP_WRITE) && !(row->mods & MOD_NONBLOCKING))
			return row;
		best = best ? best : row;
	}
	return best;
}

static void add_kind(struct probe_costs *c, const struct table_row *row, const char *function, bool in_parts)
{
	c->kinds[c->nkinds++] = (struct kind){ .row = row, .function = function, .in_parts = in_parts };
}

static void choose_kinds(struct probe_costs *c)
{
	for (size_t layer = 0; layer < c->set->nlayers && c->nkinds < MAX_KINDS; layer++) {
		const struct table_row *row = c->set->layers[layer].syscalls ? NULL : row_of_layer(c->set, layer);

		if (row)
			add_kind(c, row, probe_cost_functions + FUNCTION_BYTES * c->nkinds, true);
	}
	c->nlibraries = c->nkinds;
	if (c->nlibraries) {
		add_kind(c, c->kinds[0].row, probe_cost_single_stepped, false);
		add_kind(c, c->kinds[0].row, probe_cost_nested, false);
	}
	for (size_t i = 0; i < c->set->nrows && !c->write; i++)
		if (c->set->rows[i].syscall_nr == SYS_write && !c->set->rows[i].off)
			add_kind(c, c->write = &c->set->rows[i], NULL, true);
}

/* ---- the calls ---- */

static void write_byte(void)
{
	syscall(SYS_write, probe_cost_fd, probe_cost_functions, 1);
}

/* Whatever an argument points to is zero; other arguments are 1. */
static void arguments_of(const struct probe_costs *c, const struct table_row *row, uint64_t args[6])
{
	struct iop_desc desc;

	table_row_descriptor(c->set, row, &desc);
	for (unsigned i = 0; i < 6; i++)
		args[i] = 1;
	for (unsigned i = 0; i < desc.nargs; i++)
		if (desc.arg[i].kind != IOP_ARG_VALUE && desc.arg[i].kind != IOP_ARG_INT)
			args[desc.arg[i].source] = (uintptr_t)c->measured->memory;
}

static void call_kind(const struct kind *kind, const uint64_t args[6])
{
	void (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) =
		(void (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t))(uintptr_t)kind->function;

	if (function)
		function(args[0], args[1], args[2], args[3], args[4], args[5]);
	else
		write_byte();
}

/* Not inlined, and called from one place: so the rule of that place, once it is there, is that of every call. */
static __attribute__((noinline)) uint64_t time_batch(const struct kind *kind, const uint64_t args[6], int hits)
{
	uint64_t begin = monotonic_ns();

	for (int i = 0; i < hits; i++)
		call_kind(kind, args);
	return (monotonic_ns() - begin) / hits;
}

static uint64_t ask_kernel(const struct probe_costs *c, enum iop_measure operation, uint64_t id)
{
	const uint64_t request[IOP_MEASURE_WORDS] = { operation, id, HITS, (uintptr_t)c->measured->memory };

	return bpf_side_measure(c->kernel, request);
}

static uint64_t lesser_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Times calls without and with a site alternately, so that a disturbance affects both. Single calls before them request the site's
 * rules, so that no timed call does. volatile: the compiler must not duplicate the call of time_batch; each copy would have a site
 * of its own. */
static __attribute__((noinline)) void time_kind(const struct probe_costs *c, const struct kind *kind, int *tries,
						volatile struct measured_call *best)
{
	const bool hides_sites = c->measured->hides_sites && kind->in_parts;
	const int batches = hides_sites ? 2 * BATCHES : BATCHES;
	uint64_t args[6], image = 0;

	c->measured->memory[0] = 0;     /* the page is there: a probe that reads from one that is not takes long */
	arguments_of(c, kind->row, args);
	best->total_ns = best->siteless_ns = UINT64_MAX;
	best->site_found = c->measured->hides_sites;
	for (int batch = -*tries; batch < batches; batch++) {
		volatile bool siteless = hides_sites && batch >= 0 && batch % 2 == 0, timed = batch >= 0;
		uint64_t ns;

		if (!batch)
			best->begin_ns = monotonic_ns();
		if (siteless)
			image = ask_kernel(c, IOP_MEASURE_HIDE_SITES, 0);
		ns = time_batch(kind, args, timed ? HITS : 1);
		if (siteless) {
			ask_kernel(c, IOP_MEASURE_SHOW_SITES, image);
			best->siteless_ns = lesser_ns(best->siteless_ns, ns);
		} else if (timed) {
			best->total_ns = lesser_ns(best->total_ns, ns);
			best->site_found = best->site_found && ask_kernel(c, IOP_MEASURE_SITE_FOUND, 0);
		} else if (ask_kernel(c, IOP_MEASURE_SITE_FOUND, 0)) {
			batch = -1;
		} else {
			usleep(ANSWER_US);
			--*tries;
		}
	}
}

/* Returns what the record alone costs of a call of this kind, 0 if that is unknown. */
static uint64_t time_records(const struct probe_costs *c, const struct kind *kind)
{
	uint64_t best = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++)
		best = lesser_ns(best, ask_kernel(c, IOP_MEASURE_RECORDS, kind->row->id));
	return best / HITS;
}

/* Returns whether calls without a site can be made. */
static bool hides_sites(const struct probe_costs *c)
{
	uint64_t image = ask_kernel(c, IOP_MEASURE_HIDE_SITES, 0);

	if (image)
		ask_kernel(c, IOP_MEASURE_SHOW_SITES, image);
	return image;
}

/* In the measuring process; of a process with several threads it is a copy of one: nothing that takes a lock. */
static void probe_costs_measure(const struct probe_costs *c, pid_t recorder)
{
	volatile struct measured *measured = c->measured;
	int tries = 0;
	uint64_t go;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, 0, NICE);
	if (getppid() != recorder || read(c->go, &go, sizeof(go)) != sizeof(go))
		_exit(1);
	measured->hides_sites = c->call_sites && hides_sites(c);
	tries = measured->hides_sites ? ANSWER_TRIES : 0;
	for (unsigned i = 0; i < c->nkinds; i++) {
		const struct kind *kind = &c->kinds[i];

		time_kind(c, kind, &tries, &measured->calls[i]);
		measured->calls[i].record_ns = kind->in_parts ? time_records(c, kind) : 0;
	}
	_exit(0);
}

/* ---- life ---- */

struct probe_costs *probe_costs_create(const struct table_set *set, const struct filter *filter, bool call_sites)
{
	struct probe_costs *c = NULL;

	if (filter && (filter_by_file(filter) || filter->min_duration_ns || filter->min_bytes || filter->count_streams))
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->set = set;
	c->call_sites = call_sites;
	c->go = eventfd(0, EFD_CLOEXEC);
	c->measured = mmap(NULL, sizeof(*c->measured), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	probe_cost_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (c->measured == MAP_FAILED || c->go < 0 || probe_cost_fd < 0) {
		probe_costs_destroy(c);
		return NULL;
	}
	choose_kinds(c);
	if (c->write) {
		int tries = 0;

		time_kind(c, &c->kinds[c->nkinds - 1], &tries, &c->measured->calls[0]);
		c->bare_ns = c->measured->calls[0].total_ns;
		c->measured->calls[0].begin_ns = 0;
	}
	return c;
}

void probe_costs_stop(struct probe_costs *c)
{
	if (!c)
		return;
	if (c->pid) {
		struct iop_demand demand;

		bpf_side_end_demand(c->kernel, c->pid, &demand);     /* of its calls of MPI-IO */
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
		c->gone_ns = monotonic_ns();
		c->pid = 0;
		bpf_side_set_measuring(c->kernel, 0);
	}
	if (c->server)
		links_detach(c->server, &c->links);
	c->done = true;
}

void probe_costs_destroy(struct probe_costs *c)
{
	if (!c)
		return;
	probe_costs_stop(c);
	if (c->measured != MAP_FAILED)
		munmap((void *)c->measured, sizeof(*c->measured));
	if (c->go >= 0)
		close(c->go);
	if (probe_cost_fd >= 0)
		close(probe_cost_fd);
	probe_cost_fd = -1;
	free(c);
}

static void ignore_refusal(void *arg, const struct attach_point *point, int err)
{
	(void)arg, (void)point, (void)err;
}

static int probe_costs_attach(struct probe_costs *c)
{
	struct attach_point points[MAX_KINDS + 3] = { { 0 } };
	struct proc_modules modules;
	size_t n = 0;
	int err = proc_modules_read(getpid(), &modules);

	if (err)
		return err;
	for (unsigned i = 0; i < c->nkinds && !err; i++) {
		if (!c->kinds[i].function)
			continue;
		points[n].function = "calibration";
		points[n].cookie = c->kinds[i].row->id;
		err = calibrate_own_offset(&modules, c->kinds[i].function, &points[n++].offset);
	}
	proc_modules_free(&modules);
	return err ? err
		   : attach_points(c->server, &c->links, c->kernel, ATTACH_CALLS, "/proc/self/exe", c->pid, points, n,
				   ignore_refusal, NULL);
}

void probe_costs_begin(struct probe_costs *c, struct bpf_side *kernel, struct hold_server *server)
{
	if (!c)
		return;
	c->kernel = kernel;
	c->server = server;
	c->begin_ns = monotonic_ns() + DELAY_NS;
	c->done = bpf_side_method(kernel) == ATTACH_NONE || !c->nkinds;
}

static void probe_costs_begin_process(struct probe_costs *c)
{
	const uint64_t go = 1;
	pid_t recorder = getpid();

	c->pid = fork();
	if (!c->pid)
		probe_costs_measure(c, recorder);
	c->tgid = c->pid > 0 ? c->pid : 0;
	bpf_side_set_measuring(c->kernel, c->tgid);
	c->deadline_ns = monotonic_ns() + LIVES_NS;
	if (c->pid < 0 || probe_costs_attach(c) || bpf_side_take(c->kernel, c->pid) ||
	    write(c->go, &go, sizeof(go)) != sizeof(go)) {
		c->pid = c->pid < 0 ? 0 : c->pid;
		probe_costs_stop(c);
	}
}

/* ---- the records ---- */

/* A call without a site is shorter: it counts only as long as no call with one has come. */
static void add_duration(struct kind *kind, const struct iop_rec_call *call)
{
	bool sited = call->site[0] || call->site[1] || call->site[2];
	uint64_t ns = call->rec.time_ns - call->enter_ns;

	if (sited && !kind->sited)
		kind->n = 0;
	kind->sited |= sited;
	if (sited == kind->sited && kind->n < SAMPLES)
		kind->inside[kind->n++] = ns < UINT32_MAX ? ns : UINT32_MAX;
}

/* The calls of one kind arrive together, in the order of the kinds. Not needed: the two records of a nested call, and records sent
 * without a call (they have a depth). */
bool probe_costs_take(struct probe_costs *c, const struct iop_rec *rec)
{
	const struct iop_rec_call *call = (const void *)rec;

	if (!c || !c->tgid || rec->tgid != c->tgid || (c->gone_ns && rec->time_ns > c->gone_ns))
		return false;
	for (unsigned i = 0; i < c->nkinds && rec->type == IOP_REC_CALL && !call->depth; i++) {
		uint64_t begin_ns = c->measured->calls[i].begin_ns;
		struct kind *kind = &c->kinds[i];

		if (kind->row->id != call->probe || kind->n == SAMPLES)
			continue;
		if (begin_ns && call->enter_ns >= begin_ns)
			add_duration(kind, call);
		break;
	}
	return true;
}

static int probe_costs_ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Of a call that does nothing. A quarter is shorter: those above may have been disturbed. */
static uint64_t inside_ns(struct kind *kind)
{
	if (!kind->n)
		return 0;
	qsort(kind->inside, kind->n, sizeof(kind->inside[0]), probe_costs_ascending);
	return kind->inside[kind->n / 4];
}

static uint64_t probe_costs_difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void note_layer(const struct probe_costs *c, struct note *note, size_t layer, uint64_t total_ns, uint64_t inside)
{
	char key[32];

	snprintf(key, sizeof(key), "layer_%zu", layer);
	note_addf(note, key, "%llu %llu %s", (unsigned long long)total_ns,
		  (unsigned long long)(inside < total_ns ? inside : total_ns), c->set->layers[layer].name);
}

/* Writes only what was measured. Without call sites the site's part is 0. With them it is measured only if the site was complete in
 * the last call of each timed batch: a call that requests its site, or waits for the answer, is not representative. */
static void note_parts(const struct probe_costs *c, struct note *note, size_t layer, const struct kind *kind)
{
	struct measured_call call = c->measured->calls[kind - c->kinds];
	char key[32];

	if (call.record_ns) {
		snprintf(key, sizeof(key), "record_%zu", layer);
		note_addf(note, key, "%llu", (unsigned long long)call.record_ns);
	}
	if (c->call_sites && !(c->measured->hides_sites && call.site_found))
		return;
	snprintf(key, sizeof(key), "site_%zu", layer);
	note_addf(note, key, "%llu",
		  (unsigned long long)(c->call_sites ? probe_costs_difference(call.total_ns, call.siteless_ns) : 0));
}

/* Of a layer all of whose functions are out of reach here (nested ones, those with many arguments) the first library's stands. */
static struct kind *kind_of_layer(struct probe_costs *c, size_t layer)
{
	for (unsigned i = 0; i < c->nlibraries; i++)
		if (c->kinds[i].row->layer == layer)
			return &c->kinds[i];
	return &c->kinds[0];
}

/* Not one of unwinders and the like alone. */
static bool has_calls(const struct table_set *set, size_t layer)
{
	for (size_t i = 0; i < set->nrows; i++)
		if (set->rows[i].layer == layer && !table_row_is_internal(&set->rows[i]))
			return true;
	return false;
}

static void note_costs(struct probe_costs *c, struct spool_writer *spool)
{
	struct kind *call = &c->kinds[c->nkinds - 1], *library = c->kinds, *single = &c->kinds[c->nlibraries];
	struct note note = { 0 };

	for (size_t layer = 0; layer < c->set->nlayers; layer++) {
		struct kind *kind = kind_of_layer(c, layer);

		if (!has_calls(c->set, layer))
			continue;
		if (!c->set->layers[layer].syscalls && c->nlibraries) {
			note_layer(c, &note, layer, kind->total_ns, inside_ns(kind));
			note_parts(c, &note, layer, kind);
		} else if (c->set->layers[layer].syscalls && c->write) {
			note_layer(c, &note, layer, probe_costs_difference(call->total_ns, c->bare_ns),
				   probe_costs_difference(inside_ns(call), c->bare_ns));
			note_parts(c, &note, layer, call);
		}
	}
	if (c->nlibraries)
		note_addf(&note, "single_step_ns", "%llu",
			  (unsigned long long)probe_costs_difference(single->total_ns, library->total_ns));
	if (c->nlibraries && c->write)
		note_addf(&note, "nested_ns", "%llu",
			  (unsigned long long)probe_costs_difference(single[1].total_ns, library->total_ns + call->total_ns));
	if (note.text)
		spool_writer_text(spool, IOP_REC_COSTS, 0, monotonic_ns(), note.text, NULL);
	note_free(&note);
}

static bool has_ended(const struct probe_costs *c, bool *well)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, c->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
		return false;
	*well = info.si_code == CLD_EXITED && !info.si_status;
	return true;
}

/* Its number belongs to it until it is waited for: not before a whole round has come after its end. */
bool probe_costs_step(struct probe_costs *c, struct spool_writer *spool, bool last)
{
	bool well = false;

	if (!c || c->done)
		return true;
	if (!c->pid) {
		if (c->begin_ns && (last || monotonic_ns() >= c->begin_ns))
			probe_costs_begin_process(c);
		return c->done;
	}
	if (!has_ended(c, &well)) {
		if (monotonic_ns() > c->deadline_ns)
			probe_costs_stop(c);
		return c->done;
	}
	if (c->rounds++ < 1)
		return false;
	for (unsigned i = 0; i < c->nkinds; i++)
		c->kinds[i].total_ns = c->measured->calls[i].total_ns;
	if (well)
		note_costs(c, spool);
	probe_costs_stop(c);
	return true;
}
