/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Opens ELF files. Dynamic symbols are found as the dynamic linker finds them, through PT_DYNAMIC, so that files without sections
 * can be read, too; sections are used only for the static symbol table.
 */
#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
	if (elf_getphdrnum(file->elf, &file->nsegments) || file->nsegments > UINT16_MAX)
		return -EINVAL;
	file->segments = calloc(file->nsegments + 1, sizeof(*file->segments));
	if (!file->segments)
		return -ENOMEM;
	for (size_t i = 0; i < file->nsegments; i++)
		if (!gelf_getphdr(file->elf, i, &file->segments[i]))
			return -EINVAL;
	return 0;
}

/* ---- dynamic section ---- */

/* Returns whether len bytes at an offset may be read. The numbers in the headers are untrusted: a sparse file can have any size. */
static bool may_read(struct elf_file *file, uint64_t offset, uint64_t len)
{
	if (len > ELF_FILE_MAX_TABLE_BYTES)
		file->too_large = true;
	return offset <= file->size && len <= file->size - offset && len <= ELF_FILE_MAX_TABLE_BYTES;
}

/* libelf returns NULL for a damaged table, which counts as missing, but also if it is out of memory, which must not. */
static Elf_Data *check_memory(struct elf_file *file, Elf_Data *data)
{
	file->no_memory |= !data && errno == ENOMEM;
	return data;
}

static Elf_Data *read_chunk(struct elf_file *file, uint64_t offset, uint64_t len, Elf_Type type)
{
	if (!len || !may_read(file, offset, len))
		return NULL;
	errno = 0;
	return check_memory(file, elf_getdata_rawchunk(file->elf, offset, len, type));
}

/* Returns len bytes at a link-time address, clipped to its segment; *len is the available length. NULL if there are none. */
static const void *elf_file_chunk(struct elf_file *file, uint64_t vaddr, size_t *len, size_t element)
{
	uint64_t offset, left;
	Elf_Data *data;

	if (!elf_file_offset_of_vaddr(file, vaddr, &offset, &left))
		return NULL;
	if (*len > left)
		*len = left;
	*len -= *len % element;
	data = read_chunk(file, offset, *len, ELF_T_BYTE);
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

	data = segment ? read_chunk(file, segment->p_offset, segment->p_filesz, ELF_T_DYN) : NULL;
	if (!data)
		return;
	file->dynamic = data->d_buf;
	while (n < data->d_size / sizeof(Elf64_Dyn) && file->dynamic[n].d_tag != DT_NULL)
		n++;
	file->ndynamic = n;
}

/* ---- the number of dynamic symbols: only contained in the hash tables ---- */

/* A chain ends with an entry whose lowest bit is set. Returns 0 if there is no such entry in the file. */
static size_t gnu_hash_chain_end(struct elf_file *file, uint64_t chains, uint32_t first, uint32_t symbol)
{
	uint32_t entries[1024];
	uint64_t at = symbol;

	while (at < ELF_FILE_MAX_TABLE_BYTES / sizeof(Elf64_Sym)) {
		long len = elf_file_read(file, chains + sizeof(*entries) * (at - first), entries, sizeof(entries));

		if (len < (long)sizeof(*entries))
			return 0;
		for (long i = 0; i < len / (long)sizeof(*entries); i++, at++)
			if (entries[i] & 1)
				return at + 1;
	}
	file->too_large = true;
	return 0;
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
	buckets = elf_file_chunk(file, buckets_vaddr, &len, sizeof(*buckets));
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
	return at < table->strings_len ? table->strings + at : NULL;
}

/* Cuts off everything after the last NUL, so that every string is terminated. */
static void end_strings(struct elf_symtab *table)
{
	const char *last = table->strings ? memrchr(table->strings, 0, table->strings_len) : NULL;

	table->strings_len = last ? (size_t)(last - table->strings) + 1 : 0;
}

static void read_exported(struct elf_file *file)
{
	struct elf_symtab *table = &file->exported;
	uint64_t symbols, strings, strings_len, versions;
	size_t len, n;

	if (!elf_file_dynamic_value(file, DT_STRTAB, &strings) || !elf_file_dynamic_value(file, DT_STRSZ, &strings_len))
		return;
	table->strings_len = strings_len;
	table->strings = elf_file_chunk(file, strings, &table->strings_len, 1);
	end_strings(table);
	n = count_dynamic_symbols(file);
	if (!table->strings || !n || !elf_file_dynamic_value(file, DT_SYMTAB, &symbols))
		return;
	len = n * sizeof(Elf64_Sym);
	table->symbols = elf_file_chunk(file, symbols, &len, sizeof(Elf64_Sym));
	table->n = table->symbols ? len / sizeof(Elf64_Sym) : 0;
	if (!elf_file_dynamic_value(file, DT_VERSYM, &versions))
		return;
	len = table->n * sizeof(Elf64_Half);
	table->versions = elf_file_chunk(file, versions, &len, sizeof(Elf64_Half));
	table->nversions = table->versions ? len / sizeof(Elf64_Half) : 0;
}

static void *read_section(struct elf_file *file, Elf_Scn *section, size_t *len)
{
	GElf_Shdr header;
	Elf_Data *data;

	*len = 0;
	if (!section || !gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
	    !may_read(file, header.sh_offset, header.sh_size))
		return NULL;
	errno = 0;
	data = check_memory(file, elf_getdata(section, NULL));
	*len = data ? data->d_size : 0;
	return data ? data->d_buf : NULL;
}

static void read_symtab_section(struct elf_file *file, Elf_Scn *section, const GElf_Shdr *header)
{
	struct elf_symtab table = { 0 };

	table.symbols = read_section(file, section, &table.n);
	table.n /= sizeof(Elf64_Sym);
	table.strings = read_section(file, elf_getscn(file->elf, header->sh_link), &table.strings_len);
	end_strings(&table);
	if (table.symbols && table.strings)
		file->all = table;
}

static void elf_file_read_all(struct elf_file *file)
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
		return -EINVAL;
	return 0;
}

/* ---- open ---- */

static const char truncated[] = "a damaged ELF file: it ends before its tables do";

/* Called before libelf processes the file. */
static int check_header(struct elf_file *file, const char **reason)
{
	Elf64_Ehdr header;
	ssize_t n = pread(file->fd, &header, sizeof(header), 0);

	if (n < 0) {
		*reason = "it cannot be read";
		return -errno;
	}
	if (n < SELFMAG || memcmp(header.e_ident, ELFMAG, SELFMAG)) {
		*reason = "not an ELF file";
		return -ENOEXEC;
	}
	if (n > EI_CLASS && header.e_ident[EI_CLASS] == ELFCLASS32)
		*reason = "a 32-bit ELF file: 32-bit programs are not recorded, nor are their system calls";
	else if (n > EI_CLASS && header.e_ident[EI_CLASS] != ELFCLASS64)
		*reason = "an ELF file of an unknown class";
	else if (n < (ssize_t)sizeof(header))
		*reason = truncated;
	else if (header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != MACHINE)
		*reason = "an ELF file for another machine";
	else if (header.e_type != ET_DYN && header.e_type != ET_EXEC)
		*reason = "an ELF file that is neither a program nor a library";
	else
		file->type = header.e_type;
	return file->type ? 0 : -EINVAL;
}

/* The last page may extend beyond the end of the file: it can still be mapped. */
static bool has_all_segments(const struct elf_file *file)
{
	uint64_t page = sysconf(_SC_PAGESIZE), size = (file->size + page - 1) & ~(page - 1);

	for (size_t i = 0; i < file->nsegments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_LOAD && (segment->p_offset > size || segment->p_filesz > size - segment->p_offset))
			return false;
	}
	return true;
}

static int elf_file_read_tables(struct elf_file *file)
{
	int err = read_segments(file);

	if (err)
		return err;
	read_dynamic(file);
	read_exported(file);
	elf_file_read_all(file);
	err = read_needed(file);
	if (!err)
		err = read_interpreter(file);
	if (!err && file->no_memory)
		err = -ENOMEM;
	if (!err && file->too_large)
		err = -EFBIG;
	return err ?: has_all_segments(file) ? 0 : -EINVAL;
}

static int open_tables(struct elf_file *file, const char **reason)
{
	int err;

	/* read by pread, not by mmap: a file that is being replaced on a network file system must not kill the process by SIGBUS */
	elf_version(EV_CURRENT);
	file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	err = !file->elf ? -EINVAL : elf_file_read_tables(file);
	if (err == -EFBIG)
		*reason = "its tables claim to have more than 512 MiB";
	else if (err == -ENOMEM)
		*reason = "its tables need more memory than there is for them";
	else
		*reason = truncated;
	return err;
}

int elf_file_open(struct elf_file **out, int fd, const char **reason)
{
	struct elf_file *file = calloc(1, sizeof(*file));
	struct stat st;
	int err;

	*reason = "there is no memory for it";
	if (!file)
		return -ENOMEM;
	file->fd = fd;
	err = fstat(fd, &st) ? -errno : 0;
	file->size = err ? 0 : st.st_size;
	err = check_header(file, reason);
	if (!err)
		err = open_tables(file, reason);
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
	free(file->segments);
	free(file->needed);
	free(file->interpreter);
	free(file->entries);
	free(file);
}
