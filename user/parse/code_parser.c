/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Requests about code: finds the file among the open ones, calls user/symbol, writes the answer.
 */
#include "parse/code_parser.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/python.h"
#include "symbol/symbols_of_file.h"
#include "symbol/unwind.h"

#define MAX_TEXT 1024           /* per field */
#define SYMBOLS_MAX_BYTES (256u << 20)

/* ---- files ---- */

static bool code_parser_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static struct code_parser_file *oldest_file(struct code_parser *parser)
{
	struct code_parser_file *oldest = &parser->files[0];

	for (size_t i = 1; i < CODE_PARSER_RULE_FILES; i++)
		if (parser->files[i].used < oldest->used)
			oldest = &parser->files[i];
	return oldest;
}

static int code_parser_find_file(struct code_parser *parser, int fd, struct unwind_file **out, const char **reason)
{
	struct code_parser_file *file;
	struct stat identity;
	int err;

	if (fstat(fd, &identity)) {
		*reason = "it cannot be examined";
		return -EIO;
	}
	parser->uses++;
	for (size_t i = 0; i < CODE_PARSER_RULE_FILES; i++) {
		file = &parser->files[i];
		if (!file->unwind || !code_parser_same_file(&file->identity, &identity))
			continue;
		file->used = parser->uses;
		*out = file->unwind;
		return 0;
	}
	err = unwind_file_open(out, fd, reason);
	if (err)
		return err;
	file = oldest_file(parser);
	unwind_file_destroy(file->unwind);
	*file = (struct code_parser_file){ identity, *out, parser->uses };
	return 0;
}

/* ---- build-ids and rules ---- */

static size_t code_parser_to_hex(const uint8_t *bytes, size_t n, char *text)
{
	for (size_t i = 0; i < n; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	text[2 * n] = 0;
	return 2 * n;
}

int code_parser_build_id(struct code_parser *parser, int fd, void **payload, size_t *len, const char **reason)
{
	uint8_t id[SYMBOL_MAX_BUILD_ID];
	struct unwind_file *file;
	int err = code_parser_find_file(parser, fd, &file, reason);
	char *text;

	if (err)
		return err;
	text = malloc(2 * sizeof(id) + 1);
	if (!text)
		return -ENOMEM;
	*len = code_parser_to_hex(id, unwind_file_build_id(file, id, sizeof(id)), text);
	*payload = text;
	return 0;
}

int code_parser_rule(struct code_parser *parser, int fd, const char *offset, void **payload, size_t *len, const char **reason)
{
	struct iop_site_rule *rule;
	struct unwind_file *file;
	int err = code_parser_find_file(parser, fd, &file, reason);

	if (err)
		return err;
	rule = malloc(sizeof(*rule));
	if (!rule)
		return -ENOMEM;
	*rule = unwind_file_rule(file, strtoull(offset, NULL, 16));
	*payload = rule;
	*len = sizeof(*rule);
	return 0;
}

int code_parser_python(int fd, void **payload, size_t *len, const char **reason)
{
	struct python_file *file = malloc(sizeof(*file));
	int err = file ? python_file_read(file, fd, reason) : -ENOMEM;

	if (err) {
		free(file);
		return err;
	}
	*payload = file;
	*len = sizeof(*file);
	return 0;
}

/* ---- symbols ---- */

static void write_field(FILE *out, const char *text, char end)
{
	for (size_t i = 0; text && text[i] && i < MAX_TEXT; i++)
		fputc((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i], out);
	fputc(end, out);
}

void code_parser_add_debug_file(struct code_parser *parser, int fd, const char *key)
{
	struct code_parser_debug_file *file = &parser->debug_files[parser->ndebug_files % CODE_PARSER_DEBUG_FILES];

	if (parser->ndebug_files++ >= CODE_PARSER_DEBUG_FILES && file->fd >= 0)
		close(file->fd);
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	snprintf(file->key, sizeof(file->key), "%s", key);
	symbols_of_file_destroy(parser->symbols);       /* works without */
	parser->symbols = NULL;
}

static void code_parser_key_of(const struct debug_wanted *wanted, char key[2 * SYMBOL_MAX_BUILD_ID + 1])
{
	if (!code_parser_to_hex(wanted->build_id, wanted->build_id_len, key))
		strcpy(key, CODE_PARSER_LINK_KEY);
}

static void add_want(struct code_parser *parser, const char *key, const char *name)
{
	size_t used = strlen(parser->wants);
	FILE *out = used + 512 < sizeof(parser->wants) ? fmemopen(parser->wants + used, sizeof(parser->wants) - used, "w") : NULL;

	if (!out)
		return;
	fprintf(out, "want\t%s\t", key);
	if (!name || strlen(name) > 255)
		name = "";
	write_field(out, name, '\n');
	fclose(out);
}

static int code_parser_find_debug(void *arg, const struct debug_wanted *wanted)
{
	char key[2 * SYMBOL_MAX_BUILD_ID + 1];
	struct code_parser *parser = arg;

	code_parser_key_of(wanted, key);
	for (size_t i = 0; i < CODE_PARSER_DEBUG_FILES && i < parser->ndebug_files; i++)
		if (!strcmp(parser->debug_files[i].key, key) && parser->debug_files[i].fd >= 0)
			return fcntl(parser->debug_files[i].fd, F_DUPFD_CLOEXEC, 0);
	add_want(parser, key, wanted->name);
	return -1;
}

static int open_symbols(struct code_parser *parser, int fd, const char **reason)
{
	struct stat identity;
	int err, copy;

	if (fstat(fd, &identity)) {
		*reason = "it cannot be examined";
		return -EIO;
	}
	if (parser->symbols && code_parser_same_file(&identity, &parser->symbols_identity))
		return 0;
	symbols_of_file_destroy(parser->symbols);
	parser->symbols = NULL;
	parser->wants[0] = 0;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	err = copy < 0 ? -errno : symbols_of_file_open(&parser->symbols, copy, code_parser_find_debug, parser);
	if (err)
		*reason = err == -ENOEXEC ? "it is no ELF file" : "it cannot be opened for its symbols";
	parser->symbols_identity = identity;
	return err;
}

static void code_parser_write_place(FILE *out, struct symbols_of_file *symbols, uint64_t offset)
{
	struct symbol_frame frames[SYMBOL_MAX_FRAMES];
	size_t n = symbols_of_file_at(symbols, offset, frames);
	uint64_t address = 0;

	symbols_of_file_address(symbols, offset, &address);
	fprintf(out, "at\t%llx\t%d\t%llx\n", (unsigned long long)offset, symbols_of_file_has_lines(symbols),
		(unsigned long long)address);
	for (size_t i = 0; i < n; i++) {
		fputs("frame\t", out);
		write_field(out, frames[i].function, '\t');
		write_field(out, frames[i].file, '\t');
		fprintf(out, "%u\t%d\n", frames[i].line, frames[i].mangled);
	}
}

/* libdw keeps what it has read of each compilation unit, and ends the process when there is no memory left. */
static void limit_memory(struct code_parser *parser)
{
#if __GLIBC_PREREQ(2, 33)
	struct mallinfo2 used = mallinfo2();
	size_t bytes = used.uordblks + used.hblkhd;
#else
	struct mallinfo used = mallinfo();      /* its counts are of 32 bits, and wrap at 4 GiB */
	size_t bytes = (size_t)(unsigned)used.uordblks + (unsigned)used.hblkhd;
#endif

	if (bytes <= (parser->symbols_max_bytes ? parser->symbols_max_bytes : SYMBOLS_MAX_BYTES))
		return;
	symbols_of_file_destroy(parser->symbols);
	parser->symbols = NULL;
}

int code_parser_symbols(struct code_parser *parser, int fd, const char *offsets, void **payload, size_t *len, const char **reason)
{
	int err = open_symbols(parser, fd, reason);
	char *text = NULL;
	FILE *out;

	if (err)
		return err;
	out = open_memstream(&text, len);
	if (!out)
		return -ENOMEM;
	for (const char *at = offsets; *at;) {
		char *end;
		uint64_t offset = strtoull(at, &end, 16);

		if (end == at)
			break;
		code_parser_write_place(out, parser->symbols, offset);
		at = *end == ',' ? end + 1 : end;
	}
	fputs(parser->wants, out);
	limit_memory(parser);
	if (fclose(out)) {
		free(text);
		return -ENOMEM;
	}
	*payload = text;
	return 0;
}
