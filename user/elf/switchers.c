/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The table of known stack switchers. The first matching row decides.
 */
#include "elf/switchers.h"

#include <fnmatch.h>

enum which_files { ANY_FILE, EXECUTABLE, STATIC_EXECUTABLE };

static const struct switcher {
	const char *file;       /* pattern; NULL: any */
	const char *symbol;     /* that it imports or defines; NULL: any file of that name */
	enum which_files which;
	enum stack_switching switching;
} switchers[] = {
	/* imported for functions that programs hardly use (ASYNC_start_job, synctasks of the server) */
	{ "libcrypto.so*", NULL, ANY_FILE, SWITCHES_NO_STACKS },
	{ "libglusterfs.so*", NULL, ANY_FILE, SWITCHES_NO_STACKS },
	{ NULL, "ASYNC_start_job", EXECUTABLE, SWITCHES_NO_STACKS },
	/* oneTBB switches in tbb::task::suspend only, which is inline and imports this. A thread may go on on another one's
	 * stack. */
	{ "libtbb.so.12*", NULL, ANY_FILE, SWITCHES_NO_STACKS },
	{ NULL, "_ZN3tbb6detail2r17suspendEPFvPvPNS1_18suspend_point_typeEES2_", ANY_FILE, SHARES_STACK },
	/* the C libraries, which provide the functions */
	{ "libc.so.6", NULL, ANY_FILE, SWITCHES_NO_STACKS },
	{ "libc-2.*.so", NULL, ANY_FILE, SWITCHES_NO_STACKS },
	{ "libc.musl-*.so*", NULL, ANY_FILE, SWITCHES_NO_STACKS },
	{ "ld-musl-*.so*", NULL, ANY_FILE, SWITCHES_NO_STACKS },

	{ "*greenlet*.so", NULL, ANY_FILE, SHARES_STACK },              /* Python */
	{ "continuation.so", NULL, ANY_FILE, SHARES_STACK },            /* Ruby's callcc */
	{ NULL, "stacklet_new", ANY_FILE, SHARES_STACK },               /* PyPy */
	{ NULL, "runtime.mcall", STATIC_EXECUTABLE, SHARES_STACK },     /* Go, whose stacks are around the thread's control block */
	{ NULL, "makecontext", EXECUTABLE, SHARES_STACK },              /* a stack may be an array in main, as in makecontext(3) */

	{ NULL, "makecontext", ANY_FILE, SWITCHES_STACKS },
	{ NULL, "swapcontext", ANY_FILE, SWITCHES_STACKS },
	{ NULL, "setcontext", ANY_FILE, SWITCHES_STACKS },
	{ NULL, "jump_fcontext", ANY_FILE, SWITCHES_STACKS },           /* Boost.Context, and copies of it */
	{ NULL, "ontop_fcontext", ANY_FILE, SWITCHES_STACKS },
	{ NULL, "make_fcontext", ANY_FILE, SWITCHES_STACKS },
	{ NULL, "ABT_init", ANY_FILE, SWITCHES_STACKS },                /* Argobots */
	{ NULL, "ABT_thread_create", ANY_FILE, SWITCHES_STACKS },
	{ NULL, "qthread_initialize", ANY_FILE, SWITCHES_STACKS },      /* Qthreads */
	{ NULL, "myth_create_ex", ANY_FILE, SWITCHES_STACKS },          /* MassiveThreads */
	{ NULL, "pth_init", ANY_FILE, SWITCHES_STACKS },                /* GNU Pth */
	{ NULL, "zend_fiber_switch_context", ANY_FILE, SWITCHES_STACKS },       /* PHP */
};
#define SWITCHERS (sizeof(switchers) / sizeof(switchers[0]))

static bool is_of_these(struct elf_file *file, enum which_files which)
{
	bool is_static = elf_file_is_static(file);

	return which == ANY_FILE || is_static || (which == EXECUTABLE && elf_file_interpreter(file));
}

enum stack_switching elf_file_switching(struct elf_file *file, const char *name)
{
	const char *names[SWITCHERS];
	bool mentioned[SWITCHERS];

	for (size_t i = 0; i < SWITCHERS; i++)
		names[i] = switchers[i].symbol ? switchers[i].symbol : "";
	elf_file_mentions(file, names, SWITCHERS, mentioned);
	for (size_t i = 0; i < SWITCHERS; i++) {
		const struct switcher *s = &switchers[i];

		if ((!s->file || !fnmatch(s->file, name, 0)) && (!s->symbol || mentioned[i]) && is_of_these(file, s->which))
			return s->switching;
	}
	return SWITCHES_NO_STACKS;
}
