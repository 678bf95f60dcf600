/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * seeds OUT SPOOL...: seeds of the target "replay" from recorded spools: OUT/NAME-N, some hundred records each. Calls of functions
 * that are not in the target's tables are skipped, the others get the numbers that they have there.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spool/spool.h"
#include "table/table.h"

#define SEED_BYTES 3000
#define SEEDS_PER_SPOOL 25

struct seeds { struct table_set from, to; const char *out, *name; FILE *file; size_t used; unsigned n; };

static int row_in(const struct table_set *to, const struct table_set *from, uint16_t probe)
{
	const struct table_row *row;

	if (probe >= from->nrows)
		return -1;
	row = table_find(to, from->layers[from->rows[probe].layer].name, from->rows[probe].name);
	return row ? row->id : -1;
}

static void next_file(struct seeds *seeds)
{
	char path[4096];

	if (seeds->file)
		fclose(seeds->file);
	snprintf(path, sizeof(path), "%s/%s-%u", seeds->out, seeds->name, seeds->n++);
	seeds->file = fopen(path, "we");
	if (!seeds->file)
		exit(1);
	fputc(1, seeds->file);
	seeds->used = 0;
}

static void put(struct seeds *seeds, const struct iop_rec *rec, size_t len)
{
	struct iop_rec_call *copy;
	int row;

	if (rec->type == IOP_REC_ROUND || rec->type == IOP_REC_HOST || len > 2048)
		return;
	if (!seeds->file || seeds->used + len > SEED_BYTES)
		next_file(seeds);
	copy = malloc(len);
	if (!copy)
		exit(1);
	memcpy(copy, rec, len);
	if (rec->type <= IOP_REC_EXIT) {
		row = row_in(&seeds->to, &seeds->from, copy->probe);
		if (row < 0) {
			free(copy);
			return;
		}
		copy->probe = row;
	}
	fwrite(copy, len, 1, seeds->file);
	seeds->used += len;
	free(copy);
}

static void one_spool(const char *out, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct seeds seeds = { .out = out, .name = slash ? slash + 1 : path };
	struct spool_reader *reader;
	const struct iop_rec *rec;
	char err[512];
	size_t len;

	table_set_init(&seeds.from);
	table_set_init(&seeds.to);
	if (table_parse(&seeds.to, "fuzz", fuzz_tables(), err, sizeof(err)) || spool_reader_open(&reader, path)) {
		fprintf(stderr, "seeds: %s\n", path);
		exit(1);
	}
	while (seeds.n < SEEDS_PER_SPOOL && spool_reader_next(reader, &rec, &len) == 1) {
		if (rec->type == IOP_REC_TABLE) {
			size_t raw_len;
			const char *raw = text_raw((const void *)rec, &raw_len);
			char *text = raw ? strndup(raw, raw_len) : NULL;

			if (text)
				table_parse(&seeds.from, "spool", text, err, sizeof(err));
			free(text);
		} else {
			put(&seeds, rec, len);
		}
	}
	if (seeds.file)
		fclose(seeds.file);
	spool_reader_destroy(reader);
	table_set_deinit(&seeds.from);
	table_set_deinit(&seeds.to);
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		one_spool(argv[1], argv[i]);
	return argc < 3;
}
