/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * lookups DIR: calls on names. In DIR/a, DIR/b and DIR/c (3 mkdir) 400, 350 and 250 opens fail (ENOENT): of 100 names by absolute
 * paths, of 50 relative to a descriptor, of 250 relative to the working directory. Then, in DIR/c: stat, access and faccessat of
 * "here", which exists (one each), and of "absent" (one each, ENOENT); mkdirat of DIR/b once more (EEXIST); unlinkat of "absent"
 * (ENOENT) and of "here"; renameat of "absent" to "moved" in DIR/b (ENOENT); rename of DIR/a to DIR/z; fopen of "absent" (ENOENT).
 */
#include "golden.h"

#include <fcntl.h>
#include <sys/stat.h>

static void expect(long result, int error, const char *what)
{
	if (error ? result != -1 || errno != error : result < 0)
		die(what);
}

static void fail_opens(int dirfd, const char *prefix, int calls, int names)
{
	char path[4200];

	for (int i = 0; i < calls; i++) {
		must((size_t)snprintf(path, sizeof(path), "%smissing%d", prefix, i % names) < sizeof(path), "path too long");
		expect(dirfd < 0 ? open(path, O_RDONLY) : openat(dirfd, path, O_RDONLY), ENOENT, "open");
	}
}

int main(int argc, char **argv)
{
	const char *a, *b, *c;
	struct stat st;
	int in_b, fd;

	if (argc != 2)
		return 2;
	a = IN_DIR(argv[1], "a"), b = IN_DIR(argv[1], "b"), c = IN_DIR(argv[1], "c");
	expect(mkdir(a, 0755) | mkdir(b, 0755) | mkdir(c, 0755), 0, "mkdir");
	in_b = open(b, O_RDONLY | O_DIRECTORY);
	must(in_b >= 0 && chdir(c) == 0, "open and chdir");
	fd = open("here", O_CREAT | O_WRONLY, 0644);
	must(fd >= 0 && close(fd) == 0, "open");
	fail_opens(-1, IN_DIR(a, ""), 400, 100);
	fail_opens(in_b, "", 350, 50);
	fail_opens(-1, "", 250, 250);
	expect(stat("here", &st), 0, "stat");
	expect(access("here", R_OK), 0, "access");
	expect(faccessat(AT_FDCWD, "here", R_OK, 0), 0, "faccessat");
	expect(stat("absent", &st), ENOENT, "stat");
	expect(access("absent", R_OK), ENOENT, "access");
	expect(faccessat(AT_FDCWD, "absent", R_OK, 0), ENOENT, "faccessat");
	expect(mkdirat(in_b, "../b", 0755), EEXIST, "mkdirat");
	expect(unlinkat(AT_FDCWD, "absent", 0), ENOENT, "unlinkat");
	expect(unlinkat(AT_FDCWD, "here", 0), 0, "unlinkat");
	expect(renameat(AT_FDCWD, "absent", in_b, "moved"), ENOENT, "renameat");
	expect(rename(a, IN_DIR(argv[1], "z")), 0, "rename");
	must(fopen("absent", "r") == NULL && errno == ENOENT, "fopen");
	return 0;
}
