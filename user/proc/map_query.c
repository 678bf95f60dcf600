/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One ioctl(2) on /proc/PID/maps per mapping.
 */
#include "proc/map_query.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define VMA_EXECUTABLE 0x4
#define COVERING_OR_NEXT_VMA 0x10
#define FILE_BACKED_VMA 0x20

/* struct procmap_query, which older headers do not have. */
struct mapping_query {
	uint64_t size, query_flags, query_addr, vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};

#define QUERY_MAPPING _IOWR('f', 17, struct mapping_query)

int map_query_open(struct map_query *query, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	query->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (query->fd >= 0)
		return 0;
	return errno == ENOENT ? -ESRCH : -errno;
}

void map_query_close(struct map_query *query)
{
	close(query->fd);
}

static int query_error(int err)
{
	return err == ENOTTY || err == EINVAL || err == ENAMETOOLONG ? -EOPNOTSUPP : -err;
}

static int ask_mapping(struct map_query *query, struct mapping_query *q, struct map_row *row)
{
	q->size = sizeof(*q);
	q->query_flags |= COVERING_OR_NEXT_VMA;
	if (ioctl(query->fd, QUERY_MAPPING, q))
		return query_error(errno);
	*row = (struct map_row){ q->vma_start, q->vma_end, q->vma_offset, makedev(q->dev_major, q->dev_minor), q->inode,
				 q->vma_flags & VMA_EXECUTABLE, q->vma_name_size ? query->path : "" };
	return 0;
}

int map_query_executable(struct map_query *query, uint64_t addr, struct map_row *row)
{
	struct mapping_query q = { .query_flags = VMA_EXECUTABLE | FILE_BACKED_VMA, .query_addr = addr,
				   .vma_name_addr = (uintptr_t)query->path, .vma_name_size = sizeof(query->path) };

	return ask_mapping(query, &q, row);
}

int map_query_any(struct map_query *query, uint64_t addr, struct map_row *row)
{
	struct mapping_query q = { .query_addr = addr };

	return ask_mapping(query, &q, row);
}
