/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The BPF programs, by attach point. All are generic: the descriptor of a call decides what they do with it.
 */
#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "library.h"
#include "syscalls.h"
#include "tasks.h"
#include "mapped.h"
#include "measure.h"
#include "hold.h"
#include "uring.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
