/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The addresses of a socket, read from the kernel's structures, with --sockets: sent when the socket is first used and when they
 * change.
 */
#ifndef IOPROBE_BPF_SOCKETS_H
#define IOPROBE_BPF_SOCKETS_H

#include "emit.bpf.h"

#define FAMILY_UNIX 1
#define FAMILY_IPV4 2
#define FAMILY_IPV6 10
#define MAGIC_SOCKET 0x534f434b

const volatile bool sockets = false;

/* The name that a UNIX socket is bound to: a path, or a NUL and an abstract name. */
static __always_inline void unix_name(struct iop_rec_socket *rec, struct unix_sock *sk)
{
	struct unix_address *address = BPF_CORE_READ(sk, addr);
	int len;

	if (!address)
		return;
	len = BPF_CORE_READ(address, len) - 2;          /* behind the family */
	if (len <= 0)
		return;
	rec->name_len = len < (int)sizeof(rec->name) ? len : sizeof(rec->name);
	bpf_probe_read_kernel(rec->name, sizeof(rec->name), (void *)address + bpf_core_field_offset(struct unix_address, name) + 2);
}

static __always_inline void unix_names(struct iop_rec_socket *rec, struct unix_sock *sk)
{
	struct unix_sock *peer = (void *)BPF_CORE_READ(sk, peer);

	unix_name(rec, sk);
	if (rec->name_len || !peer)
		return;
	unix_name(rec, peer);
	rec->name_of_peer = rec->name_len != 0;
}

static __always_inline void inet_addresses(struct iop_rec_socket *rec, struct sock *sk)
{
	u16 port = BPF_CORE_READ(sk, __sk_common.skc_dport);

	rec->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	rec->peer_port = port >> 8 | port << 8;
	if (rec->family == FAMILY_IPV6) {
		bpf_core_read(rec->local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(rec->peer, 16, &sk->__sk_common.skc_v6_daddr);
	} else {
		bpf_core_read(rec->local, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_core_read(rec->peer, 4, &sk->__sk_common.skc_daddr);
	}
}

/* file: of a descriptor of the current task. Files that are not sockets are ignored. */
__noinline int describe_socket(struct thread *t, u64 address, u64 now)
{
	struct file *file = (void *)address;
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct iop_rec_socket *rec;
	struct socket *socket;
	struct sock *sk;

	if (!t || !file || BPF_CORE_READ(inode, i_sb, s_magic) != MAGIC_SOCKET)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	if (!sk)
		return 0;
	rec = (void *)t->scratch;
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->ino = BPF_CORE_READ(inode, i_ino);
	rec->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	rec->type = BPF_CORE_READ(socket, type);
	rec->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (rec->family == FAMILY_UNIX)
		unix_names(rec, (void *)sk);
	else if (rec->family == FAMILY_IPV4 || rec->family == FAMILY_IPV6)
		inet_addresses(rec, sk);
	rec_header(&rec->rec, t, IOP_REC_SOCKET, 0, sizeof(*rec), now);
	send_record(t, rec, sizeof(*rec), false);
	return 1;
}

#endif
