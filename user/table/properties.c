/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The table parser's helpers and the properties of a layer: the indented lines.
 */
#include "table/parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct table_layer *parser_layer(struct parser *p)
{
	return &p->set.layers[p->layer];
}

void *parser_append(void **array, size_t *n, size_t size)
{
	char *grown = *n < parser_room(*n) ? *array : realloc(*array, parser_room(*n + 1) * size);

	if (!grown)
		return NULL;
	*array = grown;
	memset(grown + *n * size, 0, size);
	return grown + (*n)++ * size;
}

int parser_unknown(struct parser *p, const struct scan_word *word, const char *what)
{
	return scan_error(&p->scan, p->scan.line, word->column, "unknown %s '%s'", what, word->text);
}

int parser_want(struct parser *p, struct scan_word *word, const char *what)
{
	int ret = scan_word(&p->scan, word);

	if (ret)
		return ret < 0 ? ret : 0;
	return scan_error(&p->scan, p->scan.line, p->scan.at - p->scan.line_start + 1, "%s expected", what);
}

int parser_want_end(struct parser *p)
{
	struct scan_word word;
	int ret = scan_word(&p->scan, &word);

	return ret > 0 ? scan_error(&p->scan, p->scan.line, word.column, "end of line expected, not '%s'", word.text) : ret;
}

int parser_copy_text(struct parser *p, const struct scan_word *word, char *dst, size_t len, const char *what)
{
	if (strlen(word->text) >= len)
		return scan_error(&p->scan, p->scan.line, word->column, "%s '%s' is longer than %zu bytes", what, word->text,
				  len - 1);
	strcpy(dst, word->text);
	return 0;
}

static int want_text(struct parser *p, char *dst, size_t len, const char *what)
{
	struct scan_word word;
	int ret = parser_want(p, &word, what);

	return ret ? ret : parser_copy_text(p, &word, dst, len, what);
}

static int properties_number(struct parser *p, const struct scan_word *word, const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		return scan_error(&p->scan, p->scan.line, word->column, "'%s' is no number", text);
	return 0;
}

static int want_number(struct parser *p, uint64_t *value, const char *what)
{
	struct scan_word word;
	int ret = parser_want(p, &word, what);

	return ret ? ret : properties_number(p, &word, word.text, value);
}

static int want_word_of(struct parser *p, const struct table_word *words, const char *what, int *value)
{
	struct scan_word word;
	int ret = parser_want(p, &word, what);

	if (ret)
		return ret;
	*value = table_word_value(words, word.text);
	return *value < 0 ? parser_unknown(p, &word, what) : 0;
}

const char *parser_after(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) ? NULL : text + len;
}

/* ---- properties of a layer ---- */

static int parse_parallel_if(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct scan_word word;
	const char *text;
	int ret = parser_want(p, &word, "condition");

	if (ret)
		return ret;
	text = parser_after(word.text, "defines:");
	if (text && *text && strlen(text) < sizeof(layer->parallel_symbol)) {
		strcpy(layer->parallel_symbol, text);
		return 0;
	}
	text = parser_after(word.text, "needs:");
	if (text && *text && strlen(text) < sizeof(layer->parallel_needed)) {
		strcpy(layer->parallel_needed, text);
		return 0;
	}
	return parser_unknown(p, &word, "condition");
}

static int parse_paradigm(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct scan_word word;
	int ret = want_text(p, layer->paradigm, sizeof(layer->paradigm), "paradigm");

	if (!ret)
		ret = want_text(p, layer->paradigm_name, sizeof(layer->paradigm_name), "name");
	if (!ret)
		ret = parser_want(p, &word, "serial, parallel or parallel-if");
	if (ret)
		return ret;
	layer->klass = strcmp(word.text, "parallel") ? CLASS_SERIAL : CLASS_PARALLEL;
	if (!strcmp(word.text, "parallel-if"))
		ret = parse_parallel_if(p);
	else if (strcmp(word.text, "serial") && strcmp(word.text, "parallel"))
		return parser_unknown(p, &word, "class");
	if (!ret)
		ret = scan_word(&p->scan, &word);
	if (ret <= 0)
		return ret;
	layer->os = !strcmp(word.text, "os");
	return layer->os ? 0 : parser_unknown(p, &word, "flag");
}

static int parse_libraries(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct scan_word word;
	char (*pattern)[64];
	int ret = parser_want(p, &word, "file name pattern");

	while (!ret) {
		pattern = parser_append((void **)&layer->libraries, &layer->nlibraries, sizeof(*pattern));
		if (!pattern)
			return -ENOMEM;
		ret = parser_copy_text(p, &word, *pattern, sizeof(*pattern), "pattern");
		if (ret)
			break;
		ret = scan_word(&p->scan, &word);
		if (ret <= 0)
			return ret;
		ret = 0;
	}
	return ret;
}

static int parse_handles(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct scan_word word;
	int kind, ret = want_word_of(p, table_words_handles, "kind of handles", &kind);

	if (ret)
		return ret;
	layer->handle_kind = kind;
	layer->handle_int = kind == HANDLE_FD;
	while ((ret = scan_word(&p->scan, &word)) > 0) {
		if (!strcmp(word.text, "int"))
			layer->handle_int = true;
		else if (!strcmp(word.text, "mask"))
			ret = want_number(p, &layer->handle_mask, "mask");
		else if (!strcmp(word.text, "heap"))
			layer->handle_heap = true;
		else
			ret = parser_unknown(p, &word, "property of handles");
		if (ret < 0)
			return ret;
	}
	return ret;
}

static int parse_success(struct parser *p)
{
	int value, ret = want_word_of(p, table_words_success, "condition of success", &value);

	if (!ret)
		parser_layer(p)->success = value;
	return ret;
}

static int parse_flag(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct table_flag *flag = parser_append((void **)&layer->flags, &layer->nflags, sizeof(*flag));
	int ret = flag ? want_text(p, flag->name, sizeof(flag->name), "name of a flag") : -ENOMEM;

	return ret ? ret : want_number(p, &flag->value, "value of a flag");
}

static int parse_comm(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct table_comm *comm = parser_append((void **)&layer->comms, &layer->ncomms, sizeof(*comm));
	static const char *const kinds[] = { "world", "self", "null" };
	struct scan_word word;
	const char *text;
	int ret = comm ? parser_want(p, &word, "world, self or null") : -ENOMEM;

	if (ret)
		return ret;
	while (comm->kind < TABLE_COMM_KINDS && strcmp(word.text, kinds[comm->kind]))
		comm->kind++;
	if (comm->kind == TABLE_COMM_KINDS)
		return parser_unknown(p, &word, "communicator");
	ret = parser_want(p, &word, "symbol:NAME or value:NUMBER");
	if (ret)
		return ret;
	text = parser_after(word.text, "symbol:");
	if (text && *text && strlen(text) < sizeof(comm->symbol)) {
		strcpy(comm->symbol, text);
		return 0;
	}
	text = parser_after(word.text, "value:");
	if (!text)
		return parser_unknown(p, &word, "constant");
	comm->has_value = true;
	return properties_number(p, &word, text, &comm->value);
}

/* stream stdin|stdout|stderr symbol:NAME|pointer:NAME */
static int parse_stream(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct table_stream *stream = parser_append((void **)&layer->streams, &layer->nstreams, sizeof(*stream));
	static const char *const names[TABLE_STREAMS] = { "stdin", "stdout", "stderr" };
	struct scan_word word;
	const char *symbol;
	int ret = stream ? parser_want(p, &word, "stdin, stdout or stderr") : -ENOMEM;

	if (ret)
		return ret;
	while (stream->number < TABLE_STREAMS && strcmp(word.text, names[stream->number]))
		stream->number++;
	if (stream->number == TABLE_STREAMS)
		return parser_unknown(p, &word, "stream");
	ret = parser_want(p, &word, "symbol:NAME or pointer:NAME");
	if (ret)
		return ret;
	symbol = parser_after(word.text, "symbol:");
	stream->pointer = !symbol;
	symbol = symbol ? symbol : parser_after(word.text, "pointer:");
	if (!symbol || !*symbol || strlen(symbol) >= sizeof(stream->symbol))
		return parser_unknown(p, &word, "place");
	strcpy(stream->symbol, symbol);
	return 0;
}

/* abi SYMBOL+OFFSET NUMBER */
static int parse_abi(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct table_abi *abi = parser_append((void **)&layer->abi, &layer->nabi, sizeof(*abi));
	struct scan_word word;
	char *plus;
	int ret = abi ? parser_want(p, &word, "SYMBOL+OFFSET") : -ENOMEM;

	if (ret)
		return ret;
	plus = strchr(word.text, '+');
	if (!plus || plus == word.text || (size_t)(plus - word.text) >= sizeof(abi->symbol))
		return parser_unknown(p, &word, "place");
	memcpy(abi->symbol, word.text, plus - word.text);
	ret = properties_number(p, &word, plus + 1, &abi->offset);
	return ret ? ret : want_number(p, &abi->value, "value at that place");
}

/* abi of LAYER, or SYMBOL+OFFSET NUMBER */
static int parse_abi_or_layer(struct parser *p)
{
	struct scan before = p->scan;
	struct scan_word word;
	int ret = parser_want(p, &word, "SYMBOL+OFFSET or of");

	if (ret)
		return ret;
	if (!strcmp(word.text, "of"))
		return want_text(p, parser_layer(p)->abi_layer, sizeof(parser_layer(p)->abi_layer), "layer");
	p->scan = before;
	return parse_abi(p);
}

/* type BYTES NUMBER|symbol:NAME… */
static int parse_type(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct scan_word word;
	struct table_type *type;
	const char *symbol;
	uint64_t bytes;
	int ret = want_number(p, &bytes, "bytes of a value");

	if (!ret)
		ret = parser_want(p, &word, "type");
	for (int more = 1; !ret && more > 0; more = ret ? 0 : scan_word(&p->scan, &word), ret = more < 0 ? more : ret) {
		type = parser_append((void **)&layer->types, &layer->ntypes, sizeof(*type));
		if (!type)
			return -ENOMEM;
		type->bytes = bytes;
		symbol = parser_after(word.text, "symbol:");
		if (!symbol)
			ret = properties_number(p, &word, word.text, &type->value);
		else if (!*symbol || strlen(symbol) >= sizeof(type->symbol))
			ret = parser_unknown(p, &word, "type");
		else
			strcpy(type->symbol, symbol);
	}
	if (!ret && layer->ntypes > IOP_MAX_CONSTANTS)
		ret = scan_error(&p->scan, p->scan.line, 1, "layer '%s' has more than %d types", layer->name, IOP_MAX_CONSTANTS);
	return ret;
}

/* variables-in LAYER */
static int parse_variables_in(struct parser *p)
{
	return want_text(p, parser_layer(p)->variables_in, sizeof(parser_layer(p)->variables_in), "layer");
}

/* list NAME TEXT[=BYTES]… */
static int parse_list(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct scan_word name, word;
	struct table_item *item;
	uint64_t bytes = 0;
	char *equals;
	int ret = parser_want(p, &name, "name of a list");

	if (!ret)
		ret = parser_want(p, &word, "name");
	for (int more = 1; !ret && more > 0; more = scan_word(&p->scan, &word), ret = more < 0 ? more : 0) {
		item = parser_append((void **)&layer->items, &layer->nitems, sizeof(*item));
		if (!item)
			return -ENOMEM;
		equals = strchr(word.text, '=');
		if (equals)
			*equals++ = '\0';
		ret = parser_copy_text(p, &name, item->list, sizeof(item->list), "name of a list");
		if (!ret)
			ret = parser_copy_text(p, &word, item->text, sizeof(item->text), "name");
		if (!ret && equals)
			ret = properties_number(p, &word, equals, &bytes);
		if (!ret && equals && (!bytes || bytes > UINT16_MAX))
			ret = scan_error(&p->scan, p->scan.line, word.column, "'%s': bytes are a number up to %d", equals,
					 UINT16_MAX);
		item->element_bytes = equals ? bytes : 0;
		if (ret)
			break;
	}
	return ret;
}

static int want_offsets(struct parser *p, uint8_t *const *to, size_t n, const char *what)
{
	uint64_t value;
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		ret = want_number(p, &value, what);
		*to[i] = value;
		if (!ret && value > UINT8_MAX)
			return scan_error(&p->scan, p->scan.line, 1, "offsets and sizes are numbers up to %d", UINT8_MAX);
	}
	return ret;
}

/* status SIZE BYTES CANCELLED */
static int parse_status(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	uint8_t *const to[] = { &layer->status_size, &layer->status_bytes, &layer->status_cancelled };

	return want_offsets(p, to, 3, "size of a status, offsets of its bytes and of whether it was cancelled");
}

/* narrow SYMBOL SIZE CANCELLED */
static int parse_narrow(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	uint8_t *const to[] = { &layer->narrow_status_size, &layer->narrow_status_cancelled };
	int ret = want_text(p, layer->narrow_symbol, sizeof(layer->narrow_symbol), "symbol");

	return ret ? ret : want_offsets(p, to, 2, "size of a status, offset of whether it was cancelled");
}

/* aiocb FD OPCODE BYTES OFFSET */
static int parse_aiocb(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	uint8_t *const to[] = { &layer->block_fd, &layer->block_opcode, &layer->block_bytes, &layer->block_offset };

	return want_offsets(p, to, 4, "offsets of descriptor, opcode, bytes and file offset");
}

/* syscalls [sockets] */
static int parse_syscalls(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct scan_word word;
	int ret = scan_word(&p->scan, &word);

	layer->syscalls = true;
	layer->sockets = ret > 0 && !strcmp(word.text, "sockets");
	if (ret > 0 && !layer->sockets)
		return parser_unknown(p, &word, "kind of system calls");
	return ret < 0 ? ret : 0;
}

static int parse_per_process(struct parser *p)
{
	parser_layer(p)->per_process = true;
	return 0;
}

static int parse_errno(struct parser *p)
{
	parser_layer(p)->sets_errno = true;
	return 0;
}

/* part-of LAYER */
static int parse_part_of(struct parser *p)
{
	return want_text(p, parser_layer(p)->part_of, sizeof(parser_layer(p)->part_of), "layer");
}

static int parse_magic(struct parser *p)
{
	return want_text(p, parser_layer(p)->magic, sizeof(parser_layer(p)->magic), "up to four characters");
}

static int parse_version(struct parser *p)
{
	return want_text(p, parser_layer(p)->version_symbol, sizeof(parser_layer(p)->version_symbol), "symbol");
}

int parser_property(struct parser *p)
{
	static const struct { const char *name; unsigned once; int (*parse)(struct parser *p); } properties[] = {
		{ "libraries", 0, parse_libraries }, { "syscalls", SEEN_SYSCALLS, parse_syscalls },
		{ "per-process", SEEN_PER_PROCESS, parse_per_process }, { "version", SEEN_VERSION, parse_version },
		{ "paradigm", SEEN_PARADIGM, parse_paradigm }, { "handles", SEEN_HANDLES, parse_handles },
		{ "flag", 0, parse_flag }, { "comm", 0, parse_comm }, { "stream", 0, parse_stream },
		{ "success", SEEN_SUCCESS, parse_success }, { "errno", SEEN_ERRNO, parse_errno },
		{ "abi", 0, parse_abi_or_layer }, { "status", SEEN_STATUS, parse_status }, { "aiocb", SEEN_AIOCB, parse_aiocb },
		{ "narrow", SEEN_NARROW, parse_narrow },
		{ "list", 0, parse_list }, { "type", 0, parse_type },
		{ "variables-in", SEEN_VARIABLES_IN, parse_variables_in }, { "fact", 0, parser_fact },
		{ "part-of", SEEN_PART_OF, parse_part_of }, { "magic", SEEN_MAGIC, parse_magic },
	};
	struct scan_word word;
	int ret = scan_word(&p->scan, &word);

	if (ret <= 0)
		return ret;
	if (p->layer < 0)
		return scan_error(&p->scan, p->scan.line, word.column, "property '%s' before the first layer", word.text);
	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++) {
		if (strcmp(word.text, properties[i].name))
			continue;
		if (p->seen & properties[i].once)
			return scan_error(&p->scan, p->scan.line, word.column, "layer '%s' has its %s already",
					  parser_layer(p)->name, word.text);
		p->seen |= properties[i].once;
		ret = properties[i].parse(p);
		return ret ? ret : parser_want_end(p);
	}
	return parser_unknown(p, &word, "property");
}
