/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * ioprobe-mpi: "mpirun -n N ioprobe-mpi report ARCHIVE" reads an archive with the processes of several nodes. An executable of its
 * own, built where MPI is, so that ioprobe does not depend on it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "analysis/peers.h"
#include "cmd/cli.h"
#include "cmd/report_task.h"

#define PIECE (1 << 30)         /* bytes in one message: MPI counts with int */
#define MAX_LINE 4800

static int real_output[2] = { -1, -1 };        /* stdout and stderr while they are muted */

/* All processes parse the same command line: one of them prints what is wrong with it. */
static void ioprobe_mpi_mute(void)
{
	for (int i = 0; i < 2; i++) {
		real_output[i] = dup(i + 1);
		if (!freopen("/dev/null", "w", i ? stderr : stdout))
			exit(CLI_FAILED);
	}
}

static void ioprobe_mpi_unmute(void)
{
	for (int i = 0; i < 2; i++) {
		if (real_output[i] < 0)
			continue;
		dup2(real_output[i], i + 1);
		close(real_output[i]);
		real_output[i] = -1;
	}
}

static int ioprobe_mpi_agree(const struct peers *peers, int ret, char *err)
{
	struct { int fine, index; } mine = { !ret, (int)peers->index }, first;
	char line[MAX_LINE];

	ioprobe_mpi_unmute();
	MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
	if (first.fine)
		return 0;
	snprintf(line, sizeof(line), "%s", err);
	MPI_Bcast(line, sizeof(line), MPI_CHAR, first.index, MPI_COMM_WORLD);
	if (!peers->index)
		fprintf(stderr, "ioprobe-mpi: process %d of %u: %s\n", first.index, peers->n, line);
	err[0] = '\0';
	return ret ? ret : -ECANCELED;
}

static int send_bytes(const struct peers *peers, const void *data, size_t n)
{
	uint64_t total = n;

	(void)peers;
	MPI_Send(&total, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
	for (size_t at = 0; at < n; at += PIECE)
		MPI_Send((const char *)data + at, n - at < PIECE ? n - at : PIECE, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
	return 0;               /* MPI ends the program when a message fails */
}

static int receive_bytes(const struct peers *peers, unsigned from, void **data, size_t *n)
{
	uint64_t total;

	(void)peers;
	MPI_Recv(&total, 1, MPI_UINT64_T, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	*n = total;
	*data = malloc(total + 1);
	if (!*data) {
		fprintf(stderr, "ioprobe-mpi: cannot receive the results of process %u (%llu bytes): out of memory\n", from,
			(unsigned long long)total);
		MPI_Abort(MPI_COMM_WORLD, CLI_FAILED);
	}
	for (size_t at = 0; at < *n; at += PIECE)
		MPI_Recv((char *)*data + at, *n - at < PIECE ? *n - at : PIECE, MPI_BYTE, from, 0, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
	return 0;
}

static struct peers peers = { .agree = ioprobe_mpi_agree, .send = send_bytes, .receive = receive_bytes };

/* The first process has the exit status, whichever failed: mpirun ends a job, and drops what its processes have printed, when the
 * first one of them exits with an error. */
static void ioprobe_mpi_finalize(void)
{
	MPI_Finalize();
	if (peers.index)
		_exit(0);
}

#ifdef __SANITIZE_ADDRESS__
/* MPI libraries free only a part of their memory, and a report nothing: its process ends. */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
	int provided, index, n;

	/* Threads read, but only this one talks to others. */
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	atexit(ioprobe_mpi_finalize);
	MPI_Comm_rank(MPI_COMM_WORLD, &index);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	peers.index = index;
	peers.n = n;
	if (index)
		ioprobe_mpi_mute();
	if (argc < 2 || (strcmp(argv[1], "report") && strcmp(argv[1], "--version"))) {
		fprintf(stderr, "ioprobe-mpi: it only makes reports: mpirun -n N ioprobe-mpi report [OPTION...] ARCHIVE\n");
		return CLI_USAGE;
	}
	if (!geteuid()) {
		fprintf(stderr, "ioprobe-mpi: cannot run as root: it reads the archive without giving up its rights; run it as the "
				"archive's owner\n");
		return CLI_FAILED;
	}
	report_peers = &peers;
	return cli_main(argc, argv);
}
