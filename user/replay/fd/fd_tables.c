/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Descriptor tables: the threads of a process share one, unless a thread was created without CLONE_FILES or called unshare(2); a
 * process created with CLONE_FILES shares that of its creator. A new table is a copy of the creator's.
 */
#include "replay/fd/fd_tables.h"
#include "replay/fd/fd_epochs.h"
#include "replay/fd/fds.h"

#include <errno.h>
#include <stdlib.h>

struct fd_table *fd_table_new(void)
{
	struct fd_table *table = calloc(1, sizeof(*table));

	if (table)
		table->users = 1;
	return table;
}

struct fd_table *fd_table_hold(struct fd_table *table)
{
	table->users++;
	return table;
}

static void fd_slot_free(struct fd_slot *slot)
{
	if (slot)
		free(slot->v);
	free(slot);
}

void fd_table_release(struct fd_table *table)
{
	if (!table || --table->users)
		return;
	for (size_t fd = 0; fd < table->nfds; fd++)
		fd_slot_free(table->fds[fd]);
	free(table->fds);
	free(table);
}

struct fd_table *fd_table_copy(const struct fd_table *from)
{
	struct fd_table *table = fd_table_new();

	if (table && !fd_inherit(table, from))
		return table;
	fd_table_release(table);
	return NULL;
}

int fd_table_set(struct fd_table **place, struct fd_table *table)
{
	if (!table)
		return -ENOMEM;
	fd_table_release(*place);
	*place = table;
	return 0;
}

int fd_table_unshare(struct thread *thread)
{
	return fd_table_set(&thread->table, fd_table_copy(thread->table));
}

int fd_table_found(struct replay *r, struct thread *thread, uint32_t number)
{
	struct fd_table *table = NULL;

	for (struct thread *other = r->threads; other && !table; other = other->hh.next)
		if (other->process == thread->process && other->table->number == number)
			table = fd_table_hold(other->table);
	if (!table && (table = fd_table_new()))
		table->number = number;
	return fd_table_set(&thread->table, table);
}

/* The other threads have ended: a table with further users is shared with another process, and execve(2) unshares it. */
int fd_table_exec(struct replay *r, struct thread *thread)
{
	struct process *process = thread->process;
	bool shared = false;

	for (const struct process *other = r->all_processes; other && !shared; other = other->next)
		shared = other != process && !other->dead && other->table == thread->table;
	if (shared && fd_table_unshare(thread))
		return -ENOMEM;
	return process->table == thread->table ? 0 : fd_table_set(&process->table, fd_table_hold(thread->table));
}
