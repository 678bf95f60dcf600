/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Tables of descriptors, the open files behind them, and the locks that a process holds.
 */
#ifndef IOPROBE_REPLAY_DESCRIPTOR_STATE_H
#define IOPROBE_REPLAY_DESCRIPTOR_STATE_H

#include <ioprobe/record.h>
#include <stdbool.h>

#include "model/model.h"

/* One open file behind a descriptor number (a file-descriptor generation), from the creating call to the end of the closing one. */
struct open_file {
	uint64_t created_ns, closed_ns; /* 0: before the recording; NEVER: open */
	uint32_t ref;                   /* model handle, REF_NONE until first used */
	uint32_t file;
	uint32_t status_flags;          /* OTF2 */
	uint8_t mode;                   /* OTF2 */
	uint32_t aio_ref;               /* its handle in POSIX asynchronous I/O, REF_NONE */
	uint32_t other_ref, other_group;        /* the handle of another process that shares the table, REF_NONE */
	bool has_epoch, reserved;       /* reserved: used before the call that creates it has returned */
	uint32_t epoch;                 /* of the descriptor (struct iop_rec_fd_epoch) */
	uint32_t running;               /* calls that were running on it when it was closed: its handle is destroyed after them */
};

/* Calls that returned before the change that has counted them as running. */
#define FD_EARLY 4
struct fd_early { uint32_t epoch, n; };

/* Contents of an FD record. */
struct description {
	uint64_t time_ns;
	uint32_t file, status_flags;
	uint8_t mode;
	bool valid;
};

#define INCARNATIONS 4                  /* generations that are kept, besides those with running calls */
struct fd_slot {
	struct open_file *v;          /* newest first */
	unsigned n, cap;
	struct description hint;        /* not yet applied */
	struct fd_early early[FD_EARLY];        /* n 0: unused */
};

/* Epochs of the thread's next call: calls on a descriptor that was closed or replaced during the call. */
#define FD_EPOCHS 3
struct fd_epochs { struct iop_rec_fd_epoch v[FD_EPOCHS]; unsigned n; };

struct fd_table {
	struct fd_slot **fds;
	size_t nfds;
	unsigned users;
	uint32_t number;                /* number of a table found by the scan, 0 */
};

enum lock_space { LOCK_OF_PROCESS, LOCK_OF_DESCRIPTION, LOCK_OF_FILE }; /* F_SETLK, F_OFD_SETLK, flock: see fcntl(2) */
struct held_lock {
	enum lock_space space;
	uint32_t file, handle;
	uint64_t first, last;           /* bytes */
	uint8_t kind;                   /* OTF2_LockType */
	struct held_lock *next;
};

#endif
