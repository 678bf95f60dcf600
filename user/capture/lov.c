/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Lustre's layout of a file. Numbers are in the host's byte order and may be unaligned.
 */
#include "capture/lov.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MAGIC_V1 0x0bd10bd0u
#define MAGIC_V3 0x0bd30bd0u
#define MAGIC_COMPOSITE 0x0bd60bd0u
#define PATTERN_METADATA_SERVER 0x100u
#define PATTERN_RELEASED 0x80000000u    /* archived: there are no objects */
#define COMPONENT_STALE 0x01u
#define COMPONENT_ALLOCATED 0x10u
#define COMPONENT_PARITY 0x80u

/* Offsets and lengths in bytes. */
enum {
	AT_PATTERN = 4, AT_STRIPE_BYTES = 24, AT_STRIPE_COUNT = 28, AT_POOL = 32, POOL_LEN = 16,
	V1_LEN = 32, V3_LEN = 48, OBJECT_LEN = 24, AT_DEVICE = 20,
	AT_ENTRIES = 14, AT_MIRRORS = 16, COMPOSITE_LEN = 32,
	AT_ID = 0, AT_FLAGS = 4, AT_START = 8, AT_END = 16, AT_OFFSET = 24, AT_SIZE = 28, ENTRY_LEN = 48,
};

#define DEVICES_MAX 4096        /* an attribute has at most 64 KiB */

struct lov_reading {
	struct lov_layout *layout;
	unsigned allocated;             /* components */
	bool partial;   /* other components have no stripes (metadata server), or get them when they are written to */
	bool pools_differ;
	uint32_t devices[DEVICES_MAX];  /* that are in layout.devices */
	size_t ndevices;
};

static uint16_t lov_u16(const void *data, size_t at)
{
	uint16_t value;

	memcpy(&value, (const char *)data + at, sizeof(value));
	return value;
}

static uint32_t lov_u32(const void *data, size_t at)
{
	uint32_t value;

	memcpy(&value, (const char *)data + at, sizeof(value));
	return value;
}

static uint64_t lov_u64(const void *data, size_t at)
{
	uint64_t value;

	memcpy(&value, (const char *)data + at, sizeof(value));
	return value;
}

__attribute__((format(printf, 3, 4)))
static void lov_append(char *text, size_t len, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	if (used >= 3 && !strcmp(text + used - 3, "..."))
		return;
	va_start(args, format);
	if (vsnprintf(text + used, len - used, format, args) >= (int)(len - used))
		strcpy(text + (used < len - 4 ? used : len - 4), "...");
	va_end(args);
}

static bool lov_device_is_new(struct lov_reading *r, uint32_t device)
{
	for (size_t i = 0; i < r->ndevices; i++)
		if (r->devices[i] == device)
			return false;
	if (r->ndevices < DEVICES_MAX)
		r->devices[r->ndevices++] = device;
	return true;
}

static void lov_add_devices(struct lov_reading *r, const char *objects, unsigned n, bool composite)
{
	struct lov_layout *l = r->layout;

	for (unsigned i = 0; i < n; i++) {
		uint32_t device = lov_u32(objects, i * OBJECT_LEN + AT_DEVICE);

		if (composite)
			lov_append(l->components, sizeof(l->components), "%s%u", i ? "," : " on ", device);
		if (lov_device_is_new(r, device))
			lov_append(l->devices, sizeof(l->devices), "%s%u", l->devices[0] ? "," : "", device);
	}
}

static void lov_add_pool(struct lov_reading *r, const char *pool)
{
	char name[POOL_LEN + 1];

	snprintf(name, sizeof(name), "%.*s", POOL_LEN, pool);
	r->pools_differ |= r->allocated && strcmp(name, r->layout->pool);
	strcpy(r->layout->pool, r->pools_differ ? "" : name);
}

/* One layout of stripes; in a composite one a component. */
static int lov_read_stripes(struct lov_reading *r, const char *data, size_t len, bool composite)
{
	struct lov_layout *l = r->layout;
	uint32_t magic = len >= V1_LEN ? lov_u32(data, 0) : 0, pattern, bytes;
	size_t header = magic == MAGIC_V3 ? V3_LEN : V1_LEN;
	unsigned count, objects;

	if (magic && magic != MAGIC_V1 && magic != MAGIC_V3)
		return -EOPNOTSUPP;
	if (!magic || len < header)
		return -EINVAL;
	pattern = lov_u32(data, AT_PATTERN);
	bytes = lov_u32(data, AT_STRIPE_BYTES);
	count = lov_u16(data, AT_STRIPE_COUNT);
	if (pattern & PATTERN_METADATA_SERVER) {
		if (composite)
			lov_append(l->components, sizeof(l->components), "on the metadata server");
		r->partial = true;
		return 0;
	}
	objects = pattern & PATTERN_RELEASED ? 0 : count;
	if (!count)
		return -ENODATA;
	if (!bytes || objects > (len - header) / OBJECT_LEN)
		return -EINVAL;
	if (composite)
		lov_append(l->components, sizeof(l->components), "%u x %u", count, bytes);
	l->stripe_bytes = !r->allocated || l->stripe_bytes == bytes ? bytes : 0;
	l->stripe_count = !r->allocated || l->stripe_count == count ? count : 0;
	lov_add_pool(r, magic == MAGIC_V3 ? data + AT_POOL : "");
	lov_add_devices(r, data + header, objects, composite);
	r->allocated++;
	return 0;
}

static void lov_name_component(struct lov_layout *l, const char *entry, bool mirrored)
{
	uint64_t start = lov_u64(entry, AT_START), end = lov_u64(entry, AT_END);

	lov_append(l->components, sizeof(l->components), "%s", l->components[0] ? "; " : "");
	if (mirrored)
		lov_append(l->components, sizeof(l->components), "mirror %u, ", lov_u32(entry, AT_ID) >> 16 & 0x7fff);
	if (lov_u32(entry, AT_FLAGS) & COMPONENT_STALE)
		lov_append(l->components, sizeof(l->components), "stale, ");
	if (end == UINT64_MAX)
		lov_append(l->components, sizeof(l->components), "%llu-: ", (unsigned long long)start);
	else
		lov_append(l->components, sizeof(l->components), "%llu-%llu: ", (unsigned long long)start, (unsigned long long)end);
}

static int lov_read_composite(struct lov_reading *r, const char *data, size_t len)
{
	unsigned n = lov_u16(data, AT_ENTRIES);
	bool mirrored = lov_u16(data, AT_MIRRORS) > 0;
	int ret = 0;

	if (n > (len - COMPOSITE_LEN) / ENTRY_LEN)
		return -EINVAL;
	for (unsigned i = 0; i < n && !ret; i++) {
		const char *entry = data + COMPOSITE_LEN + i * ENTRY_LEN;
		uint32_t offset = lov_u32(entry, AT_OFFSET), size = lov_u32(entry, AT_SIZE), flags = lov_u32(entry, AT_FLAGS);

		if (offset > len || size > len - offset)
			return -EINVAL;
		if (flags & COMPONENT_PARITY)
			continue;
		lov_name_component(r->layout, entry, mirrored);
		if (flags & COMPONENT_ALLOCATED)
			ret = lov_read_stripes(r, data + offset, size, true);
		else
			lov_append(r->layout->components, sizeof(r->layout->components), "not allocated");
		r->partial |= !(flags & COMPONENT_ALLOCATED);
	}
	return ret;
}

int lov_layout_parse(const void *attribute, size_t len, struct lov_layout *layout)
{
	struct lov_reading r = { .layout = layout };
	int ret;

	*layout = (struct lov_layout){ 0 };
	if (len < V1_LEN)
		return -EINVAL;
	if (lov_u32(attribute, 0) != MAGIC_COMPOSITE)
		ret = lov_read_stripes(&r, attribute, len, false);
	else
		ret = lov_read_composite(&r, attribute, len);
	if (!ret && !r.allocated && !layout->components[0])
		ret = -ENODATA;
	if (ret)
		*layout = (struct lov_layout){ 0 };
	if (r.partial) {
		layout->stripe_bytes = layout->stripe_count = 0;
		layout->pool[0] = 0;
	}
	return ret;
}
