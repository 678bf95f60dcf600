/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * An ELF file: its headers, segments and symbol tables.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/symbols.h"

static void ask(struct elf_file *file)
{
	static const char *const names[] = { "main", "H5Fopen", "nest_work", "write", "ompi_mpi_comm_world" };
	struct elf_function *functions = NULL;
	uint64_t vaddr[5], size;
	const char *const *needed;
	size_t n = 0;
	char buf[64];

	if (!elf_file_functions(file, names, 5, &functions, &n))
		for (size_t i = 0; i < n && i < 8; i++) {
			elf_file_read(file, functions[i].vaddr, buf, sizeof(buf));
			elf_file_code_begins_in(file, functions[i].vaddr, functions[i].vaddr + 16);
		}
	free(functions);
	elf_file_object(file, names[4], &vaddr[0], &size);
	elf_file_objects(file, names, 5, vaddr);
	elf_file_first_vaddr(file);
	elf_file_is_static(file);
	elf_file_soname(file);
	elf_file_interpreter(file);
	elf_file_needed(file, &needed);
}

int fuzz_elf(const uint8_t *data, size_t size)
{
	int fd = open(fuzz_file("elf", data, size), O_RDONLY | O_CLOEXEC);
	struct elf_file *file;
	const char *reason;

	if (fd < 0)
		return 0;
	if (!elf_file_open(&file, fd, &reason)) {
		ask(file);
		elf_file_destroy(file);
	}
	close(fd);
	return 0;
}
