/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * A regular file with code, held by one descriptor from its first inspection to its last probe. A name may refer to another file at
 * any moment; a descriptor cannot, so offsets read from one file never become breakpoints in another.
 */
#ifndef IOPROBE_CODE_FILE_H
#define IOPROBE_CODE_FILE_H

#include <stdint.h>
#include <sys/types.h>

struct code_file {
	int fd;                 /* O_PATH: opening has no side effect for any type of file */
	uint64_t dev, ino;      /* as in stat(2), also on overlayfs and btrfs */
	uint64_t size;          /* bytes */
	uint32_t links;         /* hard links; 0: unlinked */
	uid_t uid;              /* owner */
};

/* All return 0 or -errno; -EISDIR for a directory and -EMEDIUMTYPE for other files that are not regular (code_file_strerror). No
 * file is opened for reading, and no remote server is queried for attributes. The caller closes the file with code_file_close. */

/* By name; symbolic links are followed as by execve(2). */
int code_file_open(struct code_file *file, const char *path);

/* By the name that a process sees: links are resolved below that process's root. */
int code_file_open_in_root(struct code_file *file, pid_t pid, const char *path);

/* Opens the file that a process has mapped from start to end (/proc/PID/map_files, proc(5)), whatever its name. Returns -EPERM
 * if the caller has neither CAP_SYS_ADMIN nor CAP_CHECKPOINT_RESTORE, -ENOENT if no mapping has these bounds any more. */
int code_file_open_mapped(struct code_file *file, pid_t pid, uint64_t start, uint64_t end);

void code_file_close(struct code_file *file);

/* Returns another descriptor, open for reading, which the caller owns; -errno on failure. */
int code_file_reader(const struct code_file *file);

const char *code_file_strerror(int err);        /* for the errors of these functions; negative or positive */

#endif
