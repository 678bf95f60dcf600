/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * How much a recording may still write. The archive is made from the spool later and is several times larger: its size is estimated
 * from the records, as an upper bound, so that both fit. The first record that does not fit ends the recording; it and later ones
 * are counted.
 */
#ifndef IOPROBE_BUDGET_H
#define IOPROBE_BUDGET_H

#include <ioprobe/record.h>
#include <stdbool.h>

#include "capture/bounds.h"
#include "capture/site_sizes.h"
#include "spool/spool.h"
#include "table/table.h"

/* For what every archive has: definitions and files, names of the tables, the spool's last records. */
#define BUDGET_RESERVE_BYTES (136u << 10)

struct budget;

/* spool and bounds must outlive the budget. The present size of the spool is included. Returns 0, or -errno with one line in err:
 * -ENOSPC if the limits leave no room for a recording. */
int budget_create(struct budget **out, const struct bounds *bounds, const struct table_set *set, const struct spool_writer *spool,
		  char *err, size_t err_len);
void budget_destroy(struct budget *budget);     /* NULL is allowed */

/* Returns whether a drained record may be appended; if not, a limit is reached and the record is counted. May flush the spool to
 * find out the compressed size of the records so far. */
bool budget_admits(struct budget *budget, struct spool_writer *spool, const struct iop_rec *rec);

/* To be called regularly: checks free space and rate. */
void budget_step(struct budget *budget, uint64_t now_ns);

/* Returns the limit that was reached: "max-size", "min-free" or "max-rate", NULL if none; *reason is one line, valid as long as the
 * budget. */
const char *budget_reached(const struct budget *budget, const char **reason);
uint64_t budget_refused(const struct budget *budget);   /* records that came after the limit was reached */
/* Returns the time_ns of the oldest refused record, UINT64_MAX if there is none. Several rings are drained in turn, so the spool
 * may contain younger records: the recording is complete only up to this moment. */
uint64_t budget_refused_since(const struct budget *budget);

/* Returns an upper bound for the number of bytes that a record adds to the archive and the files beside it; row: of its probe, NULL
 * for other records and unknown probes; sites: of the records before. */
uint64_t budget_archive_bytes(struct site_sizes *sites, const struct iop_rec *rec, const struct table_row *row);

#endif
