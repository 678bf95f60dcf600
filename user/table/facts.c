/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Static facts in probe tables: their declaration in a layer, and what rows say of them.
 */
#include "table/parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int table_fact_find(const struct table_layer *layer, const char *name)
{
	for (size_t i = 0; i < layer->nfacts; i++)
		if (!strcmp(layer->facts[i].name, name))
			return i;
	return -1;
}

static int copy_value(struct parser *p, const struct scan_word *word, const char *text, char *to, size_t len)
{
	struct scan_word value = { .column = word->column };

	strcpy(value.text, text);
	return parser_copy_text(p, &value, to, len, "value");
}

/* NUMBER=TEXT or *=TEXT */
static int parse_name(struct parser *p, const struct scan_word *word, const char *equals, struct table_fact *fact)
{
	char *end;
	int64_t number = strtoll(word->text, &end, 0);

	if (!strncmp(word->text, "*=", 2))
		return copy_value(p, word, equals + 1, fact->other, sizeof(fact->other));
	if (end != equals || end == word->text)
		return parser_unknown(p, word, "property of a fact");
	if (fact->nnames == TABLE_FACT_NAMES)
		return scan_error(&p->scan, p->scan.line, word->column, "a fact has more than %d named values", TABLE_FACT_NAMES);
	fact->names[fact->nnames].number = number;
	return copy_value(p, word, equals + 1, fact->names[fact->nnames++].text, sizeof(fact->names[0].text));
}

/* FACT:VALUE */
static int parse_only(struct parser *p, const struct scan_word *word, const char *text, struct table_fact *fact)
{
	const char *colon = strchr(text, ':');

	if (!colon || (size_t)(colon - text) >= sizeof(fact->only_fact))
		return parser_unknown(p, word, "condition of a fact");
	memcpy(fact->only_fact, text, colon - text);
	if (table_fact_find(parser_layer(p), fact->only_fact) < 0)
		return parser_unknown(p, word, "fact in");
	return copy_value(p, word, colon + 1, fact->only_value, sizeof(fact->only_value));
}

static int parse_value(struct parser *p, const struct scan_word *word, struct table_fact *fact)
{
	const char *equals = strchr(word->text, '=');
	const char *initial = parser_after(word->text, "initially="), *narrow = parser_after(word->text, "narrow="),
		   *only = parser_after(word->text, "only=");

	if (initial)
		return copy_value(p, word, initial, fact->initial, sizeof(fact->initial));
	if (narrow)
		return copy_value(p, word, narrow, fact->narrow, sizeof(fact->narrow));
	if (only)
		return parse_only(p, word, only, fact);
	if (!strcmp(word->text, "always")) {
		fact->always = true;
		return 0;
	}
	if (!strcmp(word->text, "file-name") || !strcmp(word->text, "version")) {
		fact->source = *word->text == 'v' ? FACT_OF_VERSION : FACT_OF_FILE_NAME;
		return 0;
	}
	return equals ? parse_name(p, word, equals, fact) : parser_unknown(p, word, "property of a fact");
}

int parser_fact(struct parser *p)
{
	struct table_layer *layer = parser_layer(p);
	struct table_fact *fact;
	struct scan_word word;
	int ret = parser_want(p, &word, "name of a fact");

	if (ret)
		return ret;
	if (table_fact_find(layer, word.text) >= 0 || layer->nfacts == UINT8_MAX)
		return scan_error(&p->scan, p->scan.line, word.column, "layer '%s' has a fact '%s' already, or %d facts",
				  layer->name, word.text, UINT8_MAX);
	fact = parser_append((void **)&layer->facts, &layer->nfacts, sizeof(*fact));
	if (!fact)
		return -ENOMEM;
	ret = parser_copy_text(p, &word, fact->name, sizeof(fact->name), "name");
	if (!ret)
		ret = parser_want(p, &word, "title of a fact");
	if (!ret)
		ret = parser_copy_text(p, &word, fact->title, sizeof(fact->title), "title");
	while (!ret && (ret = scan_word(&p->scan, &word)) > 0)
		ret = parse_value(p, &word, fact);
	return ret;
}

int parser_fact_index(struct parser *p, const struct scan_word *word, const char *name, uint8_t *index)
{
	int found = table_fact_find(parser_layer(p), name);

	if (found < 0)
		return scan_error(&p->scan, p->scan.line, word->column, "layer '%s' has no fact '%s'", parser_layer(p)->name, name);
	*index = found;
	return 0;
}

int parser_said(struct parser *p, const struct scan_word *word, struct table_row *row)
{
	static const struct { const char *word; enum table_said said; bool text; } kinds[] = {
		{ "sets", SAID_SETS, true }, { "adds", SAID_ADDS, true }, { "gives", SAID_GIVES, false },
		{ "includes", SAID_INCLUDES, false }, { "forgets", SAID_FORGETS, false },
	};
	struct scan_word name, text;
	int ret;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(word->text, kinds[i].word) || row->said)
			continue;
		row->said = kinds[i].said;
		ret = parser_want(p, &name, "name of a fact");
		if (!ret)
			ret = parser_fact_index(p, &name, name.text, &row->said_fact);
		if (!ret && kinds[i].text)
			ret = parser_want(p, &text, "value");
		if (!ret && kinds[i].text)
			ret = parser_copy_text(p, &text, row->said_text, sizeof(row->said_text), "value");
		return ret ? ret : 1;
	}
	return 0;
}
