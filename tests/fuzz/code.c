/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * An ELF file with unwind tables and debug information, as the parser process reads it for call sites (libdw). Bytes changed at
 * random places seldom meet these tables, so half of the changes are made inside of a section that holds some.
 */
#include "fuzz.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/symbols_of_file.h"
#include "symbol/unwind.h"


static int no_debug_file(void *arg, const struct debug_wanted *wanted)
{
	(void)arg, (void)wanted;
	return -1;
}

static void ask_for_symbols(int fd)
{
	struct symbol_frame frames[SYMBOL_MAX_FRAMES];
	struct symbols_of_file *symbols;

	if (symbols_of_file_open(&symbols, fd, no_debug_file, NULL))
		return;
	for (uint64_t offset = 0x1000; offset < 0x1400; offset += 0x71)
		symbols_of_file_at(symbols, offset, frames);
	symbols_of_file_destroy(symbols);
}

int fuzz_code(const uint8_t *data, size_t size)
{
	int fd = open(fuzz_file("code", data, size), O_RDONLY | O_CLOEXEC);
	struct unwind_file *file;
	const char *reason;

	if (fd < 0)
		return 0;
	if (!unwind_file_open(&file, fd, &reason)) {
		for (uint64_t offset = 0x1000; offset < 0x1400; offset += 0x23)
			unwind_file_rule(file, offset);
		unwind_file_destroy(file);
	}
	ask_for_symbols(fd);
	return 0;
}

/* ---- what libFuzzer changes ---- */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* The n-th section with a name like .eh_frame, .debug_info or .note.gnu.build-id; false: there are fewer. */
static bool find_table(const uint8_t *data, size_t size, unsigned n, Elf64_Shdr *found)
{
	Elf64_Ehdr elf;
	Elf64_Shdr names;

	if (size < sizeof(elf))
		return false;
	memcpy(&elf, data, sizeof(elf));
	if (elf.e_shoff > size || elf.e_shnum > (size - elf.e_shoff) / sizeof(names) || elf.e_shstrndx >= elf.e_shnum)
		return false;
	memcpy(&names, data + elf.e_shoff + elf.e_shstrndx * sizeof(names), sizeof(names));
	for (unsigned i = 0; i < elf.e_shnum; i++) {
		char name[8] = "";

		memcpy(found, data + elf.e_shoff + i * sizeof(*found), sizeof(*found));
		if (names.sh_offset >= size || found->sh_name >= size - names.sh_offset - sizeof(name))
			continue;
		memcpy(name, data + names.sh_offset + found->sh_name, sizeof(name));
		if (memcmp(name, ".eh_fra", 7) && memcmp(name, ".debug_", 7) && memcmp(name, ".note.g", 7) &&
		    memcmp(name, ".symtab", 7))
			continue;
		if (found->sh_offset < size && found->sh_size && found->sh_size <= size - found->sh_offset && !n--)
			return true;
	}
	return false;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xff };
	Elf64_Shdr table;

	srandom(seed);
	if (random() % 2 || !find_table(data, size, random() % 14, &table))
		return LLVMFuzzerMutate(data, size, max_size);
	for (int changes = 1 + random() % 4; changes; changes--) {
		uint8_t *byte = data + table.sh_offset + random() % table.sh_size;

		*byte = random() % 2 ? edges[random() % sizeof(edges)] : random();
	}
	return size;
}
