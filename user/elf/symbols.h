/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Symbols of an ELF file as file offsets: dynamic and static symbol tables, versions, aliases.
 */
#ifndef IOPROBE_SYMBOLS_H
#define IOPROBE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* Memory use per file is limited to a few times this: every table is read completely. The largest known string tables, of
 * statically linked C++ programs, have some 200 MiB. */
#define ELF_FILE_MAX_TABLE_BYTES (512ull << 20)

/* Reads the headers and tables of the file behind a descriptor that is open for reading. fd stays the caller's and must stay open
 * as long as the elf_file is used. Returns 0, or with a reason (static text): -ENOEXEC if it is not an ELF file, -EINVAL if it has
 * another class or machine or is damaged, -EFBIG if its tables are too large, or another -errno. */
int elf_file_open(struct elf_file **out, int fd, const char **reason);
void elf_file_destroy(struct elf_file *file);

/* A defined function. Default versions come before old ones (name@VERSION, both with their offsets if they differ). */
struct elf_function {
	const char *name;       /* without version; string owned by the caller */
	uint64_t vaddr;
	uint64_t file_offset;   /* of its first instruction */
	uint64_t size;          /* bytes, 0 if unknown */
	bool dynamic;           /* exported (else only in .symtab) */
	bool old_version;       /* a non-default version (name@V, not name@@V) */
	bool ifunc;             /* STT_GNU_IFUNC: the address is that of a resolver, which must never be probed */
};

/* No library has nearly this many functions with a few thousand names, versions included. */
#define ELF_FILE_MAX_FUNCTIONS 16384

/* Names to look up, sorted or not, in any number of files; for one thread. The strings stay the caller's. Returns 0 or -ENOMEM. */
struct elf_names;
int elf_names_create(struct elf_names **out, const char *const *names, size_t n);
void elf_names_destroy(struct elf_names *names);

/* Finds all functions with these names, each version and alias. The caller frees *out. Returns 0, -ENOMEM, or -E2BIG if there are
 * too many. */
int elf_file_find_functions(struct elf_file *file, struct elf_names *names, struct elf_function **out, size_t *nout);
/* The same for names that are looked up in this file only. */
int elf_file_functions(struct elf_file *file, const char *const *names, size_t nnames, struct elf_function **out, size_t *nout);

/* Returns whether some symbol's code begins in (after, upto]: it can be called there without passing the code before. */
bool elf_file_code_begins_in(struct elf_file *file, uint64_t after, uint64_t upto);

/* Finds the link-time address of a defined data object; returns false if it is not defined here. */
bool elf_file_object(struct elf_file *file, const char *name, uint64_t *vaddr, uint64_t *size);

/* Finds the link-time addresses of n exported data objects in one pass (of a static executable: all objects); 0 for those not
 * defined here. */
void elf_file_objects(struct elf_file *file, const char *const *names, size_t n, uint64_t *vaddr);

/* Determines which of n names are symbols of the file, defined or imported. */
void elf_file_mentions(struct elf_file *file, const char *const *names, size_t n, bool *mentioned);

/* Reads up to len bytes of a loaded segment at a link-time address. Returns the number of bytes read or -errno. */
long elf_file_read(struct elf_file *file, uint64_t vaddr, void *buf, size_t len);

uint64_t elf_file_first_vaddr(struct elf_file *file);    /* p_vaddr of the first PT_LOAD, page aligned: for the load bias */
bool elf_file_is_static(struct elf_file *file);          /* an executable without PT_INTERP and without DT_NEEDED */
const char *elf_file_soname(struct elf_file *file);      /* NULL if none */
const char *elf_file_interpreter(struct elf_file *file); /* NULL if none */
bool elf_file_has_symtab(struct elf_file *file);         /* not stripped */

/* DT_NEEDED names, owned by the file. */
size_t elf_file_needed(struct elf_file *file, const char *const **names);

#endif
