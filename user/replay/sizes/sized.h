/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Known properties of HDF5's ids: dataspaces, types, property lists, and datasets and attributes, which have both a space and a
 * type. The functions declared here are in sized.c, unless a heading names another file.
 */
#ifndef IOPROBE_SIZED_H
#define IOPROBE_SIZED_H

#include "replay/state.h"

#define UNKNOWN BYTES_UNKNOWN

/* The members of a compound type, shared by its copies. */
struct member {
	struct member *next;
	struct members *members;        /* of a compound member; NULL */
	uint64_t bytes;                 /* in memory; UNKNOWN */
	bool compound;
	size_t len;
	char name[];
};
struct members { unsigned holders; struct member *first; };

/* Ids are unique within a process. */
struct sized {
	uint64_t id;
	uint64_t extent;        /* elements; UNKNOWN */
	uint64_t selected;      /* elements, if part is set */
	uint64_t bytes;         /* of an element */
	uint64_t origin; /* dataset from which a dataspace or type was obtained, or type from which a type was made; 0 none */
	struct members *members;        /* of a compound type, as far as known; NULL */
	struct selection *selection;    /* which elements; NULL if only their number is known */
	struct sized *shared;   /* for a handle on a named object: the properties shared by all handles on it (known.c) */
	unsigned holders;       /* references to a shared entry: from the file's table and from handles */
	int rank;               /* -1 unknown */
	bool passing;           /* a dataspace or type of the program: its close is not recorded */
	bool part;              /* selected is valid, else extent */
	bool predefined;        /* a predefined type, unmodified: its native equivalent has the same size */
	bool native;            /* the in-memory equivalent of its origin: may have another size */
	bool string;            /* its native equivalent is the same */
	bool compound;
	bool variable;          /* values of variable length: their bytes are stored elsewhere */
	bool collective;        /* a property list: transfers are collective */
	char *name;             /* of a shared entry: its key in the table of the file */
	UT_hash_handle hh;
};

/* Returns the entry of an id, and makes it the youngest of its kind. For a handle on a named object, returns the shared entry.
 * NULL: unknown id. */
struct sized *sized_find(const struct thread *thread, int64_t id);
struct sized *sized_get(const struct thread *thread, int64_t id, bool passing); /* created if unknown; NULL without memory */
struct sized *sized_new(struct process *process, int64_t id, bool passing);             /* replaces any previous entry of this id */
void sized_free(struct sized *sized);
void sized_forget(struct process *process, int64_t id);         /* its handle was closed */
void sized_free_all(struct process *process);
void sized_copy_type(struct sized *to, const struct sized *from);       /* copies the type properties */
struct members *members_hold(struct members *members);
void members_release(struct members *members);

/* Properties shared by the handles on a named object, in the table of its file (object->known). */
void sized_release(struct sized *shared);
void name_forget(struct object *file, struct sized *known);
void names_forget(struct object *file);

/* ---- types.c ---- */
int type_made(struct replay *r, struct thread *thread, struct frame *f);
int type_changed(struct replay *r, struct thread *thread, struct frame *f);     /* H5Tinsert, H5Tset_size, … */
int type_told(struct replay *r, struct thread *thread, struct frame *f);
int types_equal(struct replay *r, struct thread *thread, struct frame *f);

/* ---- known.c ---- */
void known_extent_changed(struct process *process, const struct object *object);        /* of an object of that file */

/* ---- selection.c: which elements are selected, as disjoint boxes ---- */
#define SELECTION_RANKS IOP_ARRAY_MAX
struct hyperslab {
	unsigned rank;
	int64_t start[SELECTION_RANKS], stride[SELECTION_RANKS], count[SELECTION_RANKS], block[SELECTION_RANKS];
};
struct selection *selection_empty(unsigned rank);
/* Returns the selection of one hyperslab; NULL if it has too many pieces, or without memory. */
struct selection *selection_of(const struct hyperslab *slab);
/* Combines a selection, which is consumed, with a hyperslab by H5S_seloper_t OR to NOTA. Returns NULL if the result has too many
 * pieces, or without memory. */
struct selection *selection_combine(struct selection *selection, const struct hyperslab *slab, int64_t operation);
struct selection *selection_copy(const struct selection *selection);
uint64_t selection_elements(const struct selection *selection);

#endif
