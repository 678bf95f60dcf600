/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Output of "ioprobe job status".
 */
#ifndef IOPROBE_JOB_STATUS_H
#define IOPROBE_JOB_STATUS_H

#include <jansson.h>
#include <stdbool.h>

/* Prints one job, from the service's answer (service/state.h): a row of a table, followed by a line with the reason, if there is
 * one. first: with the table's header. */
void job_status_print(const json_t *job, bool first);

#endif
