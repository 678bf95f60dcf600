/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Byte counts of vectored I/O: struct iovec, struct msghdr, struct mmsghdr.
 */
#ifndef IOPROBE_BPF_VECTORS_H
#define IOPROBE_BPF_VECTORS_H

#include "kernel.h"

#define LENGTH_UNKNOWN (~0ull)
#define IOV_LIMIT 64
struct user_iovec { u64 base, len; };
struct user_msghdr { u64 name; u32 name_len, pad; u64 iov, iovlen, control, controllen; u32 flags, pad2; };
struct user_mmsghdr { struct user_msghdr header; u32 len, pad; };

struct vector_walk { u64 address, sum, read; };

static long iovec_step(u32 n, void *data)
{
	struct vector_walk *walk = data;
	struct user_iovec iov;

	if (bpf_probe_read_user(&iov, sizeof(iov), (void *)(walk->address + n * sizeof(iov))))
		return 1;
	walk->sum += iov.len;
	walk->read++;
	return 0;
}

/* Returns the sum of the lengths; unknown, rather than a partial sum, if there are too many or one cannot be read. */
__noinline u64 iovec_bytes(u64 address, u64 count)
{
	struct vector_walk walk = { .address = address };

	if (count > IOV_LIMIT)
		return LENGTH_UNKNOWN;
	bpf_loop(count, iovec_step, &walk, 0);
	return walk.read == count ? walk.sum : LENGTH_UNKNOWN;
}

__noinline u64 message_bytes(u64 address)
{
	struct user_msghdr message;

	if (bpf_probe_read_user(&message, sizeof(message), (void *)address))
		return LENGTH_UNKNOWN;
	return iovec_bytes(message.iov, message.iovlen);
}

static long message_step(u32 n, void *data)
{
	struct vector_walk *walk = data;
	u32 len;

	if (bpf_probe_read_user(&len, sizeof(len), &((struct user_mmsghdr *)walk->address)[n].len))
		return 1;
	walk->sum += len;
	walk->read++;
	return 0;
}

/* Bytes moved by sendmmsg or recvmmsg. */
__noinline u64 messages_moved(u64 address, u64 count)
{
	struct vector_walk walk = { .address = address };

	if (count > IOV_LIMIT)
		return LENGTH_UNKNOWN;
	bpf_loop(count, message_step, &walk, 0);
	return walk.read == count ? walk.sum : LENGTH_UNKNOWN;
}

#endif
