/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Reads /proc for one process: threads, children, mappings, descriptors, mounts, environment. All functions return 0 or -errno
 * (-ESRCH: the process has ended); the caller owns the results and frees them with the matching _free.
 */
#ifndef IOPROBE_PROCFS_H
#define IOPROBE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/code_file.h"

/* A file that a process has mapped with PROT_EXEC; one per inode. */
struct proc_module {
	char *path;             /* as in maps, without " (deleted)" */
	pid_t pid;              /* the process */
	uint64_t base;          /* address of the mapping with the lowest address */
	uint64_t base_offset;   /* file offset of that mapping */
	uint64_t text_addr, text_offset, text_len;      /* the executable mapping */
	uint64_t dev, ino;      /* as in stat(2); as in maps if by_name */
	uint64_t map_dev, map_ino;      /* as in maps */
	bool by_name;           /* the mapping itself may not be opened (map_files needs privileges) */
	bool deleted;
};
/* One executable mapping of a module: a file may be mapped several times (dlmopen). */
struct proc_mapping { uint64_t start, end, offset; size_t module; };
struct proc_modules {
	struct proc_module *v;
	size_t n;
	struct proc_mapping *mappings;  /* in order of address */
	size_t nmappings;
};
int proc_modules_read(pid_t pid, struct proc_modules *out);     /* file-backed only; sorted by address */
/* The same, from the text of /proc/PID/maps, which is modified; the mapped files are still read through /proc/PID. Files whose
 * mappings are unchanged since before (NULL: none) are not identified anew: what was read of the same program, or of the process
 * that forked this one. */
int proc_modules_parse(char *text, pid_t pid, const struct proc_modules *before, struct proc_modules *out);
int proc_modules_update(pid_t pid, const struct proc_modules *before, struct proc_modules *out);
void proc_modules_free(struct proc_modules *modules);
/* Opens the mapped file itself, even if its name has been reused. The caller closes it. -ENOENT or -ESRCH: no longer mapped there;
 * -EPERM: its mapping may not be opened, and its name does not lead to it; otherwise as code_file_open_mapped. */
int proc_module_open(const struct proc_module *module, struct code_file *file);

int proc_threads_read(pid_t pid, pid_t **tids, size_t *n);      /* the caller frees *tids */
/* Finds the descendants of these processes at all levels, excluding themselves, in one pass over /proc; the caller frees *pids. A
 * process that has ended has none. */
int proc_descendants_read(const pid_t *ancestors, size_t nancestors, pid_t **pids, size_t *n);

struct proc_fd {
	int fd;
	char *target;           /* from readlink: "/a/b", "pipe:[1]", with the kernel's " (deleted)" */
	uint64_t dev, ino;      /* from stat(2) through /proc, 0 if it failed */
	uint32_t mode;          /* st_mode */
	uint32_t flags;         /* octal flags of fdinfo */
	int64_t pos;
	uint32_t mnt_id;
};
struct proc_fds { struct proc_fd *v; size_t n; };
int proc_fds_read(pid_t pid, struct proc_fds *out);
void proc_fds_free(struct proc_fds *fds);

/* Reads a small text file of a process ("environ", "cmdline", "mountinfo", "comm", …), NUL-terminated, its length in *len; the
 * caller frees it. */
int proc_text_read(pid_t pid, const char *name, char **text, size_t *len);
int proc_link_read(pid_t pid, const char *name, char *buf, size_t buf_len);     /* "exe", "cwd", "ns/mnt" */
const char *proc_env_get(const char *environ_text, size_t len, const char *name);  /* points into environ_text, NULL if unset */
int proc_ids_read(pid_t pid, pid_t *ppid, uid_t *uid, gid_t *gid, uint64_t *start_ticks);
/* Returns whether pids in this namespace are those that the BPF programs see: not so inside a container's pid namespace
 * (pid_namespaces(7)). */
bool proc_initial_pid_namespace(void);
bool proc_alive(pid_t pid);     /* exists and is not a zombie; a process whose leader exited before its other threads is alive */
bool proc_is_kernel_thread(pid_t pid);
uint64_t proc_start_ticks(pid_t pid);   /* field 22 of proc_pid_stat(5), 0: cannot be read */
/* Returns whether the process with this pid and start time (0: any) has ended. False if that cannot be read. */
bool proc_ended(pid_t pid, uint64_t start_ticks);
bool proc_first_thread_ended(pid_t pid);        /* of a process that may have others */

#endif
