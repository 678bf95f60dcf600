/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Call sites of processes that have ended: what the maps have of them is dropped, so that a job may start any number of processes.
 * Dropped too early, because a process took over an image while the list was read, it is only requested again.
 */
#include "bpf/bpf_side_internal.h"
#include "bpf/map_calls.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#define BATCH 4096
#define PROCESS_BATCH 256

/* Entries of a map: copies of its keys and values. */
struct map_entries { char *keys, *values; size_t n, cap; };

static void map_entries_free(struct map_entries *entries)
{
	free(entries->keys);
	free(entries->values);
}

static int map_entries_reserve(struct map_entries *entries, size_t key_len, size_t value_len, size_t more)
{
	char *keys, *values;

	if (entries->n + more <= entries->cap)
		return 0;
	keys = reallocarray(entries->keys, entries->n + more, key_len);
	if (keys)
		entries->keys = keys;
	values = keys ? reallocarray(entries->values, entries->n + more, value_len) : NULL;
	if (!values)
		return -ENOMEM;
	entries->values = values;
	entries->cap = entries->n + more;
	return 0;
}

/* Reads a hash map. A bucket with more than BATCH entries ends it with -ENOSPC, which a hash of 65536 entries does not have. */
static int map_entries_read(const struct bpf_side *kernel, int map, size_t key_len, size_t value_len, struct map_entries *out)
{
	uint64_t next = 0;
	bool begun = false;

	for (;;) {
		uint32_t n = BATCH;
		int err = map_entries_reserve(out, key_len, value_len, n);

		if (err)
			return err;
		err = MAP_CALL(kernel->programs,
			       bpf_map_lookup_batch(map, begun ? &next : NULL, &next, out->keys + out->n * key_len,
						    out->values + out->n * value_len, &n, NULL));
		if (err && err != -ENOENT)
			return err;
		out->n += n;
		begun = true;
		if (err)
			return 0;
	}
}

/* ---- images ---- */

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void numbers_sort(struct image_numbers *numbers)
{
	if (numbers->n)
		qsort(numbers->v, numbers->n, sizeof(*numbers->v), compare_numbers);
}

bool image_numbers_have(const struct image_numbers *numbers, uint32_t number)
{
	return numbers->n && bsearch(&number, numbers->v, numbers->n, sizeof(number), compare_numbers) != NULL;
}

int bpf_side_images(const struct bpf_side *kernel, struct image_numbers *images)
{
	struct process *processes = calloc(PROCESS_BATCH, sizeof(*processes));
	uint32_t *keys = calloc(PROCESS_BATCH, sizeof(*keys)), next = 0;
	bool begun = false;
	int err = processes && keys ? 0 : -ENOMEM;

	*images = (struct image_numbers){ 0 };
	while (!err) {
		uint32_t n = PROCESS_BATCH, *grown;

		err = MAP_CALL(kernel->programs, bpf_map_lookup_batch(bpf_side_map(kernel, MAP_PROCESSES), begun ? &next : NULL,
								      &next, keys, processes, &n, NULL));
		if (err && err != -ENOENT)
			break;
		begun = true;
		grown = reallocarray(images->v, images->n + n + 1, sizeof(*grown));
		if (!grown) {
			err = -ENOMEM;
			break;
		}
		images->v = grown;
		for (uint32_t i = 0; i < n; i++)
			if (processes[i].owner && processes[i].image)
				images->v[images->n++] = processes[i].image;
	}
	free(processes);
	free(keys);
	if (err == -ENOENT)
		numbers_sort(images);
	return err == -ENOENT ? 0 : err;
}

/* ---- what is dropped ---- */

static int drop_rules(const struct bpf_side *kernel, const struct image_numbers *images)
{
	int map = bpf_side_map(kernel, MAP_SITE_RULES);
	struct map_entries rules = { 0 };
	int err = map_entries_read(kernel, map, sizeof(struct iop_site_rule_key), sizeof(struct iop_site_rule), &rules);

	for (size_t i = 0; !err && i < rules.n; i++) {
		const struct iop_site_rule_key *key = (void *)(rules.keys + i * sizeof(*key));

		if (!image_numbers_have(images, key->image))
			MAP_CALL(kernel->programs, bpf_map_delete_elem(map, key));
	}
	map_entries_free(&rules);
	return err;
}

static int drop_pythons(const struct bpf_side *kernel, const struct image_numbers *images)
{
	int map = bpf_side_map(kernel, MAP_SITE_PYTHONS);
	struct map_entries pythons = { 0 };
	int err = map_entries_read(kernel, map, sizeof(uint32_t), sizeof(struct iop_python), &pythons);

	for (size_t i = 0; !err && i < pythons.n; i++) {
		const uint32_t *image = (void *)(pythons.keys + i * sizeof(*image));

		if (!image_numbers_have(images, *image))
			MAP_CALL(kernel->programs, bpf_map_delete_elem(map, image));
	}
	map_entries_free(&pythons);
	return err;
}

/* *kept: the numbers of the code objects that remain. */
static int drop_codes(const struct bpf_side *kernel, const struct image_numbers *images, struct image_numbers *kept)
{
	int map = bpf_side_map(kernel, MAP_SITE_CODES);
	struct map_entries codes = { 0 };
	int err = map_entries_read(kernel, map, sizeof(struct iop_python_code_key), sizeof(uint32_t), &codes);

	kept->v = err ? NULL : calloc(codes.n + 1, sizeof(*kept->v));
	if (!err && !kept->v)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < codes.n; i++) {
		const struct iop_python_code_key *key = (void *)(codes.keys + i * sizeof(*key));

		if (image_numbers_have(images, key->image))
			kept->v[kept->n++] = *(uint32_t *)(codes.values + i * sizeof(uint32_t));
		else
			MAP_CALL(kernel->programs, bpf_map_delete_elem(map, key));
	}
	if (!err)
		numbers_sort(kept);
	map_entries_free(&codes);
	return err;
}

static bool is_kept_frame(const struct iop_site_node_key *key, const struct image_numbers *images,
			  const struct image_numbers *codes)
{
	return key->image & IOP_PYTHON_IMAGE ? image_numbers_have(codes, key->image & ~IOP_PYTHON_IMAGE) :
					       image_numbers_have(images, key->image);
}

/* A pair belongs to the frame of machine code that is its parent, so pairs come last. */
static int drop_nodes(const struct bpf_side *kernel, const struct image_numbers *images, const struct image_numbers *codes,
		      size_t *remaining)
{
	int map = bpf_side_map(kernel, MAP_SITE_NODES);
	struct map_entries nodes = { 0 };
	struct image_numbers kept = { 0 };
	int err = map_entries_read(kernel, map, sizeof(struct iop_site_node_key), sizeof(uint32_t), &nodes);

	kept.v = err ? NULL : calloc(nodes.n + 1, sizeof(*kept.v));
	if (!err && !kept.v)
		err = -ENOMEM;
	*remaining = 0;
	for (int pairs = 0; !err && pairs < 2; pairs++) {
		for (size_t i = 0; i < nodes.n; i++) {
			const struct iop_site_node_key *key = (void *)(nodes.keys + i * sizeof(*key));
			bool is_pair = key->image == IOP_PYTHON_PAIR;

			if (is_pair != (pairs == 1))
				continue;
			if (!(is_pair ? image_numbers_have(&kept, key->parent) : is_kept_frame(key, images, codes))) {
				MAP_CALL(kernel->programs, bpf_map_delete_elem(map, key));
				continue;
			}
			++*remaining;
			if (!is_pair)
				kept.v[kept.n++] = *(uint32_t *)(nodes.values + i * sizeof(uint32_t));
		}
		numbers_sort(&kept);
	}
	free(kept.v);
	map_entries_free(&nodes);
	return err;
}

int bpf_side_keep_images(const struct bpf_side *kernel, const struct image_numbers *images, size_t *nodes)
{
	struct image_numbers codes = { 0 };
	int err = drop_rules(kernel, images);

	if (!err)
		err = drop_pythons(kernel, images);
	if (!err)
		err = drop_codes(kernel, images, &codes);
	if (!err)
		err = drop_nodes(kernel, images, &codes, nodes);
	free(codes.v);
	return err;
}

uint32_t bpf_side_last_site(const struct bpf_side *kernel)
{
	return programs_last_site(kernel->programs);
}

uint32_t bpf_side_node_room(const struct bpf_side *kernel)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_side_map(kernel, MAP_SITE_NODES), &info, &len) ? IOP_SITE_MAX_NODES : info.max_entries;
}
