/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * recursion: nest_work(3): 3 calls, each in the one before, of 60, 30 and 10 ms; nest_deep(20): 20 nested calls;
 * with an argument also nest_deep(100): 100 more. 1 write of 2 bytes to stdout after that.
 */
#include "golden.h"
#include "nest.h"

int main(int argc, char **argv)
{
	(void)argv;
	must(nest_work(3) == 6, "nest_work");
	must(nest_deep(20) == 20, "nest_deep");
	if (argc > 1)
		must(nest_deep(100) == 100, "nest_deep");
	must(write(1, "6\n", 2) == 2, "write");
	return 0;
}
