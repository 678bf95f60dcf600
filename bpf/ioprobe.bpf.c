/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The BPF programs, by attach point. All are generic: the descriptor of a call decides what they do with it.
 */
#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "library.bpf.h"
#include "syscalls.bpf.h"
#include "tasks.bpf.h"
#include "mapped.bpf.h"
#include "measure.bpf.h"
#include "hold.bpf.h"
#include "uring.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
