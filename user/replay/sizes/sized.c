/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The tables of known properties of HDF5's ids in a process, and of the names in a file: only creation, look-up and removal.
 * spaces.c, types.c and known.c derive the properties from calls.
 */
#include "replay/sizes/sized.h"

#include <stdlib.h>
#include <string.h>

#define PASSING_MAX 16384       /* dataspaces and types that are kept per process */

struct members *members_hold(struct members *members)
{
	if (members)
		members->holders++;
	return members;
}

void members_release(struct members *members)
{
	struct member *next;

	if (!members || --members->holders)
		return;
	for (struct member *m = members->first; m; m = next) {
		next = m->next;
		members_release(m->members);
		free(m);
	}
	free(members);
}

struct sized *sized_find(const struct thread *thread, int64_t id)
{
	struct process *process = thread->process;
	struct sized *sized;
	uint64_t key = id;

	HASH_FIND(hh, process->sized, &key, sizeof(key), sized);
	if (sized)
		return sized->shared ?: sized;
	HASH_FIND(hh, process->passing, &key, sizeof(key), sized);
	if (!sized || !sized->hh.next)
		return sized;
	HASH_DEL(process->passing, sized);
	HASH_ADD(hh, process->passing, id, sizeof(sized->id), sized);
	if (hash_added(sized))
		return sized;
	sized_free(sized);
	return NULL;
}

void sized_free(struct sized *sized)
{
	if (!sized)
		return;
	sized_release(sized->shared);
	members_release(sized->members);
	free(sized->selection);
	free(sized->name);
	free(sized);
}

/* A dataspace that was not used for long is assumed to be closed. */
static void sized_forget_oldest(struct process *process)
{
	struct sized *oldest = process->passing;

	if (HASH_COUNT(process->passing) <= PASSING_MAX)
		return;
	HASH_DEL(process->passing, oldest);
	sized_free(oldest);
}

void sized_forget(struct process *process, int64_t id)
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
	sized_free(sized);
}

static struct sized *sized_add(struct process *process, int64_t id, bool passing)
{
	struct sized *sized = calloc(1, sizeof(*sized));

	if (!sized)
		return NULL;
	*sized = (struct sized){
		.id = id, .extent = UNKNOWN, .selected = UNKNOWN, .bytes = UNKNOWN, .rank = -1, .passing = passing
	};
	if (passing)
		HASH_ADD(hh, process->passing, id, sizeof(sized->id), sized);
	else
		HASH_ADD(hh, process->sized, id, sizeof(sized->id), sized);
	if (!hash_added(sized)) {
		sized_free(sized);
		return NULL;
	}
	sized_forget_oldest(process);
	return sized;
}

struct sized *sized_get(const struct thread *thread, int64_t id, bool passing)
{
	return sized_find(thread, id) ?: sized_add(thread->process, id, passing);
}

struct sized *sized_new(struct process *process, int64_t id, bool passing)
{
	sized_forget(process, id);
	return sized_add(process, id, passing);
}

static void free_all(struct sized **head)
{
	struct sized *sized, *next;

	HASH_ITER(hh, *head, sized, next) {
		HASH_DEL(*head, sized);
		sized_free(sized);
	}
}

void sized_free_all(struct process *process)
{
	free_all(&process->sized);
	free_all(&process->passing);
}

/* ---- shared properties of the handles on a named object ---- */

void sized_release(struct sized *shared)
{
	if (shared && !--shared->holders)
		sized_free(shared);
}

void name_forget(struct object *file, struct sized *known)
{
	HASH_DEL(file->known, known);
	sized_release(known);
}

void names_forget(struct object *file)
{
	struct sized *known, *next;

	HASH_ITER(hh, file->known, known, next)
		name_forget(file, known);
}

void sized_copy_type(struct sized *to, const struct sized *from)
{
	members_release(to->members);
	to->members = members_hold(from->members);
	to->bytes = from->bytes;
	to->predefined = from->predefined;
	to->string = from->string;
	to->compound = from->compound;
	to->variable = from->variable;
}
