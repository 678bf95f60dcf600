/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files are counted by the room that they take on disk (st_blocks), a database together with its write-ahead log.
 */
#include "collect/space.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "util/quantity.h"

static uint64_t space_of_file(const char *file, const char *suffix)
{
	char path[4600];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", file, suffix);
	return stat(path, &st) || !S_ISREG(st.st_mode) ? 0 : (uint64_t)st.st_blocks * 512;
}

void collect_space_count(struct collect_space *space)
{
	DIR *dir = space->most ? opendir(space->directory) : NULL;
	struct dirent *entry;

	if (!dir)
		return;
	space->used = 0;
	while ((entry = readdir(dir))) {
		struct stat st;

		if (!fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			space->used += (uint64_t)st.st_blocks * 512;
	}
	closedir(dir);
}

enum space_answer collect_space_ask(const struct collect_space *space, const char *file, uint64_t bytes, char *reason, size_t len)
{
	char limit[24];

	if (space->most_job && space_of_file(file, "") + space_of_file(file, "-wal") + bytes > space->most_job) {
		snprintf(reason, len, "the job's store has reached --max-job-size %s: what follows is not stored",
			 quantity_format_bytes(space->most_job, limit, sizeof(limit)));
		return SPACE_JOB_FULL;
	}
	if (space->most && space->used + bytes > space->most) {
		snprintf(reason, len, "the stores have reached --max-size %s: nothing is stored until some are removed "
			 "or moved away",
			 quantity_format_bytes(space->most, limit, sizeof(limit)));
		return SPACE_FULL;
	}
	return SPACE_FREE;
}
