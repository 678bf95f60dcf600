/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The kind of object that an id of HDF5 refers to: the id begins with it, at bit 56, or at bit 24 in ids of 32 bits (before HDF5
 * 1.10).
 */
#ifndef IOPROBE_REPLAY_SIZES_HDF5_ID_H
#define IOPROBE_REPLAY_SIZES_HDF5_ID_H

#include <stdint.h>

#define HDF5_KIND_GROUP 2       /* H5I_type_t */
#define HDF5_KIND_DATASET 5

/* Returns an H5I_type_t, or 0. */
static inline unsigned hdf5_id_kind(uint64_t id)
{
	return id >> 32 ? id >> 56 : id >> 24;
}

#endif
