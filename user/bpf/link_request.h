/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Requests of the recorder to the hold server's thread that makes links. They are answered in order by a number or -errno;
 * LINK_CLOSE and LINK_RETIRE are not answered.
 */
#ifndef IOPROBE_LINK_REQUEST_H
#define IOPROBE_LINK_REQUEST_H

#include "bpf/hold_server_internal.h"
#include "bpf/links.h"

enum link_request_kind {
	LINK_MULTI, LINK_PERF,
	LINK_CLOSE,             /* number: that of a descriptor that is not pinned */
	LINK_RETIRE,            /* program_fd: no more links will be made to it */
};

struct link_request {
	uint32_t kind;
	int32_t program_fd;
	uint32_t attach_type, is_return;
	int32_t pid;
	uint32_t n;
	int32_t number;         /* name of the pin */
	char path[68];
	uint64_t v[];           /* n offsets, n cookies */
};

#endif
