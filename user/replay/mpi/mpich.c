/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * MPICH's handles and statuses, which are shared by all libraries of the MPICH ABI Compatibility Initiative (mpi.h of MPICH 4).
 */
#include "replay/mpi/mpich.h"

#define KIND_MASK 0xff000000u
#define BASIC_TYPE 0x4c000000u  /* bits 8 to 15 are its size */

bool mpich_type_bytes(int64_t datatype, int64_t *bytes)
{
	*bytes = datatype >> 8 & 0xff;
	return (datatype & KIND_MASK) == BASIC_TYPE;
}

/* Layout: count_lo, then count_hi_and_cancelled, whose lowest bit is the cancelled flag. */
uint64_t mpich_status_bytes(uint64_t word)
{
	return (word >> 33) << 32 | (uint32_t)word;
}
