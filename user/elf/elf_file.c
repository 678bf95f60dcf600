/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Opens ELF files. Dynamic symbols are found as the dynamic linker finds them, by PT_DYNAMIC, so that files without sections are
 * read, too; sections serve the static symbol table only.
 */
#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#error "ELF files of this machine: not supported"
#endif

/* ---- segments ---- */

bool elf_file_offset_of_vaddr(const struct elf_file *file, uint64_t vaddr, uint64_t *offset, uint64_t *left)
{
	for (size_t i = 0; i < file->nsegments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type != PT_LOAD || vaddr < segment->p_vaddr || vaddr - segment->p_vaddr >= segment->p_filesz)
			continue;
		*offset = segment->p_offset + (vaddr - segment->p_vaddr);
		*left = segment->p_filesz - (vaddr - segment->p_vaddr);
		return true;
	}
	return false;
}

uint64_t elf_file_first_vaddr(struct elf_file *file)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < file->nsegments; i++)
		if (file->segments[i].p_type == PT_LOAD)
			return file->segments[i].p_vaddr & ~(page - 1);
	return 0;
}

long elf_file_read(struct elf_file *file, uint64_t vaddr, void *buf, size_t len)
{
	uint64_t offset, left;
	ssize_t n;

	if (!elf_file_offset_of_vaddr(file, vaddr, &offset, &left))
		return -EFAULT;
	n = pread(file->fd, buf, len < left ? len : left, offset);
	return n < 0 ? -errno : n;
}

static const Elf64_Phdr *segment_of_type(const struct elf_file *file, Elf64_Word type)
{
	for (size_t i = 0; i < file->nsegments; i++)
		if (file->segments[i].p_type == type)
			return &file->segments[i];
	return NULL;
}

static int read_segments(struct elf_file *file)
{
	if (elf_getphdrnum(file->elf, &file->nsegments))
		return -ENOEXEC;
	file->segments = calloc(file->nsegments + 1, sizeof(*file->segments));
	if (!file->segments)
		return -ENOMEM;
	for (size_t i = 0; i < file->nsegments; i++)
		if (!gelf_getphdr(file->elf, i, &file->segments[i]))
			return -ENOEXEC;
	return 0;
}

/* ---- dynamic section ---- */

/* len bytes at a link-time address, clipped to its segment; *len is what there is. NULL if there is nothing. */
static const void *chunk(struct elf_file *file, uint64_t vaddr, size_t *len, size_t element)
{
	uint64_t offset, left;
	Elf_Data *data;

	if (!elf_file_offset_of_vaddr(file, vaddr, &offset, &left))
		return NULL;
	if (*len > left)
		*len = left;
	*len -= *len % element;
	data = *len ? elf_getdata_rawchunk(file->elf, offset, *len, ELF_T_BYTE) : NULL;
	return data ? data->d_buf : NULL;
}

bool elf_file_dynamic_value(const struct elf_file *file, Elf64_Sxword tag, uint64_t *value)
{
	for (size_t i = 0; i < file->ndynamic; i++) {
		if (file->dynamic[i].d_tag != tag)
			continue;
		*value = file->dynamic[i].d_un.d_val;
		return true;
	}
	return false;
}

static void read_dynamic(struct elf_file *file)
{
	const Elf64_Phdr *segment = segment_of_type(file, PT_DYNAMIC);
	Elf_Data *data;
	size_t n = 0;

	if (!segment)
		return;
	data = elf_getdata_rawchunk(file->elf, segment->p_offset, segment->p_filesz, ELF_T_DYN);
	if (!data)
		return;
	file->dynamic = data->d_buf;
	while (n < data->d_size / sizeof(Elf64_Dyn) && file->dynamic[n].d_tag != DT_NULL)
		n++;
	file->ndynamic = n;
}

/* ---- how many dynamic symbols there are: only the hash tables say it ---- */

/* The chain of a symbol ends with an entry whose lowest bit is set. */
static size_t gnu_hash_chain_end(struct elf_file *file, uint64_t chains, uint32_t first, uint32_t symbol)
{
	uint32_t entry;

	do {
		if (elf_file_read(file, chains + 4ull * (symbol - first), &entry, sizeof(entry)) != sizeof(entry))
			return 0;
		symbol++;
	} while (!(entry & 1));
	return symbol;
}

static size_t count_by_gnu_hash(struct elf_file *file, uint64_t table)
{
	struct { uint32_t nbuckets, first, bloom_words, shift; } header;
	const uint32_t *buckets;
	uint64_t buckets_vaddr;
	uint32_t last = 0;
	size_t len;

	if (elf_file_read(file, table, &header, sizeof(header)) != sizeof(header))
		return 0;
	buckets_vaddr = table + sizeof(header) + 8ull * header.bloom_words;
	len = 4ull * header.nbuckets;
	buckets = chunk(file, buckets_vaddr, &len, sizeof(*buckets));
	if (!buckets)
		return header.first;
	for (size_t i = 0; i < len / sizeof(*buckets); i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < header.first)
		return header.first;
	return gnu_hash_chain_end(file, buckets_vaddr + len, header.first, last);
}

static size_t count_dynamic_symbols(struct elf_file *file)
{
	struct { uint32_t nbuckets, nchains; } header;
	uint64_t table;

	if (elf_file_dynamic_value(file, DT_HASH, &table) && elf_file_read(file, table, &header, sizeof(header)) == sizeof(header))
		return header.nchains;
	if (elf_file_dynamic_value(file, DT_GNU_HASH, &table))
		return count_by_gnu_hash(file, table);
	return 0;
}

/* ---- symbol tables ---- */

const char *elf_symtab_string(const struct elf_symtab *table, uint64_t at)
{
	if (at >= table->strings_len || !memchr(table->strings + at, 0, table->strings_len - at))
		return NULL;
	return table->strings + at;
}

static void read_exported(struct elf_file *file)
{
	struct elf_symtab *table = &file->exported;
	uint64_t symbols, strings, strings_len, versions;
	size_t len, n;

	if (!elf_file_dynamic_value(file, DT_STRTAB, &strings) || !elf_file_dynamic_value(file, DT_STRSZ, &strings_len))
		return;
	table->strings_len = strings_len;
	table->strings = chunk(file, strings, &table->strings_len, 1);
	n = count_dynamic_symbols(file);
	if (!table->strings || !n || !elf_file_dynamic_value(file, DT_SYMTAB, &symbols)) {
		table->strings_len = table->strings ? table->strings_len : 0;
		return;
	}
	len = n * sizeof(Elf64_Sym);
	table->symbols = chunk(file, symbols, &len, sizeof(Elf64_Sym));
	table->n = table->symbols ? len / sizeof(Elf64_Sym) : 0;
	if (!elf_file_dynamic_value(file, DT_VERSYM, &versions))
		return;
	len = table->n * sizeof(Elf64_Half);
	table->versions = chunk(file, versions, &len, sizeof(Elf64_Half));
	table->nversions = table->versions ? len / sizeof(Elf64_Half) : 0;
}

static void read_symtab_section(struct elf_file *file, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Scn *strings_section = elf_getscn(file->elf, header->sh_link);
	Elf_Data *symbols = elf_getdata(section, NULL), *strings = strings_section ? elf_getdata(strings_section, NULL) : NULL;

	if (!symbols || !strings || !symbols->d_buf || !strings->d_buf)
		return;
	file->all = (struct elf_symtab){
		.symbols = symbols->d_buf, .n = symbols->d_size / sizeof(Elf64_Sym),
		.strings = strings->d_buf, .strings_len = strings->d_size,
	};
}

static void read_all(struct elf_file *file)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(file->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
			continue;
		read_symtab_section(file, section, &header);
		return;
	}
}

static int read_needed(struct elf_file *file)
{
	file->needed = calloc(file->ndynamic + 1, sizeof(*file->needed));
	if (!file->needed)
		return -ENOMEM;
	for (size_t i = 0; i < file->ndynamic; i++) {
		const char *name;

		if (file->dynamic[i].d_tag != DT_NEEDED)
			continue;
		name = elf_symtab_string(&file->exported, file->dynamic[i].d_un.d_val);
		if (name)
			file->needed[file->nneeded++] = name;
	}
	return 0;
}

static int read_interpreter(struct elf_file *file)
{
	const Elf64_Phdr *segment = segment_of_type(file, PT_INTERP);

	if (!segment || segment->p_filesz > 4096)
		return 0;
	file->interpreter = calloc(1, segment->p_filesz + 1);
	if (!file->interpreter)
		return -ENOMEM;
	if (pread(file->fd, file->interpreter, segment->p_filesz, segment->p_offset) != (ssize_t)segment->p_filesz)
		return -ENOEXEC;
	return 0;
}

/* ---- open ---- */

static int check_header(struct elf_file *file)
{
	GElf_Ehdr header;

	if (elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &header))
		return -ENOEXEC;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != MACHINE ||
	    (header.e_type != ET_DYN && header.e_type != ET_EXEC))
		return -ENOEXEC;
	file->type = header.e_type;
	return 0;
}

static int read_tables(struct elf_file *file)
{
	int err = check_header(file);

	if (!err)
		err = read_segments(file);
	if (err)
		return err;
	read_dynamic(file);
	read_exported(file);
	read_all(file);
	err = read_needed(file);
	return err ?: read_interpreter(file);
}

/* Reads by pread, not by mmap: a file that is being replaced on a network file system must not kill us by SIGBUS. */
int elf_file_open(struct elf_file **out, const char *path)
{
	struct elf_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	file->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0) {
		err = -errno;
	} else {
		elf_version(EV_CURRENT);
		file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
		err = file->elf ? read_tables(file) : -ENOEXEC;
	}
	if (err) {
		elf_file_destroy(file);
		return err;
	}
	*out = file;
	return 0;
}

void elf_file_destroy(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->segments);
	free(file->needed);
	free(file->interpreter);
	free(file->entries);
	free(file);
}
