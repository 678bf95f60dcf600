/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Determines how system calls can be recorded. The kernel skips a raw tracepoint's program if it is already running on the CPU. Up
 * to Linux 7.1 such programs run with preemption disabled, so this cannot happen; whether it can is read from the kernel's
 * preemption counter inside such a program.
 */
#include "bpf/feature_probes.h"

#include <bpf/btf.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/syscall_events.h"

#define COUNTER "__preempt_count"
#define NEED_RESCHED 0x80000000u        /* a flag in the preemption counter */
#define SEEN (1ull << 32)

/* Loads a program that runs at our next system call: array[0] = SEEN | counter. */
static int load_reader(int array, int counter)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_pid_tgid },
		{ .code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = BPF_REG_0, .imm = 32 },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = BPF_REG_0, .imm = getpid(), .off = 10 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_BTF_ID, .imm = counter }, { 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_this_cpu_ptr },
		{ .code = BPF_LDX | BPF_W | BPF_MEM, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_0 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_3, .imm = 0 }, { .imm = SEEN >> 32 },
		{ .code = BPF_ALU64 | BPF_OR | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_3 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = array }, { 0 },
		{ .code = BPF_STX | BPF_DW | BPF_MEM, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 }, { .code = BPF_JMP | BPF_EXIT },
	};

	return feature_load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, code, sizeof(code) / sizeof(code[0]));
}

/* Returns the counter as seen by a program on sys_enter, or -errno. */
static int64_t read_counter(int array, int program)
{
	uint64_t value = 0;
	uint32_t key = 0;
	int link = bpf_raw_tracepoint_open("sys_enter", program), err;

	if (link < 0)
		return link;
	syscall(SYS_getppid);
	close(link);
	err = bpf_map_lookup_elem(array, &key, &value);
	if (err)
		return err;
	return value & SEEN ? (int64_t)(uint32_t)value : -1;
}

static int64_t counter_in_program(int counter)
{
	int array = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ioprobe_feature", sizeof(uint32_t), sizeof(uint64_t), 1, NULL);
	int program = array < 0 ? array : load_reader(array, counter);
	int64_t value = program < 0 ? program : read_counter(array, program);

	if (program >= 0)
		close(program);
	if (array >= 0)
		close(array);
	return value;
}

/* Programs of this type may be sleepable on kernels whose tracepoints can be preempted. */
static bool may_sleep(void)
{
	static const struct bpf_insn code[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT } };
	int fd = feature_load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, BPF_F_SLEEPABLE, code, 2);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Kernels that do not declare the counter (6.2 to 6.14) are older than the change; without CONFIG_KALLSYMS_ALL it cannot be
 * read. */
bool probe_atomic_tracepoints(char *reason, size_t len)
{
	const struct btf *types = feature_kernel_types();
	int counter = types ? btf__find_by_name_kind(types, COUNTER, BTF_KIND_VAR) : -1;
	int64_t value = counter > 0 ? counter_in_program(counter) : -1;

	if (value < 0 ? !may_sleep() : value & ~(int64_t)NEED_RESCHED)
		return true;
	snprintf(reason, len, "the kernel preempts programs of raw tracepoints and skips their next runs meanwhile");
	return false;
}

bool probe_syscall_events(char *reason, size_t len)
{
	int err = syscall_events_find();

	return err ? feature_refused(reason, len, "cannot read the numbers of raw_syscalls in tracefs", err) : true;
}
