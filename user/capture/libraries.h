/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Files with functions to probe, one per inode: planned once, attached once for everybody (netCDF, HDF5, MPI: few map them and their
 * calls are coarse) or once per process (libc and unwinders, which everybody maps).
 */
#ifndef IOPROBE_LIBRARIES_H
#define IOPROBE_LIBRARIES_H

#include <uthash.h>

#include "capture/attach.h"
#include "capture/closer.h"
#include "capture/plan.h"
#include "capture/procfs.h"
#include "spool/spool.h"

struct library {
	struct { uint64_t dev, ino; } key;
	char *path;
	struct plan plan;
	bool shared_done;               /* attached for everybody */
	bool rendezvous_done;
	struct links shared;
	struct attach_point *shared_points, *own_points, *unwind_points;
	size_t nshared, nown, nunwind;
	UT_hash_handle hh;
};

struct libraries {
	struct library *all;            /* uthash by key */
	const struct table_set *set;
	struct kernel_side *kernel;
	struct spool_writer *spool;
	size_t probes, missing, moved, single_stepped;
};

void libraries_init(struct libraries *libraries, const struct table_set *set, struct kernel_side *kernel, struct spool_writer *spool);
void libraries_detach(struct libraries *libraries, struct closer *closer);       /* what is attached for everybody */
void libraries_deinit(struct libraries *libraries);

/* The library of a mapped file, planned if it is new; NULL if it cannot be read or has nothing to probe (noted). */
struct library *libraries_get(struct libraries *libraries, const struct proc_module *module);

/* Attaches what is attached for everybody. */
void library_attach_shared(struct libraries *libraries, struct library *library, const char *open_path);
/* Attaches what belongs to one process; the links are the caller's. */
int library_attach_own(struct libraries *libraries, struct library *library, const char *open_path, pid_t pid, struct links *links);
/* The linker's rendezvous, for everybody. */
int library_attach_rendezvous(struct libraries *libraries, struct library *library, const char *open_path);

#endif
