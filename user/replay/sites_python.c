/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Python's code objects, put together from their pieces: name, file, line table.
 */
#include "replay/sites_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/python.h"

/* The programs send 64 KiB of a table at most; what all take together is bounded here: beyond it lines are not known. */
#define MAX_BYTES (64u << 20)

struct site_python_code *call_sites_python_code(const struct call_sites *sites, uint32_t id)
{
	struct site_python_code *code;

	HASH_FIND(hh, sites->python_codes, &id, sizeof(id), code);
	return code;
}

static struct site_python_code *code_get(struct call_sites *sites, uint32_t id)
{
	struct site_python_code *code = call_sites_python_code(sites, id);

	if (code)
		return code;
	code = calloc(1, sizeof(*code));
	if (!code)
		return NULL;
	code->id = id;
	HASH_ADD(hh, sites->python_codes, id, sizeof(code->id), code);
	if (hash_added(code))
		return code;
	free(code);
	return NULL;
}

/* Pieces come in order; behind one that was lost nothing is of use. */
static int sites_python_append(struct call_sites *sites, struct site_bytes *to, const struct iop_rec_python_code *rec)
{
	uint8_t *grown;

	if ((uint64_t)rec->at * rec->kind != to->n || sites->python_bytes + rec->len > MAX_BYTES || !rec->len)
		return 0;
	grown = realloc(to->v, to->n + rec->len);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + to->n, rec->bytes, rec->len);
	to->v = grown;
	to->n += rec->len;
	to->kind = rec->kind;
	sites->python_bytes += rec->len;
	return 0;
}

int call_sites_add_python_code(struct call_sites *sites, const struct iop_rec_python_code *rec)
{
	struct site_python_code *code = code_get(sites, rec->id);

	if (!code)
		return -ENOMEM;
	switch (rec->piece) {
	case IOP_PYTHON_FILE: return sites_python_append(sites, &code->file, rec);
	case IOP_PYTHON_NAME: return sites_python_append(sites, &code->name, rec);
	case IOP_PYTHON_LINES: code->first_line = rec->first_line; return sites_python_append(sites, &code->lines, rec);
	default: return 0;
	}
}

void call_sites_free_python_code(struct site_python_code *code)
{
	free(code->file.v);
	free(code->name.v);
	free(code->lines.v);
	free(code);
}

/* ---- texts ---- */

static uint32_t sites_python_character(const struct site_bytes *text, size_t i)
{
	uint16_t two;
	uint32_t four;

	if (text->kind == 1)
		return text->v[i];
	if (text->kind == 2) {
		memcpy(&two, text->v + 2 * i, sizeof(two));
		return two;
	}
	memcpy(&four, text->v + 4 * i, sizeof(four));
	return four;
}

static char *put_utf8(char *to, uint32_t c)
{
	if (!c || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = '?';        /* 0xdc80 to 0xdcff: a byte that was no UTF-8 */
	if (c < 0x80) {
		*to++ = c;
	} else if (c < 0x800) {
		*to++ = 0xc0 | c >> 6;
	} else if (c < 0x10000) {
		*to++ = 0xe0 | c >> 12;
		*to++ = 0x80 | (c >> 6 & 63);
	} else {
		*to++ = 0xf0 | c >> 18;
		*to++ = 0x80 | (c >> 12 & 63);
		*to++ = 0x80 | (c >> 6 & 63);
	}
	if (c >= 0x80)
		*to++ = 0x80 | (c & 63);
	return to;
}

char *call_sites_python_text(const struct site_bytes *text)
{
	size_t n = text->kind ? text->n / text->kind : 0;
	char *utf8 = n ? malloc(4 * n + 1) : NULL, *to = utf8;

	if (!utf8)
		return NULL;
	for (size_t i = 0; i < n; i++)
		to = put_utf8(to, sites_python_character(text, i));
	*to = 0;
	return utf8;
}

uint32_t call_sites_python_line(const struct site_python_code *code, uint32_t offset)
{
	return python_line(code->lines.v, code->lines.n, code->first_line, offset);
}

bool call_sites_python_is_application(const struct site_python_code *code)
{
	char *file = code ? call_sites_python_text(&code->file) : NULL;
	bool application = file && python_is_application(file);

	free(file);
	return application;
}
