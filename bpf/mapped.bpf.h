/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * With --mmap-faults: page faults of traced threads on mapped files, and later write-back of these files by the kernel, in counters
 * that the agent reads at the end. Faults inside system calls are not counted: they may occur while another BPF program of ours
 * runs.
 */
#ifndef IOPROBE_BPF_MAPPED_H
#define IOPROBE_BPF_MAPPED_H

#include "describe.bpf.h"

#define FAULT_WRITE 2                   /* x86's error code */
#define VM_EXEC 4
#define VM_SHARED 8
#define REQUEST_WRITES 1                /* of the operation in bi_opf */
#define BIO_IS_CLONE 2                  /* BIO_CLONED */
#define MAPPING_IS_NO_FILE 3            /* bits of folio->mapping: anonymous memory, movable pages */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iop_mapped_key);
	__type(value, struct iop_mapped_counts);
} mapped_files SEC(".maps");

__u64 mapped_faults_missed;               /* faults not counted because the mmap lock was held or the table was full */

struct mapped_fault { u64 file, flags; };

static long fault_area(struct task_struct *task, struct vm_area_struct *area, void *data)
{
	struct mapped_fault *fault = data;

	bpf_probe_read_kernel(&fault->file, sizeof(fault->file), &area->vm_file);
	bpf_probe_read_kernel(&fault->flags, sizeof(fault->flags), &area->vm_flags);
	return 0;
}

static __always_inline struct iop_mapped_counts *mapped_file(struct thread *t, struct file *file, struct iop_mapped_key *key)
{
	struct iop_mapped_counts *counts = bpf_map_lookup_elem(&mapped_files, key), none = { 0 };

	if (counts)
		return counts;
	bpf_map_update_elem(&mapped_files, key, &none, BPF_NOEXIST);
	counts = bpf_map_lookup_elem(&mapped_files, key);
	if (describe_file(t, (u64)file, bpf_ktime_get_ns()) == FD_LEFT_OUT && counts)
		counts->excluded = 1;
	return counts;
}

SEC("tp_btf/page_fault_user")
int page_fault(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_of(task);
	struct mapped_fault fault = { 0 };
	struct iop_mapped_counts *counts;
	struct iop_mapped_key key;
	struct inode *inode;
	struct file *file;
	long err;

	if (!t)
		return 0;
	err = bpf_find_vma(task, ctx[0], fault_area, &fault, 0);
	if (err && err != -ENOENT)
		__sync_fetch_and_add(&mapped_faults_missed, 1);
	file = (void *)fault.file;
	if (!file || (fault.flags & VM_EXEC))
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
		return 0;
	key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key.ino = BPF_CORE_READ(inode, i_ino);
	counts = mapped_file(t, file, &key);
	if (!counts)
		__sync_fetch_and_add(&mapped_faults_missed, 1);
	else if ((ctx[2] & FAULT_WRITE) && (fault.flags & VM_SHARED))
		__sync_fetch_and_add(&counts->writes, 1);
	else
		__sync_fetch_and_add(&counts->reads, 1);        /* a write to a private mapping reads the page that it copies */
	return 0;
}

/* Returns the inode whose pages are being written back by a request; 0: it is another kind of request, or carries the pages of one
 * that was seen before (a clone for a device below). */
static __always_inline struct inode *written_inode(struct bio *bio)
{
	struct page *page = BPF_CORE_READ(bio, bi_io_vec, bv_page);
	u64 head = 0, flags = 0, mapping;

	if (!(BPF_CORE_READ(bio, bi_opf) & REQUEST_WRITES) || (BPF_CORE_READ(bio, bi_flags) & BIO_IS_CLONE) || !page)
		return 0;
	if (bpf_core_field_exists(page->compound_head))
		head = BPF_CORE_READ(page, compound_head);
	if (head & 1)
		page = (void *)(head - 1);
	bpf_probe_read_kernel(&flags, sizeof(flags), page);
	if (!(flags >> (bpf_core_enum_value(enum pageflags, PG_writeback) & 63) & 1))
		return 0;       /* direct I/O: of the program's memory */
	mapping = (u64)BPF_CORE_READ((struct folio *)page, mapping);
	return mapping && !(mapping & MAPPING_IS_NO_FILE) ? BPF_CORE_READ((struct address_space *)mapping, host) : 0;
}

/* msync and fsync write pages without the tracepoint below. */
SEC("tp_btf/block_bio_queue")
int request_queued(u64 *ctx)
{
	struct bio *bio = (void *)ctx[0];
	struct inode *inode = written_inode(bio);
	struct iop_mapped_counts *counts;
	struct iop_mapped_key key;

	if (!inode)
		return 0;
	key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key.ino = BPF_CORE_READ(inode, i_ino);
	counts = bpf_map_lookup_elem(&mapped_files, &key);
	if (counts)
		__sync_fetch_and_add(&counts->queued, (BPF_CORE_READ(bio, bi_iter.bi_size) + 4095) / 4096);
	return 0;
}

/* Runs in kernel threads; counts only files that are already in the table. */
SEC("tp_btf/writeback_single_inode")
int written_back(u64 *ctx)
{
	struct inode *inode = (void *)ctx[0];
	struct writeback_control *control = (void *)ctx[1];
	struct iop_mapped_key key = { .dev = BPF_CORE_READ(inode, i_sb, s_dev), .ino = BPF_CORE_READ(inode, i_ino) };
	struct iop_mapped_counts *counts = bpf_map_lookup_elem(&mapped_files, &key);
	s64 pages;

	if (!counts)
		return 0;
	pages = (s64)ctx[2] - BPF_CORE_READ(control, nr_to_write);
	if (pages > 0)
		__sync_fetch_and_add(&counts->written_back, pages);
	return 0;
}

#endif
