/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Whose rights a merge runs with: the caller's.
 */
#ifndef IOPROBE_MERGE_RIGHTS_H
#define IOPROBE_MERGE_RIGHTS_H

#include <stddef.h>

#include "merge/run.h"

/* Under sudo the process becomes the user who called it, for good; capabilities are given up. Root reads only archives of root's,
 * and writes only where no other user can exchange a directory. Returns 0, or -errno with one line in err. */
int merge_take_rights(const struct merge_options *options, char *err, size_t err_len);

#endif
