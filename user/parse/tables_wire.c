/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Layout: NAME NUL TEXT NUL for every source, a NUL instead of another name, then one byte for each row (1: off) and for each
 * layer.
 */
#include "parse/tables_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void tables_wire_write_all(const struct table_set *set, FILE *file)
{
	for (size_t i = 0; i < set->nsources; i++) {
		fputs(set->sources[i].name, file);
		putc(0, file);
		fputs(set->sources[i].text, file);
		putc(0, file);
	}
	putc(0, file);
	for (size_t i = 0; i < set->nrows; i++)
		putc(set->rows[i].off ? 1 : 0, file);
	for (size_t i = 0; i < set->nlayers; i++)
		putc(set->layers[i].off ? 1 : 0, file);
}

int tables_wire_write(const struct table_set *set, int fd)
{
	char *bytes = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&bytes, &len);
	int err = 0;

	if (!file)
		return -errno;
	tables_wire_write_all(set, file);
	if (ferror(file) | fclose(file))
		err = -ENOMEM;
	for (size_t at = 0; at < len && !err; ) {
		ssize_t n = pwrite(fd, bytes + at, len - at, at);

		if (n <= 0)
			err = n ? -errno : -ENOSPC;
		else
			at += n;
	}
	free(bytes);
	return err;
}

/* Returns the beginning of the next text; NULL if this one is not terminated. */
static const char *tables_wire_after(const char *text, const char *end)
{
	const char *zero = memchr(text, 0, end - text);

	return zero ? zero + 1 : NULL;
}

static int parse_sources(struct table_set *set, const char **at, const char *end)
{
	char err_text[256];

	while (*at < end && **at) {
		const char *text = tables_wire_after(*at, end), *next = text ? tables_wire_after(text, end) : NULL;
		int err = next ? table_parse(set, *at, text, err_text, sizeof(err_text)) : -EBADMSG;

		if (err)
			return err;
		*at = next;
	}
	++*at;
	return 0;
}

static int parse_all(struct table_set *set, const char *bytes, size_t len)
{
	const char *at = bytes, *end = bytes + len;
	int err = parse_sources(set, &at, end);

	if (err)
		return err;
	if (at > end || (size_t)(end - at) != set->nrows + set->nlayers)
		return -EBADMSG;
	for (size_t i = 0; i < set->nrows; i++)
		set->rows[i].off = *at++;
	for (size_t i = 0; i < set->nlayers; i++)
		set->layers[i].off = *at++;
	return 0;
}

int tables_wire_read(struct table_set *set, int fd)
{
	struct stat st;
	char *bytes;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size <= 0 || (uint64_t)st.st_size > TABLES_WIRE_MAX_BYTES)
		return -EBADMSG;
	bytes = malloc(st.st_size);
	if (!bytes)
		return -ENOMEM;
	err = pread(fd, bytes, st.st_size, 0) == st.st_size ? parse_all(set, bytes, st.st_size) : -EBADMSG;
	free(bytes);
	return err;
}
