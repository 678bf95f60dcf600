/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Use of the OTF2 library for writing, by the sink and by merge: error messages, memory, flush policy.
 */
#include "otf2/otf2_library.h"
#include "util/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- errors ---- */

/* Returns 0 for success. */
static int errno_of(OTF2_ErrorCode code)
{
	switch (code) {
	case OTF2_SUCCESS: return 0;
	case OTF2_ERROR_ENOSPC: return -ENOSPC;
	case OTF2_ERROR_EDQUOT: return -EDQUOT;
	case OTF2_ERROR_EFBIG: return -EFBIG;
	case OTF2_ERROR_EMFILE: return -EMFILE;
	case OTF2_ERROR_ENFILE: return -ENFILE;
	case OTF2_ERROR_EACCES: return -EACCES;
	case OTF2_ERROR_EROFS: return -EROFS;
	case OTF2_ERROR_ENOENT: return -ENOENT;
	case OTF2_ERROR_EEXIST: return -EEXIST;
	case OTF2_ERROR_ENOMEM:
	case OTF2_ERROR_MEM_FAULT:
	case OTF2_ERROR_MEM_ALLOC_FAILED: return -ENOMEM;
	case OTF2_ERROR_INVALID_ARGUMENT: return -EINVAL;
	default: return -EIO;
	}
}

/* The library reports errors through one process-wide callback; without it it would print them. The first message of a failure
 * contains the cause ("No space left on device"), later ones only show where it propagated. */
static _Thread_local struct otf2_failure {
	OTF2_ErrorCode code;
	char text[256];
} failure;

static OTF2_ErrorCode otf2_library_on_error(void *data, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
				       const char *format, va_list ap)
{
	int n;

	(void)data, (void)file, (void)line, (void)function;
	if (failure.code != OTF2_SUCCESS || code == OTF2_WARNING || code == OTF2_DEPRECATED)
		return code;
	failure.code = code;
	n = snprintf(failure.text, sizeof(failure.text), "%s", OTF2_Error_GetDescription(code));
	if (format && n >= 0 && (size_t)n < sizeof(failure.text) - 2) {
		n += snprintf(failure.text + n, sizeof(failure.text) - n, ": ");
		vsnprintf(failure.text + n, sizeof(failure.text) - n, format, ap);
	}
	return code;
}

void otf2_library_watch(void)
{
	OTF2_Error_RegisterCallback(otf2_library_on_error, NULL);
	failure.code = OTF2_SUCCESS;
}

bool otf2_library_failed(void)
{
	return failure.code != OTF2_SUCCESS;
}

OTF2_ErrorCode otf2_library_checked(OTF2_ErrorCode code)
{
	return code != OTF2_SUCCESS ? code : failure.code;
}

const char *otf2_library_message(OTF2_ErrorCode code)
{
	return failure.code != OTF2_SUCCESS ? failure.text : OTF2_Error_GetDescription(code);
}

int otf2_library_errno(OTF2_ErrorCode code)
{
	int error = errno_of(failure.code != OTF2_SUCCESS ? failure.code : code);

	return error ? error : -EIO;
}

/* ---- memory and flush policy ---- */

/* One chunk per buffer: the library requests a second one, which is refused, and flushes. Kept over flushes, so that a flush causes
 * no page faults. Without this every location would grow to 128 MiB before its first flush. */
struct buffer_memory { void *chunk; bool taken; };

static void *chunk_allocate(void *data, OTF2_FileType type, OTF2_LocationRef location, void **buffer_data, uint64_t size)
{
	struct buffer_memory *memory = *buffer_data;

	(void)data, (void)type, (void)location;
	if (!memory) {
		memory = calloc(1, sizeof(*memory));
		if (!memory)
			return NULL;
		*buffer_data = memory;
	}
	if (memory->taken)
		return NULL;
	if (!memory->chunk)
		memory->chunk = malloc(size);
	memory->taken = memory->chunk != NULL;
	return memory->chunk;
}

static void chunks_free(void *data, OTF2_FileType type, OTF2_LocationRef location, void **buffer_data, bool final)
{
	struct buffer_memory *memory = *buffer_data;

	(void)data, (void)type, (void)location;
	if (!memory)
		return;
	memory->taken = false;
	if (!final)
		return;
	free(memory->chunk);
	free(memory);
	*buffer_data = NULL;
}

static OTF2_FlushType pre_flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
	(void)data, (void)type, (void)location, (void)caller, (void)final;
	return OTF2_FLUSH;
}

/* No post-flush callback, so no BufferFlush events: the flushes are the replay's, not the program's. */
static const OTF2_FlushCallbacks flush_callbacks = { .otf2_pre_flush = pre_flush };
static const OTF2_MemoryCallbacks memory_callbacks = { .otf2_allocate = chunk_allocate, .otf2_free_all = chunks_free };

OTF2_Archive *otf2_library_create(const char *dir, const char *name, uint64_t event_chunk_bytes, uint64_t definition_chunk_bytes)
{
	OTF2_Archive *archive = OTF2_Archive_Open(dir, name, OTF2_FILEMODE_WRITE, event_chunk_bytes, definition_chunk_bytes,
						  OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);

	if (!archive)
		return NULL;
	if (OTF2_Archive_SetFlushCallbacks(archive, &flush_callbacks, NULL) == OTF2_SUCCESS &&
	    OTF2_Archive_SetMemoryCallbacks(archive, &memory_callbacks, NULL) == OTF2_SUCCESS &&
	    OTF2_Archive_SetSerialCollectiveCallbacks(archive) == OTF2_SUCCESS &&
	    OTF2_Archive_SetCreator(archive, "ioprobe") == OTF2_SUCCESS)
		return archive;
	otf2_library_leak(archive);
	return NULL;
}

/* Reachable from here, so that leak checkers do not report it. */
void otf2_library_leak(OTF2_Archive *archive)
{
	static struct leaked { OTF2_Archive *archive; struct leaked *next; } *all;
	struct leaked *one = malloc(sizeof(*one));

	if (!one)
		return;
	*one = (struct leaked){ archive, all };
	all = one;
}

OTF2_ErrorCode otf2_library_close(OTF2_Archive *archive, OTF2_ErrorCode code)
{
	code = otf2_library_checked(code);
	if (code == OTF2_SUCCESS)
		return otf2_library_checked(OTF2_Archive_Close(archive));
	otf2_library_leak(archive);
	return code;
}

OTF2_ErrorCode otf2_library_property(OTF2_Archive *archive, const char *key, const char *value)
{
	char *printable = utf8_printable(value), name[64];
	OTF2_ErrorCode code;

	if (!printable)
		return OTF2_ERROR_ENOMEM;
	snprintf(name, sizeof(name), "IOPROBE::%s", key);
	/* an empty value would mean "remove" */
	code = OTF2_Archive_SetProperty(archive, name, *printable ? printable : " ", true);
	free(printable);
	return code;
}

const char *otf2_layer_key(char *key, size_t len, const char *prefix, const char *layer)
{
	snprintf(key, len, "%s%s", prefix, layer);
	for (char *c = key; *c; c++)
		*c = *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ? *c : '_';
	return key;
}
