/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The thread that answers requests of the BPF programs: an unwind rule for the new address and for all others up the same stack, of
 * which the request has a copy. So a new chain needs one request, and its first call gets all its callers.
 */
#include "capture/sites.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bpf/rings.h"
#include "capture/notes.h"
#include "capture/site_modules.h"
#include "capture/site_symbols.h"

#define POLL_MS 50
#define PREPARE_MS 200
#define SITES_NICE (-20)
#define CLEANUP_IMAGES 1024     /* new ones after which those of ended processes are dropped */

/* A record to be written. */
struct site_note { enum iop_rec_type type; uint32_t tgid; struct note note; struct site_note *next; };

struct sites {
	const struct bpf_side *kernel;
	unsigned frames;
	pthread_mutex_t work;           /* of modules */
	struct site_modules modules;
	struct ring_buffer *ring;
	struct sites_counts counts;
	uint32_t cleanup_nodes;         /* after so many new ones those of ended processes are dropped, … */
	uint32_t cleanup_sites;         /* … next at this number of a site, … */
	unsigned cleanup_images;        /* … or with so many known images */
	pthread_t thread;
	bool started, stop;             /* stop: atomic */
	pthread_mutex_t lock;           /* of notes */
	struct site_note *notes, **last;
};

/* ---- records ---- */

static void sites_queue(struct sites *sites, enum iop_rec_type type, uint32_t tgid, struct note *note)
{
	struct site_note *entry = malloc(sizeof(*entry));

	if (!entry) {
		note_free(note);        /* out of memory: its calls have unknown callers */
		return;
	}
	*entry = (struct site_note){ type, tgid, *note, NULL };
	pthread_mutex_lock(&sites->lock);
	*sites->last = entry;
	sites->last = &entry->next;
	pthread_mutex_unlock(&sites->lock);
}

void sites_step(struct sites *sites, struct spool_writer *spool)
{
	struct site_note *entry, *next;

	if (!sites)
		return;
	pthread_mutex_lock(&sites->lock);
	entry = sites->notes;
	sites->notes = NULL;
	sites->last = &sites->notes;
	pthread_mutex_unlock(&sites->lock);
	for (; entry; entry = next) {
		next = entry->next;
		if (entry->note.text)
			spool_writer_text(spool, entry->type, entry->tgid, monotonic_ns(), entry->note.text, NULL);
		note_free(&entry->note);
		free(entry);
	}
}

static void note_mapping(struct sites *sites, const struct iop_site_ask *ask, struct site_mapping *mapping)
{
	const struct site_module *module = sites->modules.v[mapping->module];
	struct note note = { 0 };

	if (mapping->noted)
		return;
	mapping->noted = true;
	note_addf(&note, "image", "%u", ask->image);
	note_addf(&note, "module", "%u", mapping->module);
	note_addf(&note, "start", "%llx", (unsigned long long)mapping->start);
	note_addf(&note, "end", "%llx", (unsigned long long)mapping->end);
	note_addf(&note, "offset", "%llx", (unsigned long long)mapping->offset);
	note_addf(&note, "application", "%d", module->application);
	note_add(&note, "path", module->path);
	if (module->build_id[0])
		note_add(&note, "build_id", module->build_id);
	if (module->reason)
		note_add(&note, "unreadable", module->reason);
	if (module->python.known)
		note_addf(&note, "python_loop", "%llx-%llx", (unsigned long long)module->python.loop,
			  (unsigned long long)module->python.loop_end);
	sites_queue(sites, IOP_REC_CODE, ask->tgid, &note);
}

/* Python of a version whose frames are laid out in an unknown way. */
static void note_unknown_python(struct sites *sites, struct site_module *module)
{
	uint32_t version = module->python.version;
	struct note note = { 0 };

	if (module->python_noted || !version || module->python.known)
		return;
	module->python_noted = true;
	note_add(&note, "layer", "*");
	note_add(&note, "library", module->path);
	note_add(&note, "function", "*");
	note_addf(&note, "reason",
		  "its Python code is shown as the interpreter's: --call-sites reads the frames of Python 3.11 to 3.13, not of "
		  "%s%u.%u",
		  version == PYTHON_OLD ? "those before " : "", version == PYTHON_OLD ? 3 : version >> 24,
		  version == PYTHON_OLD ? 11 : version >> 16 & 0xff);
	sites_queue(sites, IOP_REC_MISSING, 0, &note);
}

/* ---- rules ---- */

/* Returns the rule of an address in the requesting process. An address without a rule ends its chain. *given: the programs have
 * it. */
static struct iop_site_rule rule_of(struct sites *sites, const struct iop_site_ask *ask, uint64_t pc, bool *given)
{
	struct iop_site_rule none = { .kind = IOP_RULE_END, .flags = IOP_RULE_TRUNCATED };
	struct site_mapping *mapping;
	struct site_place *place;
	bool gone;

	*given = false;
	if (!pc)
		return (struct iop_site_rule){ .kind = IOP_RULE_END };  /* the bottom of a stack, as coroutines make it */
	mapping = site_modules_find(&sites->modules, ask, pc, &gone);
	if (!mapping) {
		sites->counts.gone += gone;
		sites->counts.no_file += !gone;
		return none;
	}
	place = site_modules_place(&sites->modules, sites->modules.v[mapping->module], mapping->offset + (pc - mapping->start));
	note_mapping(sites, ask, mapping);
	note_unknown_python(sites, sites->modules.v[mapping->module]);
	sites->counts.unreadable += !place;
	if (!place)
		return none;
	*given = place->image == ask->image && place->pc == pc;
	place->image = ask->image;
	place->pc = pc;
	return place->rule;
}

/* ---- the walk of bpf/sites.bpf.h, on the copy of the stack ---- */

enum walk_end { END_WHOLE, END_TRUNCATED, END_UNKNOWN };

struct site_walk {
	const struct iop_site_ask *ask;
	uint64_t pc, cfa, bp, bp_at;
	unsigned frames, application;
	size_t n;               /* addresses with their rules, the requested one first */
	struct { uint64_t pc; struct iop_site_rule rule; bool given; } v[IOP_SITE_MAX_FRAMES + 1];
};

static bool read_word(const struct iop_site_ask *ask, uint64_t at, uint64_t *value)
{
	uint64_t begin = ask->cfa - 8;

	if (at < begin || at - begin > ask->len || ask->len - (at - begin) < sizeof(*value))
		return false;
	memcpy(value, ask->stack + (at - begin), sizeof(*value));
	return true;
}

static bool restore_bp(struct site_walk *walk)
{
	uint64_t at = walk->bp_at;

	walk->bp_at = 0;
	return !at || read_word(walk->ask, at, &walk->bp);
}

static bool sites_serve_step(struct site_walk *walk, const struct iop_site_rule *rule)
{
	uint64_t base = walk->cfa, cfa;

	if (rule->kind != IOP_RULE_SP) {
		if (!restore_bp(walk))
			return false;
		base = walk->bp;
	}
	if (rule->kind == IOP_RULE_BP_DEREF && !read_word(walk->ask, base + rule->deref, &base))
		return false;
	cfa = base + rule->cfa;
	if (cfa <= walk->cfa || !read_word(walk->ask, cfa - 8, &walk->pc))
		return false;
	if (rule->bp_saved == IOP_BP_AT_CFA)
		walk->bp_at = cfa + rule->bp;
	else if (rule->bp_saved == IOP_BP_AT_BP && restore_bp(walk))
		walk->bp_at = walk->bp + rule->bp;
	walk->cfa = cfa;
	return true;
}

/* Another tool's return probe: only the kernel knows the address that it replaced. The programs ask it when the walk gets there. */
static bool sites_is_trampoline(const struct site_walk *walk)
{
	return walk->ask->trampoline && (walk->pc & ~4095ull) == walk->ask->trampoline;
}

static enum walk_end walk_up(struct sites *sites, struct site_walk *walk)
{
	for (;;) {
		struct iop_site_rule rule;
		bool given;

		if (sites_is_trampoline(walk))
			return END_UNKNOWN;
		rule = rule_of(sites, walk->ask, walk->pc, &given);
		walk->v[walk->n].given = given;
		walk->v[walk->n].pc = walk->pc;
		walk->v[walk->n++].rule = rule;
		walk->frames++;
		walk->application += !!(rule.flags & IOP_RULE_APPLICATION);
		if (rule.flags & IOP_RULE_TRUNCATED)
			return END_TRUNCATED;
		if (rule.kind == IOP_RULE_END || walk->application >= sites->frames)
			return END_WHOLE;
		if (walk->frames >= IOP_SITE_MAX_FRAMES)
			return END_TRUNCATED;
		if (!sites_serve_step(walk, &rule))
			return END_UNKNOWN;
	}
}

static void note_callers(struct sites *sites, const struct site_walk *walk, enum walk_end end)
{
	static const char *const ends[] = { [END_WHOLE] = "whole", [END_TRUNCATED] = "truncated", [END_UNKNOWN] = "unknown" };
	char callers[IOP_SITE_MAX_FRAMES * 18 + 1] = "";
	struct note note = { 0 };
	size_t used = 0;

	for (size_t i = 1; i < walk->n; i++)
		used += snprintf(callers + used, sizeof(callers) - used, "%s%llx", i > 1 ? "," : "",
				 (unsigned long long)walk->v[i].pc);
	note_addf(&note, "site", "%u", walk->ask->call);
	note_addf(&note, "image", "%u", walk->ask->image);
	note_add(&note, "end", ends[end]);
	note_add(&note, "callers", callers);
	sites_queue(sites, IOP_REC_CALLERS, walk->ask->tgid, &note);
}

/* The requested rule is written last: with it the next walk goes on, and finds the others. A rule that was given before is written
 * only when it is requested: the programs may have dropped it. */
static void give_rules(struct sites *sites, const struct site_walk *walk)
{
	for (size_t i = walk->n; i-- > 0;)
		if (!walk->v[i].given || (!i && !walk->ask->again))
			bpf_side_set_rule(sites->kernel, walk->ask->image, walk->v[i].pc, &walk->v[i].rule);
}

static int on_ask(void *arg, void *data, size_t size)
{
	const struct iop_site_ask *ask = data;
	struct site_walk walk = { .ask = ask };
	struct sites *sites = arg;
	enum walk_end end;

	if (size < sizeof(*ask) || ask->len > size - sizeof(*ask) || ask->frames > IOP_SITE_MAX_FRAMES)
		return 0;
	walk.pc = ask->pc;
	walk.cfa = ask->cfa;
	walk.bp = ask->bp;
	walk.bp_at = ask->bp_at;
	walk.frames = ask->frames;
	walk.application = ask->application;
	pthread_mutex_lock(&sites->work);
	end = walk_up(sites, &walk);
	pthread_mutex_unlock(&sites->work);
	give_rules(sites, &walk);
	if (ask->call)
		note_callers(sites, &walk, end);
	return 0;
}

/* ---- life ---- */

void sites_prepare(struct sites *sites, pid_t pid)
{
	struct timespec until;
	uint32_t process, image;

	if (!sites)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += PREPARE_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (pthread_mutex_timedlock(&sites->work, &until))
		return;
	image = bpf_side_image_of(sites->kernel, pid, &process);
	if (image)
		site_modules_prepare(&sites->modules, pid, process, image);
	pthread_mutex_unlock(&sites->work);
}

static unsigned known_images(struct sites *sites)
{
	unsigned n;

	pthread_mutex_lock(&sites->work);
	n = HASH_COUNT(sites->modules.images);
	pthread_mutex_unlock(&sites->work);
	return n;
}

/* When a quarter of the room for nodes may have been used since the last time, or when many processes have come. If more than that
 * remains, it takes as many new nodes until the next time. */
static void drop_ended(struct sites *sites)
{
	uint32_t last = bpf_side_last_site(sites->kernel);
	struct image_numbers images;
	size_t nodes = 0;

	if (last < sites->cleanup_sites && known_images(sites) < sites->cleanup_images)
		return;
	if (!bpf_side_images(sites->kernel, &images) && !bpf_side_keep_images(sites->kernel, &images, &nodes)) {
		pthread_mutex_lock(&sites->work);
		site_modules_keep(&sites->modules, &images);
		pthread_mutex_unlock(&sites->work);
	}
	free(images.v);
	sites->cleanup_sites = last + (nodes > sites->cleanup_nodes ? nodes : sites->cleanup_nodes);
	sites->cleanup_images = known_images(sites) + CLEANUP_IMAGES;
}

/* The program calls on while it is asked who calls: answers take microseconds, waiting for a processor milliseconds. Priorities are
 * those of threads, and the parser processes inherit this one's. */
static void *sites_serve(void *arg)
{
	struct sites *sites = arg;

	setpriority(PRIO_PROCESS, gettid(), SITES_NICE);        /* as far as we may */
	parse_pool_warm(sites->modules.parsers);
	while (!__atomic_load_n(&sites->stop, __ATOMIC_ACQUIRE)) {
		ring_buffer__poll(sites->ring, POLL_MS);
		drop_ended(sites);
	}
	ring_buffer__consume(sites->ring);
	return NULL;
}

int sites_create(struct sites **out, const struct bpf_side *kernel, const struct table_set *set, unsigned frames)
{
	struct sites *sites = calloc(1, sizeof(*sites));
	int err;

	if (!sites)
		return -ENOMEM;
	sites->kernel = kernel;
	sites->modules.kernel = kernel;
	sites->modules.set = set;
	sites->frames = frames;
	sites->last = &sites->notes;
	sites->cleanup_nodes = sites->cleanup_sites = bpf_side_node_room(kernel) / 4;
	sites->cleanup_images = CLEANUP_IMAGES;
	pthread_mutex_init(&sites->lock, NULL);
	pthread_mutex_init(&sites->work, NULL);
	err = parse_pool_create(&sites->modules.parsers, set);
	if (!err) {
		sites->ring = ring_buffer__new(bpf_side_site_asks_fd(kernel), on_ask, sites, NULL);
		err = sites->ring ? -pthread_create(&sites->thread, NULL, sites_serve, sites) : -errno;
		sites->started = sites->ring && !err;
	}
	if (err) {
		sites_destroy(sites);
		return err;
	}
	*out = sites;
	return 0;
}

void sites_stop(struct sites *sites, struct spool_writer *spool)
{
	if (!sites)
		return;
	if (sites->started) {
		__atomic_store_n(&sites->stop, true, __ATOMIC_RELEASE);
		pthread_join(sites->thread, NULL);
		sites->started = false;
	}
	if (spool)
		sites_step(sites, spool);
	ring_buffer__free(sites->ring);
	sites->ring = NULL;
}

void sites_symbolize(struct sites *sites, struct spool_writer *spool)
{
	if (!sites)
		return;
	parse_pool_destroy(sites->modules.parsers);     /* the answers are not awaited any more: new processes have our priority */
	sites->modules.parsers = NULL;
	if (parse_pool_create(&sites->modules.parsers, sites->modules.set))
		return;
	for (size_t i = 0; i < sites->modules.n; i++)
		site_symbols_write(sites->modules.v[i], i, sites->modules.parsers, spool);
}

void sites_destroy(struct sites *sites)
{
	struct site_note *next;

	if (!sites)
		return;
	sites_stop(sites, NULL);
	for (struct site_note *entry = sites->notes; entry; entry = next) {
		next = entry->next;
		note_free(&entry->note);
		free(entry);
	}
	site_modules_deinit(&sites->modules);
	parse_pool_destroy(sites->modules.parsers);
	pthread_mutex_destroy(&sites->lock);
	pthread_mutex_destroy(&sites->work);
	free(sites);
}

struct sites_counts sites_count(const struct sites *sites)
{
	return sites ? sites->counts : (struct sites_counts){ 0 };
}
