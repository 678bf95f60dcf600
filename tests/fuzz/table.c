/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A site's probe table, and the descriptors that are made of it.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "table/table.h"

int fuzz_table(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), err[256];
	struct iop_request_desc request;
	struct table_set set;
	struct iop_desc desc;
	int ret;

	table_set_init(&set);
	ret = table_parse(&set, "fuzz", text, err, sizeof(err));
	for (size_t i = 0; !ret && i < set.nrows; i++) {
		table_row_descriptor(&set, &set.rows[i], &desc);
		table_row_requests(&set, &set.rows[i], &request);
		table_row_stream_flag(&set, &set.rows[i]);
	}
	table_set_deinit(&set);
	free(text);
	return 0;
}
