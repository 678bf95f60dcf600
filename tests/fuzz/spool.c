/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A spool as a file: its blocks, the decompression, the checks of its records. Checksums are skipped.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "spool/spool.h"

int fuzz_spool(const uint8_t *data, size_t size)
{
	struct spool_reader *reader;
	const struct iop_rec *rec;
	size_t len, raw_len;
	char value[64];

	if (spool_reader_open(&reader, fuzz_file("spool", data, size)))
		return 0;
	while (spool_reader_next(reader, &rec, &len) == 1) {
		if (!iop_rec_valid(rec, len) || iop_rec_size(rec) != len)
			abort();
		if (rec->type < IOP_REC_AGENT || rec->type == IOP_REC_ROUND || rec->type == IOP_REC_LOST ||
		    !iop_rec_name(rec->type))
			continue;
		text_value((const void *)rec, "name", value, sizeof(value));
		text_raw((const void *)rec, &raw_len);
	}
	spool_reader_destroy(reader);
	return 0;
}
