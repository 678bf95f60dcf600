/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * crash_inside FILE: 1 MPI_File_iwrite_at_all of 1000 bytes that is waited for, then one that ends in a crash (signal 11), because
 * the library cannot store the request.
 */
#include <mpi.h>

#include "golden.h"

enum { BYTES = 1000 };

int main(int argc, char **argv)
{
	static char block[BYTES];
	MPI_Request request;
	MPI_Status status;
	MPI_File file;

	MPI_Init(&argc, &argv);
	must(argc == 2, "usage: crash_inside FILE");
	must(!MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), "MPI_File_open");
	must(!MPI_File_iwrite_at_all(file, 0, block, BYTES, MPI_BYTE, &request), "MPI_File_iwrite_at_all");
	must(!MPI_Wait(&request, &status), "MPI_Wait");
	MPI_File_iwrite_at_all(file, BYTES, block, BYTES, MPI_BYTE, (MPI_Request *)8);
	die("MPI_File_iwrite_at_all returned");
	return 0;
}
