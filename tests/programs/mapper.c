/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * mapper DIR FILE... [-- FILE...]: maps the first MiB of each FILE for execution, makes DIR/ready and waits for DIR/go; maps what
 * is behind "--", makes DIR/mapped and waits for DIR/end. Then it prints how many bytes of each mapping are not those of the file
 * that was mapped, and writes 10 times 100 bytes to DIR/written.
 */
#include "golden.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct mapping { const char *path; const unsigned char *at; unsigned char *before; size_t len; };

static void wait_for(const char *path)
{
	struct stat st;

	for (int i = 0; i < 6000 && stat(path, &st); i++)
		usleep(10000);
}

static void make(const char *path)
{
	close(open(path, O_WRONLY | O_CREAT, 0644));
}

static void map(struct mapping *mapping, const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	must(fd >= 0 && !fstat(fd, &st), path);
	mapping->path = path;
	mapping->len = st.st_size < 1 << 20 ? st.st_size : 1 << 20;
	mapping->at = mmap(NULL, mapping->len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	mapping->before = malloc(mapping->len);
	must(mapping->at != MAP_FAILED && mapping->before, "mmap");
	must(pread(fd, mapping->before, mapping->len, 0) == (ssize_t)mapping->len, "pread");
	close(fd);
}

static void compare(const struct mapping *mapping)
{
	size_t differ = 0;

	for (size_t i = 0; i < mapping->len; i++)
		differ += mapping->at[i] != mapping->before[i];
	printf("%s: %zu bytes differ\n", mapping->path, differ);
}

int main(int argc, char **argv)
{
	struct mapping mappings[16];
	int i, n = 0, fd;

	must(argc > 2 && argc < 16, "arguments");
	for (i = 2; i < argc && strcmp(argv[i], "--"); i++)
		map(&mappings[n++], argv[i]);
	make(IN_DIR(argv[1], "ready"));
	wait_for(IN_DIR(argv[1], "go"));
	for (i++; i < argc; i++)
		map(&mappings[n++], argv[i]);
	make(IN_DIR(argv[1], "mapped"));
	wait_for(IN_DIR(argv[1], "end"));
	for (i = 0; i < n; i++)
		compare(&mappings[i]);
	fd = open(IN_DIR(argv[1], "written"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	must(fd >= 0, "open");
	write_n(fd, 10, 100);
	close(fd);
	return 0;
}
