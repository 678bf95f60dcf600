/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Matches processes to a batch job: by environment entries, which the batch system sets and children inherit, or by the cgroup that
 * it created. Descendants belong to the job too.
 */
#ifndef IOPROBE_MEMBERS_H
#define IOPROBE_MEMBERS_H

#include <ioprobe/job_matcher.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define MEMBERS_ANY_USER ((uid_t)-1)

struct members {
	uid_t uid;                      /* the job's owner; MEMBERS_ANY_USER: not yet known */
	char entries[IOP_MAX_AWAITED][IOP_ENTRY_ROOM];  /* NAME=VALUE: all must be present */
	size_t nentries;
	char job[64];                   /* SLURM's job id, for the cgroup; "": match by environment only */
	char node[64];                  /* SLURM's name of this node, if several share a kernel; "": any */
};

/* A SLURM job on this node (NULL: the only one). Returns 0, or -EINVAL if the id is invalid or a name is too long. */
int job_processes_of_slurm(struct members *members, const char *job, const char *node);
int job_processes_add_entry(struct members *members, const char *entry);      /* 0, or -E2BIG */

/* Finds those that run now, except ioprobe's own; the caller frees *pids. With MEMBERS_ANY_USER the owner is determined and set:
 * -EPERM if processes of several users match. Returns 0 or -errno. */
int job_processes_find(struct members *members, pid_t **pids, size_t *n);
/* Finds one of them, the first in the order of /proc. Returns 0, -ESRCH if none runs, or -errno. */
int job_processes_find_first(struct members *members, pid_t *pid);

/* Converts to the form that the BPF programs compare. */
void members_job_matcher(const struct members *members, struct iop_job_matcher *job_matcher);

/* Returns whether the text of a process' cgroup file places it in the job. */
bool job_processes_cgroup_has(const struct members *members, const char *cgroup_text);

#endif
