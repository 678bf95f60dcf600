/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One object per thread: libbpf loads the programs of an object one after the other. The first object has no programs; the others
 * are opened with its maps.
 */
#include "bpf/load.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ioprobe/demand.h>             /* for the skeleton's variables */
#include <ioprobe/descriptor.h>
#include <ioprobe/recording.h>
#include <ioprobe/request.h>
#include <ioprobe/sites.h>

#include "bpf/object_maps.h"
#include "ioprobe.skel.h"

struct part { struct ioprobe_bpf *skel; pthread_t thread; size_t work; int err; };

static int usable_cpus(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : CPU_COUNT(&cpus);
}

/* Returns the number of threads on the node that run or could run now, this one among them. */
static int running_threads(void)
{
	FILE *file = fopen("/proc/loadavg", "re");
	int n = 1;

	if (!file)
		return n;
	if (fscanf(file, "%*f %*f %*f %d/", &n) != 1)
		n = 1;
	fclose(file);
	return n;
}

size_t load_parts_wanted(void)
{
	const char *wanted = secure_getenv(LOAD_THREADS_VARIABLE);
	int n = wanted ? atoi(wanted) : usable_cpus() - running_threads() + 1;

	return n < 1 ? 1 : n < LOAD_PARTS ? n : LOAD_PARTS;
}

/* ---- which part loads which program ---- */

/* The programs with the longest verification times, in milliseconds with call sites (6.18). All others take 1 to 5. */
static const struct { const char *name; size_t work; } costly[] = {
	{ "call_entry", 36 }, { "call_session", 37 }, { "call_return", 18 }, { "ioprobe_enter", 37 }, { "ioprobe_enter_event", 37 },
	{ "ioprobe_exit", 31 }, { "ioprobe_exit_event", 31 }, { "uring_submit", 10 }, { "uring_failed", 10 },
	{ "unwinder_entry", 8 }, { "process_exec", 8 }, { "uring_complete", 8 }, { "uring_overflow", 7 },
};

static size_t load_work_of(const struct bpf_program *program)
{
	const char *name = bpf_program__name(program);

	for (size_t i = 0; i < sizeof(costly) / sizeof(costly[0]); i++)
		if (!strcmp(name, costly[i].name))
			return costly[i].work;
	return 3;
}

static struct part *least_loaded(struct part *parts, size_t n)
{
	struct part *least = parts;

	for (size_t i = 1; i < n; i++)
		if (parts[i].work < least->work)
			least = &parts[i];
	return least;
}

/* Gives a program, which all objects have, to one part. */
static void load_assign(struct part *parts, size_t n, const char *name)
{
	struct part *chosen = least_loaded(parts, n);

	for (size_t i = 0; i < n; i++) {
		struct bpf_program *program = bpf_object__find_program_by_name(parts[i].skel->obj, name);

		if (&parts[i] == chosen)
			chosen->work += load_work_of(program);
		else
			bpf_program__set_autoload(program, false);
	}
}

/* The costliest first: then the parts become equal. */
static void load_divide(struct bpf_object *object, struct part *parts, size_t n)
{
	struct bpf_program *program;

	for (size_t work = 64; work; work--)
		bpf_object__for_each_program(program, object)
			if (bpf_program__autoload(program) && load_work_of(program) == work)
				load_assign(parts, n, bpf_program__name(program));
}

/* ---- loading ---- */

/* By their order, which is the same: libbpf gives a map that was made elsewhere its other name. */
static int use_maps(const struct bpf_object *object, const struct bpf_object *of)
{
	struct bpf_map *map = NULL, *made = NULL;
	int err = 0;

	while (!err && (map = bpf_object__next_map(object, map)) && (made = bpf_object__next_map(of, made)))
		if (bpf_map__fd(made) >= 0)
			err = bpf_map__reuse_fd(map, bpf_map__fd(made));
	return err;
}

static void *load_part(void *arg)
{
	struct part *part = arg;

	part->err = ioprobe_bpf__load(part->skel);
	return NULL;
}

static int load_maps(struct ioprobe_bpf *skel)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, skel->obj)
		bpf_program__set_autoload(program, false);
	return ioprobe_bpf__load(skel);
}

/* The last part is loaded by the caller, as is one whose thread cannot be started. */
static int load_run(struct part *parts, size_t n)
{
	bool started[LOAD_PARTS];
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		started[i] = i + 1 < n && !pthread_create(&parts[i].thread, NULL, load_part, &parts[i]);
		if (!started[i])
			load_part(&parts[i]);
	}
	for (size_t i = 0; i < n; i++) {
		if (started[i])
			pthread_join(parts[i].thread, NULL);
		err = err ? err : parts[i].err;
	}
	return err;
}

int load_in_parts(struct ioprobe_bpf **objects, size_t n)
{
	struct part parts[LOAD_PARTS] = { 0 };
	int err = 0;

	n = n - 1 < LOAD_PARTS ? n - 1 : LOAD_PARTS;
	for (size_t i = 0; i < n; i++)
		parts[i].skel = objects[i + 1];
	load_divide(objects[0]->obj, parts, n);
	if (object_maps_create(objects[0]->obj))
		err = load_maps(objects[0]);    /* libbpf knows how, and what is wrong */
	for (size_t i = 0; i < n && !err; i++)
		err = use_maps(parts[i].skel->obj, objects[0]->obj);
	return err ? err : load_run(parts, n);
}
