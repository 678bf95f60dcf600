/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Adds up the numbers of summary.json by their names, so that a new number of a node's summary is in that of the job, too.
 */
#include "merge/job_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/merge.h"
#include "sink/summary/summary_report.h"
#include "util/version.h"

#define FILE_LINES 10   /* in the text's table */

struct job_summary {
	FILE *out;
	char path[4200];
	json_t *nodes, *layers, *special, *totals, *files;      /* layers: by name; files: by identity */
	size_t nprocesses;              /* in the file */
	unsigned missing;
};

/* ---- sums ---- */

static int add_array(json_t *to, const char *key, const json_t *from)
{
	json_t *sums = json_object_get(to, key);

	if (!sums)
		return json_object_set_new(to, key, json_deep_copy(from));
	for (size_t i = 0; i < json_array_size(sums) && i < json_array_size(from); i++) {
		json_t *sum = json_array_get(sums, i);

		json_integer_set(sum, json_integer_value(sum) + json_integer_value(json_array_get(from, i)));
	}
	return 0;
}

static int job_summary_add_number(json_t *to, const char *key, json_int_t value)
{
	json_t *sum = json_object_get(to, key);

	if (!sum)
		return json_object_set_new(to, key, json_integer(value));
	if (!json_is_integer(sum))      /* unknown on another node, so the sum is */
		return 0;
	if (strcmp(key, "longest_call_ns") && strcmp(key, "inodes") && strcmp(key, "block_size"))
		value += json_integer_value(sum);
	else if (value < json_integer_value(sum))
		value = json_integer_value(sum);
	return json_integer_set(sum, value);
}

static bool job_summary_is_stripes(const char *key)
{
	return !strncmp(key, "stripe_", 7);
}

/* What all nodes that know it have; false: they differ, which job_summary_end_stripes makes null. */
static int job_summary_add_stripes(json_t *to, const char *key, json_t *value)
{
	json_t *known = json_object_get(to, key);

	if (!known || json_is_null(known))
		return json_object_set(to, key, value);
	return json_is_null(value) || json_equal(known, value) ? 0 : json_object_set_new(to, key, json_false());
}

static int job_summary_end_stripes(json_t *file)
{
	const char *key;
	json_t *value;
	void *next;
	int error = 0;

	json_object_foreach_safe(file, next, key, value)
		if (job_summary_is_stripes(key) && json_is_false(value))
			error |= json_object_set_new(file, key, json_null());
	return error;
}

static json_t *job_summary_member(json_t *of, const char *key);

/* Adds the members of from: numbers, lists of numbers and the members of objects are added up, except the longest call, inodes and
 * sizes of blocks, of which it is the maximum; a number that is null (unknown) on one node is null; of others the first is kept.
 * Lists of objects are up to the caller. */
static int job_summary_add_members(json_t *to, json_t *from)
{
	const char *key;
	json_t *value;
	int error = 0;

	json_object_foreach(from, key, value) {
		if (job_summary_is_stripes(key))
			error |= job_summary_add_stripes(to, key, value);
		else if (json_is_integer(value))
			error |= job_summary_add_number(to, key, json_integer_value(value));
		else if (json_is_array(value) && json_is_integer(json_array_get(value, 0)))
			error |= add_array(to, key, value);
		else if (json_is_object(value))
			error |= !job_summary_member(to, key) || job_summary_add_members(json_object_get(to, key), value);
		else if (!json_is_array(value) &&
			 (!json_object_get(to, key) || (json_is_null(value) && json_is_integer(json_object_get(to, key)))))
			error |= json_object_set(to, key, value);
	}
	return error;
}

/* The object under a key, made if there is none; NULL without memory. */
static json_t *job_summary_member(json_t *of, const char *key)
{
	json_t *object = json_object_get(of, key);

	if (!object && !json_object_set_new(of, key, json_object()))
		object = json_object_get(of, key);
	return object;
}

/* A list of objects with names, added to an object of objects by name. */
static int add_named(json_t *to, const json_t *list)
{
	int error = 0;

	for (size_t i = 0; i < json_array_size(list) && !error; i++) {
		json_t *from = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(from, "name"));
		json_t *sum = name ? job_summary_member(to, name) : NULL;

		error = name && (!sum || job_summary_add_members(sum, from));
	}
	return error;
}

static const char *job_summary_text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int job_summary_add_value(json_t *values, json_t *value)
{
	for (size_t i = 0; i < json_array_size(values); i++)
		if (json_equal(json_array_get(values, i), value))
			return 0;
	return json_array_append(values, value);
}

/* The static facts of a file: each once, with the values of all nodes. */
static int add_facts(json_t *facts, const json_t *list)
{
	int error = 0;

	for (size_t i = 0; i < json_array_size(list) && !error; i++) {
		json_t *from = json_array_get(list, i), *fact, *values;
		char *key = NULL;

		if (asprintf(&key, "%s\n%s\n%s", job_summary_text_of(from, "layer"), job_summary_text_of(from, "object"),
			     job_summary_text_of(from, "name")) < 0)
			return 1;
		fact = json_object_get(facts, key);
		if (!fact) {
			error = json_object_set_new(facts, key, json_deep_copy(from));
			free(key);
			continue;
		}
		free(key);
		values = json_object_get(from, "values");
		for (size_t j = 0; j < json_array_size(values); j++)
			error |= job_summary_add_value(json_object_get(fact, "values"), json_array_get(values, j));
		if (json_is_true(json_object_get(from, "more_values")))
			error |= json_object_set_new(fact, "more_values", json_true());
	}
	return error;
}

/* The same file on a shared file system; on others the files of equal name on all nodes are one entry. */
static int job_summary_add_file(struct job_summary *s, json_t *from)
{
	char *key = NULL;
	json_t *file, *layers, *facts;
	int error = 1;

	if (asprintf(&key, "%s\n%s\n%s\n%s\n%d", job_summary_text_of(from, "scope"), job_summary_text_of(from, "mount_source"),
		     job_summary_text_of(from, "file_system"), job_summary_text_of(from, "path"),
		     json_is_true(json_object_get(from, "directory"))) < 0)
		return 1;
	file = job_summary_member(s->files, key);
	layers = file ? job_summary_member(file, "layers") : NULL;
	facts = file ? job_summary_member(file, "facts") : NULL;
	if (layers && facts)
		error = job_summary_add_members(file, from) | add_facts(facts, json_object_get(from, "facts")) |
			add_named(layers, json_object_get(from, "layers")) | job_summary_add_number(file, "nodes", 1);
	free(key);
	return error;
}

/* ---- one node ---- */

static int put_text(FILE *out, const char *text)
{
	return fputs(text, out) == EOF;
}

/* Its index becomes the one in the job's list. */
static int add_process(struct job_summary *s, json_t *process, const char *host)
{
	if (json_object_set_new(process, "host", json_string(host)) |
	    json_object_set_new(process, "index", json_integer((json_int_t)s->nprocesses)))
		return 1;
	return put_text(s->out, s->nprocesses++ ? ",\n    " : "\n    ") || json_dumpf(process, s->out, JSON_COMPACT);
}

/* What differs from node to node. */
static int job_summary_add_node(struct job_summary *s, const json_t *root)
{
	static const char *const keys[] = { "host", "kernel", "command_line", "begin_realtime_ns", "clock_steps", "duration_ns",
		"ranks", "processes", "threads", "complete", "stopped_by", "end_reason", "records_lost", "notes", "left_out",
		"recorder_costs" };
	json_t *node = json_object();
	int error = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *value = json_object_get(root, keys[i]);

		error |= value && json_object_set(node, keys[i], value);
	}
	return json_array_append_new(s->nodes, node) | error;
}

static int job_summary_add_totals(struct job_summary *s, const json_t *root)
{
	static const char *const keys[] = { "calls", "failed_calls", "records_lost", "records_late", "records_after_bound",
		"calls_abandoned", "calls_open", "operations_open", "events_unmatched", "sizes_unknown", "returns_without_frame",
		"frames_too_deep", "facts_unknown", "facts_beyond" };
	int error = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		error |= job_summary_add_number(s->totals, keys[i], json_integer_value(json_object_get(root, keys[i])));
	return error;
}

static int add_root(struct job_summary *s, const json_t *root)
{
	const json_t *list = json_object_get(root, "process_list");
	int error = job_summary_add_node(s, root) | job_summary_add_totals(s, root) |
		    add_named(s->layers, json_object_get(root, "layers")) |
		    job_summary_add_members(s->special, json_object_get(root, "pipes_and_sockets"));

	for (size_t i = 0; i < json_array_size(list) && !error; i++)
		error = add_process(s, json_array_get(list, i), job_summary_text_of(root, "host"));
	list = json_object_get(root, "files");
	for (size_t i = 0; i < json_array_size(list) && !error; i++)
		error = job_summary_add_file(s, json_array_get(list, i));
	return error ? ferror(s->out) ? -EIO : -ENOMEM : 0;
}

int job_summary_add(struct job_summary *s, const char *node_dir, char *err, size_t err_len)
{
	char path[4200];
	json_error_t why;
	json_t *root;
	int ret;

	snprintf(path, sizeof(path), "%s/summary.json", node_dir);
	if (access(path, F_OK)) {
		s->missing++;
		return 0;
	}
	root = json_load_file(path, 0, &why);
	if (!root) {
		snprintf(err, err_len, "cannot merge %s: %s cannot be read: %s", node_dir, path, why.text);
		return -EBADMSG;
	}
	ret = add_root(s, root);
	json_decref(root);
	if (ret)
		snprintf(err, err_len, "cannot merge %s: its summary cannot be added to that of the job: %s", node_dir,
			 strerror(-ret));
	return ret;
}

/* ---- the file ---- */

int job_summary_create(struct job_summary **out, const char *dir)
{
	struct job_summary *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return -ENOMEM;
	s->nodes = json_array();
	s->layers = json_object();
	s->special = json_object();
	s->totals = json_object();
	s->files = json_object();
	snprintf(s->path, sizeof(s->path), "%s/summary.json", dir);
	s->out = fopen(s->path, "wxe");
	if (!s->out || put_text(s->out, "{\n  \"schema\": \"" JOB_SUMMARY_SCHEMA "\",\n  \"process_list\": ["))
		return errno ? -errno : -EIO;
	return s->nodes && s->layers && s->special && s->totals && s->files ? 0 : -ENOMEM;
}

void job_summary_destroy(struct job_summary *s)
{
	if (!s)
		return;
	if (s->out)
		fclose(s->out);
	json_decref(s->nodes);
	json_decref(s->layers);
	json_decref(s->special);
	json_decref(s->totals);
	json_decref(s->files);
	free(s);
}

/* The layer in which a file took longest decides its place. */
static int set_longest_time(json_t *file)
{
	json_int_t longest = 0;
	const char *name;
	json_t *layer;

	json_object_foreach(json_object_get(file, "layers"), name, layer) {
		json_int_t ns = json_integer_value(json_object_get(layer, "time_ns"));

		longest = ns > longest ? ns : longest;
	}
	return json_object_set_new(file, "longest_time_ns", json_integer(longest));
}

static int job_summary_by_time(const void *a, const void *b)
{
	json_int_t x = json_integer_value(json_object_get(*(json_t *const *)a, "longest_time_ns"));
	json_int_t y = json_integer_value(json_object_get(*(json_t *const *)b, "longest_time_ns"));

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(job_summary_text_of(*(json_t *const *)a, "path"), job_summary_text_of(*(json_t *const *)b, "path"));
}

/* Sorted, to be freed; NULL without memory. */
static json_t **sorted_files(const struct job_summary *s, size_t *n)
{
	json_t **files = calloc(json_object_size(s->files) + 1, sizeof(*files)), *file;
	const char *key;

	*n = 0;
	if (!files)
		return NULL;
	json_object_foreach(s->files, key, file)
		files[(*n)++] = file;
	qsort(files, *n, sizeof(*files), job_summary_by_time);
	return files;
}

/* The values of an object as a list. */
static json_t *values_of(json_t *object)
{
	json_t *list = json_array(), *value;
	const char *key;

	json_object_foreach(object, key, value)
		if (json_array_append(list, value)) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static int job_summary_write_files(struct job_summary *s)
{
	json_t **files, *file;
	const char *key;
	int error = 0;
	size_t n;

	json_object_foreach(s->files, key, file)
		error |= set_longest_time(file) | job_summary_end_stripes(file);
	files = sorted_files(s, &n);
	error |= !files || put_text(s->out, "  \"files\": [");
	for (size_t i = 0; i < n && !error; i++) {
		error = json_object_set_new(files[i], "layers", values_of(json_object_get(files[i], "layers"))) |
			json_object_set_new(files[i], "facts", values_of(json_object_get(files[i], "facts")));
		error = error || put_text(s->out, i ? ",\n    " : "\n    ") || json_dumpf(files[i], s->out, JSON_COMPACT);
	}
	free(files);
	return error || put_text(s->out, "\n  ],\n");
}

static int write_member(FILE *out, const char *key, json_t *value, const char *end)
{
	int error = !value || fprintf(out, "  \"%s\": ", key) < 0 || json_dumpf(value, out, JSON_INDENT(2) | JSON_ENCODE_ANY) ||
		put_text(out, end);

	json_decref(value);
	return error;
}

static int job_summary_write_head(struct job_summary *s, const struct merge *m)
{
	uint64_t ranks = 0, threads = 0;
	bool exact = !s->missing;
	char *missing = merge_missing_ranks(m);
	json_t *head;
	const char *key;
	json_t *value;
	int error = 0;

	for (size_t i = 0; i < m->nnodes; i++) {
		ranks += m->nodes[i].head.ranks;
		threads += m->nodes[i].locations.n;
		exact &= m->nodes[i].head.complete;
	}
	head = json_pack("{s:s, s:s?, s:s, s:I, s:I, s:I, s:b, s:s?, s:i, s:I}", "version", ioprobe_version, "batch_job",
			 merge_batch_job(m), "name", merge_job_name(m), "duration_ns", (json_int_t)(m->end_ns - m->begin_ns),
			 "ranks", (json_int_t)ranks, "threads", (json_int_t)threads, "records_lost_exact", exact, "missing_ranks",
			 missing, "nodes_without_summary", (int)s->missing,
			 "files_total", (json_int_t)json_object_size(s->files));
	free(missing);
	if (!head || json_object_update(head, s->totals))
		error = 1;
	json_object_foreach(head, key, value)
		error = error || write_member(s->out, key, json_incref(value), ",\n");
	json_decref(head);
	return error || write_member(s->out, "nodes", json_incref(s->nodes), ",\n") ||
	       write_member(s->out, "pipes_and_sockets", json_incref(s->special), ",\n") ||
	       write_member(s->out, "layers", values_of(s->layers), "\n}\n");
}

int job_summary_finish(struct job_summary *s, const struct merge *m, const char *dir)
{
	char path[4300];
	FILE *out = s->out;
	int error;

	errno = 0;
	error = put_text(out, s->nprocesses ? "\n  ],\n" : "],\n") || job_summary_write_files(s) || job_summary_write_head(s, m);
	s->out = NULL;
	error |= fclose(out);
	snprintf(path, sizeof(path), "%s/summary.json", dir);
	if (error || rename(s->path, path))
		return errno ? -errno : -ENOMEM;
	return 0;
}

/* ---- for the merge's own report ---- */

json_t *job_summary_layers(const struct job_summary *s)
{
	return s->layers;
}

unsigned job_summary_missing(const struct job_summary *s)
{
	return s->missing;
}

/* Of the operating system, libraries and the like: they are in the file only. */
static bool is_hidden(const json_t *file)
{
	static const char *const prefixes[] = { "/proc", "/sys", "/etc", "/usr", "/lib", "/lib64" };
	const char *path = job_summary_text_of(file, "path");

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(path, prefixes[i], strlen(prefixes[i])) && path[strlen(prefixes[i])] == '/')
			return !json_integer_value(json_object_get(file, "writes"));
	return strstr(path, ".so") && !json_integer_value(json_object_get(file, "writes"));
}

struct summary_counts job_summary_counts(const json_t *o)
{
	return (struct summary_counts){
		.reads = json_integer_value(json_object_get(o, "reads")),
		.writes = json_integer_value(json_object_get(o, "writes")),
		.bytes_read = json_integer_value(json_object_get(o, "bytes_read")),
		.bytes_written = json_integer_value(json_object_get(o, "bytes_written")),
		.known_reads = json_integer_value(json_object_get(o, "reads_of_known_size")),
		.known_writes = json_integer_value(json_object_get(o, "writes_of_known_size")),
		.unknown_reads = json_integer_value(json_object_get(o, "reads_of_unknown_size")),
		.unknown_writes = json_integer_value(json_object_get(o, "writes_of_unknown_size")),
	};
}

static void job_summary_print_file(FILE *out, const json_t *file)
{
	struct summary_counts c = job_summary_counts(file);

	fprintf(out, "%12.6f s %12s %12s %10" PRIu64 " %10" PRIu64 " %6" PRIu64 "  %-8s %-10s ",
		json_integer_value(json_object_get(file, "longest_time_ns")) / 1e9, summary_read_cell(&c).text,
		summary_written_cell(&c).text, c.reads, c.writes, (uint64_t)json_integer_value(json_object_get(file, "nodes")),
		job_summary_text_of(file, "scope"), job_summary_text_of(file, "file_system"));
	summary_print_text(out,
			   json_is_string(json_object_get(file, "path")) ? job_summary_text_of(file, "path") : "(file unknown)");
	fputc('\n', out);
}

void job_summary_print_files(FILE *out, const struct job_summary *s)
{
	size_t n, lines = 0, hidden = 0;
	json_t **files = sorted_files(s, &n);

	for (size_t i = 0; files && i < n; i++) {
		if (is_hidden(files[i])) {
			hidden++;
			continue;
		}
		if (!lines)
			fprintf(out, "%14s %12s %12s %10s %10s %6s  %-8s %-10s %s\n", "time", "read", "written", "reads", "writes",
				"nodes", "scope", "type", "file");
		if (lines++ < FILE_LINES)
			job_summary_print_file(out, files[i]);
	}
	if (lines > FILE_LINES)
		fprintf(out, "and %zu more, all in summary.json\n", lines - FILE_LINES);
	if (hidden)
		fprintf(out, "files of the system and libraries: %zu, in summary.json\n", hidden);
	if (n)
		fputc('\n', out);
	free(files);
}
