/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Programs that do nothing: what is measured with them is the price of the probe points themselves.
 */
#include "kernel.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("uprobe")
int call(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("tp_btf/sys_enter")
int enter(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("tp_btf/sys_exit")
int leave(void *ctx)
{
	(void)ctx;
	return 0;
}
