/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Looks symbols up by name: one pass over both symbol tables for any number of names.
 */
#include "elf/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "util/hash.h"

#define VERSION_HIDDEN 0x8000   /* in a .gnu.version entry: not the default version of its name */

/* Of the file that is being read: */
struct wanted {
	const char *name;
	bool global;            /* found as a global symbol */
	size_t nlocal;          /* number of addresses of local symbols with this name */
	UT_hash_handle hh;
};

struct elf_names { struct wanted *set, *v; };

struct found { struct elf_function function; struct wanted *wanted; bool local; size_t order; };
struct result { struct found *v; size_t n, cap; };

/* ---- names to look up ---- */

static int names_add(struct elf_names *names, const char *const *from, size_t n)
{
	struct wanted *known;

	names->v = calloc(n + 1, sizeof(*names->v));
	if (!names->v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		names->v[i].name = from[i];
		HASH_FIND_STR(names->set, from[i], known);
		if (known)
			continue;
		HASH_ADD_KEYPTR(hh, names->set, names->v[i].name, strlen(from[i]), &names->v[i]);
		if (!hash_added(&names->v[i]))
			return -ENOMEM;
	}
	return 0;
}

int elf_names_create(struct elf_names **out, const char *const *names, size_t n)
{
	int err;

	*out = calloc(1, sizeof(**out));
	err = *out ? names_add(*out, names, n) : -ENOMEM;
	if (err) {
		elf_names_destroy(*out);
		*out = NULL;
	}
	return err;
}

void elf_names_destroy(struct elf_names *names)
{
	if (!names)
		return;
	HASH_CLEAR(hh, names->set);
	free(names->v);
	free(names);
}

/* Names in .symtab may include their version: "fopen@@GLIBC_2.2.5", or "fopen@GLIBC_2.2.5" for an old one. */
static struct wanted *wanted_find(struct wanted *set, const char *name, bool *old_version)
{
	const char *at = strchr(name, '@');
	struct wanted *wanted;

	*old_version = at && at[1] != '@';
	HASH_FIND(hh, set, name, at ? (size_t)(at - name) : strlen(name), wanted);
	return wanted;
}

/* ---- one symbol ---- */

static bool is_function(const Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	/* NOTYPE: functions of hand-written assembly. */
	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && symbol->st_shndx != SHN_COMMON && symbol->st_value &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

static bool is_executable(const struct elf_file *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->nsegments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && vaddr >= segment->p_vaddr &&
		    vaddr - segment->p_vaddr < segment->p_filesz)
			return true;
	}
	return false;
}

static bool same_function(const struct found *a, const struct found *b)
{
	return a->wanted == b->wanted && a->function.vaddr == b->function.vaddr;
}

/* Exported symbols occur in .symtab again. */
static bool is_duplicate(const struct result *result, const struct found *found)
{
	for (size_t i = 0; i < result->n; i++)
		if (same_function(&result->v[i], found))
			return true;
	return false;
}

static int result_add(struct result *result, const struct found *found)
{
	if ((found->local && found->wanted->nlocal > 1) || is_duplicate(result, found))
		return 0;       /* two local symbols of one name are ambiguous: neither is used */
	if (result->n == ELF_FILE_MAX_FUNCTIONS)
		return -E2BIG;
	if (result->n == result->cap) {
		size_t cap = result->cap ? 2 * result->cap : 256;
		struct found *v = realloc(result->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		result->v = v;
		result->cap = cap;
	}
	result->v[result->n] = *found;
	result->v[result->n].order = result->n;
	result->n++;
	if (found->local)
		found->wanted->nlocal++;
	else
		found->wanted->global = true;
	return 0;
}

static int symbols_consider(const struct elf_file *file, const struct elf_symtab *table, size_t i, struct wanted *set,
			    struct result *result)
{
	const Elf64_Sym *symbol = &table->symbols[i];
	const char *name = is_function(symbol) ? elf_symtab_string(table, symbol->st_name) : NULL;
	struct found found = { 0 };
	uint64_t left;
	bool old;

	found.wanted = name ? wanted_find(set, name, &old) : NULL;
	if (!found.wanted || !is_executable(file, symbol->st_value))
		return 0;
	found.local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL;
	found.function = (struct elf_function){
		.name = found.wanted->name, .vaddr = symbol->st_value, .size = symbol->st_size,
		.dynamic = table == &file->exported,
		.old_version = old || (i < table->nversions && (table->versions[i] & VERSION_HIDDEN)),
		.ifunc = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
	};
	if (!elf_file_offset_of_vaddr(file, symbol->st_value, &found.function.file_offset, &left))
		return 0;
	return result_add(result, &found);
}

static int consider_all(const struct elf_file *file, const struct elf_symtab *table, struct wanted *set, struct result *result)
{
	int err = 0;

	for (size_t i = 0; i < table->n && !err; i++)
		err = symbols_consider(file, table, i, set, result);
	return err;
}

/* ---- functions ---- */

/* A local function is used only if there is no global one of its name and it is the only local one: hidden functions of a
 * statically linked library are local, but so is any static function of the same name. */
static bool symbols_counts(const struct found *found)
{
	return !found->local || (!found->wanted->global && found->wanted->nlocal == 1);
}

static int by_version(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->function.old_version != y->function.old_version)
		return x->function.old_version - y->function.old_version;
	return (x->order > y->order) - (x->order < y->order);
}

static int symbols_hand_out(struct result *result, struct elf_function **out, size_t *nout)
{
	struct elf_function *functions = calloc(result->n + 1, sizeof(*functions));
	size_t n = 0;

	if (!functions)
		return -ENOMEM;
	if (result->n)
		qsort(result->v, result->n, sizeof(*result->v), by_version);
	for (size_t i = 0; i < result->n; i++)
		if (symbols_counts(&result->v[i]))
			functions[n++] = result->v[i].function;
	*out = functions;
	*nout = n;
	return 0;
}

static void forget_result(struct result *result)
{
	for (size_t i = 0; i < result->n; i++) {
		result->v[i].wanted->global = false;
		result->v[i].wanted->nlocal = 0;
	}
	free(result->v);
}

int elf_file_find_functions(struct elf_file *file, struct elf_names *names, struct elf_function **out, size_t *nout)
{
	struct result result = { 0 };
	int err = consider_all(file, &file->exported, names->set, &result);

	if (!err)
		err = consider_all(file, &file->all, names->set, &result);
	if (!err)
		err = symbols_hand_out(&result, out, nout);
	forget_result(&result);
	return err;
}

int elf_file_functions(struct elf_file *file, const char *const *names, size_t nnames, struct elf_function **out, size_t *nout)
{
	struct elf_names *set;
	int err = elf_names_create(&set, names, nnames);

	if (!err)
		err = elf_file_find_functions(file, set, out, nout);
	elf_names_destroy(set);
	return err;
}

/* ---- entries ---- */

static int symbols_by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void collect_entries(struct elf_file *file, const struct elf_symtab *table)
{
	for (size_t i = 0; i < table->n; i++)
		if (is_function(&table->symbols[i]))
			file->entries[file->nentries++] = table->symbols[i].st_value;
}

/* If there is no memory for the list the answer is yes: nothing is proven then. */
bool elf_file_code_begins_in(struct elf_file *file, uint64_t after, uint64_t upto)
{
	size_t low = 0, high;

	if (!file->entries) {
		file->entries = calloc(file->exported.n + file->all.n + 1, sizeof(*file->entries));
		if (!file->entries)
			return true;
		collect_entries(file, &file->exported);
		collect_entries(file, &file->all);
		qsort(file->entries, file->nentries, sizeof(*file->entries), symbols_by_address);
	}
	for (high = file->nentries; low < high; ) {
		size_t middle = low + (high - low) / 2;

		if (file->entries[middle] <= after)
			low = middle + 1;
		else
			high = middle;
	}
	return low < file->nentries && file->entries[low] <= upto;
}

/* ---- objects ---- */

/* Returns the name of a defined data object, NULL if the symbol is not one. */
static const char *symbols_object_name(const struct elf_symtab *table, const Elf64_Sym *symbol)
{
	if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_shndx == SHN_UNDEF)
		return NULL;
	return elf_symtab_string(table, symbol->st_name);
}

/* In .symtab a version may follow the name. */
static bool symbols_same_name(const char *candidate, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(candidate, name, len) && (!candidate[len] || candidate[len] == '@');
}

static bool find_object(const struct elf_symtab *table, const char *name, uint64_t *vaddr, uint64_t *size)
{
	for (size_t i = 0; i < table->n; i++) {
		const Elf64_Sym *symbol = &table->symbols[i];
		const char *candidate = symbols_object_name(table, symbol);

		if (!candidate || !symbols_same_name(candidate, name))
			continue;
		*vaddr = symbol->st_value;
		*size = symbol->st_size;
		return true;
	}
	return false;
}

bool elf_file_object(struct elf_file *file, const char *name, uint64_t *vaddr, uint64_t *size)
{
	return find_object(&file->exported, name, vaddr, size) || find_object(&file->all, name, vaddr, size);
}

void elf_file_objects(struct elf_file *file, const char *const *names, size_t n, uint64_t *vaddr)
{
	const struct elf_symtab *table = elf_file_is_static(file) ? &file->all : &file->exported;

	memset(vaddr, 0, n * sizeof(*vaddr));
	for (size_t i = 0; i < table->n; i++) {
		const char *candidate = symbols_object_name(table, &table->symbols[i]);

		for (size_t k = 0; k < n && candidate; k++)
			if (!vaddr[k] && symbols_same_name(candidate, names[k]))
				vaddr[k] = table->symbols[i].st_value;
	}
}

/* ---- mentions ---- */

static void mark_mentions(const struct elf_symtab *table, const char *const *names, size_t n, bool *mentioned)
{
	for (size_t i = 0; i < table->n; i++) {
		const char *name = elf_symtab_string(table, table->symbols[i].st_name);

		for (size_t k = 0; k < n && name && name[0]; k++)
			if (name[0] == names[k][0] && !mentioned[k] && symbols_same_name(name, names[k]))
				mentioned[k] = true;
	}
}

void elf_file_mentions(struct elf_file *file, const char *const *names, size_t n, bool *mentioned)
{
	memset(mentioned, 0, n * sizeof(*mentioned));
	mark_mentions(&file->exported, names, n, mentioned);
	mark_mentions(&file->all, names, n, mentioned);
}

/* ---- the file ---- */

bool elf_file_is_static(struct elf_file *file)
{
	uint64_t flags = 0;

	if (file->interpreter || file->nneeded)
		return false;
	/* the dynamic linker has neither as well, but its flags do not mark it as an executable */
	return file->type == ET_EXEC || (elf_file_dynamic_value(file, DT_FLAGS_1, &flags) && (flags & DF_1_PIE));
}

const char *elf_file_soname(struct elf_file *file)
{
	uint64_t at;

	return elf_file_dynamic_value(file, DT_SONAME, &at) ? elf_symtab_string(&file->exported, at) : NULL;
}

const char *elf_file_interpreter(struct elf_file *file)
{
	return file->interpreter;
}

bool elf_file_has_symtab(struct elf_file *file)
{
	return file->all.n > 1;
}

size_t elf_file_needed(struct elf_file *file, const char *const **names)
{
	*names = file->needed;
	return file->nneeded;
}
