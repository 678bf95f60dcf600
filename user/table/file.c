/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads a site's probe tables from files.
 */
#include "table/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TABLE_BYTES (4u << 20)

static int read_text(FILE *file, char **out)
{
	size_t len;
	char *text = malloc(MAX_TABLE_BYTES + 1);
	int ret = 0;

	if (!text)
		return -ENOMEM;
	errno = 0;
	len = fread(text, 1, MAX_TABLE_BYTES + 1, file);
	if (ferror(file))
		ret = errno ? -errno : -EIO;
	else if (len > MAX_TABLE_BYTES)
		ret = -E2BIG;
	else if (memchr(text, '\0', len))
		ret = -EINVAL;
	if (ret) {
		free(text);
		return ret;
	}
	text[len] = '\0';
	*out = text;
	return 0;
}

int table_parse_file(struct table_set *set, const char *path, char *err, size_t err_len)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	int ret = file ? read_text(file, &text) : -errno;

	if (file)
		fclose(file);
	if (ret) {
		snprintf(err, err_len, "%s: probe tables could not be read: %s", path,
			 ret == -EINVAL ? "not a text file" : strerror(-ret));
		return ret;
	}
	ret = table_parse(set, path, text, err, err_len);
	free(text);
	return ret;
}
