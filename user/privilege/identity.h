/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Whose rights a step is done with. Every file that ioprobe writes for somebody is created with the rights of its owner, so that
 * a link or an exchanged directory leads the owner no further than he gets by himself. Nothing is ever chowned.
 */
#ifndef IOPROBE_IDENTITY_H
#define IOPROBE_IDENTITY_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A user with all his groups, resolved once: nothing asks the name service after a fork. */
struct identity {
	uid_t uid;
	gid_t gid;
	gid_t *groups;          /* supplementary groups */
	size_t ngroups;
	char name[256];         /* login name, or the number where the system knows none */
	bool own;               /* the process's own ids: none have to be changed */
};

/* What identity_begin replaced. */
struct identity_saved {
	uid_t fsuid;
	gid_t fsgid;
	gid_t *groups;
	size_t ngroups;
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	bool own;
};

/* The ids that this process runs with. Returns 0 or -ENOMEM. */
int identity_self(struct identity *who);

/* The user who called: the one of sudo(8) (SUDO_UID, SUDO_USER, SUDO_GID) if this process is root's and the variables name a user
 * of the system, otherwise identity_self. Returns 0, or -errno with one line in err. */
int identity_caller(struct identity *who, char *err, size_t err_len);

/* A user by number, with the groups that the system gives him. gid: his primary group, or (gid_t)-1 for the one of his entry. A
 * number without an entry gets no further groups, and without a gid the overflow group. Returns 0 or -ENOMEM. */
int identity_user(struct identity *who, uid_t uid, gid_t gid);

void identity_deinit(struct identity *who);

/* The calling thread's rights on files become those of who, until identity_end: ids for the file system and groups, no capability
 * that overrides permissions. Only this thread changes, and only root can signal it meanwhile. Returns 0 or -errno. */
int identity_begin(const struct identity *who, struct identity_saved *saved);
void identity_end(struct identity_saved *saved);        /* ends the process if it cannot go back */

/* In a process with one thread: who for good. No capabilities, none by exec (no_new_privs), not traceable by its new user.
 * Returns 0 or -errno; then the process must end. */
int identity_become(const struct identity *who);

#endif
