/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Describes the mount of a file, read from the kernel's structures at the file's first use: processes in mount namespaces of their
 * own may have ended before the agent could read their mount table, and mount ids are reused.
 */
#ifndef IOPROBE_BPF_MOUNTS_H
#define IOPROBE_BPF_MOUNTS_H

#include "emit.bpf.h"

#define MOUNT_TEXT_ROOM 256     /* of the file system's type, its subtype, or the source, each with its NUL */

/* What was described under a mount id. Before Linux 6.8 a mount has no number that is unique: there it is described again after
 * each change of its namespace's mounts. */
struct mount_key { u32 recording, mnt_id; };
struct mount_identity { u64 unique, event; };
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct mount_key);
	__type(value, struct mount_identity);
} mounts_described SEC(".maps");

static __always_inline u64 namespace_number(struct mnt_namespace *ns)
{
	struct mnt_namespace___before_6_18 *old = (void *)ns;

	if (bpf_core_field_exists(old->seq))
		return BPF_CORE_READ(old, seq);
	return BPF_CORE_READ(ns, ns.ns_id);
}

/* Returns whether the mount has an identity: mounts without a namespace (pipes, sockets, detached ones) have no mount point. */
static __always_inline bool mount_identity(struct mount *mnt, struct mount_identity *out)
{
	struct mnt_namespace *ns = LOAD(mnt, mnt_ns);
	u64 number;

	if (!ns)
		return false;
	number = namespace_number(ns);
	if (!number)
		return false;   /* a tree that is not mounted anywhere, see open_tree(2) */
	if (bpf_core_field_exists(mnt->mnt_id_unique)) {
		out->unique = BPF_CORE_READ(mnt, mnt_id_unique);
		out->event = 0;
	} else {
		out->unique = number;
		out->event = LOAD(ns, event);
	}
	return true;
}

static __always_inline u32 append_text(struct thread *t, u32 used, const char *text)
{
	long n = 0;

	if (used > 2 * MOUNT_TEXT_ROOM)
		used = 2 * MOUNT_TEXT_ROOM;
	barrier_var(used);
	if (text)
		n = bpf_probe_read_kernel_str(t->scratch + sizeof(struct iop_rec_fd) + used, MOUNT_TEXT_ROOM, text);
	if (n <= 0) {
		t->scratch[sizeof(struct iop_rec_fd) + used] = 0;
		n = 1;
	}
	return used + n;
}

/* The source of file systems that name it themselves (NFS, FUSE over a device) is left empty: the mount table has it. */
static __always_inline u32 mount_texts(struct thread *t, struct mount *mnt, struct super_block *sb)
{
	const char *source = BPF_CORE_READ(mnt, mnt_devname);
	u32 used;

	used = append_text(t, 0, BPF_CORE_READ(sb, s_type, name));
	used = append_text(t, used, BPF_CORE_READ(sb, s_subtype));
	return append_text(t, used, BPF_CORE_READ(sb, s_op, show_devname) ? 0 : source);
}

#endif
