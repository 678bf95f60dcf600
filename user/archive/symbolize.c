/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads ELF and DWARF with the rights of the recording's owner: a file that breaks the reader costs a message, and the archive
 * stays as it was.
 */
#include "archive/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/notes.h"
#include "elf/code_file.h"
#include "privilege/worker.h"
#include "replay/sites.h"
#include "spool/spool.h"
#include "symbol/debuginfod.h"
#include "symbol/symbols_of_file.h"
#include "symbol/unwind.h"

#define SYSTEM_DEBUG_DIRECTORY "/usr/lib/debug"

struct task {
	const struct output *out;
	const struct symbolize_options *options;
	const char *home;               /* of the owner, where debuginfod's files are cached; NULL: as in the environment */
	struct debuginfod *servers;     /* NULL: none are asked */
};

/* One file of code, and where debug information for it may be. */
struct module {
	const char *path, *build_id, *debug_dir;
	struct debuginfod *servers;
	struct symbols_of_file *symbols;
	bool debug_file;        /* they are of a separate debug file: offsets mean nothing in it */
};

/* ---- files ---- */

static int symbolize_open_file(const char *path)
{
	struct code_file file;
	int fd;

	if (code_file_open(&file, path))
		return -1;
	fd = code_file_reader(&file);
	code_file_close(&file);
	return fd < 0 ? -1 : fd;
}

static void symbolize_to_hex(const uint8_t *bytes, size_t n, char *text)
{
	for (size_t i = 0; i < n; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	text[2 * n] = 0;
}

static bool has_build_id(int fd, const char *wanted)
{
	char text[2 * SYMBOL_MAX_BUILD_ID + 1];
	uint8_t id[SYMBOL_MAX_BUILD_ID];
	struct unwind_file *file;
	const char *reason;

	if (unwind_file_open(&file, fd, &reason))
		return false;
	symbolize_to_hex(id, unwind_file_build_id(file, id, sizeof(id)), text);
	unwind_file_destroy(file);
	return *wanted && !strcmp(text, wanted);
}

static int open_with_build_id(const char *build_id, const char *format, const char *a, const char *b)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), format, a, b);
	fd = symbolize_open_file(path);
	if (fd >= 0 && !has_build_id(fd, build_id)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* DIR/.build-id/ab/cdef.debug, as gdb has it. */
static int open_by_build_id(const char *dir, const char *build_id)
{
	char path[PATH_MAX];

	if (strlen(build_id) < 4)
		return -1;
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", dir, build_id, build_id + 2);
	return open_with_build_id(build_id, "%s%s", path, "");
}

static const char *symbolize_last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A separate debug file of this build-id. */
static int symbolize_open_debug_file(const struct module *module, const char *build_id)
{
	static const char *const below[] = { "%s/%s", "%s/%s.debug" };
	const char *names[] = { module->path + (module->path[0] == '/'), symbolize_last_component(module->path) };
	int fd = module->debug_dir ? open_by_build_id(module->debug_dir, build_id) : -1;

	for (size_t i = 0; i < 4 && fd < 0 && module->debug_dir; i++)
		fd = open_with_build_id(build_id, below[i & 1], module->debug_dir, names[i >> 1]);
	return fd < 0 ? open_by_build_id(SYSTEM_DEBUG_DIRECTORY, build_id) : fd;
}

/* The same of a server. */
static int fetch_debug_file(const struct module *module, const char *build_id)
{
	int fd = module->servers && *build_id ? debuginfod_find(module->servers, build_id) : -1;

	if (fd >= 0 && !has_build_id(fd, build_id)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* By the name that the file states; libdwfl checks it by checksum. */
static int open_linked(const struct module *module, const char *name)
{
	const char *slash = strrchr(module->path, '/');
	char path[PATH_MAX];
	int fd = -1;

	name = symbolize_last_component(name);
	if (!*name || !slash)
		return -1;
	if (module->debug_dir) {
		snprintf(path, sizeof(path), "%s/%s", module->debug_dir, name);
		fd = symbolize_open_file(path);
	}
	for (int i = 0; i < 2 && fd < 0; i++) {
		snprintf(path, sizeof(path), "%.*s/%s%s", (int)(slash - module->path), module->path, i ? ".debug/" : "", name);
		fd = symbolize_open_file(path);
	}
	return fd;
}

static int symbolize_find_debug(void *arg, const struct debug_wanted *wanted)
{
	char build_id[2 * SYMBOL_MAX_BUILD_ID + 1];
	const struct module *module = arg;
	int fd;

	symbolize_to_hex(wanted->build_id, wanted->build_id_len, build_id);
	fd = symbolize_open_debug_file(module, build_id);
	if (fd < 0 && wanted->name)
		fd = open_linked(module, wanted->name);
	return fd < 0 ? fetch_debug_file(module, build_id) : fd;
}

/* The program's own file, with its debug file; where it is gone or another one, the debug file alone. */
static bool open_module(struct module *module)
{
	int fd = open_with_build_id(module->build_id, "%s%s", module->path, "");

	if (fd < 0) {
		fd = symbolize_open_debug_file(module, module->build_id);
		if (fd < 0)
			fd = fetch_debug_file(module, module->build_id);
		module->debug_file = true;
	}
	return fd >= 0 && !symbols_of_file_open(&module->symbols, fd, symbolize_find_debug, module);
}

/* ---- places ---- */

static void symbolize_write_place(struct spool_writer *out, const struct call_site_place *place, const struct symbol_frame *frames,
				  size_t n)
{
	struct note note = { 0 };
	char key[32];

	note_addf(&note, "module", "%" PRIu32, place->module);
	note_addf(&note, "offset", "%" PRIx64, place->offset);
	note_addf(&note, "address", "%" PRIx64, place->address);
	note_add(&note, "lines", "1");
	for (size_t i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "function%zu", i);
		note_add(&note, key, frames[i].function ? frames[i].function : "");
		snprintf(key, sizeof(key), "file%zu", i);
		note_add(&note, key, frames[i].file ? frames[i].file : "");
		snprintf(key, sizeof(key), "line%zu", i);
		note_addf(&note, key, "%u", frames[i].line);
		snprintf(key, sizeof(key), "symbol%zu", i);
		note_add(&note, key, frames[i].mangled ? "1" : "0");
	}
	if (note.text)
		spool_writer_text(out, IOP_REC_SYMBOL, 0, 1, note.text, NULL);
	note_free(&note);
}

/* A place's offset is that of the return address; the call is before it. */
static size_t look_up(const struct module *module, const struct call_site_place *place, struct symbol_frame *frames)
{
	if (!module->debug_file)
		return symbols_of_file_at(module->symbols, place->offset - 1, frames);
	return place->address ? symbols_of_file_at_address(module->symbols, place->address, frames) : 0;
}

static void report_module(FILE *text, const struct module *module, size_t places, size_t missing, bool opened)
{
	const char *hint = module->servers ? "" : ", or ask a server: --debuginfod";

	if (!module->build_id[0])
		fprintf(text, "%s: %zu places without line: it has no build-id to identify its debug file "
			"by\n", module->path, places);
	else if (!opened)
		fprintf(text,
			"%s: %zu places without line: no file with build-id %s was found; give the directory that has its debug "
			"file: --debug-dir DIR%s\n",
			module->path, places, module->build_id, hint);
	else if (missing)
		fprintf(text, "%s: %zu of %zu places without line: no debug information for them%s\n", module->path, missing,
			places, hint);
}

/* Those of one module that have no line yet. Returns how many have one now. */
static size_t symbolize_module(struct spool_writer *out, const struct call_site_place *places, size_t n, const struct task *task,
			       FILE *text)
{
	struct module module = { .path = places[0].path,
				 .build_id = places[0].build_id ? places[0].build_id : "",
				 .debug_dir = task->options->debug_dir,
				 .servers = task->servers };
	bool opened = module.build_id[0] && open_module(&module);
	struct symbol_frame frames[SYMBOL_MAX_FRAMES];
	size_t wanted = 0, found = 0;

	for (size_t i = 0; i < n; i++) {
		size_t nframes = opened && !places[i].lines ? look_up(&module, &places[i], frames) : 0;

		wanted += !places[i].lines;
		if (!nframes)
			continue;
		symbolize_write_place(out, &places[i], frames, nframes);
		found += frames[0].line != 0;
	}
	report_module(text, &module, wanted, wanted - found, opened);
	symbols_of_file_destroy(module.symbols);
	return found;
}

static void symbolize_all(struct spool_writer *out, const struct call_site_place *places, size_t n, const struct task *task,
			  FILE *text)
{
	size_t before = 0, found = 0, end;

	for (size_t i = 0; i < n; i = end) {
		size_t wanted = 0;

		for (end = i; end < n && places[end].module == places[i].module; end++) {
			before += places[end].lines;
			wanted += !places[end].lines;
		}
		if (wanted)
			found += symbolize_module(out, places + i, end - i, task, text);
	}
	if (task->servers && debuginfod_failure(task->servers))
		fprintf(text, "debuginfod servers (%s) could not be asked: %s\n", getenv("DEBUGINFOD_URLS"),
			debuginfod_failure(task->servers));
	fprintf(text, "%zu places in code: %zu had a line, %zu more have one now\n", n, before, found);
}

/* ---- in the worker ---- */

static int symbolize_read_sites(struct call_sites **sites, const struct task *task, char *err, size_t err_len)
{
	struct spool_reader *spool = NULL;
	int ret = spool_reader_open(&spool, OUTPUT_SPOOL);

	if (ret == -ENOENT) {
		snprintf(err, err_len,
			 "%s/" OUTPUT_SPOOL " does not exist: functions and lines are looked up from the records, which a "
					    "recording keeps with --keep-spool",
			 task->out->path);
		return ret;
	}
	if (!ret)
		ret = call_sites_read(sites, spool);
	spool_reader_destroy(spool);
	if (ret)
		snprintf(err, err_len, "%s/" OUTPUT_SPOOL " cannot be read: %s", task->out->path,
			 ret == -EINVAL ? "it is not a spool of this version" : ret == -ELOOP ? "it is a symbolic "
				"link" : strerror(-ret));
	else if (!*sites)
		snprintf(err, err_len, "%s: nothing to look up: it was recorded without call sites", task->out->path);
	return ret ? ret : *sites ? 0 : -ENODATA;
}

static int write_symbols(const struct call_sites *sites, const struct task *task, FILE *text, char *err, size_t err_len)
{
	struct spool_writer *out = NULL;
	size_t n = 0;
	struct call_site_place *places = call_sites_places(sites, &n);
	int ret = places ? 0 : -ENOMEM;

	unlink(SYMBOLIZE_FILE);
	if (!ret)
		ret = spool_writer_create(&out, SYMBOLIZE_FILE);
	if (!ret) {
		symbolize_all(out, places, n, task, text);
		ret = spool_writer_dropped(out) ? -ENOSPC : 0;
		ret = spool_writer_destroy(out) || ret ? -EIO : 0;
	}
	if (ret) {
		snprintf(err, err_len, "%s/" SYMBOLIZE_FILE " cannot be written: %s", task->out->path, strerror(-ret));
		unlink(SYMBOLIZE_FILE);
	}
	free(places);
	return ret;
}

/* Without the option libdw must not ask the network, and wait, either. */
static int choose_servers(struct task *task, char *err, size_t err_len)
{
	if (!task->options->debuginfod) {
		unsetenv("DEBUGINFOD_URLS");
		return 0;
	}
	if (task->options->debuginfod_urls)
		setenv("DEBUGINFOD_URLS", task->options->debuginfod_urls, 1);
	if (task->home) {
		setenv("HOME", task->home, 1);
		unsetenv("XDG_CACHE_HOME");
	}
	return debuginfod_create(&task->servers, err, err_len);
}

static int symbolize_run(void *arg, FILE *text, char *err, size_t err_len)
{
	struct task *task = arg;
	struct call_sites *sites = NULL;
	int ret = symbolize_read_sites(&sites, task, err, err_len);

	if (!ret)
		ret = choose_servers(task, err, err_len);
	if (!ret)
		ret = write_symbols(sites, task, text, err, err_len);
	call_sites_destroy(sites);
	debuginfod_destroy(task->servers);
	return ret;
}

int archive_symbolize(const struct output *out, const struct symbolize_options *options, char **report, char *err, size_t err_len)
{
	struct task task = { .out = out, .options = options };
	struct worker worker = {
		.who = out->owner, .dir = out->dir, .what = "looking up functions and lines", .run = symbolize_run, .arg = &task,
		.threads = options->debuginfod
	};
	const struct passwd *entry = out->owner->own ? NULL : getpwuid(out->owner->uid);
	size_t len;

	task.home = entry ? entry->pw_dir : NULL;
	return worker_run(&worker, report, &len, err, err_len);
}
