/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Tests of features that only show when a link is created: Linux 6.1 loads programs for uprobe_multi but refuses each link. The
 * test links are invalid for every kernel, but a kernel that supports the type returns another error; only the test for all threads
 * of a process needs a working link.
 */
#include "bpf/feature_probes.h"

#include <bpf/btf.h>
#include <errno.h>
#include <link.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRACE_UPROBE_MULTI 48   /* enum bpf_attach_type of newer headers than Debian 12's */
#define TRACE_UPROBE_SESSION 57

/* union bpf_attr's link_create with its uprobe_multi part (include/uapi/linux/bpf.h, Linux 6.6). */
struct multi_link {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

static int create_link(int program, uint32_t type, const char *path, uint64_t offset, pid_t pid)
{
	uint64_t offsets[] = { offset };
	struct multi_link attr = { .prog_fd = program, .attach_type = type, .path = (uintptr_t)path, .offsets = (uintptr_t)offsets,
				   .cnt = 1, .pid = pid };
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, offsetof(struct multi_link, pad));

	return fd < 0 ? -errno : fd;
}

/* The target is a directory, which has no code: EBADF from a kernel that supports this type of link. */
static bool knows_links(uint32_t type, const char *action, char *reason, size_t len)
{
	static const struct bpf_insn code[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT } };
	int program = feature_load(BPF_PROG_TYPE_KPROBE, type, 0, code, 2), link;

	if (program < 0)
		return feature_refused(reason, len, action, program);
	link = create_link(program, type, "/", 0, 0);
	close(program);
	if (link >= 0)
		close(link);
	return link == -EBADF ? true : feature_refused(reason, len, action, link);
}

bool probe_uprobe_multi(char *reason, size_t len)
{
	return knows_links(TRACE_UPROBE_MULTI, "cannot create a uprobe_multi link", reason, len);
}

/* ---- sessions ---- */

/* Returns whether the kernel's structure has this member. */
static bool has_member(const struct btf *types, const char *structure, const char *member)
{
	int id = btf__find_by_name_kind(types, structure, BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(types, id) : NULL;

	for (int i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(types, btf_members(type)[i].name_off), member))
			return true;
	return false;
}

/* Checks the offsets at which the program finds the cookie and the direction of a call (run_context() in bpf/library.bpf.h). */
static bool has_run_context(char *reason, size_t len)
{
	const struct btf *types = feature_kernel_types();

	if (types && has_member(types, "bpf_uprobe_multi_run_ctx", "session_ctx") &&
	    has_member(types, "bpf_session_run_ctx", "is_return") && has_member(types, "bpf_uprobe_multi_run_ctx", "uprobe") &&
	    has_member(types, "bpf_uprobe", "cookie") &&
	    has_member(types, "task_struct", "bpf_ctx"))
		return true;
	snprintf(reason, len, "the kernel has no struct bpf_uprobe_multi_run_ctx of the known layout");
	return false;
}

bool probe_uprobe_session(char *reason, size_t len)
{
	if (!feature_available(FEATURE_UPROBE_MULTI)) {
		snprintf(reason, len, "needs uprobe-multi");
		return false;
	}
	if (!knows_links(TRACE_UPROBE_SESSION, "cannot create a session link", reason, len))
		return false;
	if (!has_run_context(reason, len))
		return false;
	if (!feature_available(FEATURE_TYPED_LOADS)) {
		snprintf(reason, len, "needs typed-loads: %s", feature_reason(FEATURE_TYPED_LOADS));
		return false;
	}
	return true;
}

/* ---- all threads of a process ---- */

void feature_probed_function(void);
__asm__(".text\n"
	"feature_probed_function:\n\tpush %rbp\n\tpop %rbp\n\tret\n");

struct own_offset { uintptr_t address; uint64_t offset; };

/* The program itself is the first object. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct own_offset *own = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && own->address >= begin && own->address < begin + segment->p_filesz)
			own->offset = own->address - begin + segment->p_offset;
	}
	return 1;
}

/* Loads a program that counts its runs in the array's only element. */
static int load_counter(int array)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = array }, { 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2, .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 }, { .code = BPF_JMP | BPF_EXIT },
	};

	return feature_load(BPF_PROG_TYPE_KPROBE, TRACE_UPROBE_MULTI, 0, code, sizeof(code) / sizeof(code[0]));
}

static void *call_probed(void *arg)
{
	feature_probed_function();
	return arg;
}

/* Returns whether a link with this process' pid sees a call of another thread: 1 or 0, or -errno. */
static int sees_thread(int array, int program)
{
	struct own_offset own = { .address = (uintptr_t)feature_probed_function };
	uint32_t key = 0;
	uint64_t runs = 0;
	pthread_t thread;
	int link, err;

	dl_iterate_phdr(find_offset, &own);
	link = create_link(program, TRACE_UPROBE_MULTI, "/proc/self/exe", own.offset, getpid());
	if (link < 0)
		return link;
	err = -pthread_create(&thread, NULL, call_probed, NULL);
	if (!err)
		pthread_join(thread, NULL);
	close(link);
	if (!err)
		err = bpf_map_lookup_elem(array, &key, &runs);
	return err ? err : runs > 0;
}

/* Skipped if sessions are available, which are newer: a working link takes some 40 ms to remove. */
bool probe_uprobe_process(char *reason, size_t len)
{
	int array, program, seen;

	if (feature_available(FEATURE_UPROBE_SESSION))
		return true;
	if (!feature_available(FEATURE_UPROBE_MULTI)) {
		snprintf(reason, len, "needs uprobe-multi");
		return false;
	}
	array = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ioprobe_feature", sizeof(uint32_t), sizeof(uint64_t), 1, NULL);
	program = array < 0 ? array : load_counter(array);
	seen = program < 0 ? program : sees_thread(array, program);
	if (program >= 0)
		close(program);
	if (array >= 0)
		close(array);
	if (seen < 0)
		return feature_refused(reason, len, "cannot attach a uprobe_multi link to a process", seen);
	if (!seen)
		snprintf(reason, len, "a uprobe_multi link of a process is hit only by its first thread");
	return seen;
}
