/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Common head of netCDF and PnetCDF, which return a status. status_text: the library's function that describes one; it is defined
 * before this file is included.
 */
#include <mpi.h>
#include <stdio.h>

#include "harness.h"

static int check(int status, const char *what)
{
	if (status) {
		fprintf(stderr, "%s: %s\n", what, status_text(status));
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return status;
}

#define SNIPPET(name) static void advice_##name(const char *path, int rank, int nranks)
#define RUN(name) advice_##name(argv[1], rank, nranks)
