/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Asks the kernel for single mappings of a process (PROCMAP_QUERY, Linux 6.11). See include/uapi/linux/fs.h.
 */
#ifndef IOPROBE_MAP_QUERY_H
#define IOPROBE_MAP_QUERY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One mapping: addresses, offset in the file, device and inode as in /proc/PID/maps (0: no file). */
struct map_row {
	uint64_t start, end, offset, dev, ino;
	bool exec;
	const char *path;
};

struct map_query {
	int fd;
	char path[PATH_MAX];
};

/* Returns 0 or -errno (-ESRCH: the process has ended). */
int map_query_open(struct map_query *query, pid_t pid);
void map_query_close(struct map_query *query);

/* The mapping at this address or the next one behind it: an executable one of a file, with its path, which is valid until the next
 * call; or any, without its path. Returns 0, -ENOENT: there is none, -ESRCH: the process has ended, -EOPNOTSUPP: the text must be
 * read (the kernel has no queries, or the path is too long), or -errno. */
int map_query_executable(struct map_query *query, uint64_t addr, struct map_row *row);
int map_query_any(struct map_query *query, uint64_t addr, struct map_row *row);

#endif
