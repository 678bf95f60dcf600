/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The files that a process has mapped for execution: parses /proc/PID/maps and opens each file through its mapping.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "proc/procfs.h"

struct map_row {
	uint64_t start, end, offset, dev, ino;
	bool exec;
	const char *path;
};

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

struct file_id { uint64_t dev, ino; };

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

static bool is_same_mapping(const struct proc_module *a, const struct proc_module *b)
{
	return a->text_addr == b->text_addr && a->text_len == b->text_len && a->text_offset == b->text_offset &&
	       a->map_dev == b->map_dev && a->map_ino == b->map_ino && !strcmp(a->path, b->path);
}

/* A file whose name was removed since has another path in maps. */
static bool identify_as_before(struct proc_module *module, const struct proc_modules *before)
{
	for (size_t i = 0; before && i < before->n; i++) {
		const struct proc_module *known = &before->v[i];

		if (known->deleted || !is_same_mapping(known, module))
			continue;
		module->dev = known->dev;
		module->ino = known->ino;
		module->by_name = known->by_name;
		return true;
	}
	return false;
}

/* ---- all lines ---- */

/* Returns the index of the row's file, or the number of modules if the file is new. */
static size_t find_module(const struct proc_modules *modules, const struct map_row *row, const struct file_id *ids)
{
	size_t i = 0;

	while (i < modules->n && (ids[i].dev != row->dev || ids[i].ino != row->ino))
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

static int modules_module_add(struct proc_modules *modules, pid_t pid, const struct proc_modules *before,
			      const struct map_row *row, const struct map_row *first)
{
	struct proc_module *v = realloc(modules->v, (modules->n + 1) * sizeof(*v));
	struct proc_module *module;

	if (!v)
		return -ENOMEM;
	modules->v = v;
	module = &v[modules->n];
	*module = (struct proc_module){
		.pid = pid, .base = first->start, .base_offset = first->offset, .dev = row->dev, .ino = row->ino,
		.map_dev = row->dev, .map_ino = row->ino,
		.text_addr = row->start, .text_offset = row->offset, .text_len = row->end - row->start,
	};
	module->path = strdup(row->path);
	if (!module->path)
		return -ENOMEM;
	if (!identify_as_before(module, before))
		module_identify(module);
	modules->n++;
	return 0;
}

/* The image of a library is a sequence of lines of the same file with ascending offsets; other mappings of the file, by a reader
 * for instance, do not belong to it. The text segment may begin in the file's first page, too. */
static bool modules_continues(const struct map_row *first, const struct map_row *previous, const struct map_row *row)
{
	if (!first->ino || row->ino != first->ino || row->dev != first->dev || row->offset < previous->offset)
		return false;
	return row->offset || (row->exec && !previous->exec);
}

static int parse_lines(char *text, pid_t pid, const struct proc_modules *before, struct proc_modules *out, struct file_id **ids)
{
	struct map_row row, first = { 0 }, previous = { 0 };
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct file_id *grown;
		size_t module;
		int err;

		if (!modules_row_parse(line, &row))
			return -EINVAL;
		if (!modules_continues(&first, &previous, &row))
			first = row;
		previous = row;
		if (!row.exec || !row.ino)
			continue;
		module = find_module(out, &row, *ids);
		err = modules_mapping_add(out, &row, module);
		if (err || module < out->n) {
			if (err)
				return err;
			continue;
		}
		grown = realloc(*ids, (out->n + 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		*ids = grown;
		grown[out->n] = (struct file_id){ row.dev, row.ino };
		err = modules_module_add(out, pid, before, &row, &first);
		if (err)
			return err;
	}
	return 0;
}

int proc_modules_parse(char *text, pid_t pid, const struct proc_modules *before, struct proc_modules *out)
{
	struct file_id *ids = NULL;
	int err;

	*out = (struct proc_modules){ 0 };
	err = parse_lines(text, pid, before, out, &ids);
	free(ids);
	if (err)
		proc_modules_free(out);
	return err;
}

int proc_modules_update(pid_t pid, const struct proc_modules *before, struct proc_modules *out)
{
	char *text;
	size_t len;
	int err = proc_text_read(pid, "maps", &text, &len);

	*out = (struct proc_modules){ 0 };
	if (err)
		return err;
	err = len ? proc_modules_parse(text, pid, before, out) : -ESRCH;        /* empty: it has ended, and waits for its parent */
	free(text);
	return err;
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
