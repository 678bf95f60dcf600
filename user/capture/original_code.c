/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Detects whether a process still hits breakpoints that are being detached: compares its code with the file's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "capture/libraries.h"

#define LIMIT_MS 200

static bool is_original(int memory, int file, uint64_t offset, const struct proc_module *module)
{
	unsigned char here, there;

	if (offset < module->text_offset || offset - module->text_offset >= module->text_len)
		return true;
	return pread(file, &there, 1, offset) != 1 ||
	       pread(memory, &here, 1, module->text_addr + (offset - module->text_offset)) != 1 || here == there;
}

static bool all_original(int memory, int file, const struct attach_point *points, size_t n, const struct proc_module *module)
{
	for (size_t i = 0; i < n; i++)
		if (!points[i].exit_offset && !is_original(memory, file, points[i].offset, module))
			return false;
	return true;
}

void library_await_original_code(const struct library *library, enum point_group group, pid_t pid, const struct proc_module *module)
{
	const struct timespec pause = { 0, 2000000 };
	int memory, file;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	file = code_file_reader(&library->file);
	for (int ms = 0; memory >= 0 && file >= 0 && ms < LIMIT_MS; ms += 2) {
		if (all_original(memory, file, library->points[group].v, library->points[group].n, module))
			break;
		nanosleep(&pause, NULL);
	}
	if (memory >= 0)
		close(memory);
	if (file >= 0)
		close(file);
}
