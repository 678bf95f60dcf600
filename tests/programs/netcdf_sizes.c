/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * netcdf_sizes FILE MODE: serial netCDF, MODE "classic" or "netcdf4". Every way to move a variable once, with the bytes that it
 * moves:
 *	nc_put_var_double grid 4 x 6 (192), nc_put_vara_int count 5 (20), nc_put_vars_float strip 3 (12), nc_put_var1_short grid2
 *	  (2),
 *	nc_put_vara (of the variable's own type, float) 2 (8), nc_put_varm_double grid 2 x 3 (48), nc_put_vara_text tag 7 (7),
 *	nc_put_var1_double scalar (8), nc_put_att_text 5 (5), nc_put_att_int 3 (12), nc_put_att_double 2 (16);
 *	record variable "log" (unlimited): nc_put_vara_longlong 3 records (24).
 * The file is opened again, variables are found by number: nc_get_var_double grid (192), nc_get_var_int count (24),
 * nc_get_vara_longlong log 2 (16), nc_get_var strip whole, whose type was not inquired (24: a classic file's header tells it),
 * nc_inq_vartype log, nc_get_var log whole, 3 records (24), nc_get_vara_text tag 7 (7; its number of dimensions was not
 * inquired: known from the header, or from HDF5).
 */
#include <netcdf.h>

#include "golden.h"

static void check(int status, const char *what)
{
	if (status == NC_NOERR)
		return;
	dprintf(2, "netcdf_sizes: %s: %s\n", what, nc_strerror(status));
	_exit(3);
}

enum { GRID, COUNT, STRIP, GRID2, OWN, TAG, SCALAR, LOG, VARIABLES };

static void define(int file, int *var, int log_type)
{
	int x, y, text, time;

	check(nc_def_dim(file, "x", 6, &x), "nc_def_dim");
	check(nc_def_dim(file, "y", 4, &y), "nc_def_dim");
	check(nc_def_dim(file, "text", 16, &text), "nc_def_dim");
	check(nc_def_dim(file, "time", NC_UNLIMITED, &time), "nc_def_dim");
	check(nc_def_var(file, "grid", NC_DOUBLE, 2, (int[]){ y, x }, &var[GRID]), "nc_def_var");
	check(nc_def_var(file, "count", NC_INT, 1, &x, &var[COUNT]), "nc_def_var");
	check(nc_def_var(file, "strip", NC_FLOAT, 1, &x, &var[STRIP]), "nc_def_var");
	check(nc_def_var(file, "grid2", NC_SHORT, 2, (int[]){ y, x }, &var[GRID2]), "nc_def_var");
	check(nc_def_var(file, "own", NC_FLOAT, 1, &x, &var[OWN]), "nc_def_var");
	check(nc_def_var(file, "tag", NC_CHAR, 1, &text, &var[TAG]), "nc_def_var");
	check(nc_def_var(file, "scalar", NC_DOUBLE, 0, NULL, &var[SCALAR]), "nc_def_var");
	check(nc_def_var(file, "log", log_type, 1, &time, &var[LOG]), "nc_def_var");
	check(nc_put_att_text(file, var[GRID], "units", 5, "m s-1"), "nc_put_att_text");
	check(nc_put_att_int(file, NC_GLOBAL, "range", NC_SHORT, 3, (int[]){ 1, 2, 3 }), "nc_put_att_int");
	check(nc_put_att_double(file, var[GRID], "valid", NC_DOUBLE, 2, (double[]){ 0, 1 }), "nc_put_att_double");
	check(nc_enddef(file), "nc_enddef");
}

static void put(int file, const int *var)
{
	double grid[24] = { 1, 2, 3 }, scalar = 7;
	int count[5] = { 5 };
	float strip[3] = { 3 }, own[2] = { 2 };
	long long log[3] = { 1, 2, 3 };
	short one = 9;

	check(nc_put_var_double(file, var[GRID], grid), "nc_put_var_double");
	check(nc_put_vara_int(file, var[COUNT], (size_t[]){ 1 }, (size_t[]){ 5 }, count), "nc_put_vara_int");
	check(nc_put_vars_float(file, var[STRIP], (size_t[]){ 0 }, (size_t[]){ 3 }, (ptrdiff_t[]){ 2 }, strip),
	      "nc_put_vars_float");
	check(nc_put_var1_short(file, var[GRID2], (size_t[]){ 3, 5 }, &one), "nc_put_var1_short");
	check(nc_put_vara(file, var[OWN], (size_t[]){ 4 }, (size_t[]){ 2 }, own), "nc_put_vara");
	check(nc_put_varm_double(file, var[GRID], (size_t[]){ 1, 1 }, (size_t[]){ 2, 3 }, NULL, (ptrdiff_t[]){ 1, 2 }, grid),
	      "nc_put_varm_double");
	check(nc_put_vara_text(file, var[TAG], (size_t[]){ 2 }, (size_t[]){ 7 }, "ioprobe"), "nc_put_vara_text");
	check(nc_put_var1_double(file, var[SCALAR], NULL, &scalar), "nc_put_var1_double");
	check(nc_put_vara_longlong(file, var[LOG], (size_t[]){ 0 }, (size_t[]){ 3 }, log), "nc_put_vara_longlong");
}

static void get(const char *path)
{
	double grid[24];
	int count[6], file, ndims;
	long long log[3];
	float strip[6];
	nc_type type;
	char tag[8] = "", name[NC_MAX_NAME + 1];

	check(nc_open(path, NC_NOWRITE, &file), "nc_open");
	for (int v = 0; v < VARIABLES; v++)
		check(nc_inq_var(file, v, name, NULL, NULL, NULL, NULL), "nc_inq_var");
	check(nc_get_var_double(file, GRID, grid), "nc_get_var_double");
	check(nc_get_var_int(file, COUNT, count), "nc_get_var_int");
	check(nc_get_var(file, STRIP, strip), "nc_get_var");
	check(nc_inq_vartype(file, LOG, &type), "nc_inq_vartype");
	check(nc_inq_varndims(file, LOG, &ndims), "nc_inq_varndims");
	check(nc_get_vara_longlong(file, LOG, (size_t[]){ 1 }, (size_t[]){ 2 }, log), "nc_get_vara_longlong");
	check(nc_get_var(file, LOG, log), "nc_get_var");
	check(nc_get_vara_text(file, TAG, (size_t[]){ 2 }, (size_t[]){ 7 }, tag), "nc_get_vara_text");
	check(nc_close(file), "nc_close");
	must(!strcmp(tag, "ioprobe") && grid[1] == 2 && count[1] == 5, "the file has what was written");
}

int main(int argc, char **argv)
{
	int file, var[VARIABLES];
	bool classic;

	must(argc == 3, "usage: netcdf_sizes FILE classic|netcdf4");
	classic = !strcmp(argv[2], "classic");
	check(nc_create(argv[1], NC_CLOBBER | (classic ? 0 : NC_NETCDF4), &file), "nc_create");
	define(file, var, classic ? NC_DOUBLE : NC_INT64);
	put(file, var);
	check(nc_close(file), "nc_close");
	get(argv[1]);
	return 0;
}
