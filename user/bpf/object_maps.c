/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What libbpf does for the maps of an object when it loads it, without the rest.
 */
#include "bpf/object_maps.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <unistd.h>

/* A ring needs at least a page. */
static uint32_t object_map_entries(const struct bpf_map *map)
{
	uint32_t page = sysconf(_SC_PAGESIZE), entries = bpf_map__max_entries(map);

	return bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF && entries < page ? page : entries;
}

/* Variables have their initial values, and constants cannot change any more. */
static int fill_variables(const struct bpf_map *map, int fd)
{
	uint32_t key = 0;
	size_t len;
	const void *value = bpf_map__initial_value((struct bpf_map *)map, &len);
	int err = value ? bpf_map_update_elem(fd, &key, value, BPF_ANY) : -EINVAL;

	return !err && (bpf_map__map_flags(map) & BPF_F_RDONLY_PROG) ? bpf_map_freeze(fd) : err;
}

static int create_object_map(struct bpf_map *map, int types)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = bpf_map__map_flags(map), .map_extra = bpf_map__map_extra(map));
	int fd, err = 0;

	if (bpf_map__type(map) != BPF_MAP_TYPE_RINGBUF) {
		options.btf_fd = types;
		options.btf_key_type_id = bpf_map__btf_key_type_id(map);
		options.btf_value_type_id = bpf_map__btf_value_type_id(map);
	}
	fd = bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map), bpf_map__value_size(map),
			    object_map_entries(map), &options);
	if (fd < 0)
		return fd;
	if (bpf_map__is_internal(map))
		err = fill_variables(map, fd);
	if (!err)
		err = bpf_map__reuse_fd(map, fd);
	close(fd);
	return err;
}

int object_maps_create(struct bpf_object *object)
{
	struct btf *types = bpf_object__btf(object);
	struct bpf_map *map = NULL;
	int err = types ? btf__load_into_kernel(types) : -ENOENT;

	while (!err && (map = bpf_object__next_map(object, map)))
		if (bpf_map__fd(map) < 0)
			err = create_object_map(map, btf__fd(types));
	if (err && types && btf__fd(types) >= 0) {
		close(btf__fd(types));
		btf__set_fd(types, -1);
	}
	return err;
}
