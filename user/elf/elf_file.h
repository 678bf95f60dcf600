/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * An open ELF file: its segments, dynamic section and symbol tables. Private to user/elf.
 */
#ifndef IOPROBE_ELF_FILE_H
#define IOPROBE_ELF_FILE_H

#include <elf.h>
#include <libelf.h>

#include "elf/symbols.h"

/* One symbol table; all pointers point into libelf's buffers. The last byte of strings is NUL. */
struct elf_symtab {
	const Elf64_Sym *symbols;
	size_t n;
	const char *strings;
	size_t strings_len;
	const Elf64_Half *versions;     /* of the dynamic table, NULL if it has none */
	size_t nversions;
};

struct elf_file {
	int fd;                 /* owned by the caller */
	uint64_t size;          /* bytes of the file */
	bool too_large;         /* a table in the file exceeds the size limit */
	bool no_memory;         /* a table was not read for want of memory */
	Elf *elf;
	Elf64_Half type;
	Elf64_Phdr *segments;
	size_t nsegments;
	const Elf64_Dyn *dynamic;
	size_t ndynamic;
	struct elf_symtab exported, all;        /* .dynsym and .symtab */
	char *interpreter;
	const char **needed;
	size_t nneeded;
	uint64_t *entries;      /* addresses of all code symbols, sorted; created at the first request */
	size_t nentries;
};

/* Returns a string of the table, NULL if its offset is outside. */
const char *elf_symtab_string(const struct elf_symtab *table, uint64_t at);
bool elf_file_dynamic_value(const struct elf_file *file, Elf64_Sxword tag, uint64_t *value);
bool elf_file_offset_of_vaddr(const struct elf_file *file, uint64_t vaddr, uint64_t *offset, uint64_t *left);

#endif
