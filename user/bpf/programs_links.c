/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The links of a set of programs to its tracepoints. A link lives as long as some process holds it; recorders that share a set
 * share its links.
 */
#include "bpf/programs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/syscall_events.h"
#include "ioprobe.skel.h"

/* Locks of this type belong to the process, and end with it. */
static void programs_links_set_lock(const struct programs *programs, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET };

	while (programs->lock >= 0 && fcntl(programs->lock, F_SETLKW, &lock) && errno == EINTR)
		;
}

static uint32_t link_id(int fd)
{
	struct bpf_link_info info = { 0 };
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

static bool is_of_syscalls(enum kernel_program program)
{
	return program == PROGRAM_SYSCALL_ENTER || program == PROGRAM_SYSCALL_EXIT;
}

static int attach_tracepoint(const struct programs *programs, enum kernel_program program)
{
	if (is_of_syscalls(program) && programs->facts.syscall_events)
		return syscall_events_attach(programs->programs[program], program == PROGRAM_SYSCALL_EXIT);
	return bpf_raw_tracepoint_open(NULL, programs->programs[program]);
}

/* Returns another recorder's link, or a new one. Ids are not reused until all others have been used. */
static int hold_link(struct programs *programs, enum kernel_program program)
{
	uint32_t *id = &programs->globals->link_ids[program];
	int fd = *id ? bpf_link_get_fd_by_id(*id) : -ENOENT;

	if (fd >= 0)
		return fd;
	fd = attach_tracepoint(programs, program);
	if (fd >= 0)
		*id = link_id(fd);
	return fd;
}

static bool programs_links_is_wanted(const struct programs *programs, enum kernel_program program)
{
	return programs->programs[program] >= 0 && (!is_of_syscalls(program) || programs->facts.syscalls);
}

static const char *program_name(const struct programs *programs, enum kernel_program program, struct bpf_prog_info *info)
{
	uint32_t len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return bpf_obj_get_info_by_fd(programs->programs[program], info, &len) ? "?" : info->name;
}

int programs_attach(struct programs *programs, char *err_text, size_t err_len)
{
	struct bpf_prog_info info;
	int err = 0;

	_Static_assert(KERNEL_PROGRAMS <= sizeof(programs->globals->link_ids) / sizeof(programs->globals->link_ids[0]), "link ids");
	programs_links_set_lock(programs, F_WRLCK);
	for (int i = PROGRAM_TRACEPOINTS; i < KERNEL_PROGRAMS && !err; i++) {
		if (!programs_links_is_wanted(programs, i))
			continue;
		programs->links[i] = hold_link(programs, i);
		if (programs->links[i] >= 0)
			continue;
		err = programs->links[i];
		snprintf(err_text, err_len, "cannot attach to the tracepoint of %s: %s", program_name(programs, i, &info),
			 strerror(-err));
	}
	programs_links_set_lock(programs, F_UNLCK);
	return err;
}

void programs_detach(struct programs *programs)
{
	programs_links_set_lock(programs, F_WRLCK);
	for (int i = KERNEL_PROGRAMS - 1; i >= PROGRAM_TRACEPOINTS; i--) {
		if (programs->links[i] >= 0)
			close(programs->links[i]);
		programs->links[i] = -1;
	}
	programs_links_set_lock(programs, F_UNLCK);
}

uint32_t programs_last_site(const struct programs *programs)
{
	return __atomic_load_n(&programs->globals->last_site, __ATOMIC_RELAXED);
}
