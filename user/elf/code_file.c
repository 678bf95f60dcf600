/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Opens code files by name or through a mapping.
 */
#include "elf/code_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Takes ownership of the descriptor, or the errno of its open. Attributes come from the cache: a file server that hangs, or a
 * user's FUSE daemon, must not block the agent. */
static int code_file_identify(struct code_file *file, int fd)
{
	struct statx st;
	int err = fd < 0 ? -errno : 0;

	if (!err && statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st))
		err = -errno;
	if (!err && !S_ISREG(st.stx_mode))
		err = S_ISDIR(st.stx_mode) ? -EISDIR : -EMEDIUMTYPE;
	if (err) {
		if (fd >= 0)
			close(fd);
		*file = (struct code_file){ .fd = -1 };
		return err;
	}
	*file = (struct code_file){
		.fd = fd, .dev = makedev(st.stx_dev_major, st.stx_dev_minor), .ino = st.stx_ino, .size = st.stx_size,
		.links = st.stx_nlink, .uid = st.stx_uid,
	};
	return 0;
}

int code_file_open(struct code_file *file, const char *path)
{
	return code_file_identify(file, open(path, O_PATH | O_CLOEXEC));
}

int code_file_open_in_root(struct code_file *file, pid_t pid, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	int root_fd, fd = -1, err;
	char root[32];

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	for (int tries = 0; tries < 8; tries++) {       /* EAGAIN: concurrent rename while ".." was resolved */
		fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	err = code_file_identify(file, fd);
	close(root_fd);
	return err;
}

int code_file_open_mapped(struct code_file *file, pid_t pid, uint64_t start, uint64_t end)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)start, (unsigned long long)end);
	return code_file_identify(file, open(path, O_PATH | O_CLOEXEC));
}

void code_file_close(struct code_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

int code_file_reader(const struct code_file *file)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const char *code_file_strerror(int err)
{
	switch (abs(err)) {
	case EISDIR: return "it is a directory";
	case EMEDIUMTYPE: return "it is not a regular file";
	default: return strerror(abs(err));
	}
}
