/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * hints FILE: opens the file by MPI-IO; with ROMIO_PRINT_HINTS=1 ROMIO prints what it made of its hints.
 */
#include <mpi.h>

int main(int argc, char **argv)
{
	MPI_File file;

	MPI_Init(&argc, &argv);
	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_close(&file);
	MPI_Finalize();
	return 0;
}
