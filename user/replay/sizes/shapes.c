/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Properties of a file's variables and dimensions from definitions and inquiries, and the sizes and names of operations that follow
 * from them. Properties that were not recorded are unknown; none are guessed.
 */
#include "replay/sizes/shapes.h"
#include "replay/frame.h"
#include "replay/names.h"
#include "replay/outcome.h"
#include "replay/sizes/classic.h"
#include "replay/sizes/elements.h"
#include "replay/sizes/types.h"

#include <errno.h>
#include <limits.h>
#include <otf2/OTF2_Definitions.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_COUNT (-1)

struct variable {
	uint64_t key;           /* handle (in netCDF-4 of the group), variable */
	uint32_t name;          /* 1 + index in the model, 0 unknown */
	int64_t type;
	bool has_type;
	bool has_access, collective;    /* nc_var_par_access */
	int ndims;              /* UNKNOWN_COUNT */
	unsigned ndims_known;   /* of dims[], from the first on */
	int64_t dims[IOP_ARRAY_MAX];
	UT_hash_handle hh;
};

/* A length from an inquiry is valid at that moment; a length from a definition is always valid, unless it is 0: unlimited. The
 * number of records in the header of a file that is only read is valid until it is read again (told_ns NEVER). */
struct dimension {
	int64_t id;
	uint64_t length, told_ns;
	bool fixed;
	UT_hash_handle hh;
};

/* ---- recording properties ---- */

static bool variable_key(const struct replay *r, const struct frame *f, uint64_t *key)
{
	int64_t handle, variable;

	if (!frame_arg(r, f, ROLE_HANDLE, &handle) || !frame_arg(r, f, ROLE_VARIABLE, &variable))
		return false;
	*key = (uint64_t)handle << 32 | (uint32_t)variable;
	return true;
}

static struct variable *variable_by_key(const struct object *object, uint64_t key)
{
	struct variable *variable = NULL;

	if (object)
		HASH_FIND(hh, object->variables, &key, sizeof(key), variable);
	return variable;
}

static struct variable *variable_find(const struct replay *r, const struct frame *f)
{
	uint64_t key;

	return variable_key(r, f, &key) ? variable_by_key(f->object, key) : NULL;
}

static struct variable *variable_get(struct object *object, uint64_t key)
{
	struct variable *variable = variable_by_key(object, key);

	if (variable)
		return variable;
	variable = calloc(1, sizeof(*variable));
	if (!variable)
		return NULL;
	variable->key = key;
	variable->ndims = UNKNOWN_COUNT;
	HASH_ADD(hh, object->variables, key, sizeof(variable->key), variable);
	if (hash_added(variable))
		return variable;
	free(variable);
	return NULL;
}

static int learn_variable(struct replay *r, struct frame *f, uint64_t key)
{
	struct variable *variable = variable_get(f->object, key);
	struct str name = frame_string(r, f, ROLE_NAME);
	struct array dims = frame_array(r, f, ROLE_DIMS);
	int64_t ndims;

	if (!variable)
		return -ENOMEM;
	if (name.p && name.len && !(variable->name = name_number(r, name.p, name.len)))
		return -ENOMEM;
	variable->has_type |= frame_arg(r, f, ROLE_TYPE, &variable->type);
	if (frame_arg(r, f, ROLE_NDIMS, &ndims) && ndims >= 0 && ndims <= INT_MAX)
		variable->ndims = ndims;
	if (dims.p)
		variable->ndims_known = dims.n < IOP_ARRAY_MAX ? dims.n : IOP_ARRAY_MAX;
	for (unsigned i = 0; dims.p && i < variable->ndims_known; i++)
		variable->dims[i] = array_value(&dims, i);
	return 0;
}

static struct dimension *dimension_get(struct object *object, int64_t id)
{
	struct dimension *dimension;

	HASH_FIND(hh, object->dimensions, &id, sizeof(id), dimension);
	if (dimension)
		return dimension;
	dimension = calloc(1, sizeof(*dimension));
	if (!dimension)
		return NULL;
	dimension->id = id;
	HASH_ADD(hh, object->dimensions, id, sizeof(dimension->id), dimension);
	if (hash_added(dimension))
		return dimension;
	free(dimension);
	return NULL;
}

static int learn_dimension(const struct replay *r, struct frame *f, int64_t id, uint64_t length)
{
	struct dimension *dimension = dimension_get(f->object, id);

	if (!dimension)
		return -ENOMEM;
	dimension->fixed |= frame_row(r, f)->op == OP_META && length;
	dimension->length = length;
	if (frame_row(r, f)->op == OP_META)
		dimension->told_ns = 0;
	else if (dimension->told_ns != NEVER)   /* a number of records that does not change */
		dimension->told_ns = f->leave_ns;
	return 0;
}

static bool has_object_of(const struct process *process, const struct replay *r, const char *layer, uint32_t file)
{
	for (const struct object *o = process->objects; o; o = o->hh.next)
		if (o->root && o->file == file && !strcmp(r->set.layers[o->key.layer].name, layer))
			return true;
	return false;
}

/* nc_var_par_access: for one variable, or for all; file formats other than netCDF-4 have one mode for all variables. */
static int learn_access(struct replay *r, struct thread *thread, struct frame *f, int64_t mode)
{
	int64_t id;
	uint64_t key;
	struct variable *variable;

	if (!variable_key(r, f, &key) || !frame_arg(r, f, ROLE_VARIABLE, &id))
		return 0;
	if (id >= 0 && has_object_of(thread->process, r, frame_layer(r, f)->variables_in, f->object->file)) {
		variable = variable_get(f->object, key);
		if (!variable)
			return -ENOMEM;
		variable->has_access = true;
		variable->collective = mode;
		return 0;
	}
	f->object->collective = mode;
	for (variable = f->object->variables; variable; variable = variable->hh.next)
		variable->has_access = false;
	return 0;
}

/* ---- headers of classic files ---- */

struct learner { struct replay *r; struct object *object; int64_t handle; };

/* Definitions are never taken back, and ids never change. */
static int header_dimension(void *arg, int64_t id, uint64_t length, bool unlimited)
{
	const struct learner *learner = arg;
	struct dimension *dimension;

	if (unlimited && learner->object->mode != OTF2_IO_ACCESS_MODE_READ_ONLY)
		return 0;
	dimension = dimension_get(learner->object, id);
	if (!dimension)
		return -ENOMEM;
	dimension->length = length;
	dimension->fixed = !unlimited;
	dimension->told_ns = unlimited ? NEVER : 0;
	return 0;
}

static int header_variable(void *arg, const struct classic_variable *found)
{
	const struct learner *learner = arg;
	struct variable *variable = variable_get(learner->object, (uint64_t)learner->handle << 32 | (uint32_t)found->id);

	if (!variable)
		return -ENOMEM;
	if (found->name_len && !(variable->name = name_number(learner->r, found->name, found->name_len)))
		return -ENOMEM;
	variable->type = found->type;
	variable->has_type = true;
	variable->ndims = found->ndims <= INT_MAX ? (int)found->ndims : UNKNOWN_COUNT;
	variable->ndims_known = found->ndims < IOP_ARRAY_MAX ? found->ndims : IOP_ARRAY_MAX;
	memcpy(variable->dims, found->dims, sizeof(variable->dims));
	return 0;
}
_Static_assert(CLASSIC_DIMENSIONS == IOP_ARRAY_MAX, "dimensions of a variable");

int shape_learn_header(struct replay *r, const struct frame *f, struct object *object)
{
	struct learner learner = { .r = r, .object = object };
	struct classic_user user = { .arg = &learner, .dimension = header_dimension, .variable = header_variable };

	if (!f->header || !frame_arg(r, f, ROLE_HANDLE, &learner.handle))
		return 0;
	return classic_read(f->header, f->header_len, &user);
}

void shape_synced(struct object *object)
{
	for (struct dimension *d = object->dimensions; d; d = d->hh.next)
		if (d->told_ns == NEVER)
			d->told_ns = 0;
}

bool shape_collective(const struct replay *r, const struct frame *f)
{
	const struct variable *variable = variable_find(r, f);

	return variable && variable->has_access ? variable->collective : f->object && f->object->collective;
}

int shape_learn(struct replay *r, struct thread *thread, struct frame *f)
{
	int64_t id, length;
	uint64_t key;

	if (!f->object)
		return 0;
	if (frame_info(r, f)->arg[ROLE_CMD] >= 0)
		return frame_arg(r, f, ROLE_CMD, &id) ? learn_access(r, thread, f, id) : 0;
	if (frame_arg(r, f, ROLE_DIM, &id) && frame_arg(r, f, ROLE_LENGTH, &length))
		return learn_dimension(r, f, id, length);
	return variable_key(r, f, &key) ? learn_variable(r, f, key) : 0;
}

void shape_free(struct object *object)
{
	struct variable *variable, *next_variable;
	struct dimension *dimension, *next_dimension;

	HASH_ITER(hh, object->variables, variable, next_variable) {
		HASH_DEL(object->variables, variable);
		free(variable);
	}
	HASH_ITER(hh, object->dimensions, dimension, next_dimension) {
		HASH_DEL(object->dimensions, dimension);
		free(dimension);
	}
}

/* ---- sizes ---- */

static uint64_t type_bytes(const struct replay *r, const struct thread *thread, const struct frame *f, int64_t type)
{
	const struct table_layer *layer = frame_layer(r, f);

	for (size_t i = 0; i < layer->ntypes; i++)
		if (!layer->types[i].symbol[0] && layer->types[i].value == (uint64_t)type)
			return layer->types[i].bytes;
	return frame_info(r, f)->sized ? space_type_bytes(r, thread, f, type) : BYTES_UNKNOWN;
}

static uint64_t dimension_length(const struct frame *f, int64_t id)
{
	struct dimension *dimension;

	HASH_FIND(hh, f->object->dimensions, &id, sizeof(id), dimension);
	return dimension && (dimension->fixed || dimension->told_ns >= f->enter_ns) ? dimension->length : BYTES_UNKNOWN;
}

static uint64_t whole_variable(const struct frame *f, const struct variable *variable)
{
	uint64_t elements = 1;

	if (!variable || variable->ndims < 0 || (unsigned)variable->ndims > variable->ndims_known)
		return variable && !variable->ndims ? 1 : BYTES_UNKNOWN;
	for (int i = 0; i < variable->ndims; i++)
		elements = size_product(elements, dimension_length(f, variable->dims[i]));
	return elements;
}

static uint64_t edges_product(const struct replay *r, const struct frame *f, const struct variable *variable)
{
	struct array edges = frame_array(r, f, ROLE_EDGES);

	return variable && variable->ndims >= 0 ? array_product(&edges, variable->ndims, 1) : BYTES_UNKNOWN;
}

/* Elements of successive pieces of one variable. whole: each is all of it. */
static uint64_t group_elements(const struct frame *f, const struct variable *variable, const struct iop_pieces *group, bool whole)
{
	if (whole)
		return size_product(group->pieces, whole_variable(f, variable));
	if (!variable || variable->ndims < 0 || variable->ndims > IOP_ARRAY_MAX || (unsigned)variable->ndims > group->values)
		return BYTES_UNKNOWN;
	return variable->ndims ? group->elements[variable->ndims - 1] : group->pieces;
}

/* Elements of the pieces of a call (PnetCDF's varn, mput and mget): of its variable, or of those in an array. */
static uint64_t pieces_elements(const struct replay *r, const struct frame *f, const struct variable *variable)
{
	bool single = frame_info(r, f)->arg[ROLE_VARIABLE] >= 0, whole = frame_row(r, f)->mods & MOD_WHOLE;
	struct array groups = frame_array(r, f, ROLE_PIECES);
	uint64_t sum = 0;
	int64_t handle, pieces;

	if (frame_arg(r, f, ROLE_ITEMS, &pieces) && !pieces)
		return 0;
	if (!groups.n || !frame_arg(r, f, ROLE_HANDLE, &handle))
		return BYTES_UNKNOWN;
	for (size_t i = 0; i < groups.n && sum != BYTES_UNKNOWN; i++) {
		struct iop_pieces group;
		uint64_t elements;

		memcpy(&group, groups.p + i * sizeof(group), sizeof(group));
		if (!single)
			variable = variable_by_key(f->object, (uint64_t)handle << 32 | (uint32_t)group.variable);
		elements = group_elements(f, variable, &group, whole);
		if (elements == BYTES_UNKNOWN || __builtin_add_overflow(sum, elements, &sum))
			sum = BYTES_UNKNOWN;
	}
	return sum;
}

/* Returns the number of array elements that the call moves. Without edges (a null pointer) it is the whole variable. */
static uint64_t elements_moved(const struct replay *r, const struct thread *thread, const struct frame *f,
			       const struct variable *variable)
{
	const struct table_row *row = frame_row(r, f);
	int edges = frame_info(r, f)->arg[ROLE_EDGES];
	int64_t count;

	if (frame_info(r, f)->arg[ROLE_PIECES] >= 0)
		return pieces_elements(r, f, variable);
	if (row->mods & MOD_SINGLE && frame_info(r, f)->arg[ROLE_ITEMS] >= 0)
		return frame_arg(r, f, ROLE_ITEMS, &count) && count >= 0 ? (uint64_t)count : BYTES_UNKNOWN;
	if (row->mods & MOD_SINGLE)
		return 1;
	if (row->mods & MOD_WHOLE || (edges >= 0 && !f->args[edges]))
		return whole_variable(f, variable);
	if (edges >= 0)
		return edges_product(r, f, variable);
	if (frame_info(r, f)->arg[ROLE_DATATYPE] >= 0)
		return BYTES_UNKNOWN;
	if (frame_info(r, f)->arg[ROLE_VARIABLE] < 0)
		return space_elements(r, thread, f);
	return frame_arg(r, f, ROLE_COUNT, &count) && count >= 0 ? (uint64_t)count : BYTES_UNKNOWN;
}

static uint64_t shapes_element_bytes(const struct replay *r, const struct thread *thread, const struct frame *f,
				     const struct variable *variable)
{
	int64_t type;

	if (frame_row(r, f)->element_bytes)
		return frame_row(r, f)->element_bytes;
	if (frame_arg(r, f, ROLE_TYPE, &type))
		return type_bytes(r, thread, f, type);
	return variable && variable->has_type ? type_bytes(r, thread, f, variable->type) : BYTES_UNKNOWN;
}

/* PnetCDF's flexible calls: with a negative count or MPI_DATATYPE_NULL (no size) the values have the variable's own type. */
bool shape_decides(const struct replay *r, const struct frame *f, int64_t count, int64_t type_bytes)
{
	return frame_info(r, f)->arg[ROLE_VARIABLE] >= 0 && (count < 0 || !type_bytes);
}

uint64_t shape_bytes(const struct replay *r, const struct thread *thread, const struct frame *f)
{
	const struct variable *variable;

	if (!f->object || (frame_info(r, f)->arg[ROLE_VARIABLE] < 0 && frame_info(r, f)->arg[ROLE_TYPE] < 0 &&
			   frame_info(r, f)->arg[ROLE_ITEMS] < 0))
		return BYTES_UNKNOWN;
	variable = variable_find(r, f);
	return size_product(elements_moved(r, thread, f, variable), shapes_element_bytes(r, thread, f, variable));
}

static void add_below(struct frame *f, uint64_t bytes)
{
	if (bytes == BYTES_UNKNOWN || __builtin_add_overflow(f->below_bytes, bytes, &f->below_bytes))
		f->below_bytes = BYTES_UNKNOWN;
}

uint64_t shape_bytes_from_below(const struct replay *r, const struct frame *f)
{
	int64_t type;

	if (frame_info(r, f)->arg[ROLE_VARIABLE] < 0 || frame_row(r, f)->element_bytes || frame_arg(r, f, ROLE_TYPE, &type))
		return BYTES_UNKNOWN;
	if (f->doubtful || outcome_may_miss_system_calls(r))    /* the sum may be of a part */
		return BYTES_UNKNOWN;
	return f->below_bytes ? f->below_bytes : BYTES_UNKNOWN;
}

/* A netCDF-4 variable is a dataset with the same number of dimensions. In memory values of the variable's own type are those of the
 * dataset's call. */
void shape_from_below(struct replay *r, struct thread *thread, unsigned index, int rank)
{
	const char *layer = frame_layer(r, &thread->frames[index])->name;
	uint64_t bytes = thread->frames[index].request;

	while (index--) {
		struct frame *f = &thread->frames[index];
		struct variable *variable;
		uint64_t key;

		if (f->doubtful || (f->begun && strcmp(frame_layer(r, f)->variables_in, layer)))
			return;
		if (!f->begun || !f->object || !variable_key(r, f, &key))
			continue;
		if (f->below_bytes != BYTES_UNKNOWN)
			add_below(f, bytes);
		variable = rank < 0 ? NULL : variable_get(f->object, key);
		if (variable && variable->ndims < 0)
			variable->ndims = rank;
		return;
	}
}

int shape_rank(const struct replay *r, const struct frame *f)
{
	const struct variable *variable = variable_find(r, f);

	return variable ? variable->ndims : UNKNOWN_COUNT;
}

uint32_t shape_variable(const struct replay *r, const struct frame *f)
{
	const struct variable *variable = variable_find(r, f);

	return variable ? variable->name : 0;
}
