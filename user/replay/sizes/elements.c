/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * How many elements an operation of HDF5 moves, from what is known of its dataspaces.
 */
#include "replay/sizes/elements.h"
#include "replay/frame.h"
#include "replay/sizes/sized.h"

#define SPACE_ALL 0             /* H5S_ALL */
#define SPACE_FIRST_ID 3        /* numbers below have a meaning of their own */

static uint64_t elements_selected(const struct thread *thread, int64_t space)
{
	const struct sized *sized = space >= SPACE_FIRST_ID ? sized_find(thread, space) : NULL;

	return !sized ? UNKNOWN : sized->part ? sized->selected : sized->extent;
}

/* As many elements are selected in memory as in the file; whichever is known will do. */
uint64_t space_elements(const struct replay *r, const struct thread *thread, const struct frame *f)
{
	const struct sized *sized;
	int64_t space = SPACE_ALL, file_space = SPACE_ALL, handle;
	uint64_t n = UNKNOWN;

	if ((frame_info(r, f)->arg[ROLE_SPACE] >= 0 && !frame_arg(r, f, ROLE_SPACE, &space)) ||
	    (frame_info(r, f)->arg[ROLE_SPACE2] >= 0 && !frame_arg(r, f, ROLE_SPACE2, &file_space)))
		return UNKNOWN;
	n = elements_selected(thread, space);
	if (n == UNKNOWN)
		n = elements_selected(thread, file_space);
	if (n != UNKNOWN || space != SPACE_ALL || file_space != SPACE_ALL || !frame_arg(r, f, ROLE_HANDLE, &handle))
		return n;
	sized = sized_find(thread, handle);
	return sized ? sized->extent : UNKNOWN;
}

bool space_collective(const struct replay *r, const struct thread *thread, const struct frame *f)
{
	const struct sized *list;
	int64_t id;

	list = frame_arg(r, f, ROLE_TRANSFER, &id) ? sized_find(thread, id) : NULL;
	return list && list->collective;
}

/* Of the dataset, or of its dataspace. netCDF's own calls on that are not recorded (`direct` rows): it makes the dataspace in
 * memory with the variable's dimensions. */
int space_rank(const struct replay *r, const struct thread *thread, const struct frame *f)
{
	const struct sized *sized = NULL;
	int64_t id;

	if (frame_arg(r, f, ROLE_HANDLE, &id))
		sized = sized_find(thread, id);
	if ((!sized || sized->rank < 0) && frame_arg(r, f, ROLE_SPACE2, &id) && id >= SPACE_FIRST_ID)
		sized = sized_find(thread, id);
	if ((!sized || sized->rank < 0) && frame_arg(r, f, ROLE_SPACE, &id) && id >= SPACE_FIRST_ID)
		sized = sized_find(thread, id);
	return sized ? sized->rank : -1;
}
