/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * HDF5's dataspaces and types, as the calls on them tell: how many elements an operation moves, and how large they are in memory.
 * What was not told is unknown.
 */
#include "replay/state.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN BYTES_UNKNOWN
#define SPACE_ALL 0             /* H5S_ALL */
#define SPACE_FIRST_ID 3        /* numbers below have a meaning of their own */
#define CLASS_SCALAR 0          /* H5S_class_t */
#define CLASS_NULL 2
#define SELECT_SET 0            /* H5S_seloper_t */
#define SELECT_APPEND 6
#define SELECT_PREPEND 7
#define VARIABLE_LENGTH (-1)    /* H5T_VARIABLE */
#define CLASS_STRING 3          /* H5T_class_t */
#define CLASS_VLEN 9

#define PASSING_MAX 16384       /* dataspaces and types of a process that are remembered */

/* A dataspace, a type, or a dataset or attribute, which have both. Ids are unique in a process. */
struct sized {
	uint64_t id;
	uint64_t extent;        /* elements; UNKNOWN */
	uint64_t selected;      /* elements, unless all are */
	uint64_t bytes;         /* of an element in memory */
	uint64_t origin;        /* of a dataspace the dataset whose extent it is, of a native type what it was made of; 0 none */
	int rank;               /* -1 unknown */
	bool passing;           /* a dataspace or type of the program's: its close is not seen */
	bool part;              /* selected counts, else extent */
	bool predefined;        /* a predefined type, as it is: its native equivalent is as large */
	bool string;            /* its native equivalent is the same */
	bool variable;          /* values of variable length: their bytes are elsewhere */
	UT_hash_handle hh;
};

/* Finding one makes it the youngest of its kind. */
static struct sized *sized_find(const struct thread *thread, int64_t id)
{
	struct process *process = thread->process;
	struct sized *sized;
	uint64_t key = id;

	HASH_FIND(hh, process->sized, &key, sizeof(key), sized);
	if (sized)
		return sized;
	HASH_FIND(hh, process->passing, &key, sizeof(key), sized);
	if (!sized || !sized->hh.next)
		return sized;
	HASH_DEL(process->passing, sized);
	HASH_ADD(hh, process->passing, id, sizeof(sized->id), sized);
	if (hash_added(sized))
		return sized;
	free(sized);
	return NULL;
}

/* What nobody has used for long is taken for closed. */
static void forget_oldest(struct process *process)
{
	struct sized *oldest = process->passing;

	if (HASH_COUNT(process->passing) <= PASSING_MAX)
		return;
	HASH_DEL(process->passing, oldest);
	free(oldest);
}

void space_forget(struct process *process, int64_t id)
{
	struct sized *sized;
	uint64_t key = id;

	HASH_FIND(hh, process->sized, &key, sizeof(key), sized);
	if (sized)
		HASH_DEL(process->sized, sized);
	else
		HASH_FIND(hh, process->passing, &key, sizeof(key), sized);
	if (sized && sized->passing)
		HASH_DEL(process->passing, sized);
	free(sized);
}

static struct sized *sized_add(struct process *process, int64_t id, bool passing)
{
	struct sized *sized = calloc(1, sizeof(*sized));

	if (!sized)
		return NULL;
	*sized = (struct sized){ .id = id, .extent = UNKNOWN, .selected = UNKNOWN, .bytes = UNKNOWN, .rank = -1, .passing = passing };
	if (passing)
		HASH_ADD(hh, process->passing, id, sizeof(sized->id), sized);
	else
		HASH_ADD(hh, process->sized, id, sizeof(sized->id), sized);
	if (!hash_added(sized)) {
		free(sized);
		return NULL;
	}
	forget_oldest(process);
	return sized;
}

static struct sized *sized_get(const struct thread *thread, int64_t id, bool passing)
{
	return sized_find(thread, id) ?: sized_add(thread->process, id, passing);
}

/* A new id: what had it before is gone, seen or not. */
static struct sized *sized_new(struct process *process, int64_t id, bool passing)
{
	space_forget(process, id);
	return sized_add(process, id, passing);
}

static void free_all(struct sized **head)
{
	struct sized *sized, *next;

	HASH_ITER(hh, *head, sized, next) {
		HASH_DEL(*head, sized);
		free(sized);
	}
}

void space_free(struct process *process)
{
	free_all(&process->sized);
	free_all(&process->passing);
}

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

/* ---- learning ---- */

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

/* ndims and dims of the call: where dims are all there, the extent. */
static bool read_dims(const struct replay *r, const struct frame *f, int64_t *rank, uint64_t *extent)
{
	if (!frame_arg(r, f, ROLE_NDIMS, rank) || *rank < 0 || *rank > INT_MAX)
		return false;
	*extent = dims_product(r, f, ROLE_DIMS, *rank, 1);
	return true;
}

/* What a new dataspace, dataset or attribute takes over. */
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

static int made_type(struct replay *r, struct thread *thread, struct frame *f)
{
	struct sized *type = sized_new(thread->process, f->ret, true);
	const struct sized *from;
	int64_t value;

	if (!type)
		return -ENOMEM;
	if (frame_arg(r, f, ROLE_TYPE, &value) || frame_arg(r, f, ROLE_HANDLE, &value)) {
		from = sized_find(thread, value);
		/* a native type may be larger than the one in the file, unless that is a plain number */
		if (from && (from->predefined || !(frame_row(r, f)->mods & MOD_NATIVE))) {
			type->bytes = from->bytes;
			type->predefined = from->predefined;
		}
		type->variable = from && from->variable;
		type->origin = frame_row(r, f)->mods & MOD_NATIVE ? value : 0;
	} else if (frame_arg(r, f, ROLE_BYTES, &value)) {
		type->bytes = value;
	} else {
		type->variable = true;
	}
	return 0;
}

static void select_hyperslab(const struct replay *r, const struct frame *f, struct sized *space)
{
	int64_t operation, no_block;
	bool set = frame_arg(r, f, ROLE_CMD, &operation) && operation == SELECT_SET;

	space->part = true;
	space->selected = UNKNOWN;
	if (!set || space->rank < 0)
		return;
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
		space->part = frame_row(r, f)->mods & MOD_NONE;
		space->selected = 0;
	} else if (frame_info(r, f)->arg[ROLE_EDGES] >= 0) {
		select_hyperslab(r, f, space);
	} else if (frame_arg(r, f, ROLE_ITEMS, &value)) {
		select_elements(r, f, space, value);
	} else {
		*space = (struct sized){ .id = space->id, .hh = space->hh, .extent = UNKNOWN, .selected = UNKNOWN, .bytes = UNKNOWN,
					 .rank = -1, .part = true, .passing = space->passing };
		if (!read_dims(r, f, &value, &extent))
			return;
		set_extent(thread, space, value, extent);
		space->part = false;
	}
}

static int changed(struct replay *r, struct thread *thread, struct frame *f)
{
	struct sized *sized;
	int64_t id, bytes;

	if (frame_arg(r, f, ROLE_SPACE, &id)) {
		sized = sized_get(thread, id, true);
		if (sized)
			select_in(r, thread, f, sized);
		return sized ? 0 : -ENOMEM;
	}
	if (frame_arg(r, f, ROLE_TYPE, &id)) {
		sized = sized_get(thread, id, true);
		if (!sized)
			return -ENOMEM;
		if (frame_arg(r, f, ROLE_TYPE2, &id)) {         /* a member */
			const struct sized *member = sized_find(thread, id);

			sized->variable |= member && member->variable;
			return 0;
		}
		sized->predefined = false;
		sized->bytes = UNKNOWN;
		if (frame_arg(r, f, ROLE_BYTES, &bytes) && bytes == VARIABLE_LENGTH)
			sized->variable = true;
		else if (frame_arg(r, f, ROLE_BYTES, &bytes))
			sized->bytes = bytes;
		return 0;
	}
	/* H5Dset_extent */
	if (frame_info(r, f)->arg[ROLE_DIMS] >= 0 && frame_arg(r, f, ROLE_HANDLE, &id) && (sized = sized_find(thread, id)))
		sized->extent = dims_product(r, f, ROLE_DIMS, sized->rank, 1);
	return 0;
}

static int told(struct replay *r, struct thread *thread, struct frame *f, enum table_role role)
{
	struct sized *sized;
	struct array dims = frame_array(r, f, ROLE_DIMS);
	int64_t id;

	if (!frame_arg(r, f, role, &id))
		return 0;
	sized = sized_get(thread, id, true);
	if (!sized)
		return -ENOMEM;
	switch (frame_row(r, f)->result) {
	case RESULT_SIZE:
		sized->bytes = f->ret ? (uint64_t)f->ret : UNKNOWN;
		break;
	case RESULT_VARIABLE:
		sized->variable |= f->ret > 0;
		break;
	case RESULT_CLASS:
		sized->string = f->ret == CLASS_STRING;
		sized->variable |= f->ret == CLASS_VLEN;
		break;
	case RESULT_SELECTED:
		sized->part = true;
		sized->selected = f->ret;
		break;
	case RESULT_EXTENT:
		set_extent(thread, sized, -1, f->ret);
		break;
	default:        /* H5S_MAX_RANK is 32 */
		set_extent(thread, sized, f->ret,
			   dims.p && f->ret <= IOP_ARRAY_MAX ? array_product(&dims, f->ret, 1) : sized->extent);
	}
	return 0;
}

/* Equal types have equal sizes: netCDF finds out in this way what is in a file. */
static int equal(struct replay *r, struct thread *thread, struct frame *f)
{
	struct sized *one, *other;
	int64_t id, id2;

	if (f->ret <= 0 || !frame_arg(r, f, ROLE_TYPE, &id) || !frame_arg(r, f, ROLE_TYPE2, &id2))
		return 0;
	one = sized_get(thread, id, true);
	other = sized_get(thread, id2, true);
	if (!one || !other)
		return -ENOMEM;
	if (one->bytes == UNKNOWN)
		one->bytes = other->bytes;
	else if (other->bytes == UNKNOWN)
		other->bytes = one->bytes;
	one->variable = other->variable = one->variable || other->variable;
	return 0;
}

/* A dataset or attribute that was made with a type and a space. */
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
	if (!from)
		return 0;
	made->bytes = from->bytes;
	made->predefined = from->predefined;
	made->variable = from->variable;
	return 0;
}

int space_learn(struct replay *r, struct thread *thread, struct frame *f)
{
	switch (frame_row(r, f)->op) {
	case OP_OPEN:
		space_forget(thread->process, f->ret);
		return 0;
	case OP_CREATE:
		return made_with(r, thread, f);
	case OP_LEARN:
	case OP_TRUNCATE:
		break;
	default:
		return 0;
	}
	switch (frame_row(r, f)->result) {
	case RESULT_SPACE:
		return made_space(r, thread, f);
	case RESULT_TYPE:
		return made_type(r, thread, f);
	case RESULT_EQUAL:
		return equal(r, thread, f);
	case RESULT_REFERENCES:
		if (f->object)
			f->object->references = f->ret - 1;
		return 0;
	case RESULT_SIZE:
	case RESULT_CLASS:
	case RESULT_VARIABLE:
		return told(r, thread, f, ROLE_TYPE);
	case RESULT_SELECTED:
	case RESULT_EXTENT:
	case RESULT_NDIMS:
		return told(r, thread, f, ROLE_SPACE);
	default:
		return changed(r, thread, f);
	}
}

/* ---- sizes ---- */

static uint64_t selected(const struct thread *thread, int64_t space)
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
	n = selected(thread, space);
	if (n == UNKNOWN)
		n = selected(thread, file_space);
	if (n != UNKNOWN || space != SPACE_ALL || file_space != SPACE_ALL || !frame_arg(r, f, ROLE_HANDLE, &handle))
		return n;
	sized = sized_find(thread, handle);
	return sized ? sized->extent : UNKNOWN;
}

uint64_t space_type_bytes(const struct thread *thread, int64_t type)
{
	const struct sized *sized = sized_find(thread, type);

	if (sized && sized->bytes == UNKNOWN && sized->string && sized->origin && !sized->variable)
		sized = sized_find(thread, sized->origin);
	return sized && !sized->variable ? sized->bytes : UNKNOWN;
}

int space_rank(const struct replay *r, const struct thread *thread, const struct frame *f)
{
	const struct sized *sized = NULL;
	int64_t id;

	if (frame_arg(r, f, ROLE_HANDLE, &id))
		sized = sized_find(thread, id);
	if ((!sized || sized->rank < 0) && frame_arg(r, f, ROLE_SPACE2, &id) && id >= SPACE_FIRST_ID)
		sized = sized_find(thread, id);
	return sized ? sized->rank : -1;
}
