/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The thread that answers threads of the target which wait inside a BPF program, independent of the main loop, which may itself
 * be waiting for the kernel: it gives unwinders their return addresses back, and stops launched programs until they are probed.
 */
#ifndef IOPROBE_RESPONDER_H
#define IOPROBE_RESPONDER_H

#include <stdint.h>
#include "capture/kernel_side.h"

struct responder;
int responder_create(struct responder **out, struct kernel_side *kernel);       /* 0 or -errno */
void responder_destroy(struct responder *responder);    /* lets go who is stopped, ends the thread; NULL is fine */

/* Threads that wait for probes. The descriptor is readable when there are some; next returns their pid_tgid, 0 for none. */
int responder_probes_fd(const struct responder *responder);
uint64_t responder_next(struct responder *responder);
/* Its probes are in place: it goes on. */
void responder_release(struct responder *responder, uint64_t pid_tgid);

uint64_t responder_failed(const struct responder *responder);   /* return addresses that could not be written */

#endif
