/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * An ELF file with unwind tables and debug information, as the parser process reads it for call sites (libdw).
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
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
	for (uint64_t offset = 0x1000; offset < 0x1200; offset += 0x39)
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
		for (uint64_t offset = 0x1000; offset < 0x1200; offset += 0x11)
			unwind_file_rule(file, offset);
		unwind_file_destroy(file);
	}
	ask_for_symbols(fd);
	return 0;
}
