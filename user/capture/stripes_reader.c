/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The file is opened with O_PATH, by the descriptor of the process, else by its path in the mount namespace of the process, else by
 * the same path in the recorder's: nothing waits on a FIFO or a lease, no position, lock or open file description is shared, and
 * no symbolic link in a path of the process is followed. Device and inode must equal what the kernel reported for the open file.
 */
#include "capture/stripes_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "privilege/capabilities.h"

static bool stripes_is_file(int fd, const struct stripes_file *file)
{
	struct statx st;

	return fd >= 0 && !syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_TYPE, &st) &&
	       S_ISREG(st.stx_mode) && st.stx_dev_major == file->dev_major && st.stx_dev_minor == file->dev_minor &&
	       st.stx_ino == file->ino;
}

/* Closes what is not the file. */
static int stripes_checked(int fd, const struct stripes_file *file)
{
	if (stripes_is_file(fd, file))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int stripes_open_below(const char *root, const struct stripes_request *q)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	int fd, top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (top < 0)
		return -1;
	fd = syscall(SYS_openat2, top, q->path, &how, sizeof(how));
	close(top);
	return stripes_checked(fd, &q->file);
}

static int stripes_open(const struct stripes_request *q)
{
	char name[64];
	int fd = -1;

	if (q->fd >= 0) {
		snprintf(name, sizeof(name), "/proc/%d/task/%d/fd/%d", q->tgid, q->tid, q->fd);
		fd = stripes_checked(open(name, O_PATH | O_CLOEXEC), &q->file);
	}
	if (fd < 0 && q->path[0]) {
		snprintf(name, sizeof(name), "/proc/%d/root", q->tgid);
		fd = stripes_open_below(name, q);
	}
	return fd < 0 && q->path[0] ? stripes_open_below("/", q) : fd;
}

/* fgetxattr(2) refuses descriptors made with O_PATH. */
static void stripes_read(const struct stripes_request *q, struct stripes_reply *reply)
{
	static char attribute[65536];
	int fd = stripes_open(q);
	char name[64];
	ssize_t len;

	*reply = (struct stripes_reply){ .file = q->file, .error = ENOENT };
	if (fd < 0)
		return;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = getxattr(name, LOV_ATTRIBUTE, attribute, sizeof(attribute));
	reply->error = len < 0 ? errno : -lov_layout_parse(attribute, len, &reply->layout);
	close(fd);
}

/* Keeps the capabilities that opening other users' files takes, if the process has them; none if they come from the program's file
 * (AT_SECURE), which gives them to anybody who starts it. */
static int stripes_keep_rights(void)
{
	static const int kept[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3], less[_LINUX_CAPABILITY_U32S_3] = { 0 };
	int err = capabilities_get(caps);

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]) && !err && !getauxval(AT_SECURE); i++) {
		less[CAP_TO_INDEX(kept[i])].effective |= caps[CAP_TO_INDEX(kept[i])].permitted & CAP_TO_MASK(kept[i]);
		less[CAP_TO_INDEX(kept[i])].permitted = less[CAP_TO_INDEX(kept[i])].effective;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (!err)
		err = capabilities_set(less);
	return !err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : err;
}

int stripes_reader_main(int argc, char **argv)
{
	static struct stripes_request request;
	static struct stripes_reply reply;
	const ssize_t least = offsetof(struct stripes_request, path);
	ssize_t len;

	(void)argv;
	if (argc != 1 || chdir("/") || syscall(SYS_close_range, STRIPES_SOCKET_FD + 1, ~0u, 0) || stripes_keep_rights())
		return 1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);       /* a recorder that has ended before has closed the socket */
	while ((len = recv(STRIPES_SOCKET_FD, &request, sizeof(request) - 1, 0)) >= least) {
		((char *)&request)[len] = 0;
		stripes_read(&request, &reply);
		if (send(STRIPES_SOCKET_FD, &reply, sizeof(reply), MSG_NOSIGNAL) < 0)
			break;
	}
	return 0;
}
