/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * From the rows of the probe tables to the maps in which the BPF programs find them.
 */
#include "bpf/descriptor_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <ioprobe/descriptor.h>
#include <stdlib.h>

#include "table/table.h"

static int fill_request_descriptors(int fd, const struct table_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->nrows && !err; i++) {
		struct iop_request_desc requests;
		uint32_t key = set->rows[i].id;

		if (table_row_requests(set, &set->rows[i], &requests))
			err = bpf_map_update_elem(fd, &key, &requests, BPF_ANY);
	}
	return err;
}

/* In one system call: there are some 1900. */
int descriptor_maps_fill(int descriptors, int requests, const struct table_set *set)
{
	struct iop_desc *descs = calloc(set->nrows, sizeof(*descs));
	uint32_t *keys = calloc(set->nrows, sizeof(*keys)), n = set->nrows;
	int err = descs && keys ? 0 : -ENOMEM;

	for (size_t i = 0; i < set->nrows && !err; i++) {
		keys[i] = set->rows[i].id;
		table_row_descriptor(set, &set->rows[i], &descs[i]);
	}
	if (!err && n)
		err = bpf_map_update_batch(descriptors, keys, descs, &n, NULL);
	free(descs);
	free(keys);
	return err ? err : fill_request_descriptors(requests, set);
}
