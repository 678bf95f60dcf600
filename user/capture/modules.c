/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The files that a process has mapped for execution: /proc/PID/maps, and a path for each by which that very file can be opened.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "capture/procfs.h"

struct map_row {
	uint64_t start, end, offset, dev, ino;
	bool exec;
	const char *path;
};

/* ---- one line ---- */

/* Of a path the kernel escapes the newline only (seq_path with "\n"). */
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

static bool row_parse(char *line, struct map_row *row)
{
	unsigned long long start, end, offset, ino;
	unsigned int dev_major, dev_minor;
	int path = 0;
	char mode[8];

	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, mode, &offset, &dev_major, &dev_minor, &ino, &path) < 7 ||
	    !path)
		return false;
	*row = (struct map_row){ start, end, offset, makedev(dev_major, dev_minor), ino, mode[2] == 'x', line + path };
	unescape_newlines(line + path);
	return true;
}

/* ---- which file it is ---- */

struct file_id { uint64_t dev, ino; };

static bool path_id(const char *path, struct file_id *id)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	*id = (struct file_id){ st.st_dev, st.st_ino };
	return true;
}

static bool same_file(const struct file_id *a, const struct file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/* The path as the process sees it, if it still leads to the mapped file. maps shows the super block's device, which on btrfs and
 * overlayfs is not the one that stat(2) tells: so what counts is what stat tells of the mapping itself, where we may ask for
 * that. */
static char *path_in_root(pid_t pid, const char *path, const struct file_id *mapped)
{
	struct file_id id;
	char *open_path;

	if (path[0] != '/' || asprintf(&open_path, "/proc/%d/root%s", pid, path) < 0)
		return NULL;
	if (path_id(open_path, &id) && same_file(&id, mapped))
		return open_path;
	free(open_path);
	return NULL;
}

static bool has_suffix(const char *text, const char *suffix)
{
	size_t len = strlen(text), suffix_len = strlen(suffix);

	return len > suffix_len && !strcmp(text + len - suffix_len, suffix);
}

/* Finds open_path; a name that ends in " (deleted)" may also be a file's own. */
static int module_find_file(pid_t pid, struct proc_module *module)
{
	struct file_id mapped = { module->dev, module->ino };
	char *map_file;

	if (asprintf(&map_file, "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)module->text_addr,
		     (unsigned long long)module->text_addr + module->text_len) < 0)
		return -ENOMEM;
	path_id(map_file, &mapped);
	module->dev = mapped.dev;
	module->ino = mapped.ino;
	module->open_path = path_in_root(pid, module->path, &mapped);
	if (!module->open_path && has_suffix(module->path, " (deleted)")) {
		module->deleted = true;
		module->path[strlen(module->path) - strlen(" (deleted)")] = 0;
		module->open_path = path_in_root(pid, module->path, &mapped);
	}
	if (module->open_path)
		free(map_file);
	else
		module->open_path = map_file;
	return 0;
}

/* ---- all lines ---- */

static bool is_known(const struct proc_modules *modules, const struct map_row *row, const struct file_id *ids)
{
	for (size_t i = 0; i < modules->n; i++)
		if (ids[i].dev == row->dev && ids[i].ino == row->ino)
			return true;
	return false;
}

static int module_add(struct proc_modules *modules, pid_t pid, const struct map_row *row, const struct map_row *first)
{
	struct proc_module *v = realloc(modules->v, (modules->n + 1) * sizeof(*v));
	struct proc_module *module;
	int err;

	if (!v)
		return -ENOMEM;
	modules->v = v;
	module = &v[modules->n];
	*module = (struct proc_module){
		.base = first->start, .base_offset = first->offset, .dev = row->dev, .ino = row->ino,
		.text_addr = row->start, .text_offset = row->offset, .text_len = row->end - row->start,
	};
	module->path = strdup(row->path);
	err = module->path ? module_find_file(pid, module) : -ENOMEM;
	if (err)
		free(module->path);
	else
		modules->n++;
	return err;
}

/* The image of a library is a run of lines of the same file with ascending offsets; other mappings of the file, by a reader for
 * instance, are no part of it. The text may begin in the file's first page, too. */
static bool continues(const struct map_row *first, const struct map_row *previous, const struct map_row *row)
{
	if (!first->ino || row->ino != first->ino || row->dev != first->dev || row->offset < previous->offset)
		return false;
	return row->offset || (row->exec && !previous->exec);
}

static int modules_parse(char *text, pid_t pid, struct proc_modules *out, struct file_id **ids)
{
	struct map_row row, first = { 0 }, previous = { 0 };
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct file_id *grown;
		int err;

		if (!row_parse(line, &row))
			return -EINVAL;
		if (!continues(&first, &previous, &row))
			first = row;
		previous = row;
		if (!row.exec || !row.ino || is_known(out, &row, *ids))
			continue;
		grown = realloc(*ids, (out->n + 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		*ids = grown;
		grown[out->n] = (struct file_id){ row.dev, row.ino };
		err = module_add(out, pid, &row, &first);
		if (err)
			return err;
	}
	return 0;
}

int proc_modules_read(pid_t pid, struct proc_modules *out)
{
	struct file_id *ids = NULL;
	char *text;
	size_t len;
	int err = proc_text_read(pid, "maps", &text, &len);

	*out = (struct proc_modules){ 0 };
	if (err)
		return err;
	err = modules_parse(text, pid, out, &ids);
	free(ids);
	free(text);
	if (err)
		proc_modules_free(out);
	return err;
}

void proc_modules_free(struct proc_modules *modules)
{
	for (size_t i = 0; i < modules->n; i++) {
		free(modules->v[i].path);
		free(modules->v[i].open_path);
	}
	free(modules->v);
	*modules = (struct proc_modules){ 0 };
}
