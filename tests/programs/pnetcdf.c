/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * pnetcdf FILE [again]: PnetCDF with N ranks. Each rank, on variables "field" (double, 4 x 32 N), "flags" (int, 32 N) and "marks"
 * (int, 4 x 32 N):
 *	4 ncmpi_put_vara_double_all of 32 (256 bytes each), 1 ncmpi_put_var1_int_all (4), 1 flexible ncmpi_put_vara_all of 16
 *	  MPI_INT (64);
 *	independent: rank 0 alone 1 ncmpi_put_vars_int of 3 (12);
 *	3 ncmpi_iput_vara_double of 8 (64 each), 1 ncmpi_bput_vara_int of 4 (16), completed by 1 ncmpi_wait_all;
 *	1 ncmpi_iput_vara_int of 2 (8), given up by ncmpi_cancel; 1 of 3 (12), completed with NC_REQ_ALL, 1 ncmpi_iget_var1_int (4)
 *	  with
 *	NC_GET_REQ_ALL; with a NULL request 1 ncmpi_iput_var1_int (4) and 1 ncmpi_iget_var1_int (4), completed with
 *	NC_PUT_REQ_ALL and NC_GET_REQ_ALL;
 *	of several pieces: 1 ncmpi_put_varn_double_all of 2 of 4 (64), 1 ncmpi_put_varn_int_all of 3 single values (12),
 *	  1 ncmpi_iput_varn_int of 2 and 3 (20), 1 ncmpi_mput_vara_double_all of 4 and 8 (96), 1 ncmpi_mput_vara_int_all of 3 of
 *	  "flags", 2 x 2 and 1 x 3 of "marks" (40), 1 ncmpi_mput_var1_int_all of 2 (8), 1 ncmpi_mget_var_int_all of both (640 N), 1
 *	  ncmpi_put_varn_int_all of 513 (2052, of unknown size to observers: more than 512 pieces);
 *	attributes: ncmpi_put_att_text 5 (5), ncmpi_put_att_int 2 (8).
 *	1 ncmpi_put_vara_int_all of the record of its rank of "log" (int, unlimited) (4).
 * Reopened for reading, nothing but the variables' ids is inquired: 1 ncmpi_get_vara_double_all of 64 (512), 2
 * ncmpi_get_var_int_all, of "flags" (128 N) and "log" (4 N). again: only that, of a file that exists: ncmpi_open is the first call
 * of MPI-IO.
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 4, X = 32 };

static int rank, ranks;

static void check(int status, const char *what)
{
	if (status == NC_NOERR)
		return;
	fprintf(stderr, "pnetcdf: %s: %s\n", what, ncmpi_strerror(status));
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static void must_be_next(int before, int variable)
{
	if (variable == before + 1)
		return;
	fprintf(stderr, "pnetcdf: variables are not numbered in their order\n");
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void define(int file, int *field, int *flags)
{
	int dims[2], marks, time, log;

	check(ncmpi_def_dim(file, "step", STEPS, &dims[0]), "ncmpi_def_dim");
	check(ncmpi_def_dim(file, "x", (MPI_Offset)X * ranks, &dims[1]), "ncmpi_def_dim");
	check(ncmpi_def_var(file, "field", NC_DOUBLE, 2, dims, field), "ncmpi_def_var");
	check(ncmpi_def_var(file, "flags", NC_INT, 1, &dims[1], flags), "ncmpi_def_var");
	check(ncmpi_def_var(file, "marks", NC_INT, 2, dims, &marks), "ncmpi_def_var");
	must_be_next(*flags, marks);
	check(ncmpi_def_dim(file, "time", NC_UNLIMITED, &time), "ncmpi_def_dim");
	check(ncmpi_def_var(file, "log", NC_INT, 1, &time, &log), "ncmpi_def_var");
	must_be_next(marks, log);
	check(ncmpi_put_att_text(file, *field, "units", 5, "m s-1"), "ncmpi_put_att_text");
	check(ncmpi_put_att_int(file, NC_GLOBAL, "range", NC_INT, 2, (int[]){ 1, 2 }), "ncmpi_put_att_int");
	check(ncmpi_enddef(file), "ncmpi_enddef");
}

static void blocking(int file, int field, int flags)
{
	MPI_Offset x = (MPI_Offset)X * rank;
	double values[X];
	int ints[X] = { 1, 2, 3 };

	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < X; i++)
			values[i] = step * 1e6 + x + i;
		check(ncmpi_put_vara_double_all(file, field, (MPI_Offset[]){ step, x }, (MPI_Offset[]){ 1, X }, values),
		      "ncmpi_put_vara_double_all");
	}
	check(ncmpi_put_var1_int_all(file, flags, (MPI_Offset[]){ x + 20 }, &rank), "ncmpi_put_var1_int_all");
	check(ncmpi_put_vara_all(file, flags, (MPI_Offset[]){ x }, (MPI_Offset[]){ 16 }, ints, 16, MPI_INT), "ncmpi_put_vara_all");
	check(ncmpi_put_vara_int_all(file, flags + 2, (MPI_Offset[]){ rank }, (MPI_Offset[]){ 1 }, &rank),
	      "ncmpi_put_vara_int_all");
	check(ncmpi_begin_indep_data(file), "ncmpi_begin_indep_data");
	if (!rank)
		check(ncmpi_put_vars_int(file, flags, (MPI_Offset[]){ 22 }, (MPI_Offset[]){ 3 }, (MPI_Offset[]){ 2 }, ints),
		      "ncmpi_put_vars_int");
	check(ncmpi_end_indep_data(file), "ncmpi_end_indep_data");
}

static void nonblocking(int file, int field, int flags)
{
	MPI_Offset x = (MPI_Offset)X * rank;
	double values[8] = { 8 };
	int requests[4], statuses[4], dropped, ints[4] = { 4 };

	check(ncmpi_buffer_attach(file, 1024), "ncmpi_buffer_attach");
	for (int i = 0; i < 3; i++)
		check(ncmpi_iput_vara_double(file, field, (MPI_Offset[]){ i, x }, (MPI_Offset[]){ 1, 8 }, values, &requests[i]),
		      "ncmpi_iput_vara_double");
	check(ncmpi_bput_vara_int(file, flags, (MPI_Offset[]){ x + 28 }, (MPI_Offset[]){ 4 }, ints, &requests[3]),
	      "ncmpi_bput_vara_int");
	check(ncmpi_wait_all(file, 4, requests, statuses), "ncmpi_wait_all");
	check(ncmpi_iput_vara_int(file, flags, (MPI_Offset[]){ x }, (MPI_Offset[]){ 2 }, ints, &dropped), "ncmpi_iput_vara_int");
	check(ncmpi_cancel(file, 1, &dropped, statuses), "ncmpi_cancel");
	check(ncmpi_iput_vara_int(file, flags, (MPI_Offset[]){ x }, (MPI_Offset[]){ 3 }, ints, &dropped), "ncmpi_iput_vara_int");
	check(ncmpi_wait_all(file, NC_REQ_ALL, NULL, NULL), "ncmpi_wait_all");
	check(ncmpi_iget_var1_int(file, flags, (MPI_Offset[]){ x + 20 }, ints, &dropped), "ncmpi_iget_var1_int");
	check(ncmpi_wait_all(file, NC_GET_REQ_ALL, NULL, NULL), "ncmpi_wait_all");
	check(ncmpi_iput_var1_int(file, flags, (MPI_Offset[]){ x + 26 }, ints, NULL), "ncmpi_iput_var1_int");
	check(ncmpi_iget_var1_int(file, flags, (MPI_Offset[]){ x + 20 }, ints + 1, NULL), "ncmpi_iget_var1_int");
	check(ncmpi_wait_all(file, NC_PUT_REQ_ALL, NULL, NULL), "ncmpi_wait_all");
	check(ncmpi_wait_all(file, NC_GET_REQ_ALL, NULL, NULL), "ncmpi_wait_all");
	check(ncmpi_buffer_detach(file), "ncmpi_buffer_detach");
}

static void pieces(int file, int field)
{
	MPI_Offset x = (MPI_Offset)X * rank, starts[2][2] = { { 3, x }, { 3, x + 8 } }, counts[2][2] = { { 1, 4 }, { 1, 4 } };
	MPI_Offset *start[2] = { starts[0], starts[1] }, *count[2] = { counts[0], counts[1] };
	double values[8] = { 1 };

	check(ncmpi_put_varn_double_all(file, field, 2, start, count, values), "ncmpi_put_varn_double_all");
}

static void many_pieces(int file, int flags)
{
	static MPI_Offset starts[513], *start[513];
	static int values[513];

	for (int i = 0; i < 513; i++) {
		starts[i] = (MPI_Offset)X * rank;
		start[i] = &starts[i];
		values[i] = rank;
	}
	check(ncmpi_put_varn_int_all(file, flags, 3, start, NULL, values), "ncmpi_put_varn_int_all");
	check(ncmpi_put_varn_int_all(file, flags, 513, start, NULL, values), "ncmpi_put_varn_int_all");
}

/* Pieces of several variables, or of one. marks is the variable behind flags. */
static void several(int file, int field, int flags)
{
	MPI_Offset x = (MPI_Offset)X * rank, starts[3][2] = { { x + 4 }, { 0, x }, { 1, x } };
	MPI_Offset counts[3][2] = { { 3 }, { 2, 2 }, { 1, 3 } }, halves[2][2] = { { 1, 4 }, { 1, 8 } };
	MPI_Offset *start[3] = { starts[0], starts[1], starts[2] }, *count[3] = { counts[0], counts[1], counts[2] };
	MPI_Offset *first[2] = { starts[1], starts[1] }, *half[2] = { halves[0], halves[1] };
	MPI_Offset single[2] = { 2, 3 }, *singles[2] = { &single[0], &single[1] };
	int three[] = { flags, flags + 1, flags + 1 }, two[] = { field, field };
	int ints[8] = { 1 }, *of_ints[] = { ints, ints, ints };
	int *whole[] = { malloc(sizeof(int) * X * ranks), malloc(sizeof(int) * STEPS * X * ranks) };
	int request, status;
	double values[8] = { 1 }, *of_values[] = { values, values };

	check(ncmpi_mput_vara_double_all(file, 2, two, first, half, of_values), "ncmpi_mput_vara_double_all");
	check(ncmpi_mput_vara_int_all(file, 3, three, start, count, of_ints), "ncmpi_mput_vara_int_all");
	check(ncmpi_mput_var1_int_all(file, 2, three + 1, start + 1, of_ints), "ncmpi_mput_var1_int_all");
	check(ncmpi_mget_var_int_all(file, 2, three, whole), "ncmpi_mget_var_int_all");
	check(ncmpi_iput_varn_int(file, flags, 2, start, singles, ints, &request), "ncmpi_iput_varn_int");
	check(ncmpi_wait_all(file, 1, &request, &status), "ncmpi_wait_all");
	free(whole[0]);
	free(whole[1]);
}

static void verify(const char *path)
{
	double *values = calloc(2 * X, sizeof(*values));
	int *ints = calloc((size_t)X * ranks, sizeof(*ints)), *log = calloc(ranks, sizeof(*log)), file, field, flags;

	check(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file), "ncmpi_open");
	check(ncmpi_inq_varid(file, "field", &field), "ncmpi_inq_varid");
	check(ncmpi_inq_varid(file, "flags", &flags), "ncmpi_inq_varid");
	check(ncmpi_get_vara_double_all(file, field, (MPI_Offset[]){ 1, (MPI_Offset)X * rank }, (MPI_Offset[]){ 2, X }, values),
	      "ncmpi_get_vara_double_all");
	check(ncmpi_get_var_int_all(file, flags, ints), "ncmpi_get_var_int_all");
	check(ncmpi_get_var_int_all(file, flags + 2, log), "ncmpi_get_var_int_all");
	check(ncmpi_close(file), "ncmpi_close");
	if (values[0] != 8 || values[8] != 1e6 + X * rank + 8 || ints[X * rank + 20] != rank || ints[X * rank + 28] != 4 ||
	    log[rank] != rank) {
		fprintf(stderr, "pnetcdf: the file has not what was written\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	free(values);
	free(ints);
	free(log);
}

static void write_all(const char *path)
{
	int file, field, flags;

	check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &file), "ncmpi_create");
	define(file, &field, &flags);
	blocking(file, field, flags);
	nonblocking(file, field, flags);
	many_pieces(file, flags);
	several(file, field, flags);
	pieces(file, field);
	check(ncmpi_close(file), "ncmpi_close");
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc < 2) {
		fprintf(stderr, "usage: pnetcdf FILE [again]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	if (argc == 2)
		write_all(argv[1]);
	verify(argv[1]);
	MPI_Finalize();
	return 0;
}
