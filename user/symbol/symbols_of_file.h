/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Function, source file and line of places in one ELF file, with the functions that were inlined there, by libdw. Runs in the parser
 * process: opens nothing by itself, separate debug files come from its caller by descriptor.
 */
#ifndef IOPROBE_SYMBOLS_OF_FILE_H
#define IOPROBE_SYMBOLS_OF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_MAX_FRAMES 16    /* inlined into each other at one place */
#define SYMBOL_MAX_BUILD_ID 64

struct symbols_of_file;

/* A separate debug file: of this build-id, or by the name and checksum that the file itself states (.gnu_debuglink), or the part
 * that several debug files share (dwz). */
struct debug_wanted {
	uint8_t build_id[SYMBOL_MAX_BUILD_ID];
	size_t build_id_len;    /* 0: none */
	const char *name;       /* as the file states it, NULL if it does not; any bytes */
	bool shared_part;
};

/* Returns a descriptor, which is taken over, or -1. It is checked: another file is not used. */
typedef int find_debug_file(void *arg, const struct debug_wanted *wanted);

/* fd is taken over, also on failure. Returns 0 or -errno. */
int symbols_of_file_open(struct symbols_of_file **out, int fd, find_debug_file *find, void *arg);
void symbols_of_file_destroy(struct symbols_of_file *symbols);  /* NULL is fine */

/* Texts live as long as the symbols; NULL: not known. */
struct symbol_frame {
	const char *function;   /* as its programmer writes it, with the names of modules, namespaces and classes around it; without
				 * debug information the symbol as it is in the file */
	const char *file;
	unsigned line;          /* 0: not known */
	bool mangled;           /* function is a symbol */
};

/* What is at this offset of the file, innermost frame first: all but the last are inlined into the next. The line of a frame is that
 * of the place itself, or of the call of the frame before. Returns the number of frames, 0 if nothing is known. */
size_t symbols_of_file_at(struct symbols_of_file *symbols, uint64_t offset, struct symbol_frame frames[SYMBOL_MAX_FRAMES]);

bool symbols_of_file_has_lines(struct symbols_of_file *symbols);        /* it has debug information, or there is some for it */

#endif
