/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Shared by the files that write definitions: otf2_defs.c; for processes and threads otf2_processes.c, for call sites otf2_sites.c.
 */
#ifndef IOPROBE_SINK_OTF2_DEFINITIONS_H
#define IOPROBE_SINK_OTF2_DEFINITIONS_H

#include "sink/otf2/otf2_internal.h"

/* Refs of the system tree's nodes. */
#define OTF2_NODE_MACHINE 0
#define OTF2_NODE_HOST 1

struct definitions {
	struct otf2_sink *sink;
	const struct model *model;
	OTF2_GlobalDefWriter *writer;
	bool strings_only;              /* first pass */
	OTF2_ErrorCode code;            /* first error; nothing is written after it */
	struct string_entry *strings;
	uint32_t nstrings;
	uint32_t *group_refs;           /* model group -> dense location group ref, REF_NONE if it is not written */
	uint64_t *members;              /* scratch: one per group */
	uint32_t *comm_index;           /* model group -> index in COMM_LOCATIONS, REF_NONE */
	uint64_t *comm_locations;       /* location ids of the ranks, in rank order */
	uint32_t ncomm_locations;
};

/* Writes one definition in the second pass; does nothing in the first or after an error. The arguments are not evaluated in the
 * first pass: strings must be looked up before. */
#define DEFINE(d, type, ...) do { \
	if (!(d)->strings_only && (d)->code == OTF2_SUCCESS) \
		(d)->code = otf2_library_checked(OTF2_GlobalDefWriter_Write##type((d)->writer, __VA_ARGS__)); \
} while (0)

/* Returns the ref of a text, which is written in the first pass. */
OTF2_StringRef otf2_string_ref(struct definitions *d, const char *text);
OTF2_AttributeValue otf2_string_value(struct definitions *d, const char *text);

/* Whether a location of the model gets a definition. */
bool otf2_location_kept(const struct definitions *d, size_t location);

/* Location groups and locations with their properties. */
void otf2_define_locations(struct definitions *d);

/* Functions, lines and calling contexts that events refer to. */
void otf2_define_contexts(struct definitions *d);

#endif
