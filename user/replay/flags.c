/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Open modes and flags of the layers to OTF2's enums; the equivalents are those in OTF2's documentation of each flag.
 */
#include "replay/flags.h"

#include <fcntl.h>
#include <otf2/OTF2_Definitions.h>
#include <otf2/OTF2_Events.h>
#include <string.h>

#ifndef O_TMPFILE
#define O_TMPFILE (020000000 | O_DIRECTORY)
#endif

uint8_t flags_posix_mode(int64_t flags)
{
	switch (flags & O_ACCMODE) {
	case O_WRONLY: return OTF2_IO_ACCESS_MODE_WRITE_ONLY;
	case O_RDWR: return OTF2_IO_ACCESS_MODE_READ_WRITE;
	default: return OTF2_IO_ACCESS_MODE_READ_ONLY;
	}
}

/* The first line whose bits are all set consumes them: O_SYNC contains O_DSYNC, O_TMPFILE contains O_DIRECTORY. */
struct bits { int64_t posix; uint32_t otf2; };

static uint32_t map_bits(const struct bits *bits, size_t n, int64_t flags)
{
	uint32_t out = 0;

	for (size_t i = 0; i < n; i++) {
		if (!bits[i].posix || (flags & bits[i].posix) != bits[i].posix)
			continue;
		out |= bits[i].otf2;
		flags &= ~bits[i].posix;
	}
	return out;
}

uint32_t flags_posix_creation(int64_t flags)
{
	static const struct bits bits[] = {
		{ O_TMPFILE, OTF2_IO_CREATION_FLAG_TEMPORARY_FILE }, { O_CREAT, OTF2_IO_CREATION_FLAG_CREATE },
		{ O_TRUNC, OTF2_IO_CREATION_FLAG_TRUNCATE }, { O_DIRECTORY, OTF2_IO_CREATION_FLAG_DIRECTORY },
		{ O_EXCL, OTF2_IO_CREATION_FLAG_EXCLUSIVE }, { O_NOCTTY, OTF2_IO_CREATION_FLAG_NO_CONTROLLING_TERMINAL },
		{ O_NOFOLLOW, OTF2_IO_CREATION_FLAG_NO_FOLLOW }, { O_PATH, OTF2_IO_CREATION_FLAG_PATH },
		{ O_LARGEFILE, OTF2_IO_CREATION_FLAG_LARGEFILE },
	};

	return map_bits(bits, sizeof(bits) / sizeof(bits[0]), flags);
}

uint32_t flags_posix_status(int64_t flags)
{
	static const struct bits bits[] = {
		{ O_CLOEXEC, OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC }, { O_APPEND, OTF2_IO_STATUS_FLAG_APPEND },
		{ O_NONBLOCK, OTF2_IO_STATUS_FLAG_NON_BLOCKING }, { O_ASYNC, OTF2_IO_STATUS_FLAG_ASYNC },
		{ O_SYNC, OTF2_IO_STATUS_FLAG_SYNC }, { O_DSYNC, OTF2_IO_STATUS_FLAG_DATA_SYNC },
		{ O_DIRECT, OTF2_IO_STATUS_FLAG_AVOID_CACHING }, { O_NOATIME, OTF2_IO_STATUS_FLAG_NO_ACCESS_TIME },
	};

	return map_bits(bits, sizeof(bits) / sizeof(bits[0]), flags);
}

static bool mode_has(struct str mode, char c)
{
	size_t n = 0;

	while (n < mode.len && mode.p[n] != ',')        /* ",ccs=" follows */
		n++;
	return n && memchr(mode.p, c, n);
}

void flags_stream(struct str mode, uint8_t *access, uint32_t *creation, uint32_t *status)
{
	char first = mode.len ? mode.p[0] : 'r';

	*access = first == 'r' ? OTF2_IO_ACCESS_MODE_READ_ONLY : OTF2_IO_ACCESS_MODE_WRITE_ONLY;
	if (!mode.len || mode_has(mode, '+'))
		*access = OTF2_IO_ACCESS_MODE_READ_WRITE;
	if (first == 'w' || first == 'a')
		*creation |= OTF2_IO_CREATION_FLAG_CREATE;
	if (first == 'w')
		*creation |= OTF2_IO_CREATION_FLAG_TRUNCATE;
	if (mode_has(mode, 'x'))
		*creation |= OTF2_IO_CREATION_FLAG_EXCLUSIVE;
	if (first == 'a')
		*status |= OTF2_IO_STATUS_FLAG_APPEND;
	if (mode_has(mode, 'e'))
		*status |= OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC;
}

static const struct table_flag *layer_flag(const struct table_layer *layer, const char *name)
{
	for (size_t i = 0; i < layer->nflags; i++)
		if (!strcmp(layer->flags[i].name, name))
			return &layer->flags[i];
	return NULL;
}

static bool has_flag(const struct table_layer *layer, const char *name, uint64_t flags)
{
	const struct table_flag *flag = layer_flag(layer, name);

	return flag && flag->value && (flags & flag->value) == flag->value;
}

static uint8_t layer_access(const struct table_layer *layer, uint64_t flags)
{
	static const struct { const char *name; uint8_t mode; } modes[] = {
		{ "READ_WRITE", OTF2_IO_ACCESS_MODE_READ_WRITE }, { "WRITE_ONLY", OTF2_IO_ACCESS_MODE_WRITE_ONLY },
		{ "READ_ONLY", OTF2_IO_ACCESS_MODE_READ_ONLY },
	};
	const struct table_flag *mask = layer_flag(layer, "ACCESS_MASK");

	for (size_t i = 0; i < 3; i++) {
		const struct table_flag *flag = layer_flag(layer, modes[i].name);

		if (flag && (flags & (mask ? mask->value : flag->value)) == flag->value)
			return modes[i].mode;
	}
	return OTF2_IO_ACCESS_MODE_READ_WRITE;
}

/* A library may write a file that it creates, whatever its access flags. */
void flags_layer(const struct table_layer *layer, int64_t flags, bool create, uint8_t *access, uint32_t *creation, uint32_t *status)
{
	static const struct { const char *name; uint32_t creation, status; } names[] = {
		{ "CREATE", OTF2_IO_CREATION_FLAG_CREATE, 0 }, { "EXCL", OTF2_IO_CREATION_FLAG_EXCLUSIVE, 0 },
		{ "TRUNC", OTF2_IO_CREATION_FLAG_TRUNCATE, 0 }, { "SEQUENTIAL", OTF2_IO_CREATION_FLAG_NO_SEEK, 0 },
		{ "UNIQUE", OTF2_IO_CREATION_FLAG_UNIQUE, 0 }, { "APPEND", 0, OTF2_IO_STATUS_FLAG_APPEND },
		{ "DELETE_ON_CLOSE", 0, OTF2_IO_STATUS_FLAG_DELETE_ON_CLOSE },
	};

	*access = create ? OTF2_IO_ACCESS_MODE_READ_WRITE : layer_access(layer, flags);
	if (create)
		*creation |= OTF2_IO_CREATION_FLAG_CREATE;
	/* a library with a flag against overwriting but none for truncation truncates the files that it creates (nc_create) */
	if (create && layer_flag(layer, "EXCL") && !layer_flag(layer, "TRUNC") && !has_flag(layer, "EXCL", flags))
		*creation |= OTF2_IO_CREATION_FLAG_TRUNCATE;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!has_flag(layer, names[i].name, flags))
			continue;
		*creation |= names[i].creation;
		*status |= names[i].status;
	}
}

bool flags_others_write(const struct table_layer *layer, int64_t flags)
{
	return has_flag(layer, "OTHERS_WRITE", flags);
}

uint8_t flags_whence(const struct table_layer *layer, int64_t whence)
{
	const struct table_flag *current = layer_flag(layer, "SEEK_CUR"), *end = layer_flag(layer, "SEEK_END");

	if (current && whence == (int64_t)current->value)
		return OTF2_IO_SEEK_FROM_CURRENT;
	if (end && whence == (int64_t)end->value)
		return OTF2_IO_SEEK_FROM_END;
	if (current)
		return OTF2_IO_SEEK_FROM_START;
	switch (whence) {
	case SEEK_CUR: return OTF2_IO_SEEK_FROM_CURRENT;
	case SEEK_END: return OTF2_IO_SEEK_FROM_END;
	case SEEK_DATA: return OTF2_IO_SEEK_DATA;
	case SEEK_HOLE: return OTF2_IO_SEEK_HOLE;
	default: return OTF2_IO_SEEK_FROM_START;
	}
}
