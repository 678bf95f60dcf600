/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the collector does, as a file for the textfile collector of Prometheus' node_exporter.
 */
#ifndef IOPROBE_COLLECT_COUNTS_H
#define IOPROBE_COLLECT_COUNTS_H

#include <stddef.h>
#include <stdint.h>

/* Since the collector began. */
struct collect_counts {
	uint64_t followers; /* that had a valid token */
	uint64_t ended; /* of these, streams that came to their end */
	uint64_t intervals, bytes; /* that were written to stores; bytes of their lines */
	uint64_t full; /* intervals and new connections that were refused because of the limits of the stores' size */
	uint64_t refused; /* connections that were closed with a reason, or not served because there were too many */
};

struct collect_now {
	unsigned connections;
	uint64_t stores_bytes, stores_most; /* on disk, and the limit; 0: there is none, and the stores are not counted */
};

/* Replaces the file in one step. Returns 0, or -errno with one line in err. */
int collect_counts_write(const struct collect_counts *counts, const char *file, const struct collect_now *now, char *err,
			 size_t err_len);

#endif
