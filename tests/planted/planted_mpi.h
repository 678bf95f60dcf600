/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the planted programs of several ranks share.
 */
#ifndef PLANTED_MPI_H
#define PLANTED_MPI_H

#include <mpi.h>

#include "planted.h"

static int rank, size;

static inline void wait_for_ranks(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static inline void begin_mpi(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	wait_for_all = wait_for_ranks;
	is_first = !rank;
}

/* In one job: the ranks of several launches would be told apart by their launch only. */
static inline void run_all_cases(const struct planted *cases, size_t n, bool bad, const char *dir)
{
	for (size_t i = 0; i < n; i++) {
		char own[4096];

		snprintf(own, sizeof(own), "%s/%s", dir, cases[i].name);
		CHECK(rank || !mkdir(own, 0755));
		MPI_Barrier(MPI_COMM_WORLD);
		cases[i].run(bad, own);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

static inline void run_mpi_case(int argc, char **argv, const struct planted *cases, size_t n)
{
	if (argc == 4 && !strcmp(argv[1], "all"))
		run_all_cases(cases, n, !strcmp(argv[2], "bad"), argv[3]);
	else
		run_case(argc, argv, cases, n);
}

#endif
