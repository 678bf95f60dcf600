/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What call sites add to the archive and the files beside it: the summary repeats the whole chain of each site that calls refer to.
 */
#ifndef IOPROBE_CAPTURE_SITE_SIZES_H
#define IOPROBE_CAPTURE_SITE_SIZES_H

#include <ioprobe/record.h>
#include <stddef.h>
#include <stdint.h>

struct site_sizes {
	uint32_t *chains;               /* by a site's number: bytes of its frames in the summary, and whether they are counted */
	uint32_t *codes;                /* by a code object's number: bytes of its texts in a frame */
	size_t nchains, ncodes;
};

/* Returns the bytes that a record adds. All records are to be given, in the order in which they are drained. */
uint64_t site_sizes_add(struct site_sizes *sizes, const struct iop_rec *rec);
void site_sizes_deinit(struct site_sizes *sizes);

#endif
