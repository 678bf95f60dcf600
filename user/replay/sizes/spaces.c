/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * HDF5's dataspaces and transfer property lists: derives extents and selections from the calls on them. Properties that were not
 * recorded are unknown.
 */
#include "replay/sizes/spaces.h"
#include "replay/frame.h"
#include "replay/sizes/known.h"
#include "replay/sizes/sized.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CLASS_SCALAR 0          /* H5S_class_t */
#define CLASS_NULL 2
#define SELECT_SET 0            /* H5S_seloper_t */
#define SELECT_APPEND 6
#define SELECT_PREPEND 7
#define TRANSFER_COLLECTIVE 1   /* H5FD_MPIO_COLLECTIVE */

int space_constants(struct replay *r, struct process *process, const struct iop_rec_constants *rec)
{
	const struct table_layer *layer = rec->layer < r->set.nlayers ? &r->set.layers[rec->layer] : NULL;

	for (size_t i = 0; layer && i < rec->n && i < layer->ntypes; i++) {
		struct sized *type = rec->value[i] > 0 ? sized_new(process, rec->value[i], false) : NULL;

		if (rec->value[i] > 0 && !type)
			return -ENOMEM;
		if (!type)
			continue;
		type->bytes = layer->types[i].bytes;
		type->predefined = true;
	}
	return 0;
}

/* ---- recording properties ---- */

static uint64_t dims_product(const struct replay *r, const struct frame *f, enum table_role role, int64_t rank, uint64_t product)
{
	struct array array = frame_array(r, f, role);

	return rank < 0 ? UNKNOWN : array_product(&array, rank, product);
}

static void set_extent(const struct thread *thread, struct sized *sized, int rank, uint64_t extent)
{
	struct sized *origin = sized->origin ? sized_find(thread, sized->origin) : NULL;

	if (rank >= 0)
		sized->rank = rank;
	sized->extent = extent;
	if (!origin)
		return;
	origin->rank = sized->rank;
	origin->extent = extent;
}

/* Reads ndims and dims of the call, and the extent if all dims are known. */
static bool read_dims(const struct replay *r, const struct frame *f, int64_t *rank, uint64_t *extent)
{
	if (!frame_arg(r, f, ROLE_NDIMS, rank) || *rank < 0 || *rank > INT_MAX)
		return false;
	*extent = dims_product(r, f, ROLE_DIMS, *rank, 1);
	return true;
}

/* Properties of a new dataspace, dataset or attribute that come from its dataspace. */
static void copy_extent(struct sized *to, const struct sized *from)
{
	to->extent = from->extent;
	to->rank = from->rank;
}

static int made_space(struct replay *r, struct thread *thread, struct frame *f)
{
	struct sized *space = sized_new(thread->process, f->ret, true);
	int64_t value;
	uint64_t extent;

	if (!space)
		return -ENOMEM;
	if (read_dims(r, f, &value, &extent)) {
		set_extent(thread, space, value, extent);
	} else if (frame_arg(r, f, ROLE_SPACE, &value)) {
		const struct sized *from = sized_get(thread, value, true);

		if (!from)
			return -ENOMEM;
		copy_extent(space, from);
		space->selected = from->selected;
		space->part = from->part;
		space->selection = selection_copy(from->selection);
	} else if (frame_arg(r, f, ROLE_HANDLE, &value)) {
		const struct sized *from = sized_get(thread, value, false);

		if (!from)
			return -ENOMEM;
		copy_extent(space, from);
		space->origin = value;
	} else if (frame_arg(r, f, ROLE_CMD, &value) && (value == CLASS_SCALAR || value == CLASS_NULL)) {
		set_extent(thread, space, 0, value == CLASS_SCALAR);
	}
	return 0;
}

/* A null pointer means all ones. */
static bool slab_part(const struct replay *r, const struct frame *f, enum table_role role, unsigned rank, int64_t *to)
{
	struct array array = frame_array(r, f, role);
	int64_t pointer;

	if (frame_arg(r, f, role, &pointer) && !pointer) {
		for (unsigned d = 0; d < rank; d++)
			to[d] = 1;
		return true;
	}
	for (unsigned d = 0; d < rank && array.p && rank <= array.n; d++)
		to[d] = array_value(&array, d);
	return array.p && rank <= array.n;
}

static bool read_slab(const struct replay *r, const struct frame *f, int rank, struct hyperslab *slab)
{
	if (rank < 0 || rank > SELECTION_RANKS)
		return false;
	*slab = (struct hyperslab){ .rank = rank };
	return slab_part(r, f, ROLE_START, rank, slab->start) && slab_part(r, f, ROLE_STRIDE, rank, slab->stride) &&
	       slab_part(r, f, ROLE_EDGES, rank, slab->count) && slab_part(r, f, ROLE_BLOCK, rank, slab->block);
}

/* Returns the current selection, now owned by the caller. Empty if nothing is selected, NULL if its elements are unknown. */
static struct selection *selection_so_far(struct sized *space)
{
	struct selection *selection = space->selection;

	space->selection = NULL;
	return selection || !space->part || space->selected || space->rank < 0 ? selection : selection_empty(space->rank);
}

static void select_hyperslab(const struct replay *r, const struct frame *f, struct sized *space)
{
	struct selection *before = selection_so_far(space);
	struct hyperslab slab;
	bool known = read_slab(r, f, space->rank, &slab);
	int64_t operation, no_block;

	space->part = true;
	space->selected = UNKNOWN;
	if (!frame_arg(r, f, ROLE_CMD, &operation))
		operation = -1;
	if (operation != SELECT_SET) {
		space->selection = known ? selection_combine(before, &slab, operation) : NULL;
		if (space->selection)
			space->selected = selection_elements(space->selection);
		if (!known)
			free(before);
		return;
	}
	free(before);
	space->selection = known ? selection_of(&slab) : NULL;
	space->selected = dims_product(r, f, ROLE_EDGES, space->rank, 1);
	if (!frame_arg(r, f, ROLE_BLOCK, &no_block) || no_block)        /* a null pointer: blocks of one */
		space->selected = dims_product(r, f, ROLE_BLOCK, space->rank, space->selected);
}

static void select_elements(const struct replay *r, const struct frame *f, struct sized *space, int64_t items)
{
	uint64_t before = space->part ? space->selected : UNKNOWN;
	int64_t operation;

	space->part = true;
	space->selected = UNKNOWN;
	free(selection_so_far(space));
	if (!frame_arg(r, f, ROLE_CMD, &operation))
		return;
	if (operation == SELECT_SET)
		space->selected = items;
	else if ((operation == SELECT_APPEND || operation == SELECT_PREPEND) && before != UNKNOWN)
		space->selected = before + items;
}

static void select_in(const struct replay *r, const struct thread *thread, const struct frame *f, struct sized *space)
{
	int64_t value;
	uint64_t extent;

	if (frame_row(r, f)->mods & (MOD_WHOLE | MOD_NONE)) {
		free(selection_so_far(space));
		space->part = frame_row(r, f)->mods & MOD_NONE;
		space->selected = 0;
	} else if (frame_info(r, f)->arg[ROLE_EDGES] >= 0) {
		select_hyperslab(r, f, space);
	} else if (frame_arg(r, f, ROLE_ITEMS, &value)) {
		select_elements(r, f, space, value);
	} else {
		free(selection_so_far(space));
		space->extent = space->selected = UNKNOWN;
		space->rank = -1;
		space->part = true;
		if (!read_dims(r, f, &value, &extent))
			return;
		set_extent(thread, space, value, extent);
		space->part = false;
	}
}

/* H5Pset_dxpl_mpio */
static int transfer_changed(struct replay *r, struct thread *thread, struct frame *f)
{
	struct sized *list;
	int64_t id, mode;

	if (!frame_arg(r, f, ROLE_TRANSFER, &id) || !frame_arg(r, f, ROLE_CMD, &mode))
		return 0;
	list = sized_get(thread, id, true);
	if (!list)
		return -ENOMEM;
	list->collective = mode == TRANSFER_COLLECTIVE;
	return 0;
}

static int transfer_made(struct replay *r, struct thread *thread, struct frame *f)
{
	struct sized *list = sized_new(thread->process, f->ret, true);
	const struct sized *from;
	int64_t id;

	if (!list)
		return -ENOMEM;
	from = frame_arg(r, f, ROLE_TRANSFER, &id) ? sized_find(thread, id) : NULL;
	list->collective = from && from->collective;
	return 0;
}

static int spaces_changed(struct replay *r, struct thread *thread, struct frame *f)
{
	struct sized *sized;
	int64_t id;

	if (frame_arg(r, f, ROLE_SPACE, &id)) {
		sized = sized_get(thread, id, true);
		if (sized)
			select_in(r, thread, f, sized);
		return sized ? 0 : -ENOMEM;
	}
	if (frame_info(r, f)->arg[ROLE_TYPE] >= 0)
		return type_changed(r, thread, f);
	if (frame_info(r, f)->arg[ROLE_TRANSFER] >= 0)
		return transfer_changed(r, thread, f);
	/* H5Dset_extent */
	if (frame_info(r, f)->arg[ROLE_DIMS] < 0)
		return 0;
	known_extent_changed(thread->process, f->object);
	if (frame_arg(r, f, ROLE_HANDLE, &id) && (sized = sized_find(thread, id)))
		sized->extent = dims_product(r, f, ROLE_DIMS, sized->rank, 1);
	return 0;
}

static int note_value(struct replay *r, struct thread *thread, struct frame *f)
{
	struct sized *sized;
	struct array dims = frame_array(r, f, ROLE_DIMS);
	int64_t id;

	if (!frame_arg(r, f, ROLE_SPACE, &id))
		return 0;
	sized = sized_get(thread, id, true);
	if (!sized)
		return -ENOMEM;
	switch (frame_row(r, f)->result) {
	case RESULT_SELECTED:
		if (!sized->part || sized->selected != (uint64_t)f->ret)
			free(selection_so_far(sized));
		sized->part = true;
		sized->selected = f->ret;
		break;
	case RESULT_EXTENT:
		set_extent(thread, sized, -1, f->ret);
		break;
	case RESULT_CLASS:
		if (f->ret == CLASS_SCALAR || f->ret == CLASS_NULL)
			set_extent(thread, sized, 0, f->ret == CLASS_SCALAR);
		break;
	default:        /* H5S_MAX_RANK is 32; without dimensions it is a scalar, or has no element */
		set_extent(thread, sized, f->ret, dims.p && f->ret && f->ret <= IOP_ARRAY_MAX ? array_product(&dims, f->ret, 1) :
												sized->extent);
	}
	return 0;
}

/* A dataset or attribute was created with a type and a dataspace. */
static int made_with(struct replay *r, struct thread *thread, struct frame *f)
{
	struct sized *made, *from;
	int64_t id;

	if (frame_info(r, f)->arg[ROLE_SPACE] < 0)
		return 0;
	made = sized_new(thread->process, f->ret, false);
	if (!made)
		return -ENOMEM;
	from = frame_arg(r, f, ROLE_SPACE, &id) ? sized_find(thread, id) : NULL;
	if (from)
		copy_extent(made, from);
	from = frame_arg(r, f, ROLE_TYPE, &id) ? sized_find(thread, id) : NULL;
	if (from)
		sized_copy_type(made, from);
	return 0;
}

int space_learn(struct replay *r, struct thread *thread, struct frame *f)
{
	switch (frame_row(r, f)->op) {
	case OP_OPEN:
		sized_forget(thread->process, f->ret);
		return 0;
	case OP_CREATE:
		return made_with(r, thread, f);
	case OP_LEARN:
		if (frame_row(r, f)->mods & MOD_CALLBACK)
			return known_iterated(r, thread, f);
		break;
	case OP_TRUNCATE:
		break;
	default:
		return 0;
	}
	switch (frame_row(r, f)->result) {
	case RESULT_SPACE:
		return made_space(r, thread, f);
	case RESULT_TYPE:
		return type_made(r, thread, f);
	case RESULT_TRANSFER:
		return transfer_made(r, thread, f);
	case RESULT_EQUAL:
		return types_equal(r, thread, f);
	case RESULT_REFERENCES:
		if (f->object)
			f->object->references = f->ret - 1;
		return 0;
	case RESULT_CLASS:
		return frame_info(r, f)->arg[ROLE_SPACE] >= 0 ? note_value(r, thread, f) : type_told(r, thread, f);
	case RESULT_SIZE:
	case RESULT_VARIABLE:
		return type_told(r, thread, f);
	case RESULT_SELECTED:
	case RESULT_EXTENT:
	case RESULT_NDIMS:
		return note_value(r, thread, f);
	default:
		return spaces_changed(r, thread, f);
	}
}
