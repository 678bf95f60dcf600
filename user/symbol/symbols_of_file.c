/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * libdwfl finds tables and relocates; the walk over scopes is our own, because dwarf_getscopes (elfutils 0.188) finds nothing for
 * procedures of Fortran modules: it does not descend into DIEs without addresses.
 */
#include "symbol/symbols_of_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define MAX_DEPTH 64            /* nesting of DIEs: a crafted file must not overflow the stack */
#define MAX_DIES 2000000        /* inspected per place */
#define MAX_NAME 1024

struct symbols_of_file {
	Dwfl_Callbacks callbacks;
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf *dwarf;
	Dwarf_Addr dwarf_bias, elf_bias;
	Elf *elf;
	find_debug_file *find;
	void *arg;
	bool in_alternate;
	char *texts[SYMBOL_MAX_FRAMES];         /* names that were composed */
};

/* ---- separate debug files ---- */

static bool same_build_id(int fd, const struct debug_wanted *wanted)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const void *bits;
	ssize_t len = elf ? dwelf_elf_gnu_build_id(elf, &bits) : 0;
	bool same = len > 0 && (size_t)len == wanted->build_id_len && !memcmp(bits, wanted->build_id, len);

	elf_end(elf);
	return same;
}

static bool same_checksum(int fd, uint32_t checksum)
{
	unsigned char buf[8192];
	uint32_t sum = 0;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		sum = crc32(sum, buf, n);
		at += n;
	}
	return !n && sum == checksum;
}

static void set_build_id(struct debug_wanted *wanted, const void *bits, ssize_t len)
{
	if (len <= 0 || len > SYMBOL_MAX_BUILD_ID)
		return;
	memcpy(wanted->build_id, bits, len);
	wanted->build_id_len = len;
}

static void want_own(struct debug_wanted *wanted, Dwfl_Module *module)
{
	const unsigned char *bits = NULL;
	GElf_Addr vaddr;
	ssize_t len = dwfl_module_build_id(module, &bits, &vaddr);

	set_build_id(wanted, bits, len);
}

static void want_shared_part(struct symbols_of_file *symbols, struct debug_wanted *wanted)
{
	const void *bits = NULL;
	const char *name;
	Dwarf_Addr bias;
	Dwarf *dwarf;
	ssize_t len;

	wanted->shared_part = true;
	if (symbols->in_alternate)
		return;
	symbols->in_alternate = true;   /* the next line would recurse if there were no debug information yet */
	dwarf = dwfl_module_getdwarf(symbols->module, &bias);
	symbols->in_alternate = false;
	if (!dwarf)
		return;
	len = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bits);
	set_build_id(wanted, bits, len);
}

/* Called by libdwfl. A link without checksum refers to the part that several files share. */
static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *module_name, Dwarf_Addr base, const char *file_name,
			  const char *link, GElf_Word checksum, char **debug_file_name)
{
	struct symbols_of_file *symbols = *userdata;
	struct debug_wanted wanted = { .name = link };
	int fd;

	(void)module_name, (void)base, (void)file_name;
	*debug_file_name = NULL;
	if (!symbols || !symbols->find)
		return -1;
	symbols->module = module;
	if (link && !checksum)
		want_shared_part(symbols, &wanted);
	else
		want_own(&wanted, module);
	if (!wanted.build_id_len && (wanted.shared_part || !link))
		return -1;
	fd = symbols->find(symbols->arg, &wanted);
	if (fd >= 0 && !(wanted.build_id_len ? same_build_id(fd, &wanted) : same_checksum(fd, checksum))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, char **file_name, Elf **elf)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)file_name, (void)elf;
	return -1;      /* the file is already present */
}

/* ---- open ---- */

int symbols_of_file_open(struct symbols_of_file **out, int fd, find_debug_file *find, void *arg)
{
	struct symbols_of_file *symbols = calloc(1, sizeof(*symbols));
	void **userdata;

	if (!symbols) {
		close(fd);
		return -ENOMEM;
	}
	symbols->callbacks = (Dwfl_Callbacks){ .find_elf = find_elf, .find_debuginfo = find_debuginfo,
					       .section_address = dwfl_offline_section_address };
	symbols->find = find;
	symbols->arg = arg;
	elf_version(EV_CURRENT);
	symbols->dwfl = dwfl_begin(&symbols->callbacks);
	symbols->module = symbols->dwfl ? dwfl_report_offline(symbols->dwfl, "", "", fd) : NULL;
	if (!symbols->module) {
		close(fd);
		symbols_of_file_destroy(symbols);
		return -ENOEXEC;
	}
	dwfl_report_end(symbols->dwfl, NULL, NULL);
	dwfl_module_info(symbols->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = symbols;
	symbols->elf = dwfl_module_getelf(symbols->module, &symbols->elf_bias);
	symbols->dwarf = dwfl_module_getdwarf(symbols->module, &symbols->dwarf_bias);
	*out = symbols;
	return 0;
}

static void free_texts(struct symbols_of_file *symbols)
{
	for (size_t i = 0; i < SYMBOL_MAX_FRAMES; i++) {
		free(symbols->texts[i]);
		symbols->texts[i] = NULL;
	}
}

void symbols_of_file_destroy(struct symbols_of_file *symbols)
{
	if (!symbols)
		return;
	free_texts(symbols);
	if (symbols->dwfl)
		dwfl_end(symbols->dwfl);
	free(symbols);
}

bool symbols_of_file_has_lines(struct symbols_of_file *symbols)
{
	return symbols->dwarf != NULL;
}

/* ---- scopes ---- */

/* A path of DIEs from the unit down to the innermost function at an address. */
struct scopes {
	Dwarf_Addr address;
	Dwarf_Die path[MAX_DEPTH];
	unsigned depth;
	unsigned dies;          /* number of inspected DIEs */
};

static bool holds_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace: case DW_TAG_module: case DW_TAG_class_type: case DW_TAG_structure_type: case DW_TAG_union_type:
	case DW_TAG_subprogram: case DW_TAG_lexical_block:
		return true;
	default:
		return false;
	}
}

/* Appends the function at the address and all enclosing ones. Addresses guide the search; the children of a DIE without addresses
 * are inspected. */
static bool find_function(struct scopes *scopes, Dwarf_Die *parent)
{
	Dwarf_Die child;

	if (scopes->depth == MAX_DEPTH || dwarf_child(parent, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (++scopes->dies > MAX_DIES)
			return false;
		if (!holds_functions(tag))
			continue;
		scopes->path[scopes->depth++] = child;
		if (tag == DW_TAG_subprogram && dwarf_haspc(&child, scopes->address) > 0)
			return true;
		if (dwarf_haschildren(&child) > 0 && find_function(scopes, &child))
			return true;
		scopes->depth--;
	} while (!dwarf_siblingof(&child, &child));
	return false;
}

/* Appends the functions inlined at the address, from the outermost inwards. */
static void find_inlined(struct scopes *scopes)
{
	Dwarf_Die child;
	bool found = true;

	while (found && scopes->depth < MAX_DEPTH && !dwarf_child(&scopes->path[scopes->depth - 1], &child)) {
		found = false;
		do {
			int tag = dwarf_tag(&child);

			if (++scopes->dies > MAX_DIES)
				return;
			if ((tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block && tag != DW_TAG_subprogram) ||
			    dwarf_haspc(&child, scopes->address) <= 0)
				continue;
			scopes->path[scopes->depth++] = child;
			found = true;
			break;
		} while (!dwarf_siblingof(&child, &child));
	}
}

/* ---- names ---- */

static void symbols_of_file_append(char *name, const char *part)
{
	size_t used = strlen(name);

	snprintf(name + used, MAX_NAME - used, "%s%s", used ? "::" : "", part);
}

/* The declaration contains the class or namespace of a function: an inlined instance, or a definition outside of it, does not. */
static Dwarf_Die *symbols_of_file_declaration(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attribute;

	*out = *die;
	for (int i = 0; i < 4; i++) {
		if (!dwarf_attr(out, DW_AT_abstract_origin, &attribute) && !dwarf_attr(out, DW_AT_specification, &attribute))
			break;
		if (!dwarf_formref_die(&attribute, out))
			break;
	}
	return out;
}

static char *scoped_name(Dwarf_Die *function)
{
	Dwarf_Die die, *scopes = NULL;
	char name[MAX_NAME] = "";
	int n = dwarf_getscopes_die(symbols_of_file_declaration(function, &die), &scopes);

	for (int i = n - 1; i > 0; i--) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_namespace && tag != DW_TAG_module && tag != DW_TAG_class_type && tag != DW_TAG_structure_type &&
		    tag != DW_TAG_union_type)
			continue;
		if (dwarf_diename(&scopes[i]))
			symbols_of_file_append(name, dwarf_diename(&scopes[i]));
	}
	free(scopes);
	if (!dwarf_diename(&die))
		return NULL;
	symbols_of_file_append(name, dwarf_diename(&die));
	return strdup(name);
}

/* ---- one place ---- */

static const char *call_file(Dwarf_Die *inlined, Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word index;
	size_t n;

	if (!dwarf_attr(inlined, DW_AT_call_file, &attribute) || dwarf_formudata(&attribute, &index) ||
	    dwarf_getsrcfiles(unit, &files, &n) || index >= n)
		return NULL;
	return dwarf_filesrc(files, index, NULL, NULL);
}

static unsigned call_line(Dwarf_Die *inlined)
{
	Dwarf_Attribute attribute;
	Dwarf_Word line;

	return dwarf_attr(inlined, DW_AT_call_line, &attribute) && !dwarf_formudata(&attribute, &line) ? line : 0;
}

static void find_line(Dwarf_Die *unit, Dwarf_Addr address, const char **file, unsigned *line)
{
	Dwarf_Line *row = dwarf_getsrc_die(unit, address);
	int number = 0;

	*file = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
	*line = row && !dwarf_lineno(row, &number) && number > 0 ? number : 0;
}

/* From the innermost function outwards. */
static size_t frames_of_scopes(struct symbols_of_file *symbols, struct scopes *scopes, Dwarf_Die *unit,
			       struct symbol_frame frames[SYMBOL_MAX_FRAMES])
{
	const char *file;
	unsigned line;
	size_t n = 0;

	find_line(unit, scopes->address, &file, &line);
	for (unsigned i = scopes->depth; i-- > 0 && n < SYMBOL_MAX_FRAMES;) {
		int tag = dwarf_tag(&scopes->path[i]);

		if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
			continue;
		symbols->texts[n] = scoped_name(&scopes->path[i]);
		frames[n] = (struct symbol_frame){ .function = symbols->texts[n], .file = file, .line = line };
		n++;
		if (tag == DW_TAG_subprogram)
			break;
		file = call_file(&scopes->path[i], unit);
		line = call_line(&scopes->path[i]);
	}
	return n;
}

/* Not every compiler emits the addresses of its units (.debug_aranges). */
static Dwarf_Die *find_unit(struct symbols_of_file *symbols, Dwarf_Addr address, Dwarf_Die *room)
{
	Dwarf_Off next, at = 0;
	size_t header;

	if (!symbols->dwarf)
		return NULL;
	if (dwarf_addrdie(symbols->dwarf, address, room))
		return room;
	for (; !dwarf_nextcu(symbols->dwarf, at, &next, &header, NULL, NULL, NULL) && next > at; at = next)
		if (dwarf_offdie(symbols->dwarf, at + header, room) && dwarf_haspc(room, address) > 0)
			return room;
	return NULL;
}

static size_t frame_of_symbol(struct symbols_of_file *symbols, Dwarf_Addr address, struct symbol_frame *frame)
{
	GElf_Off offset = 0;
	GElf_Sym symbol;
	const char *name = dwfl_module_addrinfo(symbols->module, address + symbols->elf_bias, &offset, &symbol, NULL, NULL, NULL);

	/* a symbol without size, far before the place, may be another function */
	if (!name || !*name || !symbol.st_size || offset >= symbol.st_size)
		return 0;
	*frame = (struct symbol_frame){ .function = name, .mangled = true };
	return 1;
}

static bool symbols_of_file_address_of(Elf *elf, uint64_t offset, uint64_t *address)
{
	size_t n = 0;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, i, &header) || header.p_type != PT_LOAD || offset < header.p_offset ||
		    offset - header.p_offset >= header.p_filesz)
			continue;
		*address = header.p_vaddr + (offset - header.p_offset);
		return true;
	}
	return false;
}

bool symbols_of_file_address(const struct symbols_of_file *symbols, uint64_t offset, uint64_t *address)
{
	return symbols->elf && symbols_of_file_address_of(symbols->elf, offset, address);
}

size_t symbols_of_file_at(struct symbols_of_file *symbols, uint64_t offset, struct symbol_frame frames[SYMBOL_MAX_FRAMES])
{
	uint64_t address;

	free_texts(symbols);
	return symbols_of_file_address(symbols, offset, &address) ? symbols_of_file_at_address(symbols, address, frames) : 0;
}

/* elf_bias and dwarf_bias lead from addresses in the files to libdwfl's. */
size_t symbols_of_file_at_address(struct symbols_of_file *symbols, uint64_t address, struct symbol_frame frames[SYMBOL_MAX_FRAMES])
{
	static _Thread_local struct scopes scopes;
	Dwarf_Die unit_room, *unit;
	size_t n = 0;

	free_texts(symbols);
	if (!symbols->elf)
		return 0;
	scopes.address = address + symbols->elf_bias - symbols->dwarf_bias;
	scopes.depth = scopes.dies = 0;
	unit = find_unit(symbols, scopes.address, &unit_room);
	if (unit && find_function(&scopes, unit)) {
		find_inlined(&scopes);
		n = frames_of_scopes(symbols, &scopes, unit, frames);
	}
	if (!n)
		n = frame_of_symbol(symbols, address, &frames[0]);
	if (n == 1 && unit && !frames[0].file)
		find_line(unit, scopes.address, &frames[0].file, &frames[0].line);
	return n;
}
