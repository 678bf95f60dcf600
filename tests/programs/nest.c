/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * libnest: see nest.h. What follows each inner call keeps the compiler from making a jump of it.
 */
#include "nest.h"

#include <time.h>

__attribute__((noipa)) int nest_work(int level)
{
	struct timespec pause = { .tv_nsec = level * 10000000L };
	int below = 0;

	nanosleep(&pause, NULL);
	if (level > 1)
		below = nest_work(level - 1);
	return below + level;
}

__attribute__((noipa)) int nest_deep(int n)
{
	volatile int below = 0;

	if (n > 1)
		below = nest_deep(n - 1);
	return below + 1;
}

__attribute__((noipa)) int nest_call(int (*fn)(void *), void *arg)
{
	volatile int result = fn(arg);

	return result;
}

__attribute__((noipa)) const void *nest_names(const char *name, const char *mode, const char *path, const char *path2,
					      const long *values)
{
	const void *volatile handle = name && mode && path && path2 ? values : NULL;

	return handle;
}
