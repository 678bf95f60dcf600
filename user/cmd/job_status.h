/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What "ioprobe job status" prints.
 */
#ifndef IOPROBE_JOB_STATUS_H
#define IOPROBE_JOB_STATUS_H

#include <jansson.h>
#include <stdbool.h>

/* One job, as the service answers (service/state.h): a row of a table, below it a line with the reason, if there is one. first: with the
 * table's header. */
void job_status_print(const json_t *job, bool first);

#endif
