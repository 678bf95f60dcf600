/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Common head of the programs that run snippets. Not every snippet uses all variables.
 */
#ifndef ADVICE_HARNESS_H
#define ADVICE_HARNESS_H

#define UNUSED __attribute__((unused))

/* The variables rank and nranks of a program on MPI. */
#define BEGIN_MPI \
	int rank, nranks; \
	MPI_Init(&argc, &argv); \
	MPI_Comm_rank(MPI_COMM_WORLD, &rank); \
	MPI_Comm_size(MPI_COMM_WORLD, &nranks);

#endif
