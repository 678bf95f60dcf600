/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The text of /proc/PID/mountinfo, in which names of mounts are the user's.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "model/mounts.h"

int fuzz_mounts(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);   /* without NUL: the length is all that bounds it */
	const struct mount_row *row;
	struct mounts mounts;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	if (!mounts_parse(&mounts, text, size)) {
		row = mounts_by_path(&mounts, "/home/user/file");
		if (row)
			mount_scope(row);
		mounts_by_id(&mounts, 30);
		mounts_deinit(&mounts);
	}
	free(text);
	return 0;
}
