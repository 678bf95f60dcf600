/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * "ioprobe probes": lists the probe points of libraries or of a process' libraries, with file, offset and placement, and the
 * functions without one.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc/procfs.h"
#include "cmd/commands.h"
#include "parse/parse.h"
#include "table/table.h"

struct options {
	const char **libraries, **tables;
	size_t nlibraries, ntables;
	pid_t pid;
	bool json;
};

/* ---- command line ---- */

enum { OPT_LIBRARY = 256, OPT_PROBES, OPT_JSON };

static void probes_append(const char ***list, size_t *n, const char *value)
{
	const char **grown = realloc(*list, (*n + 1) * sizeof(*grown));

	if (!grown) {
		fprintf(stderr, "ioprobe probes: out of memory\n");
		exit(CLI_FAILED);
	}
	*list = grown;
	grown[(*n)++] = value;
}

static void probes_set_option(struct cli *cli, int key, const char *value, void *input)
{
	struct options *options = input;

	switch (key) {
	case OPT_LIBRARY: probes_append(&options->libraries, &options->nlibraries, value); break;
	case OPT_PROBES: probes_append(&options->tables, &options->ntables, value); break;
	case 'p': options->pid = cli_pid(cli, "--pid", value); break;
	case OPT_JSON: options->json = true; break;
	}
}

/* ---- output: lines or JSON ---- */

static const char *placement_text(const struct placement *placement, char *buf, size_t len)
{
	const char *reason = placement->reason;

	switch (placement->kind) {
	case PLACED_ENTRY:
		snprintf(buf, len, "entry%s%s", reason ? ": " : "", reason ?: "");
		break;
	case PLACED_MOVED:
		snprintf(buf, len, "moved by %u bytes%s%s", placement->offset, reason ? ": " : "", reason ?: "");
		break;
	case PLACED_INSIDE:
		snprintf(buf, len, "inside, at %u and %u", placement->offset, placement->exit_offset);
		break;
	case PLACED_SINGLE_STEP:
		snprintf(buf, len, "single-stepped: %s", reason ?: "");
		break;
	case PLACED_IMPOSSIBLE:
		snprintf(buf, len, "impossible: %s", reason ?: "");
		break;
	}
	return buf;
}

static const char *placement_word(enum placement_kind kind)
{
	static const char *const words[] = { "entry", "moved", "inside", "single-stepped", "impossible" };

	return words[kind];
}

/* JSON requires UTF-8; other bytes of a path are written as \xHH. */
static json_t *probes_json_text(const char *text)
{
	json_t *value = json_string(text);
	char *escaped, *to;

	if (value)
		return value;
	escaped = to = malloc(4 * strlen(text) + 1);
	if (!escaped)
		return json_null();
	for (; *text; text++)
		to += (unsigned char)*text < 0x80 ? sprintf(to, "%c", *text) : sprintf(to, "\\x%02x", (unsigned char)*text);
	value = json_string(escaped);
	free(escaped);
	return value;
}

static const char *probes_layer_of(const struct table_set *set, uint16_t row)
{
	return set->layers[set->rows[row].layer].name;
}

static void print_point(const struct table_set *set, const struct plan_point *point, const char *path)
{
	char placement[160];

	printf("%-8s %-34s %s 0x%" PRIx64 " %s\n", probes_layer_of(set, point->row), point->function, path, point->file_offset,
	       placement_text(&point->placement, placement, sizeof(placement)));
}

static void print_plan(const struct table_set *set, const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->npoints; i++)
		print_point(set, &plan->points[i], path);
	for (size_t i = 0; i < plan->nmissing; i++)
		printf("%-8s %-34s %s - missing: %s\n", probes_layer_of(set, plan->missing[i].row),
		       set->rows[plan->missing[i].row].name, path, plan->missing[i].reason);
	if (plan->stripped_static)
		printf("%-8s %-34s %s - missing: a static executable without symbols\n", "*", "*", path);
}

static json_t *json_layers(const struct table_set *set, const struct plan *plan)
{
	json_t *layers = json_array();

	for (size_t i = 0; i < plan->nlayers; i++)
		json_array_append_new(layers, json_pack("{s:s, s:b, s:s*}", "layer", set->layers[plan->layers[i].layer].name,
							"parallel", plan->layers[i].parallel, "version",
							plan->layers[i].version[0] ? plan->layers[i].version : NULL));
	return layers;
}

static json_t *json_points(const struct table_set *set, const struct plan *plan)
{
	json_t *points = json_array();

	for (size_t i = 0; i < plan->npoints; i++) {
		const struct plan_point *point = &plan->points[i];

		json_array_append_new(
			points, json_pack("{s:s, s:s, s:I, s:s, s:i, s:i, s:b, s:s*}", "layer", probes_layer_of(set, point->row),
					  "function", point->function, "offset", (json_int_t)point->file_offset, "placement",
					  placement_word(point->placement.kind), "moved_bytes", (int)point->placement.offset,
					  "exit_bytes", (int)point->placement.exit_offset, "recorded",
					  set->rows[point->row].op != OP_LEARN, "reason", point->placement.reason));
	}
	return points;
}

static json_t *json_plan(const struct table_set *set, const struct plan *plan, const char *path)
{
	json_t *file = json_object(), *missing = json_array();

	for (size_t i = 0; i < plan->nmissing; i++)
		json_array_append_new(missing,
				      json_pack("{s:s, s:s, s:s}", "layer", probes_layer_of(set, plan->missing[i].row), "function",
						set->rows[plan->missing[i].row].name, "reason", plan->missing[i].reason));
	json_object_set_new(file, "file", probes_json_text(path));
	json_object_set_new(file, "layers", json_layers(set, plan));
	json_object_set_new(file, "points", json_points(set, plan));
	json_object_set_new(file, "missing", missing);
	json_object_set_new(file, "stripped_static", json_boolean(plan->stripped_static));
	return file;
}

/* ---- selection ---- */

struct show { const struct table_set *set; struct parse_pool *parsers; json_t *json; int status; };      /* json NULL: lines */

static const char *probes_last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void probes_complain(struct show *show, const char *path, const char *action, const char *reason)
{
	fprintf(stderr, "ioprobe: %s: %s: %s\n", path, action, reason);
	show->status = 1;
}

/* A mapped file that is not an ELF file is skipped; a file named by the user is refused. */
static void show_file(struct show *show, const struct code_file *file, const char *path, bool wanted)
{
	struct plan plan;
	char reason[512];
	int err = parse_plan(show->parsers, file, probes_last_component(path), &plan, reason, sizeof(reason));

	if (err) {
		if (err != -ENOEXEC || wanted)
			probes_complain(show, path, "cannot read its symbols", reason);
		return;
	}
	if (wanted && !plan.npoints && !plan.nmissing && !plan.stripped_static)
		fprintf(stderr, "ioprobe: %s: it defines no function of the probe tables\n", path);
	if (!show->json)
		print_plan(show->set, &plan, path);
	else if (wanted || plan.npoints || plan.nmissing || plan.stripped_static)
		json_array_append_new(show->json, json_plan(show->set, &plan, path));
	plan_destroy(&plan);
}

static void show_library(struct show *show, const char *path)
{
	struct code_file file;
	int err = code_file_open(&file, path);

	if (err) {
		probes_complain(show, path, "cannot read its symbols", code_file_strerror(err));
		return;
	}
	show_file(show, &file, path, true);
	code_file_close(&file);
}

static void show_module(struct show *show, const struct proc_module *module)
{
	struct code_file file;
	int err = proc_module_open(module, &file);

	if (err && err != -EMEDIUMTYPE)
		probes_complain(show, module->path, "cannot open the mapped file", code_file_strerror(err));
	if (err)
		return;
	show_file(show, &file, module->path, false);
	code_file_close(&file);
}

static void show_process(struct show *show, pid_t pid)
{
	struct proc_modules modules;
	int err = proc_modules_read(pid, &modules);

	if (err) {
		fprintf(stderr, "ioprobe: process %d: cannot read its mappings: %s\n", pid, strerror(-err));
		show->status = 1;
		return;
	}
	for (size_t i = 0; i < modules.n; i++)
		show_module(show, &modules.v[i]);
	proc_modules_free(&modules);
}

/* ---- the tables themselves ---- */

static void join_patterns(const struct table_layer *layer, char *buf, size_t len)
{
	size_t used = 0;

	buf[0] = 0;
	for (size_t i = 0; i < layer->nlibraries && used < len; i++)
		used += snprintf(buf + used, len - used, "%s%s", i ? " " : "", layer->libraries[i]);
}

static void show_row(struct show *show, const struct table_row *row)
{
	const struct table_layer *layer = &show->set->layers[row->layer];
	const char *kind = layer->syscalls ? "syscall" : "function";
	char where[1024] = "system call";

	if (row->mods & MOD_POLLED)
		strcpy(where, "by the kernel's own thread");
	else if (layer->syscalls && row->syscall_nr < 0)
		strcpy(where, "system call that this machine does not have");
	else if (!layer->syscalls)
		join_patterns(layer, where, sizeof(where));
	if (show->json)
		json_array_append_new(show->json, json_pack("{s:s, s:s, s:s, s:s, s:s}", "layer", layer->name, "name", row->name,
							    "kind", kind, "operation", table_op_name(row->op), "where", where));
	else
		printf("%-8s %-34s %s\n", layer->name, row->name, where);
}

static int probes_read_tables(struct table_set *set, const struct options *options)
{
	char err[512];
	int failed;

	table_set_init(set);
	failed = table_parse_builtin(set, err, sizeof(err));
	for (size_t i = 0; i < options->ntables && !failed; i++)
		failed = table_parse_file(set, options->tables[i], err, sizeof(err));
	if (failed)
		fprintf(stderr, "ioprobe: %s\n", err);
	return failed;
}

static void show_all(struct show *show, const struct options *options)
{
	int err = parse_pool_create(&show->parsers, show->set);

	if (err) {
		probes_complain(show, "parser", "cannot be prepared", strerror(-err));
		return;
	}
	for (size_t i = 0; i < options->nlibraries; i++)
		show_library(show, options->libraries[i]);
	if (options->pid)
		show_process(show, options->pid);
	parse_pool_destroy(show->parsers);
	if (options->nlibraries || options->pid)
		return;
	for (size_t i = 0; i < show->set->nrows; i++)
		show_row(show, &show->set->rows[i]);
}

static void probes_finish(struct show *show)
{
	if (show->json && (json_dumpf(show->json, stdout, JSON_INDENT(2)) || putchar('\n') == EOF))
		show->status = 1;
	json_decref(show->json);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "ioprobe: cannot write to standard output: %s\n", strerror(errno));
		show->status = 1;
	}
}

static int run_probes(struct cli *cli)
{
	struct options options = { 0 };
	struct table_set set;
	struct show show = { .set = &set };

	cli_parse(cli, probes_set_option, &options);
	if (probes_read_tables(&set, &options)) {
		show.status = 1;
	} else {
		show.json = options.json ? json_array() : NULL;
		show_all(&show, &options);
		probes_finish(&show);
	}
	table_set_deinit(&set);
	free(options.libraries);
	free(options.tables);
	return show.status;
}

const struct cli_command command_probes = {
	.name = "probes",
	.summary = "Show the probe points: function, file, offset, placement, and missing functions",
	.usage = (const char *const []){ "[--library FILE | --pid PID] [OPTION...]", NULL },
	.description = "Show where ioprobe places its probes, and the functions that it cannot probe. Without a library or "
		"process: the functions of the probe tables and the libraries that are searched for them.",
	.options = (const struct cli_option[]){
		{ "library", OPT_LIBRARY, "FILE", "Show the probe points of this library or executable; may be repeated", NULL },
		{ "pid", 'p', "PID", "Show the probe points of all files that this process has mapped", NULL },
		{ "probes", OPT_PROBES, "FILE", "Add a probe table; may be repeated", NULL },
		{ "json", OPT_JSON, NULL, "Print JSON", NULL },
		{ 0 }
	},
	.run = run_probes,
};
