/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Closing links in the background: the kernel takes tens of milliseconds for each, in which the rings would fill.
 */
#ifndef IOPROBE_CLOSER_H
#define IOPROBE_CLOSER_H

#include "capture/attach.h"

struct closer;
int closer_create(struct closer **out);                 /* 0 or -errno */
/* Takes over the links; they are closed soon. The struct is empty afterwards. */
void closer_take(struct closer *closer, struct links *links);
void closer_destroy(struct closer *closer);             /* when all are closed; NULL is fine */

#endif
