/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Counts the sets of ioprobe programs that every system call of this node runs, in the kernel's list of links: it includes those in
 * containers, and not those of a recorder that died.
 */
#include "bpf/programs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#define ENTER_PROGRAM "ioprobe_enter"   /* and ioprobe_enter_event: the kernel keeps only 15 characters of the name */
#define LINK_PERF_EVENT 7               /* enum bpf_link_type of Linux 5.15 */

static bool is_enter(uint32_t program_id)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(program_id);
	bool ours;

	if (fd < 0)
		return false;
	ours = !bpf_obj_get_info_by_fd(fd, &info, &len) && !strncmp(info.name, ENTER_PROGRAM, strlen(ENTER_PROGRAM));
	close(fd);
	return ours;
}

static bool is_enter_link(uint32_t id)
{
	struct bpf_link_info info = { 0 };
	uint32_t len = sizeof(info);
	int fd = bpf_link_get_fd_by_id(id);
	bool ours;

	if (fd < 0)
		return false;           /* it ended meanwhile */
	ours = !bpf_obj_get_info_by_fd(fd, &info, &len) &&
	       (info.type == BPF_LINK_TYPE_RAW_TRACEPOINT || info.type == BPF_LINK_TYPE_TRACING || info.type == LINK_PERF_EVENT) &&
	       is_enter(info.prog_id);
	close(fd);
	return ours;
}

int programs_count_attached(void)
{
	uint32_t id = 0;
	int n = 0, err;

	while (!(err = bpf_link_get_next_id(id, &id)))
		n += is_enter_link(id);
	return err == -ENOENT ? n : err;
}
