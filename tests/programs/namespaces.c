/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * namespaces DIR: 12 processes, one after the other, each in a mount namespace of its own with a file system of its own (source
 * inside_N) on DIR, in which it writes N + 1 bytes to DIR/same, one by one, and 5 to DIR/fN; each has ended before its mount table
 * could be read.
 */
#include "golden.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

enum { PROCESSES = 12 };

static int inside(const char *dir, int i)
{
	char source[32], name[32];
	int fd;

	snprintf(source, sizeof(source), "inside_%d", i);
	snprintf(name, sizeof(name), "f%d", i);
	must(unshare(CLONE_NEWNS) == 0, "unshare");
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private");
	must(mount(source, dir, "tmpfs", 0, NULL) == 0, "mount");
	fd = open(IN_DIR(dir, "same"), O_WRONLY | O_CREAT, 0644);
	must(fd >= 0, "open");
	write_n(fd, i + 1, 1);
	fd = open(IN_DIR(dir, name), O_WRONLY | O_CREAT, 0644);
	must(fd >= 0, "open");
	return write(fd, "hello", 5) == 5 ? 0 : 3;
}

int main(int argc, char **argv)
{
	int status;

	must(argc == 2, "usage");
	for (int i = 0; i < PROCESSES; i++) {
		if (fork() == 0)
			_exit(inside(argv[1], i));
		must(wait(&status) > 0 && status == 0, "child");
	}
	return 0;
}
