/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The text of /proc/PID/maps, in which names of files are the user's. No process has number 0: no file is opened.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "proc/procfs.h"

int fuzz_maps(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct proc_modules modules;

	if (!proc_modules_parse(text, 0, NULL, &modules))
		proc_modules_free(&modules);
	proc_env_get(text, size, "HOME");
	free(text);
	return 0;
}
