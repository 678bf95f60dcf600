/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files, mounts, and the notes that are summed up: what is not in the model, or is only known at the end.
 */
#ifndef IOPROBE_REPLAY_FILE_STATE_H
#define IOPROBE_REPLAY_FILE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "model/mounts.h"
#include "util/hash.h"

#define MAX_INODES 64

/* Reasons to keep a location open. */
struct location_use { uint64_t last_ns; uint32_t operations; bool thread_gone, ended; };

struct inode_use { uint64_t ino, last_ns; };    /* last_ns: of its last description under this path */

/* known: it was read */
struct inode_stripes { uint64_t dev, ino; bool known; struct model_stripes is; };

/* label: final name of a socket, NULL. kernel: reported by the kernel, not taken from a call's argument. next: another file with
 * the same path, REF_NONE. */
struct file_info {
	uint32_t group, mnt_id, next;
	uint32_t dev_major, dev_minor;  /* of the file system, at described_ns */
	uint64_t described_ns;
	bool scanned;                   /* from stat(2), which shows other numbers than mountinfo on some file systems */
	uint32_t mount;                 /* of described_mounts, at described_ns; REF_NONE: not known then */
	bool regular, kernel, socket;
	bool striped;                   /* on a file system whose layouts the agent reads */
	bool tree, has_files;           /* files below it are of its handles; there are some */
	const char *label;
	MODEL_ARRAY(struct inode_use, inodes);  /* that had this path, MAX_INODES at most */
};
struct event_name { const char *name; uint32_t number; UT_hash_handle hh; };      /* of model.names; number: 1 + its index */
struct path_entry { const char *path; uint32_t first; UT_hash_handle hh; };
struct mount_table { const char *ns; uint64_t time_ns; struct mounts mounts; };
/* by the kernel; source NULL: see the table */
struct described_mount { uint64_t time_ns, block_bytes; struct mount_row row; };
struct unified { const char *key; uint32_t *refs; unsigned n, cap; UT_hash_handle hh; };

/* Notes of one kind, summed up. */
struct gap_sum { const char *layer, *reason; size_t processes; uint64_t total_ns; };
struct gap_process { uint64_t key; UT_hash_handle hh; };        /* index of the gap_sum, process */
struct missing_sum { const char *layer, *library, *reason; MODEL_ARRAY(const char *, functions); };

#endif
