/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The views, for their list.
 */
#ifndef IOPROBE_REPORT_VIEW_LIST_H
#define IOPROBE_REPORT_VIEW_LIST_H

#include "report/views.h"

extern const struct report_view view_accesses; /* figure 6: calls per file and layer, exclusive time per layer */
extern const struct report_view view_handles; /* figure 7: the tree of handles of one thread over time */
extern const struct report_view view_stacks; /* figure 8: call stacks of two ranks during one collective call */
extern const struct report_view view_nodes; /* figure 9: which nodes and ranks make the system calls inside collective calls */

#endif
