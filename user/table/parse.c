/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The parser of probe tables (grammar: probes/README.md). It works on a copy of the set, which replaces the set when the whole text
 * was parsed successfully.
 */
#include "table/builtin.h"
#include "table/parser.h"
#include "table/syscalls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONAL "optional/"    /* directory of the tables that are used only on request */

/* ---- layers ---- */

static int find_layer(const struct table_set *set, const char *name)
{
	for (size_t i = 0; i < set->nlayers; i++)
		if (!strcmp(set->layers[i].name, name))
			return i;
	return -1;
}

static int parse_layer(struct parser *p)
{
	struct table_layer *layer;
	struct scan_word word;
	unsigned *line;
	size_t nlines = p->set.nlayers - p->old_layers;
	int ret = parser_want(p, &word, "name of the layer");

	if (ret)
		return ret;
	p->layer = find_layer(&p->set, word.text);
	p->seen = SEEN_ALL;
	if (p->layer >= 0)
		return parser_want_end(p);
	line = parser_append((void **)&p->layer_lines, &nlines, sizeof(*line));
	layer = line ? parser_append((void **)&p->set.layers, &p->set.nlayers, sizeof(*layer)) : NULL;
	if (!layer)
		return -ENOMEM;
	*line = p->scan.line;
	layer->handle_mask = UINT64_MAX;
	layer->first_row = p->set.nrows;
	p->layer = p->set.nlayers - 1;
	p->seen = 0;
	ret = parser_copy_text(p, &word, layer->name, sizeof(layer->name), "name");
	return ret ? ret : parser_want_end(p);
}

/* ---- rows ---- */

static int parse_ops(struct parser *p, struct table_row *row)
{
	struct scan_word word;
	char *save, *text;
	unsigned column;
	int value, ret = parser_want(p, &word, "operation");

	if (ret)
		return ret;
	column = word.column;
	text = strtok_r(word.text, ",", &save);
	value = text ? table_word_value(table_words_op, text) : -1;
	if (value < 0)
		return scan_error(&p->scan, p->scan.line, column, "unknown operation '%s'", text ? text : ",");
	row->op = value;
	while ((text = strtok_r(NULL, ",", &save))) {
		value = table_word_value(table_words_mod, text);
		if (value < 0)
			return scan_error(&p->scan, p->scan.line, column + (text - word.text), "unknown modifier '%s'", text);
		if (value == TABLE_WORD_STDIN || value == TABLE_WORD_STDOUT)
			row->std_stream = value == TABLE_WORD_STDOUT;
		else
			row->mods |= value;
	}
	parser_layer(p)->on_demand |= !!(row->mods & MOD_ON_DEMAND);
	return 0;
}

/* Identifiers of the layer, all of one width. */
static bool is_handle(enum table_role role)
{
	return role == ROLE_HANDLE || role == ROLE_HANDLE2 || role == ROLE_PARENT || role == ROLE_TYPE || role == ROLE_TYPE2 ||
	       role == ROLE_SPACE || role == ROLE_SPACE2 || role == ROLE_TRANSFER ||
	       role == ROLE_LIST || role == ROLE_LIST2;
}

static int handle_kind(struct parser *p, const struct scan_word *word, enum iop_arg_kind *kind)
{
	if (!(p->seen & SEEN_HANDLES))
		return scan_error(&p->scan, p->scan.line, word->column, "layer '%s' does not define its handles",
				  parser_layer(p)->name);
	*kind = parser_layer(p)->handle_int ? IOP_ARG_INT : IOP_ARG_VALUE;
	return 0;
}

/* out: and in: mean that the argument points to the value. */
static int through_pointer(struct parser *p, const struct scan_word *word, bool out, struct table_arg *arg)
{
	static const struct { enum iop_arg_kind kind, in, out; } kinds[] = {
		{ IOP_ARG_INT, IOP_ARG_IN_INT, IOP_ARG_OUT_INT }, { IOP_ARG_VALUE, IOP_ARG_IN_VALUE, IOP_ARG_OUT_VALUE },
		{ IOP_ARG_STRING, IOP_ARG_STRING, IOP_ARG_OUT_STRING }, { IOP_ARG_LONGS, IOP_ARG_LONGS, IOP_ARG_OUT_LONGS },
		{ IOP_ARG_INTS, IOP_ARG_INTS, IOP_ARG_OUT_INTS },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (arg->kind == kinds[i].kind && (out || kinds[i].in != arg->kind)) {
			arg->kind = out ? kinds[i].out : kinds[i].in;
			return 0;
		}
	if (arg->kind == IOP_ARG_FLOCK && !out)
		return 0;
	return scan_error(&p->scan, p->scan.line, word->column, "'%s' cannot be read through a pointer", word->text);
}

/* +OFFSET after an argument that is read through a pointer */
static int parse_offset(struct parser *p, const struct scan_word *word, char *text, struct table_arg *arg)
{
	char *plus = strchr(text, '+'), *end;
	unsigned long offset;

	if (!plus)
		return 0;
	*plus++ = '\0';
	offset = strtoul(plus, &end, 0);
	if (end == plus || *end || offset > UINT8_MAX)
		return scan_error(&p->scan, p->scan.line, word->column, "'%s': an offset is a number up to %d", word->text,
				  UINT8_MAX);
	if (strncmp(word->text, "in:", 3) && strncmp(word->text, "out:", 4))
		return scan_error(&p->scan, p->scan.line, word->column, "'%s': only what is read through a pointer has an offset",
				  word->text);
	arg->offset = offset;
	return 0;
}

/* The role of "fact:NAME" or of a word. *text: becomes what follows the role, NULL if that is its end. */
static int role_of(struct parser *p, const struct scan_word *word, char **text, struct table_arg *arg)
{
	char *role = *text, *fact = (char *)parser_after(role, "fact:");
	int value;

	*text = strchr(fact ? fact : role, ':');
	if (*text)
		*(*text)++ = '\0';
	if (fact) {
		arg->role = ROLE_FACT;
		return parser_fact_index(p, word, fact, &arg->fact);
	}
	value = table_word_value(table_words_role, role);
	arg->role = value;
	return value < 0 ? scan_error(&p->scan, p->scan.line, word->column, "unknown role '%s'", role) : 0;
}

/* [out:|in:]ROLE[:KIND][+OFFSET], [out:|in:]fact:NAME[:KIND][+OFFSET] */
static int parse_role(struct parser *p, const struct scan_word *word, struct table_arg *arg)
{
	char text[sizeof(word->text)], *kind = text;
	const char *out = parser_after(word->text, "out:"), *in = parser_after(word->text, "in:");
	int value, ret = 0;

	strcpy(text, out ? out : in ? in : word->text);
	ret = parse_offset(p, word, text, arg);
	if (ret)
		return ret;
	ret = role_of(p, word, &kind, arg);
	if (ret)
		return ret;
	arg->kind = table_role_kind(arg->role);
	if (is_handle(arg->role))
		ret = handle_kind(p, word, &arg->kind);
	if (!ret && kind) {
		value = table_word_value(table_words_kind, kind);
		if (value < 0)
			return scan_error(&p->scan, p->scan.line, word->column, "unknown kind '%s'", kind);
		arg->kind = value;
	}
	return !ret && (out || in) ? through_pointer(p, word, out != NULL, arg) : ret;
}

/* One capture of the argument at this position. */
static int add_capture(struct parser *p, struct table_row *row, const struct scan_word *word, uint8_t position, int8_t *captured)
{
	struct table_arg *arg = &row->args[row->nargs];
	int ret;

	if (row->nargs == TABLE_MAX_ARGS)
		return scan_error(&p->scan, p->scan.line, word->column, "'%s' has more than %d arguments", row->name,
				  TABLE_MAX_ARGS);
	row->nargs++;
	arg->capture = -1;
	arg->position = position;
	if (position == UINT8_MAX || word->text[0] == '-')
		return 0;
	ret = parse_role(p, word, arg);
	if (ret)
		return ret;
	if (arg->role == ROLE_CONTENTS || arg->role == ROLE_BUFFER)
		return 0;
	if (*captured == IOP_MAX_ARGS)
		return scan_error(&p->scan, p->scan.line, word->column, "'%s' captures more than %d arguments", row->name,
				  IOP_MAX_ARGS);
	if (arg->position > 5 && parser_layer(p)->syscalls)
		return scan_error(&p->scan, p->scan.line, word->column, "a system call has at most 6 arguments");
	arg->capture = (*captured)++;
	return 0;
}

/* CAPTURE[&CAPTURE…]: several values of one argument may be captured, a pointer and its target. */
static int add_arg(struct parser *p, struct table_row *row, const struct scan_word *word, uint8_t *position, int8_t *captured)
{
	bool fp = !strncmp(word->text, "fp", 2) && (!word->text[2] || word->text[2] == '-');
	uint8_t at = fp ? UINT8_MAX : (*position)++;
	struct scan_word part = *word;
	char *save = NULL;
	int ret = 0;

	for (const char *text = strtok_r(part.text, "&", &save); text && !ret; text = strtok_r(NULL, "&", &save)) {
		struct scan_word one = { .column = word->column + (text - part.text) };

		strcpy(one.text, text);
		ret = add_capture(p, row, &one, at, captured);
	}
	return ret;
}

/* The default in C. */
static bool result_is_int(struct parser *p, enum table_result result)
{
	switch (result) {
	case RESULT_STATUS:
	case RESULT_CHAR:
	case RESULT_COUNT:
	case RESULT_NDIMS:
	case RESULT_VARIABLE:
	case RESULT_CLASS:
	case RESULT_EQUAL:
	case RESULT_REFERENCES:
		return true;
	default:
		return result == RESULT_HANDLE && parser_layer(p)->handle_int;
	}
}

/* [parallel] [since VERSION] [before VERSION] [sets|adds FACT TEXT | gives|includes|forgets FACT] at the end of a row */
static int parse_versions(struct parser *p, struct table_row *row)
{
	struct scan_word word, version;
	uint32_t *to;
	int ret;

	while ((ret = scan_word(&p->scan, &word)) > 0) {
		if (!strcmp(word.text, "parallel")) {
			row->parallel_only = true;
			continue;
		}
		ret = parser_said(p, &word, row);
		if (ret < 0)
			return ret;
		if (ret)
			continue;
		to = !strcmp(word.text, "since") ? &row->since : !strcmp(word.text, "before") ? &row->before : NULL;
		if (!to || *to)
			return scan_error(&p->scan, p->scan.line, word.column, "end of line expected, not '%s'", word.text);
		ret = parser_want(p, &version, "version");
		if (ret)
			return ret;
		*to = table_version(version.text);
		if (!*to)
			return parser_unknown(p, &version, "version");
	}
	return ret;
}

/* RESULT[:KIND] after "->" */
static int parse_result(struct parser *p, struct table_row *row)
{
	struct scan_word word;
	char *kind;
	int value, ret = parser_want(p, &word, "result");

	if (ret)
		return ret;
	kind = strchr(word.text, ':');
	if (kind)
		*kind++ = '\0';
	value = table_word_value(table_words_result, word.text);
	if (value < 0)
		return parser_unknown(p, &word, "result");
	row->result = value;
	row->result_int = result_is_int(p, value);
	if (kind && strcmp(kind, "int") && strcmp(kind, "long"))
		return scan_error(&p->scan, p->scan.line, word.column, "unknown kind '%s'", kind);
	if (kind)
		row->result_int = !strcmp(kind, "int");
	if (parser_layer(p)->syscalls)
		row->result_int = false;        /* the kernel returns a long */
	return parse_versions(p, row);
}

static int parse_args(struct parser *p, struct table_row *row)
{
	struct scan_word word;
	uint8_t position = 0;
	int8_t captured = 0;
	int ret;

	while ((ret = scan_word(&p->scan, &word)) > 0) {
		if (!strcmp(word.text, "->"))
			return parse_result(p, row);
		ret = add_arg(p, row, &word, &position, &captured);
		if (ret)
			return ret;
	}
	return ret;
}

/* Checks errors that no single word shows. */
static int check_row(struct parser *p, const struct table_row *row)
{
	const struct table_arg *iov = NULL;
	unsigned has = 0;

	for (int i = 0; i < row->nargs; i++) {
		const struct table_arg *arg = &row->args[i];

		if (iov && (arg->capture < 0 || arg->role != ROLE_IOVCNT || arg->position != iov->position + 1))
			return scan_error(&p->scan, row->line, 1, "'%s': iov must be followed by iovcnt", row->name);
		iov = arg->capture >= 0 && arg->kind == IOP_ARG_IOV ? arg : NULL;
		has |= arg->capture >= 0 ? table_kind_has(arg->kind) : 0;
		if ((arg->kind == IOP_ARG_PIECES || arg->kind == IOP_ARG_IDS) && table_row_arg(row, ROLE_ITEMS) < 0)
			return scan_error(&p->scan, row->line, 1, "'%s': pieces need the number of items", row->name);
	}
	if (iov)
		return scan_error(&p->scan, row->line, 1, "'%s': iov must be followed by iovcnt", row->name);
	if (row->mods & MOD_HEADER && !parser_layer(p)->magic[0])
		return scan_error(&p->scan, row->line, 1, "'%s': the layer has no magic of headers", row->name);
	if (has & IOP_HAS_LATE && has & IOP_HAS_STRINGS)
		return scan_error(&p->scan, row->line, 1, "'%s': strings are read either at the entry or at the return", row->name);
	if (row->mods & (MOD_DIRECT | MOD_CHECKED) && row->op != OP_LEARN)
		return scan_error(&p->scan, row->line, 1, "'%s': only learn rows are direct or checked", row->name);
	if (row->mods & MOD_CHECKED && (row->result != RESULT_STATUS || has & (IOP_HAS_OUT | IOP_HAS_LATE)))
		return scan_error(&p->scan, row->line, 1, "'%s': a checked row tells nothing at its return but a status",
				  row->name);
	if (has & (IOP_HAS_OUT | IOP_HAS_LATE) && row->mods & MOD_CALLBACK)
		return scan_error(&p->scan, row->line, 1, "'%s': the return of a callback row is not probed, nor are its out "
			"arguments",
				  row->name);
	return 0;
}

static int check_name(struct parser *p, const struct scan_word *word)
{
	if (p->set.nrows == IOP_MAX_PROBES) {
		scan_error(&p->scan, p->scan.line, word->column, "more than %d functions in all tables", IOP_MAX_PROBES);
		return -E2BIG;
	}
	for (size_t i = parser_layer(p)->first_row; i < p->set.nrows; i++)
		if (p->set.rows[i].layer == p->layer && !strcmp(p->set.rows[i].name, word->text))
			return scan_error(&p->scan, p->scan.line, word->column, "function '%s' is in layer '%s' already",
					  word->text, parser_layer(p)->name);
	return 0;
}

static int parse_function(struct parser *p, const struct scan_word *name, uint16_t element_bytes)
{
	struct table_row *row;
	int ret = check_name(p, name);

	if (ret)
		return ret;
	row = parser_append((void **)&p->set.rows, &p->set.nrows, sizeof(*row));
	if (!row)
		return -ENOMEM;
	row->id = p->set.nrows - 1;
	row->layer = p->layer;
	row->line = p->scan.line;
	row->std_stream = -1;
	row->element_bytes = element_bytes;
	row->syscall_nr = parser_layer(p)->syscalls ? syscall_number(name->text) : -1;
	ret = parser_copy_text(p, name, row->name, sizeof(row->name), "name");
	if (!ret)
		ret = parse_ops(p, row);
	if (!ret)
		ret = parse_args(p, row);
	return ret ? ret : check_row(p, row);
}

/* Builds NAME with "{LIST}" replaced by one item of its list. */
static int parse_substitute(struct parser *p, const struct scan_word *name, const char *open, const char *close, const char *item,
			    struct scan_word *out)
{
	int n = snprintf(out->text, sizeof(out->text), "%.*s%s%s", (int)(open - name->text), name->text, item, close + 1);

	out->column = name->column;
	return n < (int)sizeof(out->text) ? 0 :
					    scan_error(&p->scan, p->scan.line, name->column, "name '%s' is too long", name->text);
}

/* A name with "{LIST}" makes a row for each name of the list: the rest of the line is parsed once per name. */
static int parse_row(struct parser *p, const struct scan_word *name)
{
	const char *open = strchr(name->text, '{'), *close = open ? strchr(open, '}') : NULL, *rest = p->scan.at;
	struct scan_word function;
	bool any = false;
	int ret = 0;

	if (p->layer < 0)
		return scan_error(&p->scan, p->scan.line, name->column, "function '%s' before the first layer", name->text);
	if (!close)
		return parse_function(p, name, 0);
	for (size_t i = 0; i < parser_layer(p)->nitems && !ret; i++) {
		struct table_item item = parser_layer(p)->items[i];

		if (strlen(item.list) != (size_t)(close - open - 1) || memcmp(item.list, open + 1, close - open - 1))
			continue;
		any = true;
		p->scan.at = rest;
		ret = parse_substitute(p, name, open, close, item.text, &function);
		if (!ret)
			ret = parse_function(p, &function, item.element_bytes);
	}
	return ret || any ? ret : parser_unknown(p, name, "list in");
}

/* ---- the whole text ---- */

static int parse_line_here(struct parser *p, bool indented)
{
	struct scan_word word;
	int ret;

	if (indented)
		return parser_property(p);
	ret = scan_word(&p->scan, &word);
	if (ret <= 0)
		return ret;
	return strcmp(word.text, "layer") ? parse_row(p, &word) : parse_layer(p);
}

/* A layer whose functions can never be found is an error. */
static int parse_check_layers(struct parser *p)
{
	for (size_t i = p->old_layers; i < p->set.nlayers; i++) {
		const struct table_layer *layer = &p->set.layers[i];

		if (!layer->syscalls && !layer->nlibraries)
			return scan_error(&p->scan, p->layer_lines[i - p->old_layers], 1,
					  "layer '%s' has neither libraries nor syscalls", layer->name);
	}
	return 0;
}

/* The copy is complete and replaces the set; the set's sources and the new one are kept with it. */
static int parse_commit(struct parser *p, struct table_set *set, const char *source_name, const char *text)
{
	struct table_source *source = parser_append((void **)&set->sources, &set->nsources, sizeof(*source));

	if (!source)
		return -ENOMEM;
	source->name = strdup(source_name);
	source->text = strdup(text);
	if (!source->name || !source->text) {
		free(source->name);
		free(source->text);
		set->nsources--;
		return -ENOMEM;
	}
	p->set.sources = set->sources;
	p->set.nsources = set->nsources;
	set->sources = NULL;
	set->nsources = 0;
	table_set_deinit(set);
	*set = p->set;
	return 0;
}

static int parse_text(struct parser *p)
{
	bool indented;
	int ret = 0;

	while (!ret && scan_line(&p->scan, &indented))
		ret = parse_line_here(p, indented);
	return ret ? ret : parse_check_layers(p);
}

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
/* The target "replay" has the same tables each time, which would take most of its time. */
static int parse_once(struct parser *p)
{
	static struct table_set known;
	static char *known_text;
	const char *text = p->scan.at;
	int ret;

	if (known_text && !p->set.nlayers && !strcmp(text, known_text)) {
		table_set_deinit(&p->set);
		return parser_copy_set(&p->set, &known);
	}
	ret = parse_text(p);
	if (!ret && !p->old_layers && !known_text && !parser_copy_set(&known, &p->set))
		known_text = strdup(text);
	return ret;
}
#else
#define parse_once parse_text
#endif

int table_parse(struct table_set *set, const char *source_name, const char *text, char *err, size_t err_len)
{
	struct parser p = { .scan = { .name = source_name, .line_start = text, .at = text, .err = err, .err_len = err_len },
			    .layer = -1 };
	int ret = parser_begin_copy(&p.set, set);

	p.old_layers = p.set.nlayers;
	if (!ret)
		ret = parse_once(&p);
	if (!ret)
		ret = parse_commit(&p, set, source_name, text);
	if (ret)
		parser_undo_copy(&p.set, set);
	if (ret == -ENOMEM)
		snprintf(err, err_len, "%s: tables could not be read: no memory", source_name);
	free(p.layer_lines);
	return ret;
}

/* Fuzzing does without the large ones, which would take all of its time. */
static bool is_read(const struct table_source *table)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	if (strlen(table->text) > 3000)
		return false;
#endif
	return !parser_after(table->name, OPTIONAL);
}

int table_parse_builtin(struct table_set *set, char *err, size_t err_len)
{
	int ret = 0;

	for (size_t i = 0; i < table_builtin_n && !ret; i++)
		if (is_read(&table_builtin[i]))
			ret = table_parse(set, table_builtin[i].name, table_builtin[i].text, err, err_len);
	return ret;
}

int table_parse_optional(struct table_set *set, const char *name, char *err, size_t err_len)
{
	for (size_t i = 0; i < table_builtin_n; i++) {
		const char *file = parser_after(table_builtin[i].name, OPTIONAL);

		if (file && !strncmp(file, name, strlen(name)) && !strcmp(file + strlen(name), ".probes"))
			return table_parse(set, table_builtin[i].name, table_builtin[i].text, err, err_len);
	}
	snprintf(err, err_len, "there is no table %s%s.probes", OPTIONAL, name);
	return -ENOENT;
}
