/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The local files of a node's locations. Events are not touched: each .evt is linked, or where that is impossible cloned, or
 * copied. One .def maps refs and clock for all locations of the node; they link it.
 */
#include "merge/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "otf2/otf2_library.h"

/* ---- files ---- */

static int copy_by_hand(int from, int to, uint64_t *bytes)
{
	char buffer[16384];

	for (;;) {
		ssize_t n = read(from, buffer, sizeof(buffer));

		if (n <= 0)
			return n ? -errno : 0;
		for (ssize_t done = 0, k; done < n; done += k) {
			k = write(to, buffer + done, n - done);
			if (k < 0)
				return -errno;
			*bytes += k;
		}
	}
}

/* In the kernel, if it can between these file systems. */
static int copy_bytes(int from, int to, uint64_t *bytes)
{
	static const size_t most = 1 << 30;
	bool begun = false;
	ssize_t n;

	while ((n = copy_file_range(from, NULL, to, NULL, most, 0)) > 0) {
		*bytes += n;
		begun = true;
	}
	if (n < 0 && !begun && (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS))
		return copy_by_hand(from, to, bytes);
	return n < 0 ? -errno : 0;
}

/* Another name for the same data where the file system can, else the data once more. */
static int locals_same_file(const char *from, const char *to, struct location_counts *counts)
{
	int in, out, ret = 0;

	if (!link(from, to)) {
		counts->linked++;
		return 0;
	}
	if (errno != EXDEV && errno != EMLINK && errno != EPERM && errno != EOPNOTSUPP)
		return -errno;
	in = open(from, O_RDONLY | O_CLOEXEC);
	out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (out < 0) {
		ret = -errno;
	} else if (!ioctl(out, FICLONE, in)) {
		counts->cloned++;
	} else {
		ret = copy_bytes(in, out, &counts->bytes_copied);
		counts->copied++;
	}
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) && !ret)
		ret = -errno;
	return ret;
}

/* ---- the .def that all locations of the node have ---- */

static OTF2_ErrorCode write_table(OTF2_DefWriter *writer, OTF2_MappingType type, const uint32_t *refs, size_t n)
{
	OTF2_IdMap *map = OTF2_IdMap_CreateFromUint32Array(n, refs, true);
	OTF2_ErrorCode code;

	if (!map)               /* none is needed */
		return OTF2_SUCCESS;
	code = OTF2_DefWriter_WriteMappingTable(writer, type, map);
	OTF2_IdMap_Free(map);
	return code;
}

/* The deviation is in ticks. Where the kernel does not know it, this is that of the reading alone. */
static OTF2_ErrorCode write_offset(OTF2_DefWriter *writer, const struct model_clock *clock, uint64_t time_ns, int64_t offset_ns)
{
	double deviation = clock->synchronized ? (double)(clock->error_ns + clock->width_ns) : (double)clock->width_ns;

	return OTF2_DefWriter_WriteClockOffset(writer, time_ns, offset_ns, deviation);
}

/* Readers want two: with one alone they apply none. An interrupted recording has none at its end. */
static OTF2_ErrorCode write_offsets(OTF2_DefWriter *writer, const struct node_head *head, const struct node_map *map)
{
	const struct model_clock *end = head->end.read ? &head->end : &head->start;
	uint64_t end_ns = head->end.read ? head->end.monotonic_ns : head->clock_begin_ns + head->clock_length_ns;
	OTF2_ErrorCode code = write_offset(writer, &head->start, head->start.monotonic_ns, map->offset_start_ns);

	if (end_ns <= head->start.monotonic_ns)
		end_ns = head->start.monotonic_ns + 1;
	return code == OTF2_SUCCESS ? write_offset(writer, end, end_ns, map->offset_end_ns) : code;
}

static OTF2_ErrorCode write_maps(OTF2_DefWriter *writer, const struct node *node, const struct node_map *map)
{
	const struct { OTF2_MappingType type; const uint32_t *refs; size_t n; } tables[] = {
		{ OTF2_MAPPING_STRING, map->strings, node->strings.n },   /* of attributes */
		{ OTF2_MAPPING_REGION, map->regions, node->regions.n },
		{ OTF2_MAPPING_SOURCE_CODE_LOCATION, map->lines, node->lines.n },
		{ OTF2_MAPPING_CALLING_CONTEXT, map->contexts, node->contexts.n },
		{ OTF2_MAPPING_ATTRIBUTE, map->attributes, node->attributes.n },
		{ OTF2_MAPPING_COMM, map->comms, node->comms.n }, { OTF2_MAPPING_IO_FILE, map->files, node->files.n },
		{ OTF2_MAPPING_IO_HANDLE, map->handles, node->handles.n },
	};
	OTF2_ErrorCode code = write_offsets(writer, &node->head, map);

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && code == OTF2_SUCCESS; i++)
		code = write_table(writer, tables[i].type, tables[i].refs, tables[i].n);
	return code;
}

/* Written as an archive of its own, of which nothing but this file is used. */
static int write_def(const struct node *node, const struct node_map *map, const char *scratch, uint64_t chunk_bytes, char *err,
		     size_t err_len)
{
	OTF2_Archive *archive;
	OTF2_DefWriter *writer = NULL;
	OTF2_ErrorCode code;

	otf2_library_watch();
	archive = otf2_library_create(scratch, "traces", node->head.event_chunk_bytes, chunk_bytes);
	code = archive ? OTF2_Archive_OpenDefFiles(archive) : OTF2_ERROR_INTEGRITY_FAULT;
	if (code == OTF2_SUCCESS)
		writer = OTF2_Archive_GetDefWriter(archive, node->locations.v[0].id);
	if (code == OTF2_SUCCESS && !writer)
		code = OTF2_ERROR_INTEGRITY_FAULT;
	if (code == OTF2_SUCCESS)
		code = otf2_library_checked(write_maps(writer, node, map));
	if (code == OTF2_SUCCESS)
		code = otf2_library_checked(OTF2_Archive_CloseDefWriter(archive, writer));
	if (code == OTF2_SUCCESS)
		code = otf2_library_checked(OTF2_Archive_CloseDefFiles(archive));
	if (archive)
		code = otf2_library_close(archive, code);
	if (code == OTF2_SUCCESS)
		return 0;
	snprintf(err, err_len, "cannot write the mapping of node %s: %s", node_string(node, node->head.host),
		 otf2_library_message(code));
	return otf2_library_errno(code);
}

/* ---- all locations ---- */

static int link_location(const struct node *node, uint64_t id, const char *def, const char *dir, struct location_counts *counts,
			 char *err, size_t err_len)
{
	struct location_counts ignored = { 0 };
	char from[4300], to[4300];
	int ret;

	snprintf(from, sizeof(from), "%s/traces/%" PRIu64 ".evt", node->dir, id);
	snprintf(to, sizeof(to), "%s/traces/%" PRIu64 ".evt", dir, id);
	ret = locals_same_file(from, to, counts);
	if (!ret) {
		snprintf(to, sizeof(to), "%s/traces/%" PRIu64 ".def", dir, id);
		ret = locals_same_file(def, to, &ignored);
	}
	if (ret)
		snprintf(err, err_len, "cannot include %s: %s", from, strerror(-ret));
	return ret;
}

int locals_write(const struct node *node, const struct node_map *map, const char *dir, const char *scratch, uint64_t chunk_bytes,
		 struct location_counts *counts, char *err, size_t err_len)
{
	char def[4300];
	int ret;

	if (!node->locations.n)
		return 0;
	ret = write_def(node, map, scratch, chunk_bytes, err, err_len);
	snprintf(def, sizeof(def), "%s/traces/%" PRIu64 ".def", scratch, node->locations.v[0].id);
	for (size_t i = 0; i < node->locations.n && !ret; i++)
		ret = link_location(node, node->locations.v[i].id, def, dir, counts, err, err_len);
	return ret;
}
