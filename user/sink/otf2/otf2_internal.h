/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * State shared by the files of the OTF2 sink: otf2.c (lifetime of an archive), otf2_events.c (events), otf2_defs.c (definitions).
 * otf2_writer.c has a state of its own.
 */
#ifndef IOPROBE_SINK_OTF2_INTERNAL_H
#define IOPROBE_SINK_OTF2_INTERNAL_H

#include <otf2/otf2.h>

#include "model/model.h"
#include "sink/otf2/otf2.h"
#include "sink/otf2/otf2_writer.h"
#include "otf2/otf2_library.h"

/* Refs of the attributes. */
enum otf2_attribute {
	ATTRIBUTE_OFFSET, /* "Offset", uint64, on IoOperationBegin */
	ATTRIBUTE_ERRNO, /* "errno", int32, on the Leave of a failed call, or the Complete of an asynchronous one, if it is known */
	ATTRIBUTE_FAILED, /* "Failed", uint8 1, on the Leave of a failed call without a code */
	ATTRIBUTE_ABANDONED, /* "Abandoned", uint8 1, on the Leave of a call that was left without a return */
	ATTRIBUTE_MAPPED_HANDLE, /* "Mapped handle", I/O handle, */
	ATTRIBUTE_MAPPED_BYTES, /* "Mapped bytes", uint64, and */
	ATTRIBUTE_MAPPED_OFFSET, /* "Mapped offset", uint64, on the Leave of an mmap of a file */
	ATTRIBUTE_DEVICE, /* "Device read", uint64, and */
	ATTRIBUTE_WAIT, /* "I/O wait", uint64, on the Leave of a system call that read from a device or waited */
	ATTRIBUTE_VARIABLE, /* "Variable", string, on IoOperationBegin of an operation on a variable whose name is known */
	ATTRIBUTE_LOCK_OFFSET, /* "Lock Offset", "Lock Length", uint64, on the events of locks of a part of a file */
	ATTRIBUTE_LOCK_LENGTH,
	/* "Path" and "Directory", strings, on the Leave of a call on a name: as given, and where a relative one begins; */
	ATTRIBUTE_PATH,
	ATTRIBUTE_DIRECTORY,
	ATTRIBUTE_NEW_PATH, /* "New Path", "New Directory": the second one of a call on two (rename, link) */
	ATTRIBUTE_NEW_DIRECTORY,
	ATTRIBUTE_REQUEST, /* "Request", uint64, on IoOperationBegin of a helper thread: matching id of the request's operation */
	ATTRIBUTE_ALWAYS, /* those before are defined in every archive, the next two where call sites or CPU times were recorded: */
	ATTRIBUTE_SOURCE_CODE_LOCATION = ATTRIBUTE_ALWAYS, /* line of the application, and */
	ATTRIBUTE_CALLING_CONTEXT, /* the chain of functions, on the Enter of an outermost call */
	ATTRIBUTE_SITES_END, /* the others where CPU times were recorded: */
	/* "CPU time", uint64 as the others, on the Leave of an outermost call if it is known; of the rest of the call's time */
	ATTRIBUTE_CPU_TIME = ATTRIBUTE_SITES_END,
	ATTRIBUTE_SLEEP, /* "Sleep", of that */
	ATTRIBUTE_SLEEP_IO, /* "Sleep for I/O", and */
	ATTRIBUTE_DELAY, /* "Run delay": absent if 0, or if the kernel does not distinguish sleep and run delay; of the CPU time */
	ATTRIBUTE_USER, /* "User time" and */
	ATTRIBUTE_SYSTEM, /* "System time", by the kernel's clock tick: absent if 0; */
	ATTRIBUTE_BEFORE, /* "Sleep before", since the thread's previous outermost call, if it is known; then */
	ATTRIBUTE_BEFORE_DELAY, /* "Run delay before": absent if 0 */
	ATTRIBUTE_CPU_END,
	/* "Unaligned buffer", uint8 1, on IoOperationBegin, where the recorder looked at buffers; its ref: otf2_attribute_ref() */
	ATTRIBUTE_UNALIGNED = ATTRIBUTE_CPU_END,
	ATTRIBUTE_COUNT,
};

/* Refs for a model's array: its used elements in the order of first use, and the ref of each, REF_NONE: unused. NULL: none is
 * used. */
struct otf2_refs { uint32_t *ref, *v, n; };
#define OTF2_MAX_CONTEXTS 4096  /* frames of a chain including inlined ones: 2 * IOP_SITE_MAX_FRAMES addresses with up to 16 each */

/* One per model location, same index. */
struct otf2_location {
	uint64_t last_ns;
	bool kept;                      /* it was opened and gets a definition */
	bool closed;                    /* finished: the library would overwrite its file */
};

struct otf2_sink {
	struct sink sink;               /* first member: the public interface */
	char *dir;                      /* as shown in messages */
	char *path;                     /* as passed to the library and to system calls */
	OTF2_Archive *archive;
	struct otf2_writer *writer;
	struct otf2_location *locations;
	size_t nlocations;
	uint32_t *region_refs;          /* model region -> dense OTF2 ref in order of first use, REF_NONE if unused */
	size_t nregion_refs;
	uint32_t *regions;              /* OTF2 ref -> model region */
	uint32_t nregions, cap_regions;
	struct otf2_refs contexts, lines;       /* of model.contexts and model.code_lines */
	bool whole_job;                 /* then the recording's tag is not used */
	uint64_t first_ns, last_ns;     /* of all events written; first_ns UINT64_MAX if there are none */
	int error;                      /* first error, a negative errno */
	char message[512];
};

/* Records the first error and returns it. */
int otf2_fail(struct otf2_sink *sink, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Of an archive's directory, what could not be done, and why. */
#define OTF2_LIBRARY_FAILURE "%s/" OTF2_ARCHIVE_NAME ".otf2: cannot %s: %s"

/* The same with the library's description of code; action completes "cannot …". */
int otf2_fail_library(struct otf2_sink *sink, OTF2_ErrorCode code, const char *action);

/* Returns the ref of an attribute in the archive of a model, whose options are known: refs have no gaps. */
uint32_t otf2_attribute_ref(const struct model *model, enum otf2_attribute attribute);

/* Records the first error of the writer, if there is one. Returns the first error of all. */
int otf2_check_writer(struct otf2_sink *sink);

/* Opens the location if it is not, and so marks it as kept. */
int otf2_location_open(struct otf2_sink *sink, const struct model *model, uint32_t location);

int otf2_event(struct sink *sink, const struct model *model, const struct model_event *event);

/* Passes a call's site, as in its Enter, to the writer. Returns 0 or -ENOMEM. */
int otf2_sites_add(struct otf2_sink *sink, const struct model *model, uint32_t site);
void otf2_sites_deinit(struct otf2_sink *sink);

/* Opens a location for every member of a communicator, even if the rank has no events: the group definition refers to a location.
 * If there are no events at all, opens every location of the model. */
int otf2_keep_members(struct otf2_sink *sink, const struct model *model);

/* Writes all definitions; the locations' event counts are known. Returns 0 or -errno. */
int otf2_definitions_write(struct otf2_sink *sink, const struct model *model);

/* Losses, notes and totals as archive properties "IOPROBE::…". */
int otf2_properties_write(struct otf2_sink *sink, const struct model *model);

#endif
