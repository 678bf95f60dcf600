/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The life of one OTF2 archive: opening, the memory and flush policy, closing in the order that leaves no anchor behind a
 * broken archive, removal of what was written when it cannot be finished.
 */
#include "sink/otf2_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARCHIVE_NAME "traces"

/* The smallest that the library takes: it clears a chunk for each file, also for the empty .def of a location. A record must fit in
 * one: the longest, the group of all ranks of a node, has room for 26 000. */
#define CHUNK_BYTES (256 * 1024)

/* ---- errors ---- */

int otf2_fail(struct otf2_sink *sink, int error, const char *format, ...)
{
	va_list ap;

	if (sink->error)
		return sink->error;
	sink->error = error;
	va_start(ap, format);
	vsnprintf(sink->message, sizeof(sink->message), format, ap);
	va_end(ap);
	return error;
}

int otf2_errno(OTF2_ErrorCode code)
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

/* The library reports through one process-wide callback; without it it would print. The first message of a failure has the
 * cause ("No space left on device"), the ones after it only say who gave up. */
static _Thread_local struct otf2_library_error {
	OTF2_ErrorCode code;
	char text[256];
} library_error;

static OTF2_ErrorCode on_library_error(void *data, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
				       const char *format, va_list ap)
{
	int n;

	(void)data, (void)file, (void)line, (void)function;
	if (library_error.code != OTF2_SUCCESS || code == OTF2_WARNING || code == OTF2_DEPRECATED)
		return code;
	library_error.code = code;
	n = snprintf(library_error.text, sizeof(library_error.text), "%s", OTF2_Error_GetDescription(code));
	if (format && n >= 0 && (size_t)n < sizeof(library_error.text) - 2) {
		n += snprintf(library_error.text + n, sizeof(library_error.text) - n, ": ");
		vsnprintf(library_error.text + n, sizeof(library_error.text) - n, format, ap);
	}
	return code;
}

int otf2_fail_library(struct otf2_sink *s, OTF2_ErrorCode code, const char *action)
{
	int error = otf2_errno(library_error.code != OTF2_SUCCESS ? library_error.code : code);

	if (!error)
		error = -EIO;
	return otf2_fail(s, error, "%s/" ARCHIVE_NAME ".otf2: cannot %s: %s", s->dir, action,
			 library_error.code != OTF2_SUCCESS ? library_error.text : OTF2_Error_GetDescription(code));
}

/* ---- memory and flush policy ---- */

/* One chunk per buffer: the library asks for a second one, is refused, and flushes. Kept over flushes, so that a flush costs
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

/* No post-flush callback, so no BufferFlush events: flushes here are the replay's, not the program's. */
static const OTF2_FlushCallbacks flush_callbacks = { .otf2_pre_flush = pre_flush };
static const OTF2_MemoryCallbacks memory_callbacks = { .otf2_allocate = chunk_allocate, .otf2_free_all = chunks_free };

/* ---- opening ---- */

static const char *const archive_files[] = { ARCHIVE_NAME ".otf2", ARCHIVE_NAME ".def", ARCHIVE_NAME };

static int refuse_existing(struct otf2_sink *s)
{
	struct stat st;
	char *path;

	if (stat(s->dir, &st))
		return otf2_fail(s, -errno, "%s: cannot open the directory: %s", s->dir, strerror(errno));
	for (size_t i = 0; i < sizeof(archive_files) / sizeof(*archive_files); i++) {
		if (asprintf(&path, "%s/%s", s->dir, archive_files[i]) < 0)
			return otf2_fail(s, -ENOMEM, "%s: out of memory", s->dir);
		if (!lstat(path, &st))
			otf2_fail(s, -EEXIST, "%s: cannot write an archive here: it exists", path);
		free(path);
		if (s->error)
			return s->error;
	}
	return 0;
}

static int archive_open(struct otf2_sink *s)
{
	OTF2_ErrorCode code;

	OTF2_Error_RegisterCallback(on_library_error, NULL);
	library_error.code = OTF2_SUCCESS;
	s->archive = OTF2_Archive_Open(s->dir, ARCHIVE_NAME, OTF2_FILEMODE_WRITE, CHUNK_BYTES, CHUNK_BYTES,
				       OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (!s->archive)
		return otf2_fail_library(s, OTF2_ERROR_INTEGRITY_FAULT, "create the archive");
	code = OTF2_Archive_SetFlushCallbacks(s->archive, &flush_callbacks, NULL);
	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_SetMemoryCallbacks(s->archive, &memory_callbacks, NULL);
	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_SetSerialCollectiveCallbacks(s->archive);
	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_SetCreator(s->archive, "ioprobe");
	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_OpenEvtFiles(s->archive);
	if (code != OTF2_SUCCESS)
		return otf2_fail_library(s, code, "create the archive");
	s->attributes = OTF2_AttributeList_New();
	return s->attributes ? 0 : otf2_fail(s, -ENOMEM, "%s: out of memory", s->dir);
}

int otf2_location_open(struct otf2_sink *s, const struct model *model, uint32_t location)
{
	struct otf2_location *l;

	if (location >= model->locations.n || model->locations.v[location].group >= model->groups.n)
		return otf2_fail(s, -EINVAL, "%s: event of an undefined location %u", s->dir, location);
	if (location >= s->nlocations) {
		size_t n = model->locations.n > 2 * s->nlocations ? model->locations.n : 2 * s->nlocations;

		l = realloc(s->locations, n * sizeof(*l));
		if (!l)
			return otf2_fail(s, -ENOMEM, "%s: out of memory for %zu locations", s->dir, n);
		memset(l + s->nlocations, 0, (n - s->nlocations) * sizeof(*l));
		s->locations = l;
		s->nlocations = n;
	}
	l = &s->locations[location];
	l->kept = true;
	if (l->writer)
		return 0;
	library_error.code = OTF2_SUCCESS;
	l->writer = OTF2_Archive_GetEvtWriter(s->archive, model->locations.v[location].id);
	return l->writer ? 0 : otf2_fail_library(s, OTF2_ERROR_INTEGRITY_FAULT, "write a location");
}

/* ---- closing ---- */

static int close_events(struct otf2_sink *s)
{
	for (size_t i = 0; i < s->nlocations; i++) {
		struct otf2_location *l = &s->locations[i];
		OTF2_ErrorCode code;

		if (!l->writer)
			continue;
		code = OTF2_EvtWriter_GetNumberOfEvents(l->writer, &l->events);
		if (code == OTF2_SUCCESS)
			code = OTF2_Archive_CloseEvtWriter(s->archive, l->writer);
		l->writer = NULL;
		if (code != OTF2_SUCCESS || library_error.code != OTF2_SUCCESS)
			return otf2_fail_library(s, code, "write the events of a location");
	}
	return 0;
}

/* Readers log an error for every location without a .def file, be it empty. */
static int write_local_definitions(struct otf2_sink *s, const struct model *model)
{
	OTF2_ErrorCode code = OTF2_Archive_CloseEvtFiles(s->archive);

	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_OpenDefFiles(s->archive);
	for (size_t i = 0; i < s->nlocations && code == OTF2_SUCCESS; i++) {
		OTF2_DefWriter *writer;

		if (!s->locations[i].kept)
			continue;
		writer = OTF2_Archive_GetDefWriter(s->archive, model->locations.v[i].id);
		code = writer ? OTF2_Archive_CloseDefWriter(s->archive, writer) : OTF2_ERROR_INTEGRITY_FAULT;
	}
	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_CloseDefFiles(s->archive);
	if (code != OTF2_SUCCESS || library_error.code != OTF2_SUCCESS)
		return otf2_fail_library(s, code, "write the definitions of a location");
	return 0;
}

static void remove_archive_files(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	DIR *sub;
	int sub_fd;

	if (fd < 0)
		return;
	unlinkat(fd, ARCHIVE_NAME ".otf2", 0);
	unlinkat(fd, ARCHIVE_NAME ".def", 0);
	sub_fd = openat(fd, ARCHIVE_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	sub = sub_fd >= 0 ? fdopendir(sub_fd) : NULL;
	while (sub && (entry = readdir(sub)))
		if (entry->d_name[0] != '.')
			unlinkat(sub_fd, entry->d_name, 0);
	if (sub)
		closedir(sub);
	else if (sub_fd >= 0)
		close(sub_fd);
	unlinkat(fd, ARCHIVE_NAME, AT_REMOVEDIR);
	close(fd);
}

/* Closing is the only way to give the library's memory back, and writes an anchor: it goes first. */
static void archive_abandon(struct otf2_sink *s)
{
	if (!s->archive)
		return;
	OTF2_Archive_Close(s->archive);
	s->archive = NULL;
	remove_archive_files(s->dir);
}

static int archive_finish(struct otf2_sink *s, const struct model *model)
{
	OTF2_ErrorCode code;
	int error;

	library_error.code = OTF2_SUCCESS;
	error = otf2_keep_members(s, model);
	if (!error)
		error = close_events(s);
	if (!error)
		error = write_local_definitions(s, model);
	if (!error)
		error = otf2_definitions_write(s, model);
	if (!error)
		error = otf2_properties_write(s, model);
	if (!error && library_error.code != OTF2_SUCCESS)
		error = otf2_fail_library(s, library_error.code, "write the definitions");
	if (error)
		return error;
	code = OTF2_Archive_Close(s->archive);
	s->archive = NULL;
	if (code != OTF2_SUCCESS || library_error.code != OTF2_SUCCESS) {
		remove_archive_files(s->dir);
		return otf2_fail_library(s, code, "write the anchor");
	}
	return 0;
}

static int otf2_finish(struct sink *sink, const struct model *model)
{
	struct otf2_sink *s = (struct otf2_sink *)sink;
	int error = s->error;

	if (!s->archive && !error)
		return otf2_fail(s, -EBADF, "%s: the archive is finished", s->dir);
	if (!error)
		error = archive_finish(s, model);
	if (error)
		archive_abandon(s);
	return error;
}

int otf2_sink_create(struct sink **out, const char *dir, char *err, size_t err_len)
{
	struct otf2_sink *s = calloc(1, sizeof(*s));
	int error = -ENOMEM;

	*out = NULL;
	if (err_len)
		snprintf(err, err_len, "%s: out of memory", dir);
	if (!s || !(s->dir = strdup(dir)))
		goto fail;
	s->sink.event = otf2_event;
	s->sink.finish = otf2_finish;
	s->first_ns = UINT64_MAX;
	error = refuse_existing(s);
	if (!error)
		error = archive_open(s);
	if (error)
		goto fail;
	if (err_len)
		err[0] = '\0';
	*out = &s->sink;
	return 0;
fail:
	if (s && s->error)
		snprintf(err, err_len, "%s", s->message);
	otf2_sink_destroy(s ? &s->sink : NULL);
	return error;
}

void otf2_sink_destroy(struct sink *sink)
{
	struct otf2_sink *s = (struct otf2_sink *)sink;

	if (!s)
		return;
	archive_abandon(s);
	if (s->attributes)
		OTF2_AttributeList_Delete(s->attributes);
	free(s->locations);
	free(s->region_refs);
	free(s->regions);
	free(s->dir);
	free(s);
}

const char *otf2_sink_error(const struct sink *sink)
{
	const struct otf2_sink *s = (const struct otf2_sink *)sink;

	return s && s->error ? s->message : NULL;
}
