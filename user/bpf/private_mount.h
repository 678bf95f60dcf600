/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * File systems of the kernel that are mounted for this process and those that get its descriptor.
 */
#ifndef IOPROBE_BPF_PRIVATE_MOUNT_H
#define IOPROBE_BPF_PRIVATE_MOUNT_H

/* Mounts a file system of this type ("bpf", "tracefs") outside the mount tree. Returns a descriptor of its root, or -errno. */
int private_mount(const char *type);

#endif
