/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * HDF5's types, from the calls on them: the size of a value, and the members of a compound type.
 */
#include "replay/sizes/types.h"
#include "replay/frame.h"
#include "replay/sizes/sized.h"
#include "replay/sizes/elements.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE_LENGTH (-1)    /* H5T_VARIABLE */
#define CLASS_STRING 3          /* H5T_class_t */
#define CLASS_COMPOUND 6
#define CLASS_VLEN 9
#define ORIGINS_MAX 8           /* limit for chains of derived types */

/* ---- members of compound types ---- */

static struct member *member_new(const char *name, size_t len)
{
	struct member *m = calloc(1, sizeof(*m) + len);

	if (!m)
		return NULL;
	m->len = len;
	memcpy(m->name, name, len);
	return m;
}

static const struct member *member_find(const struct members *members, const struct member *like)
{
	for (const struct member *m = members->first; m; m = m->next)
		if (m->len == like->len && !memcmp(m->name, like->name, m->len))
			return m;
	return NULL;
}

/* Copies the list for a type that is about to get another member: copies of the type keep the old list. */
static struct members *members_own(struct members *members)
{
	struct members *own = calloc(1, sizeof(*own));
	struct member **end = own ? &own->first : NULL;

	for (const struct member *m = members && own ? members->first : NULL; m; m = m->next) {
		*end = member_new(m->name, m->len);
		if (!*end)
			break;
		(*end)->bytes = m->bytes;
		(*end)->compound = m->compound;
		(*end)->members = members_hold(m->members);
		end = &(*end)->next;
	}
	if (own)
		own->holders = 1;
	return own;
}

static int types_add_member(struct sized *type, struct str name, const struct sized *of)
{
	struct members *own = members_own(type->members);
	struct member *m = own ? member_new(name.p, name.len) : NULL;

	members_release(type->members);
	type->members = own;
	if (!m)
		return -ENOMEM;
	m->bytes = of && !of->variable ? of->bytes : UNKNOWN;
	m->compound = of && of->compound;
	m->members = of ? members_hold(of->members) : NULL;
	m->next = own->first;
	own->first = m;
	return 0;
}

/* Returns the bytes in memory of the members that the file's type has too: only these are moved. */
static uint64_t selected_bytes(const struct members *memory, const struct members *file)
{
	uint64_t sum = 0;

	for (const struct member *m = memory->first; m; m = m->next) {
		const struct member *other = member_find(file, m);
		uint64_t bytes = m->bytes;

		if (!other)
			continue;
		if (m->compound || other->compound)
			bytes = m->members && other->members ? selected_bytes(m->members, other->members) : UNKNOWN;
		if (bytes == UNKNOWN || __builtin_add_overflow(sum, bytes, &sum))
			return UNKNOWN;
	}
	return sum;
}

/* ---- recording properties ---- */

/* A native type may be larger than the type in the file, unless that is a plain number. */
static void made_of(struct sized *type, const struct sized *from, bool native)
{
	struct sized copy = { .bytes = UNKNOWN };

	if (!from)
		return;
	if (from->predefined || !native) {
		sized_copy_type(type, from);
		return;
	}
	copy.compound = from->compound;
	copy.variable = from->variable;
	sized_copy_type(type, &copy);
}

/* Sets the size of a type made by H5Tcreate, H5Tvlen_create (no captured arguments) or H5Tarray_create2 (base and dimensions). */
static void made_anew(struct replay *r, struct frame *f, struct sized *type)
{
	int64_t class = -1, bytes;

	frame_arg(r, f, ROLE_CMD, &class);
	type->compound = class == CLASS_COMPOUND;
	type->string = class == CLASS_STRING;
	if (!frame_arg(r, f, ROLE_BYTES, &bytes) || bytes == VARIABLE_LENGTH)
		type->variable = true;
	else
		type->bytes = bytes;
}

static void made_array(struct replay *r, struct frame *f, struct sized *type, const struct sized *base)
{
	struct array dims = frame_array(r, f, ROLE_DIMS);
	int64_t rank;

	if (!base || !frame_arg(r, f, ROLE_NDIMS, &rank) || rank < 0)
		return;
	type->variable = base->variable;
	type->compound = base->compound;        /* which members of it are moved is not tracked */
	type->bytes = array_product(&dims, rank, base->bytes);
}

int type_made(struct replay *r, struct thread *thread, struct frame *f)
{
	struct sized *type = sized_new(thread->process, f->ret, true);
	bool native = frame_row(r, f)->mods & MOD_NATIVE;
	int64_t value;

	if (!type)
		return -ENOMEM;
	if (frame_info(r, f)->arg[ROLE_DIMS] >= 0) {
		made_array(r, f, type, frame_arg(r, f, ROLE_TYPE, &value) ? sized_find(thread, value) : NULL);
	} else if (frame_arg(r, f, ROLE_TYPE, &value) || frame_arg(r, f, ROLE_HANDLE, &value)) {
		made_of(type, sized_find(thread, value), native);
		type->native = native;
		type->origin = value;
	} else {
		made_anew(r, f, type);
	}
	return 0;
}

/* Returns the dataset or attribute from which this type was obtained or derived unchanged; NULL if there is none. */
static struct sized *types_owner(const struct thread *thread, const struct sized *type, bool native)
{
	for (int i = 0; type && i < ORIGINS_MAX; i++) {
		if (type->native && !native)
			return NULL;
		if (!type->origin)
			return NULL;
		type = sized_find(thread, type->origin);
		if (type && !type->passing)
			return type->predefined ? NULL : (struct sized *)type;
	}
	return NULL;
}

static void set_bytes(const struct thread *thread, struct sized *type, uint64_t bytes)
{
	struct sized *of = types_owner(thread, type, false);

	type->bytes = bytes;
	if (of && !of->predefined && bytes != UNKNOWN)
		of->bytes = bytes;
}

static uint64_t packed_bytes(const struct members *members)
{
	uint64_t sum = 0;

	for (const struct member *m = members ? members->first : NULL; m; m = m->next)
		if (m->compound || m->bytes == UNKNOWN || __builtin_add_overflow(sum, m->bytes, &sum))
			return UNKNOWN;
	return members ? sum : UNKNOWN;
}

/* H5Tset_precision: a number keeps its size if the bits fit. Returns the size; *predefined remains true only for up to 8 bytes with
 * all bits in use. */
static uint64_t precise_bytes(uint64_t bytes, int64_t bits, bool *predefined)
{
	bool number = *predefined && bytes != UNKNOWN && bits > 0;

	*predefined = number && bytes <= 8 && (uint64_t)bits == 8 * bytes;
	if (!number)
		return UNKNOWN;
	return (uint64_t)bits > 8 * bytes ? ((uint64_t)bits + 7) / 8 : bytes;
}

int type_changed(struct replay *r, struct thread *thread, struct frame *f)
{
	struct str name = frame_string(r, f, ROLE_NAME);
	struct sized *type, *member;
	int64_t id, bytes, bits;

	type = frame_arg(r, f, ROLE_TYPE, &id) ? sized_get(thread, id, true) : NULL;
	if (!type)
		return -ENOMEM;
	type->origin = 0;
	if (frame_arg(r, f, ROLE_TYPE2, &id)) {
		member = sized_find(thread, id);
		type->compound = true;
		type->variable |= member && member->variable;
		if (name.p)
			return types_add_member(type, name, member);
		members_release(type->members);
		type->members = NULL;
		return 0;
	}
	if (frame_arg(r, f, ROLE_ARG, &bits)) {
		type->bytes = precise_bytes(type->bytes, bits, &type->predefined);
		return 0;
	}
	type->predefined = false;
	type->bytes = type->compound && frame_info(r, f)->arg[ROLE_BYTES] < 0 ? packed_bytes(type->members) : UNKNOWN;
	if (frame_arg(r, f, ROLE_BYTES, &bytes) && bytes == VARIABLE_LENGTH)
		type->variable = true;
	else if (frame_arg(r, f, ROLE_BYTES, &bytes))
		type->bytes = bytes;
	return 0;
}

int type_told(struct replay *r, struct thread *thread, struct frame *f)
{
	struct sized *type, *of;
	int64_t id;

	if (!frame_arg(r, f, ROLE_TYPE, &id))
		return 0;
	type = sized_get(thread, id, true);
	if (!type)
		return -ENOMEM;
	of = types_owner(thread, type, true);
	switch (frame_row(r, f)->result) {
	case RESULT_SIZE:
		set_bytes(thread, type, f->ret ? (uint64_t)f->ret : UNKNOWN);
		break;
	case RESULT_VARIABLE:
		type->variable |= f->ret > 0;
		break;
	default:        /* RESULT_CLASS */
		type->string = f->ret == CLASS_STRING;
		type->compound |= f->ret == CLASS_COMPOUND;
		type->variable |= f->ret == CLASS_VLEN;
	}
	if (of) {
		of->variable |= type->variable;
		of->compound |= type->compound;
	}
	return 0;
}

/* Equal types have equal sizes: netCDF identifies the types in a file by comparing them. */
int types_equal(struct replay *r, struct thread *thread, struct frame *f)
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
		set_bytes(thread, one, other->bytes);
	else if (other->bytes == UNKNOWN)
		set_bytes(thread, other, one->bytes);
	one->variable = other->variable = one->variable || other->variable;
	return 0;
}

/* ---- sizes ---- */

static const struct sized *object_of(const struct replay *r, const struct thread *thread, const struct frame *f)
{
	int64_t handle;

	return frame_arg(r, f, ROLE_HANDLE, &handle) ? sized_find(thread, handle) : NULL;
}

/* Of a compound type only those members are moved that the file's type has too. */
uint64_t space_type_bytes(const struct replay *r, const struct thread *thread, const struct frame *f, int64_t id)
{
	const struct sized *type = sized_find(thread, id), *object = object_of(r, thread, f);

	if (type && type->bytes == UNKNOWN && type->string && type->native && !type->variable)
		type = sized_find(thread, type->origin);
	if (!type || type->variable)
		return UNKNOWN;
	if (!type->compound || (object && types_owner(thread, type, true) == object))
		return type->bytes;
	return object && type->members && object->members ? selected_bytes(type->members, object->members) : UNKNOWN;
}

/* The type of an object that was opened before the recording is unknown: plain values are assumed to have the same size in the
 * file. */
uint64_t space_file_bytes(const struct replay *r, const struct thread *thread, const struct frame *f)
{
	const struct sized *object = object_of(r, thread, f);
	uint64_t bytes = UNKNOWN;
	int64_t type;

	if (object && object->variable)
		return UNKNOWN;
	if (object)
		bytes = object->bytes;
	if (bytes == UNKNOWN && frame_arg(r, f, ROLE_TYPE, &type))
		bytes = space_type_bytes(r, thread, f, type);
	return bytes == UNKNOWN ? UNKNOWN : size_product(space_elements(r, thread, f), bytes);
}
