/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * io_uring's tracepoints, according to the kernel's BTF, and tracepoints that depend on options.
 */
#include "bpf/tracepoints.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#include <ioprobe/descriptor.h>         /* for the skeleton's variables */
#include <ioprobe/recording.h>
#include <ioprobe/request.h>
#include <ioprobe/sites.h>

#include "bpf/features.h"
#include "ioprobe.skel.h"

/* Returns the number of a tracepoint's arguments, -1 if there is no such tracepoint. */
static int tracepoints_arguments_of(const struct btf *btf, const char *tracepoint)
{
	char name[128];
	const struct btf_type *type;
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) : -1;
	type = id > 0 ? btf__type_by_id(btf, id) : NULL;
	type = type ? btf__type_by_id(btf, type->type) : NULL;          /* pointer to the function's type */
	type = type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
	return type && btf_is_func_proto(type) ? btf_vlen(type) - 1 : -1;       /* without the first one, the program's context */
}

#define DEFAULT_SUBMIT "io_uring_submit_req"    /* of the program; Linux 6.5, io_uring_submit_sqe before that */

static const char *submit_tracepoint(const struct btf *btf)
{
	return tracepoints_arguments_of(btf, DEFAULT_SUBMIT) < 0 ? "io_uring_submit_sqe" : DEFAULT_SUBMIT;
}

/* The completion has seven arguments in Linux 6.0 to 6.9, three from 6.10 on. Kernels before 6.0 pass too little information. */
bool tracepoints_have_uring(char *reason, size_t len)
{
	const struct btf *btf = feature_kernel_types();
	int end = tracepoints_arguments_of(btf, "io_uring_complete");

	if (end >= 0 && tracepoints_arguments_of(btf, submit_tracepoint(btf)) >= 1 && (end == 3 || end == 7) &&
	    btf__find_by_name_kind(btf, "io_cmd_data", BTF_KIND_STRUCT) > 0)
		return true;
	if (end < 0)
		snprintf(reason, len, "the kernel has no tracepoint io_uring_complete");
	else
		snprintf(reason, len, "the kernel's tracepoints of io_uring have too few arguments");
	return false;
}

static void choose_uring(struct ioprobe_bpf *skel, const struct btf *btf, bool wanted)
{
	int end = tracepoints_arguments_of(btf, "io_uring_complete");
	bool usable = wanted && feature_available(FEATURE_URING);

	bpf_program__set_autoload(skel->progs.uring_submit, usable);
	bpf_program__set_autoload(skel->progs.uring_complete, usable);
	bpf_program__set_autoload(skel->progs.uring_failed, usable && tracepoints_arguments_of(btf, "io_uring_req_failed") == 3);
	bpf_program__set_autoload(skel->progs.uring_overflow,
				  usable && end == 3 && tracepoints_arguments_of(btf, "io_uring_cqe_overflow") == 5);
	if (!usable)
		return;
	/* not without need: libbpf reads the kernel's types now for it, one object after the other */
	if (strcmp(submit_tracepoint(btf), DEFAULT_SUBMIT))
		bpf_program__set_attach_target(skel->progs.uring_submit, 0, submit_tracepoint(btf));
	skel->rodata->uring_cqe_whole = end == 3;
}

void tracepoints_choose(struct ioprobe_bpf *skel, bool uring, bool switches, bool mmap_faults)
{
	choose_uring(skel, feature_kernel_types(), uring);
	bpf_program__set_autoload(skel->progs.task_switch, switches);
	bpf_program__set_autoload(skel->progs.page_fault, mmap_faults);
	bpf_program__set_autoload(skel->progs.written_back, mmap_faults);
	bpf_program__set_autoload(skel->progs.request_queued,
				  mmap_faults && tracepoints_arguments_of(feature_kernel_types(), "block_bio_queue") == 1);
}
