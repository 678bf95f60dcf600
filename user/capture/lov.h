/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Lustre's layout of a file, as its clients give it in the extended attribute lustre.lov: struct lov_user_md_v1 and _v3, and
 * composite layouts (struct lov_comp_md_v1) of them, in lustre/include/uapi/linux/lustre/lustre_user.h.
 */
#ifndef IOPROBE_CAPTURE_LOV_H
#define IOPROBE_CAPTURE_LOV_H

#include <stddef.h>
#include <stdint.h>

#define LOV_ATTRIBUTE "lustre.lov"

/* What is not the same in all components is 0, and so are size, count and pool where some are not allocated yet: what those get is
 * not known. A text that is too long ends with "...". */
struct lov_layout {
	uint64_t stripe_bytes;
	uint32_t stripe_count;
	char devices[512];      /* indices of the object storage targets in the order of the stripes, each once: "3,7,1" */
	char pool[32];          /* "": none, or several */
	char components[1024];  /* of a composite layout: "0-1048576: 1 x 1048576 on 3; 1048576-: 4 x 4194304 on 3,7,1"; else "" */
};

/* Returns 0, -ENODATA if nothing is allocated, -EOPNOTSUPP for a kind of layout that is not known, or -EINVAL for one that is
 * damaged. */
int lov_layout_parse(const void *attribute, size_t len, struct lov_layout *layout);

#endif
