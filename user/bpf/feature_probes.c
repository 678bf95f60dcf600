/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * One function per feature: creates a map, loads a program of a few instructions, or looks up a declaration in the kernel's BTF.
 */
#include "bpf/feature_probes.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/probe_events.h"
#include "bpf/tracepoints.h"

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define TASK_WORK_4 "bpf_task_work_schedule_resume"
#define TASK_WORK_5 "bpf_task_work_schedule_resume_impl"

/* linux/bpf.h of Linux 5.17 and 5.18, missing in headers of older systems */
#define HELPER_LOOP 181
#define HELPER_COPY_FROM_USER_TASK 191

#define CALL_HELPER(helper) { .code = BPF_JMP | BPF_CALL, .imm = (helper) }
#define MOVE(reg, value) { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value) }
#define MOVE_REG(to, from) { .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from) }
#define ADD(reg, value) { .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (reg), .imm = (value) }
#define EXIT { .code = BPF_JMP | BPF_EXIT }

bool feature_refused(char *reason, size_t len, const char *action, int err)
{
	if (err == -EPERM || err == -EACCES)
		snprintf(reason, len, "%s: %s (needs root, or CAP_BPF and CAP_PERFMON)", action, strerror(-err));
	else
		snprintf(reason, len, "%s: %s", action, strerror(-err));
	return false;
}

int feature_load(enum bpf_prog_type type, int attach_type, unsigned flags, const struct bpf_insn *code, size_t n)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach_type, .prog_flags = flags);

	return bpf_prog_load(type, "ioprobe_feature", "Dual BSD/GPL", code, n, &options);
}

/* ---- the kernel's BTF ---- */

const struct btf *feature_kernel_types(void)
{
	static const struct btf *types;
	static bool tried;

	if (!tried && feature_available(FEATURE_BTF)) {
		types = btf__load_vmlinux_btf();
		if (libbpf_get_error(types))
			types = NULL;
	}
	tried = true;
	return types;
}

static bool probe_btf(char *reason, size_t len)
{
	if (access(KERNEL_TYPES, R_OK))
		return feature_refused(reason, len, "cannot read " KERNEL_TYPES " (CONFIG_DEBUG_INFO_BTF)", -errno);
	return true;
}

/* Returns the type of a kernel function, NULL if there is no such function. */
static const struct btf_type *function_type(const char *name)
{
	const struct btf *types = feature_kernel_types();
	int id = types ? btf__find_by_name_kind(types, name, BTF_KIND_FUNC) : -1;

	return id > 0 ? btf__type_by_id(types, btf__type_by_id(types, id)->type) : NULL;
}

static bool has_function(const char *name, char *reason, size_t len)
{
	if (function_type(name))
		return true;
	snprintf(reason, len, "the kernel has no function %s", name);
	return false;
}

static bool probe_task_iterator(char *reason, size_t len)
{
	return has_function("bpf_iter_task", reason, len);
}

static bool probe_typed_loads(char *reason, size_t len)
{
	return has_function("bpf_rdonly_cast", reason, len);
}

/* From 7.0 on the kernel's BTF has both names, but only the one with four arguments can be called. */
unsigned feature_task_work_form(void)
{
	const struct btf_type *four, *five;

	if (!feature_available(FEATURE_TASK_WORK))
		return 0;
	four = function_type(TASK_WORK_4);
	five = function_type(TASK_WORK_5);
	if (four)
		return btf_vlen(four) == 4 ? 4 : 0;
	return five && btf_vlen(five) == 5 ? 5 : 0;
}

static bool probe_task_work(char *reason, size_t len)
{
	const struct btf_type *four = function_type(TASK_WORK_4), *five = function_type(TASK_WORK_5);

	if (!four && !five)
		return has_function(TASK_WORK_4, reason, len);
	if (four ? btf_vlen(four) == 4 : btf_vlen(five) == 5)
		return true;
	snprintf(reason, len, "%s has %u arguments, which this ioprobe does not know", four ? TASK_WORK_4 : TASK_WORK_5,
		 (unsigned)btf_vlen(four ? four : five));
	return false;
}

static bool probe_uring(char *reason, size_t len)
{
	return tracepoints_have_uring(reason, len);
}

/* ---- maps ---- */

static bool probe_ring_buffer(char *reason, size_t len)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ioprobe_feature", 0, 0, 4096, NULL);

	if (fd < 0)
		return feature_refused(reason, len, "cannot create a ring buffer", fd);
	close(fd);
	return true;
}

/* A map of this type must declare its key and value types. */
static int task_storage_map(struct btf *types)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	int number = btf__add_int(types, "int", sizeof(int), BTF_INT_SIGNED);

	if (number < 0 || btf__load_into_kernel(types))
		return -errno;
	options.btf_fd = btf__fd(types);
	options.btf_key_type_id = options.btf_value_type_id = number;
	return bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "ioprobe_feature", sizeof(int), sizeof(int), 0, &options);
}

static bool probe_task_storage(char *reason, size_t len)
{
	struct btf *types = btf__new_empty();
	int fd = libbpf_get_error(types) ? -ENOMEM : task_storage_map(types);

	btf__free(types);
	if (fd < 0)
		return feature_refused(reason, len, "cannot create a map of task storage", fd);
	close(fd);
	return true;
}

/* ---- programs ---- */

static bool has_helper(int helper, const char *name, char *reason, size_t len)
{
	int known = libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, helper, NULL);

	if (known < 0)
		return feature_refused(reason, len, "cannot try a BPF helper", known);
	if (!known)
		snprintf(reason, len, "the kernel has no BPF helper %s", name);
	return known;
}

static bool probe_task_registers(char *reason, size_t len)
{
	return has_helper(BPF_FUNC_task_pt_regs, "bpf_task_pt_regs", reason, len);
}

static bool probe_loops(char *reason, size_t len)
{
	return has_helper(HELPER_LOOP, "bpf_loop", reason, len);
}

static bool probe_attach_cookie(char *reason, size_t len)
{
	return has_helper(BPF_FUNC_get_attach_cookie, "bpf_get_attach_cookie", reason, len);
}

/* With the helper that allows scheduling of a waiting thread (bpf/wait.bpf.h). */
static bool probe_sleepable_uprobes(char *reason, size_t len)
{
	static const struct bpf_insn code[] = {
		CALL_HELPER(BPF_FUNC_get_current_task_btf), MOVE_REG(BPF_REG_4, BPF_REG_0), MOVE_REG(BPF_REG_1, BPF_REG_10),
		ADD(BPF_REG_1, -8), MOVE(BPF_REG_2, 1), MOVE(BPF_REG_3, 0), MOVE(BPF_REG_5, 0),
		CALL_HELPER(HELPER_COPY_FROM_USER_TASK), MOVE(BPF_REG_0, 0), EXIT };

	int fd = feature_load(BPF_PROG_TYPE_KPROBE, 0, BPF_F_SLEEPABLE, code, sizeof(code) / sizeof(code[0]));

	if (fd < 0)
		return feature_refused(reason, len, "cannot load a sleepable uprobe program", fd);
	close(fd);
	return true;
}

static bool probe_uprobe_events(char *reason, size_t len)
{
	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK))
		return feature_refused(reason, len, "cannot read /sys/bus/event_source/devices/uprobe/type", -errno);
	return true;
}

static bool probe_uprobe_definitions(char *reason, size_t len)
{
	struct probe_events events;
	int err = probe_events_open(&events);

	if (err)
		return feature_refused(reason, len, "cannot open uprobe_events of tracefs", err);
	probe_events_close(&events);
	return true;
}

const feature_probe feature_probes[FEATURES] = {
	[FEATURE_BTF] = probe_btf, [FEATURE_RING_BUFFER] = probe_ring_buffer, [FEATURE_TASK_ITERATOR] = probe_task_iterator,
	[FEATURE_TASK_STORAGE] = probe_task_storage, [FEATURE_TASK_REGISTERS] = probe_task_registers,
	[FEATURE_LOOPS] = probe_loops,
	[FEATURE_ATTACH_COOKIE] = probe_attach_cookie, [FEATURE_SLEEPABLE_UPROBES] = probe_sleepable_uprobes,
	[FEATURE_UPROBE_EVENTS] = probe_uprobe_events, [FEATURE_UPROBE_MULTI] = probe_uprobe_multi,
	[FEATURE_UPROBE_DEFINITIONS] = probe_uprobe_definitions,
	[FEATURE_UPROBE_PROCESS] = probe_uprobe_process, [FEATURE_UPROBE_SESSION] = probe_uprobe_session,
	[FEATURE_ATOMIC_TRACEPOINTS] = probe_atomic_tracepoints, [FEATURE_SYSCALL_EVENTS] = probe_syscall_events,
	[FEATURE_TYPED_LOADS] = probe_typed_loads, [FEATURE_TASK_WORK] = probe_task_work, [FEATURE_URING] = probe_uring,
};
