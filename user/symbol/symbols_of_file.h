/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Function, source file and line of places in one ELF file, including functions inlined there, by libdw. Runs in the parser
 * process: it opens no files; its caller passes separate debug files by descriptor.
 */
#ifndef IOPROBE_SYMBOLS_OF_FILE_H
#define IOPROBE_SYMBOLS_OF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_MAX_FRAMES 16    /* functions inlined into each other at one place */
#define SYMBOL_MAX_BUILD_ID 64

struct symbols_of_file;

/* A separate debug file: with this build-id, or with the name and checksum in the file itself (.gnu_debuglink), or the part that
 * several debug files share (dwz). */
struct debug_wanted {
	uint8_t build_id[SYMBOL_MAX_BUILD_ID];
	size_t build_id_len;    /* 0: none */
	const char *name;       /* as in the file, NULL if there is none; may contain any bytes */
	bool shared_part;
};

/* Returns a descriptor, of which ownership is taken, or -1. The file is verified: one that does not match is not used. */
typedef int find_debug_file(void *arg, const struct debug_wanted *wanted);

/* Takes ownership of fd, also on failure. Returns 0 or -errno. */
int symbols_of_file_open(struct symbols_of_file **out, int fd, find_debug_file *find, void *arg);
void symbols_of_file_destroy(struct symbols_of_file *symbols);  /* NULL is fine */

/* The strings live as long as the symbols; NULL: unknown. */
struct symbol_frame {
	/* as in the source, qualified by modules, namespaces and classes; without debug information the symbol in the file */
	const char *function;
	const char *file;
	unsigned line;          /* 0: unknown */
	bool mangled;           /* function is a symbol */
};

/* Finds the frames at this offset of the file, innermost first: all but the last are inlined into the next. The line of a frame is
 * that of the place itself, or of the call of the frame before. Returns the number of frames, 0 if nothing is known. */
size_t symbols_of_file_at(struct symbols_of_file *symbols, uint64_t offset, struct symbol_frame frames[SYMBOL_MAX_FRAMES]);

/* The same of a link-time address: of a separate debug file, whose segments are not where the program's are. */
size_t symbols_of_file_at_address(struct symbols_of_file *symbols, uint64_t address, struct symbol_frame frames[SYMBOL_MAX_FRAMES]);
/* The link-time address of this offset of the file; false if no segment has it. */
bool symbols_of_file_address(const struct symbols_of_file *symbols, uint64_t offset, uint64_t *address);

bool symbols_of_file_has_lines(struct symbols_of_file *symbols);        /* it has debug information, or there is some for it */

#endif
