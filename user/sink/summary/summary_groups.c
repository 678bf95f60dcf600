/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The text's table of files: sorted by time, without system files and libraries. Files of a directory whose names differ only in
 * numbers share one line, and so do very many files of a directory.
 */
#include "sink/summary/summary.h"
#include "sink/summary/summary_report.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_FILES 4         /* at least this many names that differ only in numbers share one line */
#define DIRECTORY_LINES 20      /* a directory with more lines than this is condensed to one */
#define NUMBER_MARK '\1'

/* A line of the table; name is the common part of its files' names. */
struct line {
	char *key, *name;
	const struct summary_file *first;
	struct summary_counts counts;
	uint64_t time_ns;
	size_t files;
	bool wanted;
	UT_hash_handle hh;
};

struct lines { struct line *v; size_t n; };

static const char *path_of(const struct summary_report *r, const struct summary_file *file)
{
	return file->file != REF_NONE ? r->model->files.v[file->file].path : "(file unknown)";
}

/* ---- which files are shown ---- */

static bool begins_with(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return !strncmp(path, directory, len) && (!path[len] || path[len] == '/');
}

static bool is_library(const struct summary_report *r, const struct summary_file *file)
{
	static const char *const directories[] = { "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share" };
	const char *path = path_of(r, file), *at = strstr(path, ".so");

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		if (begins_with(path, directories[i]))
			return true;
	for (; at; at = strstr(at + 1, ".so"))
		if (!at[3] || at[3] == '.')
			return true;
	for (size_t i = 0; i < r->model->code_files.n; i++)
		if (!strcmp(r->model->code_files.v[i].path, path))
			return true;
	return false;
}

static bool is_shown(const struct summary_report *r, const struct summary_file *file)
{
	static const char *const system[] = { "/proc", "/sys", "/etc" };

	if (r->all_files || file->file == REF_NONE)
		return true;
	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
		if (begins_with(path_of(r, file), system[i]))
			return false;
	return summary_written(&file->counts) || !is_library(r, file);
}

/* ---- common parts of names ---- */

/* The path with each number replaced by a mark. */
static char *pattern_key(const char *path, const char *layer)
{
	char *key = malloc(strlen(path) + strlen(layer) + 2), *to = key;

	if (!key)
		return NULL;
	while (*path) {
		if (!isdigit((unsigned char)*path)) {
			*to++ = *path++;
			continue;
		}
		*to++ = NUMBER_MARK;
		while (isdigit((unsigned char)*path))
			path++;
	}
	sprintf(to, "\n%s", layer);
	return key;
}

static size_t number_len(const char *text)
{
	size_t len = 0;

	while (isdigit((unsigned char)text[len]))
		len++;
	return len;
}

/* Replaces each number of name that differs from path, of the same pattern, by '*'. name does not get longer. */
static void summary_groups_blend(char *name, const char *path)
{
	char *to = name;

	while (*name && *path) {
		size_t here = number_len(name), there = number_len(path);

		if (!there) {
			*to++ = *name++;
			path++;
		} else if (here == there && !memcmp(name, path, here)) {
			memmove(to, name, here);
			to += here, name += here, path += there;
		} else {
			*to++ = '*';
			name += here ? here : 1;        /* a number, or the '*' that replaces it */
			path += there;
		}
	}
	*to = 0;
}

static void add_to_line(struct line *line, const struct summary_file *file)
{
	if (!line->first)
		line->first = file;
	summary_add(&line->counts, &file->counts);
	line->time_ns += file->time_ns;
	line->files++;
}

static struct line *line_get(struct line **all, struct lines *lines, char *key)
{
	struct line *line = NULL;

	if (!key)
		return NULL;
	HASH_FIND_STR(*all, key, line);
	if (line) {
		free(key);
		return line;
	}
	line = &lines->v[lines->n++];
	line->key = key;
	HASH_ADD_KEYPTR(hh, *all, line->key, strlen(line->key), line);
	return hash_added(line) ? line : NULL;
}

/* Makes one line for each pattern. */
static int group_by_pattern(const struct summary_report *r, struct lines *patterns, struct line **all)
{
	for (size_t i = 0; i < r->nfiles; i++) {
		const struct summary_file *file = &r->files[i];
		struct line *line = is_shown(r, file) ? line_get(all, patterns,
				    pattern_key(path_of(r, file), r->model->paradigms.v[file->paradigm].identification)) : NULL;

		if (!is_shown(r, file))
			continue;
		if (!line || (!line->name && !(line->name = strdup(path_of(r, file)))))
			return -ENOMEM;
		summary_groups_blend(line->name, path_of(r, file));
		add_to_line(line, file);
	}
	return 0;
}

/* Returns the directory of a name, with its final '/', as a key. */
static char *directory_key(const char *name, const char *layer)
{
	const char *slash = strrchr(name, '/');
	int len = slash ? slash - name + 1 : 0;
	char *key;

	return asprintf(&key, "%.*s\n%s", len, name, layer) < 0 ? NULL : key;
}

/* ---- condensing lines ---- */

static void lines_free(struct lines *lines, struct line **all)
{
	HASH_CLEAR(hh, *all);
	for (size_t i = 0; i < lines->n; i++) {
		free(lines->v[i].key);
		free(lines->v[i].name);
	}
	free(lines->v);
	*lines = (struct lines){ 0 };
}

static int lines_init(struct lines *lines, size_t n)
{
	*lines = (struct lines){ calloc(n + 1, sizeof(*lines->v)), 0 };
	return lines->v ? 0 : -ENOMEM;
}

static int summary_groups_line_add(struct lines *lines, const char *name, const struct summary_file *file)
{
	struct line *line = &lines->v[lines->n++];

	line->name = strdup(name);
	add_to_line(line, file);
	return line->name ? 0 : -ENOMEM;
}

/* Splits patterns with few files into single files. */
static int split_patterns(const struct summary_report *r, struct lines *to, struct lines *patterns, struct line **all)
{
	int error = 0;

	for (size_t i = 0; i < patterns->n; i++)
		if (patterns->v[i].files >= PATTERN_FILES) {
			to->v[to->n] = patterns->v[i];
			to->v[to->n++].key = NULL;
			patterns->v[i].name = NULL;
		}
	for (size_t i = 0; i < r->nfiles && !error; i++) {
		const struct summary_file *file = &r->files[i];
		struct line *line;
		char *key;

		if (!is_shown(r, file))
			continue;
		key = pattern_key(path_of(r, file), r->model->paradigms.v[file->paradigm].identification);
		if (!key)
			return -ENOMEM;
		HASH_FIND_STR(*all, key, line);
		free(key);
		if (line && line->files < PATTERN_FILES)
			error = summary_groups_line_add(to, path_of(r, file), file);
	}
	return error;
}

static const char *summary_groups_layer_of(const struct summary_report *r, const struct line *line)
{
	return r->model->paradigms.v[line->first->paradigm].identification;
}

static void add_line(struct line *to, const struct line *from)
{
	if (!to->first)
		to->first = from->first;
	summary_add(&to->counts, &from->counts);
	to->time_ns += from->time_ns;
	to->files += from->files;
}

/* Condenses directories with very many lines to one line each. */
static int group_by_directory(const struct summary_report *r, struct lines *to, const struct lines *from)
{
	struct lines directories;
	struct line *all = NULL, *line;
	int error = lines_init(&directories, from->n);

	for (size_t i = 0; i < from->n && !error; i++) {
		line = line_get(&all, &directories, directory_key(from->v[i].name, summary_groups_layer_of(r, &from->v[i])));
		error = line ? 0 : -ENOMEM;
		if (line)
			line->wanted = ++line->counts.opens > DIRECTORY_LINES;  /* counts lines temporarily */
	}
	for (size_t i = 0; i < directories.n; i++)
		directories.v[i].counts.opens = 0;
	for (size_t i = 0; i < from->n && !error; i++) {
		line = line_get(&all, &directories, directory_key(from->v[i].name, summary_groups_layer_of(r, &from->v[i])));
		error = line ? 0 : -ENOMEM;
		if (!error && line->wanted) {
			add_line(line, &from->v[i]);
		} else if (!error) {
			to->v[to->n] = from->v[i];
			to->v[to->n].name = strdup(from->v[i].name);
			error = to->v[to->n++].name ? 0 : -ENOMEM;
		}
	}
	for (size_t i = 0; i < directories.n && !error; i++) {
		if (!directories.v[i].wanted)
			continue;
		to->v[to->n] = directories.v[i];
		to->v[to->n].key = NULL;
		error = asprintf(&to->v[to->n++].name, "%.*s*", (int)strcspn(directories.v[i].key, "\n"), directories.v[i].key) < 0
				? -ENOMEM
				: 0;
	}
	lines_free(&directories, &all);
	return error;
}

/* ---- the table ---- */

static int summary_groups_by_time(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	uint64_t ax = summary_activity(&x->counts), ay = summary_activity(&y->counts);

	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? -1 : 1;
	return ax != ay ? (ax > ay ? -1 : 1) : strcmp(x->name, y->name);
}

struct widths { int read, written; };

static void print_line(FILE *out, const struct summary_report *r, const struct line *line, const struct widths *w)
{
	const struct model_file *file = line->first->file != REF_NONE ? &r->model->files.v[line->first->file] : NULL;

	fprintf(out, "%10.6f s %*s %*s %10" PRIu64 " %10" PRIu64 "  %-8s %-8s %-10s ", line->time_ns / 1e9, w->read,
		summary_read_cell(&line->counts).text, w->written, summary_written_cell(&line->counts).text, line->counts.reads,
		line->counts.writes, summary_groups_layer_of(r, line), file ? summary_scope_name(file->scope) : "unknown",
		file && file->fs_type ? file->fs_type : "-");
	summary_print_text(out, line->name);
	if (line->files > 1)
		fprintf(out, " (%zu files)", line->files);
	if (file && file->mount_point) {
		fputs(" (on ", out);
		summary_print_text(out, file->mount_point);
		fputc(')', out);
	}
	fputc('\n', out);
}

static void print_lines(FILE *out, const struct summary_report *r, const struct lines *lines)
{
	size_t shown = lines->n < REPORT_LINES ? lines->n : REPORT_LINES, more = 0;
	struct widths w = { 12, 12 };

	for (size_t i = 0; i < shown; i++) {
		int read = strlen(summary_read_cell(&lines->v[i].counts).text),
		    written = strlen(summary_written_cell(&lines->v[i].counts).text);

		w.read = read > w.read ? read : w.read;
		w.written = written > w.written ? written : w.written;
	}
	if (shown)
		fprintf(out, "%12s %*s %*s %10s %10s  %-8s %-8s %-10s %s\n", "time", w.read, "read", w.written, "written", "reads",
			"writes", "layer", "scope", "type", "file (mount point)");
	for (size_t i = 0; i < shown; i++)
		print_line(out, r, &lines->v[i], &w);
	for (size_t i = shown; i < lines->n; i++)
		more += lines->v[i].files;
	if (more)
		fprintf(out, "and %zu more file%s\n", more, more == 1 ? "" : "s");
}

static void print_hidden(FILE *out, const struct summary_report *r)
{
	struct summary_counts sum = { 0 };
	uint64_t time_ns = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->nfiles; i++) {
		if (is_shown(r, &r->files[i]))
			continue;
		summary_add(&sum, &r->files[i].counts);
		time_ns += r->files[i].time_ns;
		n++;
	}
	if (n)
		fprintf(out, "files of the system and libraries: %zu, read %s, written %s, %.6f s (--all-files lists them)\n", n,
			summary_read_cell(&sum).text, summary_written_cell(&sum).text, time_ns / 1e9);
}

int summary_text_files(FILE *out, const struct summary_report *r)
{
	struct lines patterns, lines = { 0 }, table = { 0 };
	struct line *all = NULL, *none = NULL;
	int error = lines_init(&patterns, r->nfiles);

	if (!error)
		error = lines_init(&lines, r->nfiles);
	if (!error)
		error = lines_init(&table, r->nfiles);
	if (!error)
		error = group_by_pattern(r, &patterns, &all);
	if (!error)
		error = split_patterns(r, &lines, &patterns, &all);
	if (!error)
		error = group_by_directory(r, &table, &lines);
	if (!error && table.n)
		qsort(table.v, table.n, sizeof(*table.v), summary_groups_by_time);
	if (!error) {
		print_lines(out, r, &table);
		print_hidden(out, r);
	}
	lines_free(&patterns, &all);
	lines_free(&lines, &none);
	lines_free(&table, &none);
	return error;
}
