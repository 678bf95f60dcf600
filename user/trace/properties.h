/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Properties of an archive.
 */
#ifndef IOPROBE_TRACE_PROPERTIES_H
#define IOPROBE_TRACE_PROPERTIES_H

#include <otf2/otf2.h>

#include "trace/trace.h"

/* Fills the trace's fields that come from archive properties. Returns 0 or -ENOMEM. */
int trace_properties_read(struct trace *trace, OTF2_Reader *reader);

#endif
