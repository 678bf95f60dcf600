/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Serialised plans. Both sides are the same program with the same tables, so rows and layers are numbers.
 */
#ifndef IOPROBE_PLAN_WIRE_H
#define IOPROBE_PLAN_WIRE_H

#include "elf/plan.h"

/* A header, followed by the arrays in the order of their counts, then the texts. */
struct plan_wire {
	uint32_t npoints, nmissing, nlayers, nconstants, texts_len, stripped_static, switching, build_id_len;
	uint64_t first_vaddr, rendezvous_offset, known_abis;
	uint64_t comm_vaddr[TABLE_COMM_KINDS];
	uint64_t stream_vaddr[TABLE_STREAMS];
	uint8_t build_id[BUILD_ID_MAX];
};

#define PLAN_WIRE_NO_TEXT UINT32_MAX

struct plan_wire_point {
	uint64_t file_offset, second_offset;
	uint32_t row, kind, offset, exit_offset, frame, second_frame;
	uint32_t reason;        /* offset in the texts, PLAN_WIRE_NO_TEXT: none */
	uint32_t pad;
};

struct plan_wire_missing { uint32_t row, reason; };

struct plan_wire_layer {
	uint32_t layer;
	uint8_t parallel, known_abi, narrow, pad;
	char version[48];
};

_Static_assert(sizeof(struct plan_wire) == 168, "struct plan_wire");
_Static_assert(sizeof(struct plan_wire_point) == 48, "struct plan_wire_point");
_Static_assert(sizeof(struct plan_wire_missing) == 8, "struct plan_wire_missing");
_Static_assert(sizeof(struct plan_wire_layer) == 56, "struct plan_wire_layer");

/* The caller frees *out. Returns 0, -ENOMEM, or -E2BIG if the plan is larger than max_len. */
int plan_wire_encode(const struct plan *plan, size_t max_len, void **out, size_t *len);

/* Validates everything: any input yields either a plan whose rows, layers and texts exist and whose offsets are inside the file, or
 * -EBADMSG with the reason (static text) in *wrong, or -ENOMEM. set must outlive the plan. */
int plan_wire_decode(const void *bytes, size_t len, const struct table_set *set, uint64_t file_size, struct plan *out,
		     const char **wrong);

#endif
