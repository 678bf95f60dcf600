/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The thread that gives unwinders their return addresses back, independent of the main loop, which may be waiting for the kernel.
 */
#ifndef IOPROBE_RESPONDER_H
#define IOPROBE_RESPONDER_H

#include <stdint.h>
#include "capture/kernel_side.h"

struct responder;
int responder_create(struct responder **out, struct kernel_side *kernel);        /* 0 or -errno */
void responder_destroy(struct responder *responder);    /* ends the thread; NULL is fine */
uint64_t responder_failed(const struct responder *responder);    /* return addresses that could not be written */

#endif
