/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The lifetime of an OTF2 archive: opening, the memory and flush policy, closing in an order that leaves no anchor file for an
 * incomplete archive, and removal of the files if it cannot be finished.
 */
#include "sink/otf2/otf2_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARCHIVE_NAME OTF2_ARCHIVE_NAME

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

int otf2_fail_library(struct otf2_sink *s, OTF2_ErrorCode code, const char *action)
{
	return otf2_fail(s, otf2_library_errno(code), OTF2_LIBRARY_FAILURE, s->dir, action, otf2_library_message(code));
}

int otf2_check_writer(struct otf2_sink *s)
{
	const char *message;
	int error = s->error ? 0 : otf2_writer_error(s->writer, &message);

	return error ? otf2_fail(s, error, "%s", message) : s->error;
}

/* ---- opening ---- */

static const char *const archive_files[] = { ARCHIVE_NAME ".otf2", ARCHIVE_NAME ".def", ARCHIVE_NAME };

static int refuse_existing(struct otf2_sink *s)
{
	struct stat st;
	char *path;

	if (stat(s->path, &st))
		return otf2_fail(s, -errno, "%s: cannot open the directory: %s", s->dir, strerror(errno));
	for (size_t i = 0; i < sizeof(archive_files) / sizeof(*archive_files); i++) {
		if (asprintf(&path, "%s/%s", s->path, archive_files[i]) < 0)
			return otf2_fail(s, -ENOMEM, "%s: out of memory", s->dir);
		if (!lstat(path, &st))
			otf2_fail(s, -EEXIST, "%s/%s: cannot write an archive here: it exists", s->dir, archive_files[i]);
		free(path);
		if (s->error)
			return s->error;
	}
	return 0;
}

static int archive_open(struct otf2_sink *s)
{
	OTF2_ErrorCode code;

	otf2_library_watch();
	s->archive = otf2_library_create(s->path, ARCHIVE_NAME, OTF2_CHUNK_BYTES, OTF2_CHUNK_BYTES);
	if (!s->archive)
		return otf2_fail_library(s, OTF2_ERROR_INTEGRITY_FAULT, "create the archive");
	code = OTF2_Archive_OpenEvtFiles(s->archive);
	if (code != OTF2_SUCCESS)
		return otf2_fail_library(s, code, "create the archive");
	s->writer = otf2_writer_create(s->archive, s->dir);
	return s->writer ? 0 : otf2_fail(s, -ENOMEM, "%s: out of memory", s->dir);
}

int otf2_location_open(struct otf2_sink *s, const struct model *model, uint32_t location)
{
	const struct otf2_writer_settings settings = { .tag = model->recording_tag, .whole_job = s->whole_job,
						       .unaligned_ref = otf2_attribute_ref(model, ATTRIBUTE_UNALIGNED) };
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
	if (!l->kept)
		otf2_writer_open(s->writer, location, model->locations.v[location].id, &settings);
	l->kept = true;
	return 0;
}

/* ---- closing ---- */

/* The library keeps a chunk of memory and a descriptor for each open location. */
static int otf2_location_end(struct sink *sink, const struct model *model, uint32_t location)
{
	struct otf2_sink *s = (struct otf2_sink *)sink;

	(void)model;
	if (s->error || !s->archive || location >= s->nlocations || !s->locations[location].kept || s->locations[location].closed)
		return s->error;
	otf2_writer_close(s->writer, location);
	s->locations[location].closed = true;
	return otf2_check_writer(s);
}

static int close_events(struct otf2_sink *s)
{
	for (uint32_t i = 0; i < s->nlocations; i++)
		otf2_location_end(&s->sink, NULL, i);
	otf2_writer_finish(s->writer);
	return otf2_check_writer(s);
}

/* Readers log an error for every location without a .def file, even an empty one. */
static int write_local_definitions(struct otf2_sink *s, const struct model *model)
{
	OTF2_ErrorCode code = otf2_library_checked(OTF2_Archive_CloseEvtFiles(s->archive));

	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_OpenDefFiles(s->archive);
	for (size_t i = 0; i < s->nlocations && code == OTF2_SUCCESS; i++) {
		OTF2_DefWriter *writer;

		if (!s->locations[i].kept)
			continue;
		writer = OTF2_Archive_GetDefWriter(s->archive, model->locations.v[i].id);
		code = writer ? otf2_library_checked(OTF2_Archive_CloseDefWriter(s->archive, writer)) : OTF2_ERROR_INTEGRITY_FAULT;
	}
	if (code == OTF2_SUCCESS)
		code = otf2_library_checked(OTF2_Archive_CloseDefFiles(s->archive));
	if (code != OTF2_SUCCESS)
		return otf2_fail_library(s, code, "write the definitions of a location");
	return 0;
}

static void remove_files(const struct otf2_sink *s)
{
	int dir = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	otf2_archive_remove(dir);
	close(dir);
}

/* Closing is the only way to free the library's memory, and it writes an anchor file: that is removed first. After an error the
 * library uses buffers that it has freed: then the archive is not touched any more. */
static void archive_abandon(struct otf2_sink *s)
{
	if (!s->archive)
		return;
	if (s->writer) {
		otf2_writer_finish(s->writer);
		otf2_check_writer(s);
	}
	if (s->error)
		otf2_library_leak(s->archive);
	else
		OTF2_Archive_Close(s->archive);
	s->archive = NULL;
	remove_files(s);
}

static int archive_finish(struct otf2_sink *s, const struct model *model)
{
	OTF2_ErrorCode code;
	int error = otf2_keep_members(s, model);

	if (!error)
		error = close_events(s);
	if (!error)
		error = write_local_definitions(s, model);
	if (!error)
		error = otf2_definitions_write(s, model);
	if (!error)
		error = otf2_properties_write(s, model);
	if (!error && otf2_library_failed())
		error = otf2_fail_library(s, OTF2_SUCCESS, "write the definitions");
	if (error)
		return error;
	code = otf2_library_checked(OTF2_Archive_Close(s->archive));
	if (code != OTF2_SUCCESS)
		return otf2_fail_library(s, code, "write the anchor");
	s->archive = NULL;
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

static int otf2_create(struct sink **out, const char *path, const char *dir, char *err, size_t err_len)
{
	struct otf2_sink *s = calloc(1, sizeof(*s));
	int error = -ENOMEM;

	*out = NULL;
	if (err_len)
		snprintf(err, err_len, "%s: out of memory", dir);
	if (!s || !(s->dir = strdup(dir)) || !(s->path = strdup(path)))
		goto fail;
	s->sink.event = otf2_event;
	s->sink.finish = otf2_finish;
	s->sink.location_end = otf2_location_end;
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

int otf2_sink_create(struct sink **out, const char *dir, char *err, size_t err_len)
{
	return otf2_create(out, dir, dir, err, err_len);
}

int otf2_sink_create_here(struct sink **out, const char *shown, char *err, size_t err_len)
{
	return otf2_create(out, ".", shown, err, err_len);
}

void otf2_sink_destroy(struct sink *sink)
{
	struct otf2_sink *s = (struct otf2_sink *)sink;

	if (!s)
		return;
	archive_abandon(s);
	otf2_writer_destroy(s->writer);
	free(s->locations);
	free(s->region_refs);
	otf2_sites_deinit(s);
	free(s->regions);
	free(s->dir);
	free(s->path);
	free(s);
}

bool otf2_sink_start_thread(struct sink *sink)
{
	return otf2_writer_start(((struct otf2_sink *)sink)->writer);
}

void otf2_sink_whole_job(struct sink *sink)
{
	((struct otf2_sink *)sink)->whole_job = true;
}

const char *otf2_sink_error(const struct sink *sink)
{
	const struct otf2_sink *s = (const struct otf2_sink *)sink;

	return s && s->error ? s->message : NULL;
}
