/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Two libraries are made of this, which the linker puts at the same addresses one after the other: NAME and LINES differ.
 */
#include <unistd.h>

#ifdef SECOND
__attribute__((noinline)) void second_library(int fd)
{
	if (write(fd, "b", 1) != 1)
		_exit(3);
	__asm__ volatile("");
}
#define WRITES second_library
#else
__attribute__((noinline)) void first_library(int fd)
{
	if (write(fd, "a", 1) != 1)
		_exit(3);
	__asm__ volatile("");
}
#define WRITES first_library
#endif

void library_writes(int fd)
{
	for (int i = 0; i < 10; i++)
		WRITES(fd);
}
