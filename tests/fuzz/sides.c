/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The side files of a node's archive that merge reads: the first byte selects which one it is.
 */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/job_summary.h"
#include "merge/node.h"

static void read_collectives(void)
{
	struct node node = { .dir = fuzz_directory() };
	char err[512];

	for (int i = 0; i < 10; i++)
		if (!MODEL_ADD(node.handles))
			return;
	node_read_collectives(&node, err, sizeof(err));
	node_deinit(&node);
}

/* Twice: sums of what does not fit together. */
static void add_summary(void)
{
	struct job_summary *summary = NULL;
	char dir[4200], path[4300], err[512];

	snprintf(dir, sizeof(dir), "%s/job", fuzz_directory());
	snprintf(path, sizeof(path), "%s/summary.json", dir);
	mkdir(dir, 0700);
	if (!job_summary_create(&summary, dir) && !job_summary_add(summary, fuzz_directory(), err, sizeof(err)))
		job_summary_add(summary, fuzz_directory(), err, sizeof(err));
	job_summary_destroy(summary);
	unlink(path);
	rmdir(dir);
}

int fuzz_sides(const uint8_t *data, size_t size)
{
	bool summary = size && data[0] & 1;
	const char *name = summary ? "summary.json" : "collectives.json";

	if (!size)
		return 0;
	fuzz_file(name, data + 1, size - 1);
	(summary ? add_summary : read_collectives)();
	unlink(fuzz_file(name, "", 0));
	return 0;
}
