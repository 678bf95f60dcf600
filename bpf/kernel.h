/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The kernel types that the programs read, with just the members they read; CO-RE finds the real offsets at load.
 */
#ifndef IOPROBE_BPF_KERNEL_H
#define IOPROBE_BPF_KERNEL_H

#include <ioprobe/record.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
/* types that libbpf's helper declarations use */
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_PERCPU_HASH = 5, BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9, BPF_MAP_TYPE_ARRAY_OF_MAPS = 12, BPF_MAP_TYPE_RINGBUF = 27, BPF_MAP_TYPE_TASK_STORAGE = 29 };
enum { BPF_F_NO_PREALLOC = 1 };
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1 };

#define ENOENT 2
#define EBADF 9
#define EINPROGRESS 115
#define S_IFMT 0170000
#define S_IFDIR 0040000
#define S_IFREG 0100000
#define TS_COMPAT 2     /* thread_info.status: inside a 32-bit system call */

/* x86-64; the layout is ABI, so not relocated */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct qstr { const unsigned char *name; };
struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	unsigned int i_nlink, i_generation;
	struct super_block *i_sb;
};
struct file_system_type { const char *name; };
struct super_operations { void *show_devname; };
struct super_block {
	unsigned int s_dev;
	unsigned long s_magic, s_blocksize;
	struct file_system_type *s_type;
	const struct super_operations *s_op;
	const char *s_subtype;
};
struct dentry { struct dentry *d_parent; struct qstr d_name; struct inode *d_inode; };
struct vfsmount { struct dentry *mnt_root; struct super_block *mnt_sb; };
struct ns_common { u64 ns_id; };                /* Linux 6.18 */
struct mnt_namespace { struct ns_common ns; u64 event; };
struct mnt_namespace___before_6_18 { u64 seq; };
struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	const char *mnt_devname;
	struct mnt_namespace *mnt_ns;
	u64 mnt_id_unique;                      /* Linux 6.8 */
	int mnt_id;
};
struct path { struct vfsmount *mnt; struct dentry *dentry; };
struct file {
	struct path f_path;
	struct inode *f_inode;
	unsigned int f_flags;
	void *private_data;
	long long f_pos;
};
struct fdtable { unsigned int max_fds; struct file **fd; unsigned long *close_on_exec; };
struct files_struct { struct fdtable *fdt; };
struct fs_struct { struct path pwd; };
typedef struct { int counter; } atomic_t;
struct signal_struct { atomic_t live; };
struct xol_area { unsigned long vaddr; };
struct uprobes_state { struct xol_area *xol_area; };
struct mm_struct {
	unsigned long mmap_base, task_size, start_stack, env_start, env_end;
	unsigned long saved_auxv[46];   /* or more */
	struct uprobes_state uprobes_state;
};
typedef struct { unsigned int val; } kuid_t;
struct cred { kuid_t uid; };
struct thread_info { unsigned int status; };
struct thread_struct { unsigned long fsbase; };
struct bpf_local_storage;
struct return_instance { unsigned long stack, orig_ret_vaddr; struct return_instance *next; };
struct uprobe_task { struct return_instance *return_instances; };
struct bpf_run_ctx;
struct bpf_session_run_ctx { bool is_return; };
struct bpf_uprobe { u64 cookie; };
struct bpf_uprobe_multi_run_ctx { struct bpf_session_run_ctx session_ctx; struct bpf_uprobe *uprobe; };
struct task_io_accounting { __u64 read_bytes; };
struct sched_info { unsigned long long run_delay; };
struct task_struct {
	unsigned int in_iowait : 1;
	struct task_io_accounting ioac;
	u64 utime, stime;
	unsigned long nvcsw, nivcsw;
	struct sched_info sched_info;
	struct thread_info thread_info;
	struct thread_struct thread;
	int pid, tgid;
	char comm[16];
	int exit_code;
	unsigned int ptrace;
	unsigned long long start_time, self_exec_id;
	struct mm_struct *mm;
	const struct cred *cred;
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
	struct task_struct *group_leader;
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	struct bpf_local_storage *bpf_storage;
	struct uprobe_task *utask;
	struct bpf_run_ctx *bpf_ctx;
};
struct linux_binprm { unsigned int secureexec : 1; const char *filename; };
struct seq_file;
struct bpf_iter_meta { struct seq_file *seq; };
struct bpf_iter__task { struct bpf_iter_meta *meta; struct task_struct *task; };

/* mapped files */
struct vm_area_struct { unsigned long vm_start, vm_end, vm_flags; struct file *vm_file; };
struct writeback_control { long nr_to_write; };
struct address_space { struct inode *host; };
struct page { unsigned long compound_head; };
struct folio { struct address_space *mapping; };
enum pageflags { PG_writeback };
struct bio_vec { struct page *bv_page; };
struct bvec_iter { unsigned int bi_size; };
struct bio {
	unsigned int bi_opf;
	unsigned short bi_flags;
	struct bvec_iter bi_iter;
	struct bio_vec *bi_io_vec;
};

/* sockets */
struct in6_addr { __u8 bytes[16]; };
struct sock_common {
	__u32 skc_daddr, skc_rcv_saddr;
	__u16 skc_dport, skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};
struct sock { struct sock_common __sk_common; __u16 sk_protocol; };
struct socket { short type; struct sock *sk; };
struct sockaddr_un { unsigned short sun_family; };
struct unix_address { int len; struct sockaddr_un name[0]; };
struct unix_sock { struct unix_address *addr; struct sock *peer; };

/* io_uring */
struct io_cmd_data { struct file *file; };
struct io_cqe { __u64 user_data; __s32 res; int fd; };
struct io_uring_task { struct task_struct *task; };     /* task: Linux 6.13 */
struct io_rsrc_node { unsigned long file_ptr; };        /* Linux 6.13 */
struct io_rsrc_data { unsigned int nr; struct io_rsrc_node **nodes; };
struct io_file_table { struct io_rsrc_data data; };
struct io_ring_ctx { struct io_file_table file_table; };
struct io_kiocb {
	struct io_cmd_data cmd;
	__u8 opcode;
	unsigned int flags;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
	struct io_uring_task *tctx;
};
struct kiocb { long long ki_pos; };
struct io_rw { struct kiocb kiocb; __u64 addr; __u32 len; };
struct io_sr_msg { void *buf; int len; };
struct io_open { __u32 file_slot; };
struct io_close { int fd; __u32 file_slot; };
struct io_uring_cqe { __u64 user_data; __s32 res; __u32 flags; };
struct io_uring_sqe { __u8 opcode, flags; __s32 fd; __u64 off, addr; __u32 len; __u64 user_data; };
/* before Linux 6.13 */
struct io_fixed_file { unsigned long file_ptr; };
struct io_file_table___before_6_13 { struct io_fixed_file *files; };
struct io_ring_ctx___before_6_13 { struct io_file_table___before_6_13 file_table; unsigned int nr_user_files; };
struct io_kiocb___before_6_13 { struct task_struct *task; };

#pragma clang attribute pop

#endif
