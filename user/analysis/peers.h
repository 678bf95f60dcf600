/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Processes that read one archive together, each its share of the locations; the first one gets what the others found. How they
 * talk is up to the caller (mpi/ioprobe_mpi.c). All run the same program on hosts of the same kind.
 */
#ifndef IOPROBE_ANALYSIS_PEERS_H
#define IOPROBE_ANALYSIS_PEERS_H

#include <stddef.h>

struct pass;                    /* analysis/collect.h */
struct trace;

struct peers {
	unsigned index, n;
	/* All peers call it with their results. Returns 0 if none failed; else an error for all: the err of one of them is printed,
	 * and err is empty afterwards. */
	int (*agree)(const struct peers *peers, int ret, char *err);
	/* Sends bytes to the first peer; receives those of another one, to be freed. Return 0 or -errno. */
	int (*send)(const struct peers *peers, const void *data, size_t n);
	int (*receive)(const struct peers *peers, unsigned from, void **data, size_t *n);
};

/* Which peer reads a location: shares have about the same number of events. By location; NULL without memory. */
unsigned *peers_share(const struct trace *trace, unsigned n);

/* The results of a pass as bytes, to be freed. Returns 0 or -ENOMEM. */
int peers_pack(const struct pass *pass, void **data, size_t *len);

/* Adds the results of another peer: its locations to the facts, the rest as further collectors. Returns 0, -ENOMEM, or -EBADMSG if
 * they are of another version of the program or of another archive. */
int peers_unpack(struct pass *pass, const void *data, size_t len);

#endif
