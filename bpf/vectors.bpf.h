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

/* Returns the sum of the lengths; unknown, rather than a partial sum, if there are too many or one cannot be read. */
__noinline u64 iovec_bytes(u64 address, u64 count)
{
	struct user_iovec iov;
	u64 sum = 0;

	if (count > IOV_LIMIT)
		return LENGTH_UNKNOWN;
	for (u32 n = 0; n < IOV_LIMIT; n++) {
		if (n >= count)
			break;
		if (bpf_probe_read_user(&iov, sizeof(iov), (void *)(address + n * sizeof(iov))))
			return LENGTH_UNKNOWN;
		sum += iov.len;
	}
	return sum;
}

__noinline u64 message_bytes(u64 address)
{
	struct user_msghdr message;

	if (bpf_probe_read_user(&message, sizeof(message), (void *)address))
		return LENGTH_UNKNOWN;
	return iovec_bytes(message.iov, message.iovlen);
}

/* Bytes moved by sendmmsg or recvmmsg. */
__noinline u64 messages_moved(u64 address, u64 count)
{
	u64 sum = 0;
	u32 len;

	if (count > IOV_LIMIT)
		return LENGTH_UNKNOWN;
	for (u32 n = 0; n < IOV_LIMIT; n++) {
		if (n >= count)
			break;
		if (bpf_probe_read_user(&len, sizeof(len), &((struct user_mmsghdr *)address)[n].len))
			return LENGTH_UNKNOWN;
		sum += len;
	}
	return sum;
}

#endif
