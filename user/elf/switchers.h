/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Detects files that switch stacks inside a thread (coroutines), by name and symbols.
 */
#ifndef IOPROBE_SWITCHERS_H
#define IOPROBE_SWITCHERS_H

#include "elf/symbols.h"

enum stack_switching {
	SWITCHES_NO_STACKS,
	SWITCHES_STACKS,        /* coroutines have their own stacks, outside the thread's */
	SHARES_STACK,           /* coroutines may run on parts of the thread's own stack, or on copies that are swapped in */
};

/* name: the file's last path component. */
enum stack_switching elf_file_switching(struct elf_file *file, const char *name);

#endif
