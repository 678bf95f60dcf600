/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The OTF2 library as used by the sink and by merge.
 */
#ifndef IOPROBE_SINK_OTF2_LIBRARY_H
#define IOPROBE_SINK_OTF2_LIBRARY_H

#include <otf2/otf2.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

/* The library's minimum: it clears a chunk for each file, even for the empty .def of a location. A record must fit in one chunk:
 * the longest, the group of all ranks of a node, has room for 26 000. */
#define OTF2_CHUNK_BYTES (256 * 1024)
#define OTF2_CHUNK_BYTES_MAX (16 * 1024 * 1024)

/* Properties of a rank's location group: its rank, the number of ranks of its launch on all nodes (both uint32), the name of the
 * launch (string). */
#define OTF2_PROPERTY_RANK "IOPROBE::RANK"
#define OTF2_PROPERTY_SIZE "IOPROBE::LAUNCH_SIZE"
#define OTF2_PROPERTY_LAUNCH "IOPROBE::LAUNCH"

/* Value of the archive properties IOPROBE::CLOCK_START and _END: five numbers, and "yes", "no" or "unknown". */
#define OTF2_CLOCK_FORMAT \
	"monotonic_ns=%" PRIu64 " realtime_ns=%" PRIu64 " width_ns=%" PRIu64 " synchronized=%s error_ns=%" PRIu64 \
	" max_error_ns=%" PRIu64

/* From here on the thread's first error inside the library is stored instead of printed. */
void otf2_library_watch(void);
bool otf2_library_failed(void);
/* Returns code, or the stored error if the call itself reported success: a flush that fails is not reported to the call that
 * triggered it. */
OTF2_ErrorCode otf2_library_checked(OTF2_ErrorCode code);
/* Returns the error as text and as negative errno (never 0); derived from code if the library stored no error. */
const char *otf2_library_message(OTF2_ErrorCode code);
int otf2_library_errno(OTF2_ErrorCode code);

/* Creates an archive that needs one chunk of memory per open file and is written by this process alone. Returns NULL on failure. */
OTF2_Archive *otf2_library_create(const char *dir, const char *name, uint64_t event_chunk_bytes, uint64_t definition_chunk_bytes);

/* Keeps an archive for which a call has failed: the library must not be called for it again, not even to close it (it uses freed
 * buffers). */
void otf2_library_leak(OTF2_Archive *archive);

/* Closes an archive, unless a call for it has failed (code, or a stored error): then it is leaked. Returns the first error. */
OTF2_ErrorCode otf2_library_close(OTF2_Archive *archive, OTF2_ErrorCode code);

/* Sets the archive's property IOPROBE::key. */
/* The key of a property that there is for each layer: only capitals, digits and "_" are allowed in it. Returns key. */
const char *otf2_layer_key(char *key, size_t len, const char *prefix, const char *layer);

OTF2_ErrorCode otf2_library_property(OTF2_Archive *archive, const char *key, const char *value);

#endif
