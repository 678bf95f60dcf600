/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Two tables: pairs of path and directory as events have them, and the directories that these are in.
 */
#include "sink/summary/summary_names.h"
#include "sink/summary/summary_report.h"
#include "util/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define JSON_DIRECTORIES 1000
#define TEXT_DIRECTORIES 3

/* path: owned; relative, or "", where the path begins in a directory that is not known. paths: distinct ones. */
struct directory { char *path; uint64_t calls, failed, paths, failed_paths; UT_hash_handle hh; };
/* key: path and directory of model_names. */
struct entry { uint64_t key; struct directory *directory; bool failed; UT_hash_handle hh; };

struct summary_names { struct entry *entries; struct directory *directories; uint64_t calls, failed, failed_paths; };

/* The directory of the name that a path ends with, free(). A final slash is not part of the name; of "/" it is "/" itself. */
static char *summary_names_directory_of(const char *base, const char *path)
{
	size_t len = strlen(path), base_len = base ? strlen(base) : 0;
	bool relative = path[0] != '/';
	char *joined;

	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len && path[len - 1] != '/')
		len--;
	while (len > 1 && path[len - 1] == '/')
		len--;
	joined = malloc(base_len + len + 2);
	if (!joined)
		return NULL;
	if (!relative || !base)
		base_len = 0;
	if (base_len)
		memcpy(joined, base, base_len);
	if (base_len && len && joined[base_len - 1] != '/')
		joined[base_len++] = '/';
	memcpy(joined + base_len, path, len);
	joined[base_len + len] = 0;
	return joined;
}

static struct directory *directory_get(struct summary_names *names, char *path)
{
	struct directory *d;

	if (!path)
		return NULL;
	HASH_FIND_STR(names->directories, path, d);
	if (d) {
		free(path);
		return d;
	}
	d = calloc(1, sizeof(*d));
	if (d) {
		d->path = path;
		HASH_ADD_KEYPTR(hh, names->directories, d->path, strlen(d->path), d);
	}
	if (d && hash_added(d))
		return d;
	free(path);
	free(d);
	return NULL;
}

static struct entry *entry_get(struct summary_names *names, const struct model *model, const struct model_names *call)
{
	uint64_t key = (uint64_t)call->path << 32 | call->directory;
	const char *base = call->directory ? model->names.v[call->directory - 1] : NULL;
	struct entry *entry;

	HASH_FIND(hh, names->entries, &key, sizeof(key), entry);
	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = key;
	entry->directory = directory_get(names, summary_names_directory_of(base, model->names.v[call->path - 1]));
	if (entry->directory)
		HASH_ADD(hh, names->entries, key, sizeof(entry->key), entry);
	if (entry->directory && hash_added(entry)) {
		entry->directory->paths++;
		return entry;
	}
	free(entry);
	return NULL;
}

int summary_names_add(struct summary_names **out, const struct model *model, const struct model_names *call, bool failed)
{
	struct summary_names *names = *out ? *out : (*out = calloc(1, sizeof(*names)));
	struct entry *entry = names ? entry_get(names, model, call) : NULL;

	if (!entry)
		return -ENOMEM;
	names->calls++;
	names->failed += failed;
	names->failed_paths += failed && !entry->failed;
	entry->directory->calls++;
	entry->directory->failed += failed;
	entry->directory->failed_paths += failed && !entry->failed;
	entry->failed |= failed;
	return 0;
}

void summary_names_destroy(struct summary_names *names)
{
	struct directory *d, *next_directory;
	struct entry *entry, *next;

	if (!names)
		return;
	HASH_ITER(hh, names->entries, entry, next) {
		HASH_DEL(names->entries, entry);
		free(entry);
	}
	HASH_ITER(hh, names->directories, d, next_directory) {
		HASH_DEL(names->directories, d);
		free(d->path);
		free(d);
	}
	free(names);
}

static int by_failures(const struct directory *a, const struct directory *b)
{
	if (a->failed != b->failed)
		return a->failed > b->failed ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return strcmp(a->path, b->path);
}

void summary_names_text(FILE *out, struct summary_names *names)
{
	unsigned n = 0;

	if (!names || !names->failed)
		return;
	HASH_SORT(names->directories, by_failures);
	fprintf(out, "calls on names %" PRIu64 ", %" PRIu64 " of them failed, on %" PRIu64 " path%s (", names->calls, names->failed,
		names->failed_paths, names->failed_paths == 1 ? "" : "s");
	for (const struct directory *d = names->directories; d && d->failed && n < TEXT_DIRECTORIES; d = d->hh.next) {
		fputs(n++ ? ", " : "most in ", out);
		summary_print_text(out, d->path[0] ? d->path : "an unknown directory");
		fprintf(out, " %" PRIu64, d->failed);
	}
	fputs(")\n\n", out);
}

static json_t *directory_json(const struct directory *d)
{
	char *printable = d->path[0] ? utf8_printable(d->path) : NULL;
	json_t *path = printable ? json_string(printable) : d->path[0] ? NULL : json_null();
	json_t *o = json_pack("{sosIsIsIsI}", "path", path, "calls", (json_int_t)d->calls, "failed", (json_int_t)d->failed, "paths",
			      (json_int_t)d->paths, "paths_failed", (json_int_t)d->failed_paths);

	free(printable);
	return o;
}

json_t *summary_names_json(struct summary_names *names, const struct model *model)
{
	static const struct summary_names none;
	json_t *array = json_array();
	unsigned n = 0;
	int error = 0;

	if (names)
		HASH_SORT(names->directories, by_failures);
	else
		names = (struct summary_names *)&none;
	for (const struct directory *d = names->directories; d && n++ < JSON_DIRECTORIES && !error; d = d->hh.next)
		error = json_array_append_new(array, directory_json(d));
	if (error) {
		json_decref(array);
		return NULL;
	}
	return json_pack("{sIsIsIsIsIsIso}", "calls", (json_int_t)names->calls, "failed", (json_int_t)names->failed, "paths",
			 (json_int_t)HASH_COUNT(names->entries), "paths_failed", (json_int_t)names->failed_paths, "paths_unknown",
			 (json_int_t)model->totals.names_unknown, "directories_total", (json_int_t)HASH_COUNT(names->directories),
			 "directories", array);
}
