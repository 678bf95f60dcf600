/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The files that a process has mapped for execution: takes the rows of /proc/PID/maps and opens each file through its mapping.
 * Where the kernel answers queries (Linux 6.11) the text is not read: of a process with a hundred libraries that takes a quarter of
 * the time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "proc/map_query.h"
#include "proc/procfs.h"

/* ---- one line ---- */

/* In a path the kernel escapes only the newline (seq_path with "
 * "). */
static void unescape_newlines(char *path)
{
	char *to = path;

	for (const char *at = path; *at; at++) {
		if (!strncmp(at, "\\012", 4)) {
			*to++ = '\n';
			at += 3;
		} else {
			*to++ = *at;
		}
	}
	*to = 0;
}

static bool modules_row_parse(char *line, struct map_row *row)
{
	unsigned long long start, end, offset, ino;
	unsigned int dev_major, dev_minor;
	int path = 0;
	char mode[8];

	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, mode, &offset, &dev_major, &dev_minor, &ino, &path) <
		    7 ||
	    !path)
		return false;
	*row = (struct map_row){ start, end, offset, makedev(dev_major, dev_minor), ino, mode[2] == 'x', line + path };
	unescape_newlines(line + path);
	return true;
}

/* ---- identification of the file ---- */

static bool is_file(const struct proc_module *module, const struct code_file *file)
{
	return file->dev == module->dev && file->ino == module->ino;
}

/* Opening by name is accepted only if device and inode in maps equal those of stat(2). On btrfs and overlayfs they never do, since
 * maps shows the super block's device: no guess is made there. */
static int open_by_name(const struct proc_module *module, struct code_file *file)
{
	int err = module->path[0] == '/' ? code_file_open_in_root(file, module->pid, module->path) : -EPERM;

	if (err)
		return err == -ENOENT ? -EPERM : err;
	if (is_file(module, file))
		return 0;
	code_file_close(file);
	return -EPERM;
}

int proc_module_open(const struct proc_module *module, struct code_file *file)
{
	int err;

	if (module->by_name)
		return open_by_name(module, file);
	err = code_file_open_mapped(file, module->pid, module->text_addr, module->text_addr + module->text_len);
	if (err || is_file(module, file))
		return err;
	code_file_close(file);
	return -ENOENT;         /* another file is mapped there now */
}

static bool has_suffix(const char *text, const char *suffix)
{
	size_t len = strlen(text), suffix_len = strlen(suffix);

	return len > suffix_len && !strcmp(text + len - suffix_len, suffix);
}

/* A name that ends in " (deleted)" may be the file's real name: then it can be opened. */
static void find_deleted(struct proc_module *module)
{
	struct code_file file;

	if (!has_suffix(module->path, " (deleted)"))
		return;
	module->deleted = true;
	if (!code_file_open_in_root(&file, module->pid, module->path)) {
		module->deleted = !is_file(module, &file);
		code_file_close(&file);
	}
	if (module->deleted)
		module->path[strlen(module->path) - strlen(" (deleted)")] = 0;
}

/* maps shows another device than stat(2) on some file systems; one file must not be mistaken for two. */
static void module_identify(struct proc_module *module)
{
	struct code_file file;
	int err = code_file_open_mapped(&file, module->pid, module->text_addr, module->text_addr + module->text_len);

	module->by_name = err == -EPERM || err == -EACCES;
	if (!err) {
		module->dev = file.dev;
		module->ino = file.ino;
		code_file_close(&file);
	}
	find_deleted(module);
}

/* Returns the module that had this mapping before, NULL if there was none. A file whose name was removed since has another path. */
static const struct proc_module *known_before(const struct proc_modules *before, const struct map_row *row)
{
	for (size_t i = 0; before && i < before->n; i++) {
		const struct proc_module *known = &before->v[i];

		if (!known->deleted && known->text_addr == row->start && known->text_len == row->end - row->start &&
		    known->text_offset == row->offset && known->map_dev == row->dev && known->map_ino == row->ino &&
		    !strcmp(known->path, row->path))
			return known;
	}
	return NULL;
}

/* ---- all rows ---- */

/* first: of the image that the previous row belongs to. */
struct module_reading {
	pid_t pid;
	const struct proc_modules *before;
	struct proc_modules *out;
	struct map_row first, previous;
};

/* Returns the index of the row's file, or the number of modules if the file is new. */
static size_t find_module(const struct proc_modules *modules, const struct map_row *row)
{
	size_t i = 0;

	while (i < modules->n && (modules->v[i].map_dev != row->dev || modules->v[i].map_ino != row->ino))
		i++;
	return i;
}

static int modules_mapping_add(struct proc_modules *modules, const struct map_row *row, size_t module)
{
	struct proc_mapping *v = reallocarray(modules->mappings, modules->nmappings + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	modules->mappings = v;
	v[modules->nmappings++] = (struct proc_mapping){ row->start, row->end, row->offset, module };
	return 0;
}

static int modules_module_add(struct module_reading *reading, const struct map_row *row)
{
	const struct proc_module *known = known_before(reading->before, row);
	struct proc_modules *modules = reading->out;
	struct proc_module *v = realloc(modules->v, (modules->n + 1) * sizeof(*v));
	struct proc_module *module;

	if (!v)
		return -ENOMEM;
	modules->v = v;
	module = &v[modules->n];
	*module = (struct proc_module){
		.pid = reading->pid, .base = reading->first.start, .base_offset = reading->first.offset,
		.dev = row->dev, .ino = row->ino, .map_dev = row->dev, .map_ino = row->ino,
		.text_addr = row->start, .text_offset = row->offset, .text_len = row->end - row->start,
	};
	module->path = strdup(row->path);
	if (!module->path)
		return -ENOMEM;
	if (known) {
		module->dev = known->dev;
		module->ino = known->ino;
		module->by_name = known->by_name;
	} else {
		module_identify(module);
	}
	modules->n++;
	return 0;
}

/* The image of a library is a sequence of rows of the same file with ascending offsets; other mappings of the file, by a reader
 * for instance, do not belong to it. The text segment may begin in the file's first page, too. */
static bool modules_continues(const struct map_row *first, const struct map_row *previous, const struct map_row *row)
{
	if (!first->ino || row->ino != first->ino || row->dev != first->dev || row->offset < previous->offset)
		return false;
	return row->offset || (row->exec && !previous->exec);
}

static void follow_image(struct module_reading *reading, const struct map_row *row)
{
	if (!modules_continues(&reading->first, &reading->previous, row))
		reading->first = *row;
	reading->previous = *row;
}

static int take_executable(struct module_reading *reading, const struct map_row *row)
{
	size_t module = find_module(reading->out, row);
	int err = modules_mapping_add(reading->out, row, module);

	return err || module < reading->out->n ? err : modules_module_add(reading, row);
}

/* ---- from text ---- */

static int parse_lines(char *text, struct module_reading *reading)
{
	struct map_row row;
	char *save = NULL;
	int err = 0;

	for (char *line = strtok_r(text, "\n", &save); line && !err; line = strtok_r(NULL, "\n", &save)) {
		if (!modules_row_parse(line, &row))
			return -EINVAL;
		follow_image(reading, &row);
		if (row.exec && row.ino)
			err = take_executable(reading, &row);
	}
	return err;
}

static int modules_end_reading(struct module_reading *reading, int err)
{
	if (err)
		proc_modules_free(reading->out);
	return err;
}

int proc_modules_parse(char *text, pid_t pid, const struct proc_modules *before, struct proc_modules *out)
{
	struct module_reading reading = { .pid = pid, .before = before, .out = out };

	*out = (struct proc_modules){ 0 };
	return modules_end_reading(&reading, parse_lines(text, &reading));
}

static int modules_read_text(pid_t pid, const struct proc_modules *before, struct proc_modules *out)
{
	char *text;
	size_t len;
	int err = proc_text_read(pid, "maps", &text, &len);

	if (err)
		return err;
	err = len ? proc_modules_parse(text, pid, before, out) : -ESRCH;        /* empty: it has ended, and waits for its parent */
	free(text);
	return err;
}

/* ---- from queries ---- */

/* The rows between the previous executable one and this one tell where its image begins. */
static int follow_rows_before(struct module_reading *reading, struct map_query *query, const struct map_row *row)
{
	struct map_row between;
	int err;

	for (uint64_t at = reading->previous.end; at < row->start; at = between.end) {
		err = map_query_any(query, at, &between);
		if (err || between.start >= row->start)
			return err == -ENOENT ? 0 : err;
		follow_image(reading, &between);
	}
	return 0;
}

static int take_queried(struct module_reading *reading, struct map_query *query, const struct map_row *row)
{
	const struct proc_module *known = known_before(reading->before, row);
	int err = 0;

	if (known) {
		reading->first = (struct map_row){ .start = known->base, .offset = known->base_offset, .dev = row->dev,
						   .ino = row->ino };
		reading->previous = *row;
	} else {
		err = follow_rows_before(reading, query, row);
		if (!err)
			follow_image(reading, row);
	}
	return err ? err : take_executable(reading, row);
}

static int modules_query(struct module_reading *reading, struct map_query *query)
{
	struct map_row row;
	uint64_t at = 0;
	int err;

	while (!(err = map_query_executable(query, at, &row)) && !(err = take_queried(reading, query, &row)))
		at = row.end;
	return err == -ENOENT ? 0 : err;
}

int proc_modules_update(pid_t pid, const struct proc_modules *before, struct proc_modules *out)
{
	struct module_reading reading = { .pid = pid, .before = before, .out = out };
	struct map_query query;
	int err = map_query_open(&query, pid);

	*out = (struct proc_modules){ 0 };
	if (err)
		return err;
	err = modules_end_reading(&reading, modules_query(&reading, &query));
	map_query_close(&query);
	return err == -EOPNOTSUPP ? modules_read_text(pid, before, out) : err;
}

int proc_modules_read(pid_t pid, struct proc_modules *out)
{
	return proc_modules_update(pid, NULL, out);
}

void proc_modules_free(struct proc_modules *modules)
{
	for (size_t i = 0; i < modules->n; i++)
		free(modules->v[i].path);
	free(modules->v);
	free(modules->mappings);
	*modules = (struct proc_modules){ 0 };
}
