/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The identity with which files are accessed. Every file that ioprobe writes for a user is created with that user's rights, so that
 * a link or a replaced directory leads only to files that the user can access anyway. Nothing is ever chowned.
 */
#ifndef IOPROBE_IDENTITY_H
#define IOPROBE_IDENTITY_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A user with all groups, resolved once: no name service look-ups after a fork. */
struct identity {
	uid_t uid;
	gid_t gid;
	gid_t *groups;          /* supplementary groups */
	size_t ngroups;
	char name[256];         /* login name, or the uid if the system has no entry */
	bool own;               /* equal to the process' own ids: nothing has to be changed */
};

/* The ids that identity_begin replaced. */
struct identity_saved {
	uid_t fsuid;
	gid_t fsgid;
	gid_t *groups;
	size_t ngroups;
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	bool own;
};

/* The ids of this process. Returns 0 or -ENOMEM. */
int identity_self(struct identity *who);

/* The calling user: the one of sudo(8) (SUDO_UID, SUDO_USER, SUDO_GID) if this process is root's and the variables name a user of
 * the system, otherwise identity_self. Returns 0, or -errno with one line in err. */
int identity_caller(struct identity *who, char *err, size_t err_len);

/* A user by uid, with the groups that the system has for that user. gid: the primary group, or (gid_t)-1 for the one of the passwd
 * entry. A uid without an entry gets no further groups, and without a gid the overflow group. Returns 0 or -ENOMEM. */
int identity_user(struct identity *who, uid_t uid, gid_t gid);

void identity_deinit(struct identity *who);

/* Switches the calling thread to the file access rights of who, until identity_end: file system ids and groups, no capability that
 * overrides permissions. Only this thread changes, and only root can signal it meanwhile. Returns 0 or -errno. */
int identity_begin(const struct identity *who, struct identity_saved *saved);
void identity_end(struct identity_saved *saved);        /* aborts the process if the previous ids cannot be restored */

/* In a process with one thread: switches to who permanently. No capabilities, none gained by exec (no_new_privs), not traceable by
 * its new user. Returns 0 or -errno; on error the process must exit. */
int identity_become(const struct identity *who);

#endif
