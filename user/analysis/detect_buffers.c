/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Where in memory the data of operations are.
 */
#include <stdio.h>

#include "analysis/detectors.h"

static bool buffers_fire(const struct analysis *a, const struct file_layer *f)
{
	const struct dir_stat *r = &f->sum->dir[DIR_READ], *w = &f->sum->dir[DIR_WRITE];
	uint64_t n = r->unaligned_memory + w->unaligned_memory;

	return n >= a->thresholds.unaligned_count && n >= a->thresholds.unaligned_share * (r->n + w->n);
}

/* What an aligned buffer saves is not known: nothing on most file systems, as long as the page cache is used. */
static struct evidence buffers_unaligned(const struct analysis *a, const struct file_layer *f, const struct io_stat *s)
{
	const struct dir_stat *r = &s->dir[DIR_READ], *w = &s->dir[DIR_WRITE];
	uint64_t all = r->n + w->n, n = r->unaligned_memory + w->unaligned_memory;

	(void)a, (void)f;
	return (struct evidence){ n, saving_part(r->bytes + w->bytes, n, all), saving_part(r->ns + w->ns, n, all),
		r->first_ns < w->first_ns ? r->first_ns : w->first_ns, r->last_ns > w->last_ns ? r->last_ns : w->last_ns, { 0 } };
}

static void detect_buffers(struct analysis *a, const struct detector *d)
{
	struct finding *f = builder_finish(
		detect_files(a, d, &(struct file_rule){ a->facts->lowest, buffers_fire, buffers_unaligned }), "%s", "");

	if (f)
		snprintf(f->evidence, sizeof(f->evidence), "%llu operations have buffers whose addresses are no multiples of 8 "
			 "bytes", (unsigned long long)f->n);
}

const struct detector detector_P07 = {
	.code = "P07", .title = "buffers not aligned in memory", .on = "POSIX", .needs = NEED_SYSTEM | NEED_MEMORY,
	.classes = CLASS_BIT(CLASS_READ) | CLASS_BIT(CLASS_WRITE), .info = true,
	.when = "at least unaligned_count calls of read, pread64, write and pwrite64 on a data file, and unaligned_share of all "
		"its reads and writes, have a buffer whose address is no multiple of 8 bytes. Never more than a note",
	.why = "direct I/O refuses such buffers, and some file systems copy them once more",
	.topic = "align_memory", .test = "unaligned_memory", .detect = detect_buffers,
};
