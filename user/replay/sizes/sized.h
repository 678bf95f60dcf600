/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What is known of HDF5's ids: dataspaces, types, property lists, and datasets and attributes, which have both a space and a type.
 * Private to replay/sizes.
 */
#ifndef IOPROBE_SIZED_H
#define IOPROBE_SIZED_H

#include "replay/state.h"

#define UNKNOWN BYTES_UNKNOWN

/* The members of a compound type, shared by its copies. */
struct member {
	struct member *next;
	struct members *members;        /* of a compound one; NULL */
	uint64_t bytes;                 /* in memory; UNKNOWN */
	bool compound;
	size_t len;
	char name[];
};
struct members { unsigned holders; struct member *first; };

/* Ids are unique in a process. */
struct sized {
	uint64_t id;
	uint64_t extent;        /* elements; UNKNOWN */
	uint64_t selected;      /* elements, unless all are */
	uint64_t bytes;         /* of an element */
	uint64_t origin;        /* of a dataspace or type the dataset that it was asked of, of a type the one it was made of; 0 none */
	struct members *members;        /* of a compound type, as far as known; NULL */
	struct selection *selection;    /* which elements; NULL if only their number is known */
	struct sized *shared;   /* of a handle on an object with a name: what all handles on it know (known.c) */
	unsigned holders;       /* of a shared one: the file's table, and handles */
	int rank;               /* -1 unknown */
	bool passing;           /* a dataspace or type of the program's: its close is not seen */
	bool part;              /* selected counts, else extent */
	bool predefined;        /* a predefined type, as it is: its native equivalent is as large */
	bool native;            /* made of its origin as it is in memory: may have another size */
	bool string;            /* its native equivalent is the same */
	bool compound;
	bool variable;          /* values of variable length: their bytes are elsewhere */
	bool collective;        /* a property list: transfers are collective */
	char *name;             /* of a shared one: its key in the table of the file */
	UT_hash_handle hh;
};

/* Finding one makes it the youngest of its kind. Of a handle on a named object it is the shared one. NULL: nothing is known. */
struct sized *sized_find(const struct thread *thread, int64_t id);
struct sized *sized_get(const struct thread *thread, int64_t id, bool passing);         /* made if unknown; NULL without memory */
struct sized *sized_new(struct process *process, int64_t id, bool passing);             /* what had this id before is gone */
void sized_free(struct sized *sized);

/* ---- types.c ---- */
struct members *members_hold(struct members *members);
void members_release(struct members *members);
void type_copy(struct sized *to, const struct sized *from);     /* what is known of from as a type */
int type_made(struct replay *r, struct thread *thread, struct frame *f);
int type_changed(struct replay *r, struct thread *thread, struct frame *f);     /* H5Tinsert, H5Tset_size, … */
int type_told(struct replay *r, struct thread *thread, struct frame *f);
int types_equal(struct replay *r, struct thread *thread, struct frame *f);

/* ---- known.c ---- */
void known_release(struct sized *shared);
void known_extent_changed(struct process *process, const struct object *object);        /* of an object of that file */

/* ---- selection.c: which elements are selected, as disjoint boxes ---- */
#define SELECTION_RANKS IOP_ARRAY_MAX
struct hyperslab { unsigned rank; int64_t start[SELECTION_RANKS], stride[SELECTION_RANKS], count[SELECTION_RANKS], block[SELECTION_RANKS]; };
struct selection *selection_empty(unsigned rank);
/* One hyperslab; NULL if it is of too many pieces, or without memory. */
struct selection *selection_of(const struct hyperslab *slab);
/* selection, which is consumed, combined by H5S_seloper_t OR to NOTA; NULL if the result is of too many pieces, or without memory. */
struct selection *selection_combine(struct selection *selection, const struct hyperslab *slab, int64_t operation);
struct selection *selection_copy(const struct selection *selection);
uint64_t selection_elements(const struct selection *selection);

#endif
