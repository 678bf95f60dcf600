/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From tables and one ELF file to probe points: finds the layers that the file provides, with one point per address and no point
 * that counts a call twice.
 */
#include "elf/plan.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/symbols.h"
#include "util/hash.h"

#define RENDEZVOUS "_dl_debug_state"

/* A file of another name provides a layer if it defines at least this many of its functions (or all, if the layer has fewer). */
#define ENOUGH_FUNCTIONS 5
/* Functions larger than this are not read completely. */
#define LARGE_FUNCTION (1u << 20)

/* How a layer was found in this file. */
enum match { NO_MATCH, BY_NAME, BY_CONTENT };

/* A function that may get a point. */
struct candidate {
	const struct elf_function *function;
	uint16_t row;
	struct placement placement;
	bool has_second;
	struct second_entry second;
	uint64_t jumps_to;      /* link-time address, if the function consists only of a jump; else 0 */
	bool dropped;
};

/* The functions of the file by name; several versions are adjacent. */
struct named { const char *name; const struct elf_function *first; size_t n; UT_hash_handle hh; };

struct planner {
	struct plan *plan;
	const struct table_set *set;
	struct elf_names *names;
	struct elf_file *file;
	const char *name;
	struct elf_function *functions;
	size_t nfunctions;
	struct named *named, *storage;  /* uthash */
	enum match *match;              /* per layer */
	struct candidate *candidates;
	size_t ncandidates;
};

/* ---- the functions of the file ---- */

static int plan_by_name(const void *a, const void *b)
{
	const struct elf_function *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ?: x->old_version - y->old_version;
}

static int index_functions(struct planner *p)
{
	struct named *last = NULL;

	p->storage = calloc(p->nfunctions + 1, sizeof(*p->storage));
	if (!p->storage)
		return -ENOMEM;
	if (p->nfunctions)
		qsort(p->functions, p->nfunctions, sizeof(*p->functions), plan_by_name);
	for (size_t i = 0; i < p->nfunctions; i++) {
		if (last && !strcmp(last->name, p->functions[i].name)) {
			last->n++;
			continue;
		}
		last = last ? last + 1 : p->storage;
		*last = (struct named){ .name = p->functions[i].name, .first = &p->functions[i], .n = 1 };
		HASH_ADD_KEYPTR(hh, p->named, last->name, strlen(last->name), last);
		if (!hash_added(last))
			return -ENOMEM;
	}
	return 0;
}

int plan_names_create(struct elf_names **out, const struct table_set *set)
{
	const char **names = calloc(set->nrows + 2 * set->nlayers + 1, sizeof(*names));
	size_t n = 0;
	int err;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < set->nrows; i++)
		if (!set->layers[set->rows[i].layer].syscalls)
			names[n++] = set->rows[i].name;
	for (size_t i = 0; i < set->nlayers; i++) {
		if (set->layers[i].parallel_symbol[0])
			names[n++] = set->layers[i].parallel_symbol;
		if (set->layers[i].narrow_symbol[0])
			names[n++] = set->layers[i].narrow_symbol;
	}
	names[n++] = RENDEZVOUS;
	err = elf_names_create(out, names, n);
	free(names);
	return err;
}

static const struct named *find_named(const struct planner *p, const char *name)
{
	struct named *named;

	HASH_FIND_STR(p->named, name, named);
	return named;
}

/* ---- layers ---- */

static bool plan_matches(const struct table_layer *layer, const char *name)
{
	for (size_t i = 0; name && i < layer->nlibraries; i++)
		if (!fnmatch(layer->libraries[i], name, 0))
			return true;
	return false;
}

static bool needs_library_of(const struct planner *p, const struct table_layer *layer)
{
	const char *const *needed;
	size_t n = elf_file_needed(p->file, &needed);

	for (size_t i = 0; i < n; i++)
		if (plan_matches(layer, needed[i]))
			return true;
	return false;
}

/* Counts how many of a layer's rows the file defines, and its rows. */
static size_t count_defined(const struct planner *p, size_t layer, size_t *rows)
{
	size_t defined = 0;

	*rows = 0;
	for (size_t i = 0; i < p->set->nrows; i++) {
		if (p->set->rows[i].layer != layer)
			continue;
		++*rows;
		defined += find_named(p, p->set->rows[i].name) != NULL;
	}
	return defined;
}

/* By content: libraries with other names, and programs that are linked statically with a library. Not a file that needs the layer's
 * own library: it wraps the functions (as preloaded libraries of other tools do), and calls would be counted twice. For the same
 * reason not a shared object with functions of the C library. A static program has only those unwind functions that it uses. */
static enum match match_layer(const struct planner *p, size_t index)
{
	const struct table_layer *layer = &p->set->layers[index];
	size_t rows, defined, enough;

	if (layer->syscalls)
		return NO_MATCH;
	defined = count_defined(p, index, &rows);
	if (!defined)
		return NO_MATCH;
	if (plan_matches(layer, p->name) || plan_matches(layer, elf_file_soname(p->file)))
		return BY_NAME;
	enough = table_layer_is_internal(p->set, index) ? 1 : rows < ENOUGH_FUNCTIONS ? rows : ENOUGH_FUNCTIONS;
	if (defined < enough || needs_library_of(p, layer))
		return NO_MATCH;
	if (layer->per_process && layer->paradigm[0] && !elf_file_is_static(p->file))
		return NO_MATCH;
	return BY_CONTENT;
}

/* ---- properties of a layer ---- */

/* "HDF5 library version 1.10.8" gives 1.10.8: the first word that begins with a digit. A text without such a word is used
 * unchanged. */
static void version_from_text(char *version, size_t len, const char *text)
{
	size_t start = 0, n;

	while (text[start] && !(isdigit((unsigned char)text[start]) && (!start || isspace((unsigned char)text[start - 1]))))
		start++;
	if (!text[start])
		start = 0;
	n = strcspn(text + start, start ? " \t\r\n,;)" : "\r\n");
	snprintf(version, len, "%.*s", (int)(n < len ? n : len - 1), text + start);
}

static void read_version(const struct planner *p, const struct table_layer *layer, struct plan_layer *out)
{
	char text[128];
	uint64_t vaddr, size;
	long n;

	if (!layer->version_symbol[0] || !elf_file_object(p->file, layer->version_symbol, &vaddr, &size) || !size)
		return;
	n = elf_file_read(p->file, vaddr, text, size < sizeof(text) - 1 ? size : sizeof(text) - 1);
	if (n <= 0)
		return;
	text[n] = 0;
	version_from_text(out->version, sizeof(out->version), text);
}

static void plan_find_communicators(const struct planner *p, const struct table_layer *layer)
{
	for (size_t i = 0; i < layer->ncomms; i++) {
		uint64_t *vaddr = &p->plan->comm_vaddr[layer->comms[i].kind], found, size;

		if (!*vaddr && layer->comms[i].symbol[0] && elf_file_object(p->file, layer->comms[i].symbol, &found, &size))
			*vaddr = found;
	}
}

/* Returns where the linker has put the stream; 0 if that is not known: a pointer in .bss is filled in when the program starts. */
static uint64_t stream_vaddr(const struct planner *p, const struct table_stream *stream)
{
	uint64_t vaddr, size, pointer = 0;

	if (!elf_file_object(p->file, stream->symbol, &vaddr, &size))
		return 0;
	if (!stream->pointer)
		return vaddr;
	return elf_file_read(p->file, vaddr, &pointer, sizeof(pointer)) == sizeof(pointer) ? pointer : 0;
}

/* Only in the C library itself, or where an executable may have a copy: other libraries may have symbols of these names. */
static void find_streams(const struct planner *p, size_t index)
{
	const struct table_layer *layer = &p->set->layers[index];
	bool executable = elf_file_interpreter(p->file) || elf_file_is_static(p->file);

	if (p->match[index] == NO_MATCH && !executable)
		return;
	for (size_t i = 0; i < layer->nstreams; i++) {
		uint64_t *vaddr = &p->plan->stream_vaddr[layer->streams[i].number];

		if (!*vaddr)
			*vaddr = stream_vaddr(p, &layer->streams[i]);
	}
}

size_t plan_constants_of(const struct table_set *set, size_t layer)
{
	size_t n = 0;

	for (size_t i = 0; i < layer; i++)
		n += set->layers[i].ntypes;
	return n;
}

/* Searches the library itself, and an executable, which may have copies. */
static int find_constants(struct planner *p, size_t index)
{
	const struct table_layer *layer = &p->set->layers[index];
	bool executable = elf_file_interpreter(p->file) || elf_file_is_static(p->file);
	const char *names[IOP_MAX_CONSTANTS];

	if (!layer->ntypes || !layer->types[0].symbol[0] || (p->match[index] == NO_MATCH && !executable))
		return 0;
	if (!p->plan->constants)
		p->plan->constants = calloc(plan_constants_of(p->set, p->set->nlayers), sizeof(*p->plan->constants));
	if (!p->plan->constants)
		return -ENOMEM;
	p->plan->nconstants = plan_constants_of(p->set, p->set->nlayers);
	for (size_t i = 0; i < layer->ntypes; i++)
		names[i] = layer->types[i].symbol;
	elf_file_objects(p->file, names, layer->ntypes, p->plan->constants + plan_constants_of(p->set, index));
	return 0;
}

/* Returns whether the numbers by which the table identifies the ABI are in the file, as the linker stored them. */
static bool has_abi(const struct planner *p, const struct table_layer *layer)
{
	for (size_t i = 0; i < layer->nabi; i++) {
		uint64_t vaddr, size, value = 0;

		if (!elf_file_object(p->file, layer->abi[i].symbol, &vaddr, &size) ||
		    elf_file_read(p->file, vaddr + layer->abi[i].offset, &value, sizeof(value)) != sizeof(value) ||
		    value != layer->abi[i].value)
			return false;
	}
	return layer->nabi > 0;
}

/* The libraries that a program needs do not show whether a library linked into it is parallel: it counts as serial, which claims
 * less. */
static bool is_parallel(const struct planner *p, size_t index)
{
	const struct table_layer *layer = &p->set->layers[index];
	const char *const *needed;
	size_t n;

	if (layer->parallel_symbol[0])
		return find_named(p, layer->parallel_symbol) != NULL;
	if (!layer->parallel_needed[0])
		return layer->klass == CLASS_PARALLEL;
	n = p->match[index] == BY_NAME ? elf_file_needed(p->file, &needed) : 0;
	for (size_t i = 0; i < n; i++)
		if (!fnmatch(layer->parallel_needed, needed[i], 0))
			return true;
	return false;
}

static int find_layers(struct planner *p)
{
	p->match = calloc(p->set->nlayers + 1, sizeof(*p->match));
	p->plan->layers = calloc(p->set->nlayers + 1, sizeof(*p->plan->layers));
	if (!p->match || !p->plan->layers)
		return -ENOMEM;
	for (size_t i = 0; i < p->set->nlayers; i++) {
		struct plan_layer *layer = &p->plan->layers[p->plan->nlayers];

		plan_find_communicators(p, &p->set->layers[i]);
		p->match[i] = match_layer(p, i);
		if (i < 64 && has_abi(p, &p->set->layers[i]))
			p->plan->known_abis |= 1ull << i;
		find_streams(p, i);
		if (find_constants(p, i))
			return -ENOMEM;
		if (p->match[i] == NO_MATCH)
			continue;
		layer->layer = i;
		layer->parallel = is_parallel(p, i);
		layer->known_abi = has_abi(p, &p->set->layers[i]);
		layer->narrow = p->set->layers[i].narrow_symbol[0] && find_named(p, p->set->layers[i].narrow_symbol);
		read_version(p, &p->set->layers[i], layer);
		p->plan->nlayers++;
	}
	return 0;
}

/* ---- one function ---- */

static unsigned argument_registers(const struct table_row *row)
{
	unsigned registers = 0;

	for (unsigned i = 0; i < row->nargs; i++)
		if (row->args[i].capture >= 0 && row->args[i].position < 6)
			registers |= 1u << row->args[i].position;
	return registers;
}

/* Finds the target of a function that only jumps to another one of the same signature: getc to _IO_getc. Returns 0 if it does
 * not. */
static uint64_t jump_target(const uint8_t *code, size_t len, uint64_t vaddr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = len >= 4 && !memcmp(code, endbr64, 4) ? 4 : 0;
	int32_t distance;

	at += len > at && code[at] == 0xf2;     /* bnd */
	if (len >= at + 5 && code[at] == 0xe9) {
		memcpy(&distance, code + at + 1, 4);
		return vaddr + at + 5 + distance;
	}
	return len >= at + 2 && code[at] == 0xeb ? vaddr + at + 2 + (int8_t)code[at + 1] : 0;
}

static struct placement plan_place(struct planner *p, const struct elf_function *function, const uint8_t *code, size_t len,
				   bool whole, unsigned arg_regs)
{
	struct placement placement = placement_decide(code, len, function->vaddr, whole, arg_regs);

	uint32_t reach = placement.kind == PLACED_INSIDE ? len - 1 : placement.offset;

	if (reach && elf_file_code_begins_in(p->file, function->vaddr, function->vaddr + reach))
		return (struct placement){ .kind = PLACED_SINGLE_STEP, .reason = "another symbol inside" };
	return placement;
}

static bool place_second(struct planner *p, const struct candidate *candidate, const uint8_t *code, size_t len, bool whole,
			 struct second_entry *second)
{
	uint64_t vaddr = candidate->function->vaddr;

	return placement_second(code, len, whole, argument_registers(&p->set->rows[candidate->row]), &candidate->placement,
				second) &&
	       (!second->offset || !elf_file_code_begins_in(p->file, vaddr, vaddr + second->offset));
}

static int plan_examine(struct planner *p, struct candidate *candidate)
{
	const struct elf_function *function = candidate->function;
	bool whole = function->size && function->size <= LARGE_FUNCTION;
	size_t want = whole ? function->size : 4096;
	uint8_t *code = malloc(want);
	long len;

	if (!code)
		return -ENOMEM;
	len = elf_file_read(p->file, function->vaddr, code, want);
	if (len <= 0) {
		candidate->placement = (struct placement){ .kind = PLACED_IMPOSSIBLE, .reason = "its code cannot be read" };
	} else {
		candidate->placement = plan_place(p, function, code, len, whole && (size_t)len == want,
						  argument_registers(&p->set->rows[candidate->row]));
		candidate->has_second = place_second(p, candidate, code, len, whole && (size_t)len == want, &candidate->second);
		candidate->jumps_to = jump_target(code, len, function->vaddr);
	}
	free(code);
	return 0;
}

/* ---- candidates ---- */

/* Adds one entry per row, even if the function has several versions. */
static void add_missing(struct planner *p, uint16_t row, const char *reason)
{
	for (size_t i = 0; i < p->plan->nmissing; i++)
		if (p->plan->missing[i].row == row)
			return;
	p->plan->missing[p->plan->nmissing++] = (struct plan_missing){ row, reason };
}

static bool address_taken(const struct planner *p, uint64_t vaddr)
{
	for (size_t i = 0; i < p->ncandidates; i++)
		if (p->candidates[i].function->vaddr == vaddr)
			return true;
	return false;
}

static bool is_expected(const struct planner *p, const struct table_row *row)
{
	for (size_t i = 0; i < p->plan->nlayers; i++)
		if (p->plan->layers[i].layer == row->layer)
			return table_row_expected(row, table_version(p->plan->layers[i].version), p->plan->layers[i].parallel);
	return table_row_expected(row, 0, false);
}

/* Adds every version of a row's function that has an address of its own. */
static int plan_add_row(struct planner *p, const struct table_row *row)
{
	const struct named *named = find_named(p, row->name);
	int err = 0;

	if (!named && p->match[row->layer] == BY_NAME && is_expected(p, row))
		add_missing(p, row->id, PLAN_ABSENT);
	for (size_t i = 0; named && i < named->n && !err; i++) {
		struct candidate *candidate = &p->candidates[p->ncandidates];

		if (named->first[i].ifunc) {
			if (!i)
				add_missing(p, row->id, "an indirect function (IFUNC): its address is that of its resolver");
			continue;
		}
		if (address_taken(p, named->first[i].vaddr))
			continue;
		*candidate = (struct candidate){ .function = &named->first[i], .row = row->id };
		err = plan_examine(p, candidate);
		if (!err && candidate->placement.kind == PLACED_IMPOSSIBLE && !i)
			add_missing(p, row->id, candidate->placement.reason);
		candidate->dropped = candidate->placement.kind == PLACED_IMPOSSIBLE;
		p->ncandidates += !err;
	}
	return err;
}

static int find_candidates(struct planner *p)
{
	int err = 0;

	/* a function belongs to every row with its name, at most one per layer */
	p->candidates = calloc(p->nfunctions * (p->set->nlayers + 1) + 1, sizeof(*p->candidates));
	p->plan->missing = calloc(p->set->nrows + 1, sizeof(*p->plan->missing));
	if (!p->candidates || !p->plan->missing)
		return -ENOMEM;
	for (size_t i = 0; i < p->set->nrows && !err; i++)
		if (p->match[p->set->rows[i].layer] != NO_MATCH && !p->set->rows[i].off)
			err = plan_add_row(p, &p->set->rows[i]);
	return err;
}

/* Returns whether a call of the candidate is observed at another candidate's point anyway. */
static bool goes_on_to_another(const struct planner *p, const struct candidate *candidate)
{
	for (size_t i = 0; candidate->jumps_to && i < p->ncandidates; i++) {
		const struct candidate *other = &p->candidates[i];

		if (other != candidate && other->function->vaddr == candidate->jumps_to &&
		    other->placement.kind != PLACED_IMPOSSIBLE &&
		    p->set->rows[other->row].layer == p->set->rows[candidate->row].layer)
			return true;
	}
	return false;
}

/* ---- the plan ---- */

static int plan_hand_out(struct planner *p)
{
	struct plan *plan = p->plan;

	if (p->ncandidates > PLAN_MAX_POINTS)
		return -E2BIG;
	plan->points = calloc(p->ncandidates + 1, sizeof(*plan->points));
	if (!plan->points)
		return -ENOMEM;
	for (size_t i = 0; i < p->ncandidates; i++) {
		const struct candidate *candidate = &p->candidates[i];

		if (candidate->dropped)
			continue;
		if (goes_on_to_another(p, candidate)) {
			add_missing(p, candidate->row, PLAN_JUMPS);
			continue;
		}
		plan->points[plan->npoints++] = (struct plan_point){
			candidate->row, candidate->function->file_offset + candidate->placement.offset, candidate->placement,
			candidate->has_second ? candidate->function->file_offset + candidate->second.offset : 0,
			candidate->second.frame, p->set->rows[candidate->row].name,
		};
	}
	return 0;
}

static void find_rendezvous(struct planner *p)
{
	const struct named *named = find_named(p, RENDEZVOUS);

	if (named && named->first->dynamic && !elf_file_interpreter(p->file) && !elf_file_is_static(p->file))
		p->plan->rendezvous_offset = named->first->file_offset;
}

static int plan_make(struct planner *p)
{
	int err = elf_file_find_functions(p->file, p->names, &p->functions, &p->nfunctions);

	if (!err)
		err = index_functions(p);
	if (!err)
		err = find_layers(p);
	if (!err)
		err = find_candidates(p);
	if (!err)
		err = plan_hand_out(p);
	if (err)
		return err;
	find_rendezvous(p);
	p->plan->switching = elf_file_switching(p->file, p->name);
	p->plan->first_vaddr = elf_file_first_vaddr(p->file);
	p->plan->build_id_len = elf_file_build_id(p->file, p->plan->build_id);
	p->plan->stripped_static = elf_file_is_static(p->file) && !elf_file_has_symtab(p->file) && !p->plan->npoints;
	return 0;
}

static void plan_describe(int err, const char *reason, char *err_text, size_t err_len)
{
	if (err == -E2BIG)
		snprintf(err_text, err_len, "it defines more than %d functions of the tables", PLAN_MAX_POINTS);
	else if (err == -ENOMEM && !reason)
		snprintf(err_text, err_len, "its symbols need more memory than there is for them");
	else
		snprintf(err_text, err_len, "%s", reason ?: strerror(-err));
}

int plan_create(struct plan *out, const struct table_set *set, struct elf_names *names, int fd, const char *name, char *err_text,
		size_t err_len)
{
	struct planner p = { .plan = out, .set = set, .names = names, .name = name };
	const char *reason = NULL;
	int err = elf_file_open(&p.file, fd, &reason);

	*out = (struct plan){ 0 };
	if (!err) {
		reason = NULL;
		err = plan_make(&p);
	}
	if (err) {
		plan_describe(err, reason, err_text, err_len);
		plan_destroy(out);
	}
	HASH_CLEAR(hh, p.named);
	free(p.storage);
	free(p.functions);
	free(p.match);
	free(p.candidates);
	elf_file_destroy(p.file);
	return err;
}

void plan_destroy(struct plan *plan)
{
	free(plan->points);
	free(plan->missing);
	free(plan->layers);
	free(plan->constants);
	free(plan->texts);
	*plan = (struct plan){ 0 };
}
