/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Numbers for kernel objects. The BPF programs tell io_uring's requests, rings and registered files apart by their addresses; a spool
 * is the user's, and where the kernel has its objects is none of his business. So each address becomes a number of the recording
 * before it is written: 1, 2, 3, … in the order in which they are first met.
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
	uint64_t last;          /* the last number given */
};
union object_numbers_room {         /* for any record of the BPF programs */
	struct iop_rec rec;
	struct iop_rec_async async;
	struct iop_rec_async_end end;
	struct iop_rec_fd file;
	char bytes[1 << 16];
};

/* The kernel uses an object's memory again, so there are as many addresses as there were objects at once. At this many all are
 * forgotten; numbers are never given twice. */
#define OBJECT_NUMBERS_MAX (1u << 20)

/* The number of an address, always the same one; 0 of 0, and without memory. */
uint64_t object_number(struct object_numbers *object_numbers, uint64_t address);

/* The record as it may be written: itself, or a copy in room if it has addresses of the kernel. */
const struct iop_rec *object_numbers_hide(struct object_numbers *object_numbers, const struct iop_rec *rec, union object_numbers_room *room);

void object_numbers_deinit(struct object_numbers *object_numbers);

#endif
