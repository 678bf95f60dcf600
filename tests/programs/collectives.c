/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * collectives DIR [MS [compute]], of MPI: each rank makes 5 pwrite to a file of its own. Between them are 2 barriers that need not
 * be recorded; before each, MS milliseconds earlier, is an MPI_Allreduce, for which rank 1 is 30 ms late, asleep or, with
 * "compute", because it uses its CPU that long, and directly after it an MPI_Bcast. Behind the last pwrite, before the close,
 * are an MPI_Reduce, which need not be recorded, and a barrier.
 */
#include "golden.h"

#include <fcntl.h>
#include <mpi.h>
#include <time.h>

static long thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void be_late(bool computes)
{
	long end = thread_cpu_ns() + 30000000;

	if (!computes)
		usleep(30000);
	while (computes && thread_cpu_ns() < end)
		;
}

int main(int argc, char **argv)
{
	int rank, sum, fd;
	char name[32];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof(name), "rank%d", rank);
	fd = open(IN_DIR(argv[1], name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0, "open");
	for (int i = 0; i < 5; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 1)
			be_late(argc > 3);
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		usleep(argc > 2 ? 1000 * atoi(argv[2]) : 0);
		must(pwrite(fd, name, 5, i * 5) == 5, "pwrite");
		MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	close(fd);
	MPI_Finalize();
	return 0;
}
