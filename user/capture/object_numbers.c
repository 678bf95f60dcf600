/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A hash table from addresses to numbers; single entries are never deleted, only all at once.
 */
#include "capture/object_numbers.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 256

static struct numbered_object *object_numbers_place_of(const struct object_numbers *object_numbers, uint64_t address)
{
	size_t mask = object_numbers->cap - 1, at = (address * 0x9e3779b97f4a7c15ull >> 32) & mask;

	while (object_numbers->v[at].address && object_numbers->v[at].address != address)
		at = (at + 1) & mask;
	return &object_numbers->v[at];
}

/* At most half full. */
static int object_numbers_make_room(struct object_numbers *object_numbers)
{
	struct object_numbers grown = { .cap = object_numbers->cap ? 2 * object_numbers->cap : FIRST_CAP };

	if (object_numbers->cap && object_numbers->n < object_numbers->cap / 2)
		return 0;
	if (object_numbers->n >= OBJECT_NUMBERS_MAX) {
		memset(object_numbers->v, 0, object_numbers->cap * sizeof(*object_numbers->v));
		object_numbers->n = 0;
		return 0;
	}
	grown.v = calloc(grown.cap, sizeof(*grown.v));
	if (!grown.v)
		return -1;
	for (size_t i = 0; i < object_numbers->cap; i++)
		if (object_numbers->v[i].address)
			*object_numbers_place_of(&grown, object_numbers->v[i].address) = object_numbers->v[i];
	free(object_numbers->v);
	object_numbers->v = grown.v;
	object_numbers->cap = grown.cap;
	return 0;
}

uint64_t object_number(struct object_numbers *object_numbers, uint64_t address)
{
	struct numbered_object *object;

	if (!address || object_numbers_make_room(object_numbers))
		return 0;
	object = object_numbers_place_of(object_numbers, address);
	if (!object->address) {
		*object = (struct numbered_object){ address, ++object_numbers->last };
		object_numbers->n++;
	}
	return object->number;
}

static void hide_async(struct object_numbers *object_numbers, struct iop_rec_async *rec)
{
	if (rec->interface == IOP_URING) {      /* libaio's keys are addresses of the program itself */
		rec->key = object_number(object_numbers, rec->key);
		rec->context = object_number(object_numbers, rec->context);
	}
	rec->file = object_number(object_numbers, rec->file);
}

static void hide_end(struct object_numbers *object_numbers, struct iop_rec_async_end *rec)
{
	if (rec->interface != IOP_URING)
		return;
	rec->key = object_number(object_numbers, rec->key);
	rec->context = object_number(object_numbers, rec->context);
}

const struct iop_rec *object_numbers_hide(struct object_numbers *object_numbers, const struct iop_rec *rec,
					  union object_numbers_room *room)
{
	if (rec->type != IOP_REC_ASYNC && rec->type != IOP_REC_ASYNC_END && rec->type != IOP_REC_FILE)
		return rec;
	memcpy(room, rec, rec->len);
	if (rec->type == IOP_REC_ASYNC)
		hide_async(object_numbers, &room->async);
	else if (rec->type == IOP_REC_ASYNC_END)
		hide_end(object_numbers, &room->end);
	else
		room->file.pos = object_number(object_numbers, room->file.pos);
	return &room->rec;
}

void object_numbers_deinit(struct object_numbers *object_numbers)
{
	free(object_numbers->v);
	*object_numbers = (struct object_numbers){ 0 };
}
