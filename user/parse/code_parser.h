/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Requests about code files for call sites, in a parser process: build-ids, unwind rules, symbols. Files stay mapped, because rules
 * are requested one by one.
 *
 * Symbols are answered as lines of fields that are separated by tabs, without other control characters:
 *   want KEY NAME a separate debug file would have more: parse_debug_file(KEY), where it was found by build-id (KEY is that, in
 *                          hexadecimal digits) or by NAME ("" if the file states none); KEY "link" without build-id
 *   at OFFSET LINES ADDRESS the place (hexadecimal); LINES 1: there is debug information, 0: none; its link-time address, 0: none
 *   frame FUNCTION FILE LINE MANGLED      innermost first; FUNCTION and FILE "" and LINE 0 if not known
 */
#ifndef IOPROBE_CODE_PARSER_H
#define IOPROBE_CODE_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define CODE_PARSER_RULE_FILES 64
#define CODE_PARSER_DEBUG_FILES 4
#define CODE_PARSER_LINK_KEY "link"

struct unwind_file;
struct symbols_of_file;

/* All zeros is empty. */
struct code_parser {
	struct code_parser_file { struct stat identity; struct unwind_file *unwind; uint64_t used; } files[CODE_PARSER_RULE_FILES];
	uint64_t uses;
	struct code_parser_debug_file { char key[256]; int fd; } debug_files[CODE_PARSER_DEBUG_FILES];
	size_t ndebug_files;    /* number of files added so far */
	struct stat symbols_identity;
	struct symbols_of_file *symbols;        /* of the file of the last request; NULL: it is opened again */
	size_t symbols_max_bytes;               /* memory with which they are kept for the next request; 0: the default */
	char wants[2048];       /* lines */
};

/* All return 0 or -errno with static text in *reason. fd stays the caller's; the caller owns *payload. */
int code_parser_build_id(struct code_parser *parser, int fd, void **payload, size_t *len, const char **reason);
int code_parser_rule(struct code_parser *parser, int fd, const char *offset, void **payload, size_t *len, const char **reason);
int code_parser_python(int fd, void **payload, size_t *len, const char **reason);
int code_parser_symbols(struct code_parser *parser, int fd, const char *offsets, void **payload, size_t *len, const char **reason);
/* Duplicates fd. */
void code_parser_add_debug_file(struct code_parser *parser, int fd, const char *key);

#endif
