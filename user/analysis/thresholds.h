/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The thresholds of findings. One list defines the struct, the defaults, the names that --thresholds accepts and the contents of
 * the JSON report.
 */
#ifndef IOPROBE_ANALYSIS_THRESHOLDS_H
#define IOPROBE_ANALYSIS_THRESHOLDS_H

#include <stddef.h>

#define THRESHOLDS(X) \
	X(high_share, 0.05, "high: saving as a share of the wall time of the rank that pays most") \
	X(high_seconds, 10, "high: saving in seconds") \
	X(warn_share, 0.01, "warning: saving as a share of that wall time") \
	X(warn_seconds, 1, "warning: saving in seconds") \
	X(least_seconds, 0.005, "high and warning: a saving below this is a note") \
	X(small_share, 0.1, "small requests: share of the operations of a file") \
	X(small_count, 100, "small requests: operations on a file") \
	X(small_total, 1000, "small requests: operations on all data files together, where each has few") \
	X(random_share, 0.2, "random access: share of the operations of a file whose offset is known") \
	X(random_count, 100, "random access: operations on a file") \
	X(again_share, 0.1, "the same data again: bytes moved again, as a share of the extent touched") \
	X(again_bytes, 1048576, "the same data again: bytes moved again on a file") \
	X(unaligned_share, 0.1, "misaligned: share of the operations of at least one block") \
	X(unaligned_count, 100, "misaligned: operations on a file") \
	X(stream_bytes, 65536, "buffered streams: mean bytes of an operation below which a data file suffers") \
	X(stream_share, 0.1, "buffered streams: share of all bytes on data files") \
	X(imbalance_share, 0.3, "imbalance: (largest - smallest) / largest over the ranks of a file") \
	X(imbalance_bytes, 1048576, "imbalance: bytes of the rank with most") \
	X(independent_share, 0.5, "independent MPI-IO: share of the operations of a shared file") \
	X(independent_count, 100, "independent MPI-IO: operations on a shared file") \
	X(sync_count, 10, "sync storm: syncs that follow a write, on a file") \
	X(sync_every, 16, "sync storm: writes for each sync") \
	X(open_count, 100, "open storm: opens of one file by one rank") \
	X(lookup_failed_count, 1000, "search storm: failed look-ups") \
	X(lookup_failed_share, 0.5, "search storm: share of look-ups that fail") \
	X(meta_share, 0.5, "metadata: share of a rank's I/O time") \
	X(meta_count, 1000, "metadata: calls of a rank") \
	X(create_count, 1000, "creation storm: files created") \
	X(amplified_calls, 64, "amplification: calls below one call") \
	X(amplified_bytes, 1.5, "amplification: bytes below for each byte asked") \
	X(fill_share, 0.5, "fill values: bytes written while space was created, as a share of the data written") \
	X(rmw_share, 0.1, "read-modify-write: bytes read inside writes, as a share of the bytes written") \
	X(lock_share, 0.5, "lock storm: locks for each data operation") \
	X(lock_count, 100, "lock storm: locks on a file") \
	X(serial_share, 0.9, "serial I/O: share of the bytes that one rank moves") \
	X(serial_bytes, 4194304, "serial I/O: bytes") \
	X(read_by_all_bytes, 65536, "read by all: bytes that are the same for all readers") \
	X(redefine_count, 10, "define mode: changes between defining and writing, on a file") \
	X(resize_share, 0.05, "resizing: share of a rank's I/O time") \
	X(library_share, 0.9, "library time: share of a call's time outside of system calls and MPI") \
	X(header_bytes, 1048576, "header relocation: bytes moved when definitions end") \
	X(dominate_share, 0.1, "reads against writes: difference as a share of their sum") \
	X(straggler_share, 0.15, "unequal ranks on a shared file: difference as a share of the sum") \
	X(conflict_count, 100, "several writers of a block: writes to a file") \
	X(conflict_share, 0.5, "several writers of a block: further writers for each block") \
	X(place_share, 0.1, "wrong place: share of a rank's I/O time") \
	X(meta_reads_count, 10, "HDF5 metadata by all ranks: small reads of each rank") \
	X(decay_count, 200, "slower from call to call: calls from one site") \
	X(decay_share, 0.5, "slower from call to call: growth as a share of the first quarter's median") \
	X(above_share, 0.5, "time above the system: share of a rank's I/O time") \
	X(overlap_count, 4, "no overlap: blocking writes and syncs of a thread") \
	X(delay_share, 0.1, "waiting for a CPU: share of a thread's I/O time") \
	X(log_count, 10000, "chatter: writes of less than 256 bytes to logs") \
	X(failed_count, 100, "failing calls: on one file or of one function")

struct thresholds {
#define X(name, value, text) double name;
	THRESHOLDS(X)
#undef X
};

struct threshold { const char *name, *text; double value; size_t offset; };
extern const struct threshold threshold_list[];
extern const size_t nthresholds;

void thresholds_default(struct thresholds *t);
/* Reads the members of {"thresholds": {name: number}} or of the inner object alone. Returns 0, or -errno with one line in err. */
int thresholds_read(struct thresholds *t, const char *text, size_t len, const char *name, char *err, size_t err_len);

#endif
