/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Numbers for kernel objects. The BPF programs identify io_uring's requests, rings and registered files by address. A spool belongs
 * to the user, and kernel addresses must not be disclosed, so before it is written, each address is replaced by a number of the
 * recording: 1, 2, 3, … in order of first appearance.
 */
#ifndef IOPROBE_OBJECT_NUMBERS_H
#define IOPROBE_OBJECT_NUMBERS_H

#include <ioprobe/record.h>
#include <stddef.h>
#include <stdint.h>

struct numbered_object { uint64_t address, number; };
struct object_numbers {             /* all 0: empty */
	struct numbered_object *v;     /* open addressing */
	size_t n, cap;          /* cap is a power of 2 */
	uint64_t last;          /* the last number used */
};
union object_numbers_room {         /* for any BPF record */
	struct iop_rec rec;
	struct iop_rec_async async;
	struct iop_rec_async_end end;
	struct iop_rec_fd file;
	char bytes[1 << 16];
};

/* The kernel reuses an object's memory, so there are as many addresses as there were objects at the same time. At this many all are
 * dropped; numbers are never reused. */
#define OBJECT_NUMBERS_MAX (1u << 20)

/* Returns the number of an address, always the same one; 0 for 0, and without memory. */
uint64_t object_number(struct object_numbers *object_numbers, uint64_t address);

/* Returns the record as it may be written: itself, or a copy in room if it contains kernel addresses. */
const struct iop_rec *object_numbers_hide(struct object_numbers *object_numbers, const struct iop_rec *rec,
					  union object_numbers_room *room);

void object_numbers_deinit(struct object_numbers *object_numbers);

#endif
