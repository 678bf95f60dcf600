/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Which processes belong to a batch job: by entries of their environment, which the batch system sets and children inherit, or by
 * the cgroup that it put them into. What descends from them belongs to it too.
 */
#ifndef IOPROBE_MEMBERS_H
#define IOPROBE_MEMBERS_H

#include <ioprobe/awaited.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define MEMBERS_ANY_USER ((uid_t)-1)

struct members {
	uid_t uid;                      /* the job's owner; MEMBERS_ANY_USER: not known yet */
	char entries[IOP_MAX_AWAITED][IOP_ENTRY_ROOM];  /* NAME=VALUE: all must be there */
	size_t nentries;
	char job[64];                   /* SLURM's id of the job, for its cgroup; "": only the environment counts */
	char node[64];                  /* SLURM's name of this node, where several share a kernel; "": any */
};

/* A job of SLURM on this node (NULL: the only one). Returns 0, or -EINVAL if the id is none or something is too long. */
int members_of_slurm(struct members *members, const char *job, const char *node);
int members_add_entry(struct members *members, const char *entry);      /* 0, or -E2BIG */

/* Those that run now, ours excepted; free(). With MEMBERS_ANY_USER the owner is found and set: -EPERM if several users'
 * processes claim to be of the job. Returns 0 or -errno. */
int members_find(struct members *members, pid_t **pids, size_t *n);
/* Finds one of them, whichever comes first in /proc. Returns 0, -ESRCH if none runs, or -errno. */
int members_find_first(struct members *members, pid_t *pid);

/* In the form that the kernel side compares. */
void members_awaited(const struct members *members, struct iop_awaited *awaited);

/* Whether the text, a process' cgroup file, puts it into the job. */
bool members_cgroup_has(const struct members *members, const char *cgroup_text);

#endif
