/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The object is compiled once for each declaration of the kernel's task work function (bpf/wait.bpf.h). The variants differ only in
 * the code of a few functions: maps, programs and variables are the same, so one skeleton serves all.
 */
#include "bpf/skeleton.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include <ioprobe/demand.h>             /* for the skeleton's variables */
#include <ioprobe/descriptor.h>
#include <ioprobe/recording.h>
#include <ioprobe/request.h>
#include <ioprobe/sites.h>

#include "ioprobe.skel.h"
#include "ioprobe-0.skel.h"
#include "ioprobe-4.skel.h"
#include "privilege/capabilities.h"

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

_Static_assert(sizeof(struct ioprobe_bpf__rodata) == sizeof(struct ioprobe_bpf_4__rodata), "constants of the forms");
_Static_assert(sizeof(struct ioprobe_bpf__rodata) == sizeof(struct ioprobe_bpf_0__rodata), "constants of the forms");
_Static_assert(sizeof(struct ioprobe_bpf__bss) == sizeof(struct ioprobe_bpf_4__bss), "variables of the forms");
_Static_assert(sizeof(struct ioprobe_bpf__bss) == sizeof(struct ioprobe_bpf_0__bss), "variables of the forms");

static const void *form_bytes(unsigned task_work_form, size_t *size)
{
	if (task_work_form == 5)
		return ioprobe_bpf__elf_bytes(size);
	return task_work_form == 4 ? ioprobe_bpf_4__elf_bytes(size) : ioprobe_bpf_0__elf_bytes(size);
}

/* For a type that this kernel does not have, libbpf (before 1.4) searches the BTF of modules, which requires CAP_SYS_ADMIN, and
 * fails without it. If the kernel's own BTF is given as a file it searches no further; no type of ours belongs to a module. */
struct ioprobe_bpf *skeleton_open(unsigned task_work_form)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	struct ioprobe_bpf *skel = calloc(1, sizeof(*skel));
	int err = skel ? ioprobe_bpf__create_skeleton(skel) : -ENOMEM;

	if (!capability_has(CAP_SYS_ADMIN))
		options.btf_custom_path = KERNEL_TYPES;
	if (!err) {
		skel->skeleton->data = (void *)form_bytes(task_work_form, &skel->skeleton->data_sz);
		err = bpf_object__open_skeleton(skel->skeleton, &options);
	}
	if (!err)
		return skel;
	ioprobe_bpf__destroy(skel);
	errno = -err;
	return NULL;
}
