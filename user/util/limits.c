/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What is too small is refused at once: a stack that ends is a SIGSEGV, descriptors that run out an error at some later place.
 */
#include "util/limits.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#define STACK_KIB 256
#define FILES 128

int limits_check_stack(char *err, size_t err_len)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_KIB * 1024)
		return 0;
	snprintf(err, err_len,
		 "cannot start: the stack is limited to %llu KiB, and ioprobe needs %d KiB: raise the limit (ulimit -s %d)",
		 (unsigned long long)limit.rlim_cur / 1024, STACK_KIB, STACK_KIB);
	return -ENOMEM;
}

int limits_raise_files(char *err, size_t err_len)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max >= FILES)
		return 0;
	snprintf(err, err_len,
		 "cannot record: a process may have %llu open files, and a recording needs %d or more: raise the limit (ulimit -n "
		 "%d)",
		 (unsigned long long)limit.rlim_max, FILES, FILES);
	return -EMFILE;
}
