/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * libexchange.so, to be preloaded into ioprobe: plays a user who exchanges the files EXCHANGE_A and EXCHANGE_B at the worst moment.
 * While a descriptor for attaching (O_PATH) is opened, each has the other's name; at any other moment they have their own.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

static void exchange(void)
{
	const char *a = getenv("EXCHANGE_A"), *b = getenv("EXCHANGE_B");

	if (a && b)
		renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	va_list list;
	mode_t mode;
	int fd;

	va_start(list, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
	va_end(list);
	if (flags & O_PATH)
		exchange();
	fd = real(path, flags, mode);
	if (flags & O_PATH)
		exchange();
	return fd;
}
