/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the replay precomputes for each row of the probe tables.
 */
#ifndef IOPROBE_REPLAY_ROW_STATE_H
#define IOPROBE_REPLAY_ROW_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "table/table.h"

#define MAX_ROLES (ROLE_LAST + 1)

struct row_info {
	int8_t arg[MAX_ROLES];          /* captured index, -1 */
	uint8_t nout, nstrings;
	uint8_t out[IOP_MAX_ARGS];      /* captured indexes of OUT arguments */
	uint8_t strings[IOP_MAX_ARGS];  /* of STRING and array arguments */
	uint8_t element[IOP_MAX_ARGS];  /* size of an element of an array argument, 0: not an array */
	bool makes;                     /* creates a handle (open, create) */
	bool uses;                      /* operates on its HANDLE argument */
	bool sized;                     /* the layer has dataspaces and types by id (spaces.c) */
	bool fd;                        /* the layer's handles are descriptors */
	bool on_fd;                     /* the layer has handles of its own on descriptors */
	bool facts;                     /* tells or carries static facts */
	uint32_t paradigm;              /* REF_NONE */
};

#endif
