/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the service itself does, as a file for the textfile collector of Prometheus' node_exporter.
 */
#ifndef IOPROBE_SERVICE_METRICS_FILE_H
#define IOPROBE_SERVICE_METRICS_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Since the service began; a counter that begins again at 0 is what Prometheus expects of a restart. */
struct service_counts {
	uint64_t accepted, refused, declined; /* requests to record; declined: by the policy's rules */
	uint64_t done, empty, failed; /* recordings that have ended */
	uint64_t records, lost, record_bytes; /* of these */
	uint64_t streams_failed; /* their followers ended with an error or were killed */
	uint64_t stream_intervals, stream_lag_ns, stream_missed; /* of their streams, as their followers have reported */
	bool changed; /* since the file was written */
};

/* Counts a recording by its final state. */
void service_counts_end(struct service_counts *counts, const json_t *state);

/* Replaces the file in one step. Its directory and those above it must be root's: no other user may be able to make root write
 * elsewhere. Returns 0, or -errno with one line in err. */
int service_metrics_write(const char *file, const char *node, const struct service_counts *counts, size_t recordings,
			  size_t standby, char *err, size_t err_len);

#endif
