/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The programs, by what they are attached to. All are generic: what they do with a call is in its descriptor.
 */
#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "library.h"
#include "syscalls.h"
#include "tasks.h"
#include "mapped.h"
#include "hold.h"
#include "uring.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
