/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The parser process reads the files. This file finds the debug files that it requests, and checks and writes its answers.
 */
#include "capture/site_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/rings.h"
#include "capture/notes.h"
#include "parse/code_parser.h"
#include "symbol/symbols_of_file.h"

#define DEBUG_DIRECTORY "/usr/lib/debug"
#define MAX_WANTS 4             /* per module: its debug file, and that file's shared part */

struct request {
	struct site_module *module;
	uint32_t number;
	struct parse_pool *parsers;
	struct spool_writer *spool;
	char tried[MAX_WANTS][2 * SYMBOL_MAX_BUILD_ID + 1];
	size_t ntried;
	char reason[256];
};

/* ---- separate debug files ---- */

/* Opens a file that the module's owner may read. The parser process verifies it by build-id or checksum. */
static int site_symbols_open_debug_file(const struct site_module *module, const char *path)
{
	struct code_file file;
	struct stat st;
	int fd;

	if (code_file_open(&file, path))
		return -1;
	fd = code_file_reader(&file);
	code_file_close(&file);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && (st.st_uid == module->file.uid || (st.st_uid == 0 && (st.st_mode & S_IROTH))))
		return fd;
	close(fd);
	return -1;
}

static int find_by_build_id(const struct site_module *module, const char *key)
{
	char path[sizeof(DEBUG_DIRECTORY) + 2 * SYMBOL_MAX_BUILD_ID + 32];

	if (strlen(key) < 4 || strspn(key, "0123456789abcdef") != strlen(key))
		return -1;
	snprintf(path, sizeof(path), DEBUG_DIRECTORY "/.build-id/%.2s/%s.debug", key, key + 2);
	return site_symbols_open_debug_file(module, path);
}

/* The name comes from the file: only its last component is used, except below the directory of debug files. */
static int find_by_name(const struct site_module *module, const char *name)
{
	static const char *const before[] = { "", "", DEBUG_DIRECTORY }, *const between[] = { "/", "/.debug/", "/" };
	const char *last = strrchr(name, '/'), *slash = strrchr(module->path, '/');
	char path[PATH_MAX];
	int fd = -1;

	if (!strncmp(name, DEBUG_DIRECTORY "/", sizeof(DEBUG_DIRECTORY)) && !strstr(name, "/.."))
		return site_symbols_open_debug_file(module, name);
	name = last ? last + 1 : name;
	if (!*name || !slash || module->path[0] != '/')
		return -1;
	for (size_t i = 0; i < 3 && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s%.*s%s%s", before[i], (int)(slash - module->path), module->path, between[i], name);
		fd = site_symbols_open_debug_file(module, path);
	}
	return fd;
}

static bool was_tried(struct request *r, const char *key)
{
	for (size_t i = 0; i < r->ntried; i++)
		if (!strcmp(r->tried[i], key))
			return true;
	return false;
}

/* Returns whether a file was passed on. */
static bool site_symbols_supply(struct request *r, const char *key, const char *name)
{
	bool supplied;
	int fd;

	if (r->ntried == MAX_WANTS || strlen(key) >= sizeof(r->tried[0]) || was_tried(r, key))
		return false;
	snprintf(r->tried[r->ntried++], sizeof(r->tried[0]), "%s", key);
	fd = find_by_build_id(r->module, key);
	if (fd < 0)
		fd = find_by_name(r->module, name);
	if (fd < 0)
		return false;
	supplied = !parse_debug_file(r->parsers, &r->module->file, fd, key, r->reason, sizeof(r->reason));
	close(fd);
	return supplied;
}

/* ---- answers ---- */

/* Splits a line at its tabs. Returns the number of fields. */
static size_t site_symbols_split(char *line, char **fields, size_t max)
{
	size_t n = 0;

	for (char *at = line; at && n < max; at = strchr(at, '\t') ? strchr(at, '\t') + 1 : NULL)
		fields[n++] = at;
	for (size_t i = 1; i < n; i++)
		fields[i][-1] = 0;
	return n;
}

static bool supply_wants(struct request *r, const char *text)
{
	char *copy = strdup(text), *fields[3], *save = NULL;
	bool supplied = false;

	for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, "want\t", 5) && site_symbols_split(line, fields, 3) == 3)
			supplied |= site_symbols_supply(r, fields[1], fields[2]);
	free(copy);
	return supplied;
}

struct place_note { struct note note; uint64_t offset; size_t frames; bool open; };

static void flush_place(struct request *r, struct place_note *place)
{
	if (place->open && place->note.text)
		spool_writer_text(r->spool, IOP_REC_SYMBOL, 0, monotonic_ns(), place->note.text, NULL);
	note_free(&place->note);
	*place = (struct place_note){ 0 };
}

static void begin_place(struct request *r, struct place_note *place, char **fields)
{
	flush_place(r, place);
	place->open = true;
	note_addf(&place->note, "module", "%u", r->number);
	note_addf(&place->note, "offset", "%llx", strtoull(fields[1], NULL, 16) + 1);   /* the return address */
	note_add(&place->note, "lines", strcmp(fields[2], "1") ? "0" : "1");
	note_addf(&place->note, "address", "%llx", strtoull(fields[3], NULL, 16));
}

static void add_frame(struct place_note *place, char **fields)
{
	static const char *const keys[] = { "function", "file", "line", "symbol" };
	char key[32];

	if (!place->open || place->frames == SYMBOL_MAX_FRAMES)
		return;
	for (size_t i = 0; i < 4; i++) {
		snprintf(key, sizeof(key), "%s%zu", keys[i], place->frames);
		note_add(&place->note, key, fields[i + 1]);
	}
	place->frames++;
}

static void write_places(struct request *r, char *text)
{
	struct place_note place = { 0 };
	char *fields[5], *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, "at\t", 3) && site_symbols_split(line, fields, 4) == 4)
			begin_place(r, &place, fields);
		else if (!strncmp(line, "frame\t", 6) && site_symbols_split(line, fields, 5) == 5)
			add_frame(&place, fields);
	}
	flush_place(r, &place);
}

/* ---- one module ---- */

static int site_symbols_ask(struct request *r, const uint64_t *offsets, size_t n)
{
	char *text = NULL;
	int err;

	for (int tries = 0; tries <= MAX_WANTS; tries++) {
		err = parse_symbols(r->parsers, &r->module->file, offsets, n, &text, r->reason, sizeof(r->reason));
		if (err)
			return err;
		if (!supply_wants(r, text))
			break;
		free(text);
		text = NULL;
	}
	if (text)
		write_places(r, text);
	free(text);
	return 0;
}

static int by_offset(const struct site_place *a, const struct site_place *b)
{
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void note_failure(struct request *r, const char *what, const char *reason)
{
	struct note note = { 0 };

	note_addf(&note, "module", "%u", r->number);
	note_add(&note, what, reason);
	if (note.text)
		spool_writer_text(r->spool, IOP_REC_SYMBOL, 0, monotonic_ns(), note.text, NULL);
	note_free(&note);
}

void site_symbols_write(struct site_module *module, uint32_t number, struct parse_pool *parsers, struct spool_writer *spool)
{
	struct request r = { .module = module, .number = number, .parsers = parsers, .spool = spool };
	uint64_t offsets[PARSE_MAX_PLACES];
	struct site_place *place;
	size_t n = 0;
	int err = 0;

	HASH_SORT(module->places, by_offset);
	for (place = module->places; place && !err; place = place->hh.next) {
		offsets[n++] = place->offset - 1;       /* the call instruction: the next one may belong to another line */
		if (n < PARSE_MAX_PLACES && place->hh.next)
			continue;
		err = site_symbols_ask(&r, offsets, n);
		n = 0;
	}
	if (err)
		note_failure(&r, "unreadable", r.reason);
	if (module->reason)
		note_failure(&r, "no_callers", module->reason);
}
