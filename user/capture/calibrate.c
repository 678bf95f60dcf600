/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Two empty functions: the first instruction of one is emulated by the kernel, that of the other is single-stepped. The agent is
 * not traced itself, so the measured cost is that of the trap and of the programs' first look-up.
 */
#include "capture/calibrate.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/attach.h"
#include "proc/procfs.h"
#include "bpf/rings.h"

#define BATCHES 5
#define HITS 400                /* per batch */
#define SINGLE_STEPPED_HITS 40  /* ten times as expensive */

void calibrate_emulated(void);
void calibrate_single_stepped(void);
__asm__(".text\n"
	"calibrate_emulated:\n\tpush %rbp\n\tpop %rbp\n\tret\n"
	"calibrate_single_stepped:\n\tmov %rsp, %rax\n\tret\n");

int calibrate_own_offset(const struct proc_modules *modules, const void *function, uint64_t *offset)
{
	uint64_t address = (uintptr_t)function;

	for (size_t i = 0; i < modules->n; i++) {
		const struct proc_module *module = &modules->v[i];

		if (address < module->text_addr || address >= module->text_addr + module->text_len)
			continue;
		*offset = address - module->text_addr + module->text_offset;
		return 0;
	}
	return -ENOENT;
}

static void calibrate_ignore_refusal(void *arg, const struct attach_point *point, int err)
{
	(void)arg, (void)point, (void)err;
}

/* Returns the minimum over several batches: disturbances only make a batch longer. */
static uint64_t time_hits(void (*function)(void), int hits)
{
	uint64_t best = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t begin = monotonic_ns(), took;

		for (int i = 0; i < hits; i++)
			function();
		took = (monotonic_ns() - begin) / hits;
		if (took < best)
			best = took;
	}
	return best;
}

static int attach_both(struct hold_server *server, struct links *links, const struct bpf_side *kernel,
		       const struct proc_modules *modules)
{
	struct attach_point points[] = { { .function = "calibration" }, { .function = "calibration" } };
	int err = calibrate_own_offset(modules, (const void *)calibrate_emulated, &points[0].offset);

	if (!err)
		err = calibrate_own_offset(modules, (const void *)calibrate_single_stepped, &points[1].offset);
	if (!err)
		err = attach_points(server, links, kernel, ATTACH_CALLS, "/proc/self/exe", getpid(), points, 2,
				    calibrate_ignore_refusal, NULL);
	return err;
}

int calibrate_probe_cost(const struct bpf_side *kernel, struct hold_server *server, struct probe_cost *cost)
{
	struct proc_modules modules;
	struct links links = { 0 };
	int err;

	if (bpf_side_method(kernel) == ATTACH_NONE)
		return -EOPNOTSUPP;
	err = proc_modules_read(getpid(), &modules);
	if (err)
		return err;
	err = attach_both(server, &links, kernel, &modules);
	if (!err) {
		cost->emulated_ns = time_hits(calibrate_emulated, HITS);
		cost->single_stepped_ns = time_hits(calibrate_single_stepped, SINGLE_STEPPED_HITS);
	}
	links_detach(server, &links);
	proc_modules_free(&modules);
	return err;
}
