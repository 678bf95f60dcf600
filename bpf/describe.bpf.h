/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Describes the file behind a descriptor: path, mount, inode and open flags, read from the kernel's structures at the time of the
 * call.
 */
#ifndef IOPROBE_BPF_DESCRIBE_H
#define IOPROBE_BPF_DESCRIBE_H

#include "filter.bpf.h"
#include "mounts.bpf.h"
#include "sockets.bpf.h"
#include "tables.bpf.h"

/* Walks one name or one mount point up. Returns 0 when the path is complete. A separate function with its state in memory, so that
 * the verifier checks it once and not for every combination of steps. */
__noinline int path_step(struct thread *t)
{
	struct dentry *dentry, *parent;
	struct mount *mnt;
	u32 used;
	long n;

	if (!t)
		return 0;
	mnt = (void *)t->walk.mount;
	dentry = (void *)t->walk.dentry;
	used = t->walk.used;
	if (dentry == LOAD(mnt, mnt.mnt_root)) {
		struct mount *up = LOAD(mnt, mnt_parent);

		t->walk.dentry = (u64)LOAD(mnt, mnt_mountpoint);
		t->walk.mount = (u64)up;
		return up && up != mnt;
	}
	parent = LOAD(dentry, d_parent);
	if (dentry == parent && used)
		return 0;       /* not below a mounted root: a detached tree */
	t->walk.truncated = 1;
	if (used > PATH_ROOM)
		return 0;
	barrier_var(used);
	n = bpf_probe_read_kernel_str(t->scratch + sizeof(struct iop_rec_fd) + used, 256, LOAD(dentry, d_name.name));
	if (n <= 0)
		return 0;
	t->walk.truncated = 0;
	t->walk.used = used + n;
	t->walk.dentry = (u64)parent;
	return dentry != parent;        /* pipes, sockets and the like are their own parent */
}

/* Appends the names from the leaf to the root of the mount namespace, behind the used bytes. Returns the bytes used then. */
static __always_inline u32 copy_path(struct thread *t, struct iop_rec_fd *rec, struct mount *mnt, struct dentry *dentry, u32 used)
{
	bool more = true;

	t->walk.mount = (u64)mnt;
	t->walk.dentry = (u64)dentry;
	t->walk.used = used;
	t->walk.truncated = 0;
	for (int i = 0; i < PATH_MAX_NAMES && more; i++)
		more = path_step(t);
	if (more || t->walk.truncated)
		rec->state |= IOP_FD_TRUNCATED;
	return t->walk.used;
}

static __always_inline struct mount *mount_of(struct path *path)
{
	struct vfsmount *vfsmnt = LOAD(path, mnt);

	return (void *)vfsmnt - bpf_core_field_offset(struct mount, mnt);
}

static __always_inline void describe_path(struct iop_rec_fd *rec, struct thread *t, struct path *path, struct inode *inode)
{
	struct super_block *sb = LOAD(inode, i_sb);
	struct mount *mnt = mount_of(path);
	u32 dev = LOAD(sb, s_dev);

	rec->i_mode = LOAD(inode, i_mode);
	rec->ino = LOAD(inode, i_ino);
	rec->dev_major = dev >> 20;
	rec->dev_minor = dev & 0xfffff;
	rec->sb_magic = LOAD(sb, s_magic);
	rec->mnt_id = LOAD(mnt, mnt_id);
	if (LOAD(inode, i_nlink) == 0)
		rec->state |= IOP_FD_DELETED;
	rec->path_len = copy_path(t, rec, mnt, LOAD(path, dentry), 0);
}

static __always_inline void send_description(struct thread *t, struct iop_rec_fd *rec, u8 type, u64 now)
{
	u32 len = rec->path_len;

	if (len > PATH_ROOM + 256)
		len = PATH_ROOM + 256;
	len = (sizeof(*rec) + len + 7) & ~7u;
	rec_header(&rec->rec, t, type, 0, len, now);
	send_record(t, rec, len, false);
}

static __always_inline struct iop_rec_fd *description_begin(struct thread *t, s32 fd)
{
	struct iop_rec_fd *rec = (void *)t->scratch;

	rec->fd = fd;
	rec->state = 0;
	rec->cloexec = 2;
	rec->pos = 0;
	rec->f_flags = 0;
	return rec;
}

/* The mount point's names follow the texts, leaf first. Of walk.mount, since functions of their own take no kernel pointers. */
__noinline int send_mount(struct thread *t, u64 now)
{
	struct super_block *sb;
	struct iop_rec_fd *rec;
	struct mount *mnt;
	u32 dev;

	if (!t)
		return 0;
	mnt = (void *)t->walk.mount;
	sb = LOAD(mnt, mnt.mnt_sb);
	dev = LOAD(sb, s_dev);
	rec = description_begin(t, -1);
	rec->i_mode = 0;
	rec->ino = LOAD(sb, s_blocksize);
	rec->dev_major = dev >> 20;
	rec->dev_minor = dev & 0xfffff;
	rec->sb_magic = LOAD(sb, s_magic);
	rec->mnt_id = LOAD(mnt, mnt_id);
	rec->path_len = copy_path(t, rec, mnt, LOAD(mnt, mnt.mnt_root), mount_texts(t, mnt, sb));
	send_description(t, rec, IOP_REC_MOUNT, now);
	return 1;
}

/* Returns whether the mount was not yet described. */
__noinline bool mount_is_new(struct thread *t)
{
	struct mount_identity identity = { 0 }, *known;
	struct mount_key key = { 0 };
	struct mount *mnt;

	if (!t)
		return false;
	mnt = (void *)t->walk.mount;
	if (!mount_identity(mnt, &identity))
		return false;
	key.recording = t->recording;
	key.mnt_id = LOAD(mnt, mnt_id);
	known = bpf_map_lookup_elem(&mounts_described, &key);
	if (known && known->unique == identity.unique && known->event == identity.event)
		return false;
	bpf_map_update_elem(&mounts_described, &key, &identity, BPF_ANY);
	return true;
}

/* Once per mount. Uses the scratch memory: to be called before a description is begun. */
static __always_inline void describe_mount(struct thread *t, struct path *path, u64 now)
{
	t->walk.mount = (u64)mount_of(path);
	if (mount_is_new(t))
		send_mount(t, now);
}

/* Returns the open file behind a descriptor of the current task, NULL if there is none. */
static __always_inline struct file *file_of(s32 fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *fdt = LOAD(LOAD(task, files), fdt);
	struct file **slots = LOAD(fdt, fd), *file = 0;

	if (fd < 0 || (u32)fd >= LOAD(fdt, max_fds) || bpf_probe_read_kernel(&file, sizeof(file), slots + fd))
		return 0;
	return file;
}

enum fd_state { FD_TOLD = 1, FD_LEFT_OUT = 2 };

/* Describes a file that may have no descriptor. Returns FD_TOLD or FD_LEFT_OUT. */
__noinline int describe_file(struct thread *t, u64 identity, u64 now)
{
	struct file *file = (void *)identity;
	struct iop_rec_fd *rec;

	if (!t || !file)
		return 0;
	describe_mount(t, &file->f_path, now);
	rec = description_begin(t, -1);
	rec->f_flags = LOAD(file, f_flags);
	rec->pos = identity;
	describe_path(rec, t, &file->f_path, LOAD(file, f_inode));
	if (filter_files && !is_wanted(t, rec->i_mode, rec->path_len, rec->state))
		return FD_LEFT_OUT;
	send_description(t, rec, IOP_REC_FILE, now);
	return FD_TOLD;
}

/* now: time of the call that the record belongs to, so that the records of a thread stay in time order. With `force` a file that
 * the filter excludes is described too, because a recorded call needs it. Returns bits of fd_state, 0 if there is no file. */
__noinline int describe_fd(struct thread *t, s32 fd, u64 now, bool force)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	unsigned long *cloexec = LOAD(LOAD(LOAD(task, files), fdt), close_on_exec), word = 0;
	struct file *file = file_of(fd);
	struct iop_rec_fd *rec;
	int state = FD_TOLD;

	if (!t || !file)
		return 0;
	describe_mount(t, &file->f_path, now);
	rec = description_begin(t, fd);
	rec->f_flags = LOAD(file, f_flags);
	rec->pos = LOAD(file, f_pos);
	if (!bpf_probe_read_kernel(&word, sizeof(word), cloexec + (u32)fd / 64))
		rec->cloexec = word >> (fd & 63) & 1;
	describe_path(rec, t, &file->f_path, LOAD(file, f_inode));
	if (filter_files && !is_wanted(t, rec->i_mode, rec->path_len, rec->state))
		state = force ? FD_TOLD | FD_LEFT_OUT : FD_LEFT_OUT;
	if (state & FD_TOLD)
		send_description(t, rec, IOP_REC_FD, now);
	if ((state & FD_TOLD) && sockets)
		describe_socket(t, (u64)file, now);
	return state;
}

__noinline int describe_cwd(struct thread *t, u64 now)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fs_struct *fs = LOAD(task, fs);
	struct iop_rec_fd *rec;

	if (!t)
		return 0;
	describe_mount(t, &fs->pwd, now);
	rec = description_begin(t, -1);
	describe_path(rec, t, &fs->pwd, LOAD(LOAD(fs, pwd.dentry), d_inode));
	send_description(t, rec, IOP_REC_CWD, now);
	return 1;
}

/* Descriptors beyond KNOWN_FDS, and those of a process without a slot, are described only when they are created. */
static __always_inline u64 *known_word(struct thread *t, s32 fd)
{
	struct process *p;
	u64 word;

	if (fd < 0 || fd >= KNOWN_FDS)
		return 0;
	p = table_of(t);
	if (!p)
		return 0;
	word = (u32)fd / 64;
	barrier_var(p);
	barrier_var(word);
	return &p->known[word & (KNOWN_FDS / 64 - 1)];
}

/* Returns the word for the same descriptors in excluded. */
static __always_inline u64 *excluded_word(u64 *known)
{
	return known + KNOWN_FDS / 64;
}

static __always_inline void forget_fd(struct thread *t, s32 fd)
{
	u64 *word = known_word(t, fd), bit = 1ull << (fd & 63);

	if (!word)
		return;
	__sync_fetch_and_and(word, ~bit);
	if (filter_files)
		__sync_fetch_and_and(excluded_word(word), ~bit);
}

/* Descriptors without a bit cannot be filtered. */
static __always_inline int describe_new_fd(struct thread *t, s32 fd, u64 now, bool force)
{
	u64 *word = known_word(t, fd), bit = 1ull << (fd & 63);
	int state = describe_fd(t, fd, now, force || !word);

	if (word && (state & FD_TOLD))
		__sync_fetch_and_or(word, bit);
	if (word && filter_files && (state & FD_LEFT_OUT))
		__sync_fetch_and_or(excluded_word(word), bit);
	return state;
}

/* Called before a descriptor's first use in a recorded call: descriptors open at attach, inherited ones, pipes, sockets, received
 * ones. */
static __always_inline void describe_if_unknown(struct thread *t, s32 fd)
{
	u64 *word = known_word(t, fd);

	if (word && !(*word >> (fd & 63) & 1))
		describe_new_fd(t, fd, bpf_ktime_get_ns(), true);
}

static __always_inline bool is_told(struct thread *t, s32 fd)
{
	u64 *word = known_word(t, fd);

	return word && *word >> (fd & 63) & 1;
}

/* Returns the filter's decision for a descriptor, and decides now if needed. FD_LEFT_OUT without FD_TOLD: the descriptor was never
 * described to the reader. */
__noinline int fd_state(struct thread *t, s32 fd)
{
	u64 *word, bit = 1ull << (fd & 63);
	int state = 0;

	if (!t)
		return 0;
	word = known_word(t, fd);
	if (!word)
		return 0;
	if (!((*word | *excluded_word(word)) & bit))
		describe_new_fd(t, fd, bpf_ktime_get_ns(), false);
	if (*word & bit)
		state |= FD_TOLD;
	if (*excluded_word(word) & bit)
		state |= FD_LEFT_OUT;
	return state;
}

/* Returns whether a system call on these descriptors is filtered. A call that closes or changes a handle known to the reader is
 * not. */
static __always_inline bool files_excluded(struct thread *t, const struct iop_desc *desc, s32 fd, s32 fd2)
{
	int state = fd_state(t, fd);

	if (!(state & FD_LEFT_OUT))
		return false;
	if (desc->flags & IOP_D_CLOSES_FD)
		return !(state & FD_TOLD);
	if (desc->fd_arg2 == IOP_NO_FD)
		return true;
	state = fd_state(t, fd2);
	return desc->flags & IOP_D_REPLACES_FD ? !(state & FD_TOLD) : state & FD_LEFT_OUT;
}

struct forget_walk { struct process *p; u32 first, last; };

static long forget_step(u32 w, void *data)
{
	struct forget_walk *walk = data;

	if (w >= walk->first && w <= walk->last && w < KNOWN_FDS / 64)
		walk->p->known[w] = walk->p->excluded[w] = 0;
	return 0;
}

/* Neighbours in the word are described once more, which is harmless. */
__noinline int forget_range(struct thread *t, u32 first, u32 last)
{
	struct forget_walk walk = { .p = t ? table_of(t) : 0, .first = first / 64, .last = last / 64 };

	if (walk.p)
		bpf_loop(KNOWN_FDS / 64, forget_step, &walk, 0);
	return 0;
}

#endif
