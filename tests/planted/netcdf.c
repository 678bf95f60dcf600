/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * Serial netCDF, classic format.
 */
#include <netcdf.h>

#include "planted.h"

#define OK(call) do { int status_ = (call); if (status_) errx(1, "%s: %s", #call, nc_strerror(status_)); } while (0)
#define POINTS (32 * MIB)

static char text[64 * KIB];

/* With a buffer of 4 MiB: the library's 8 KiB are a mistake of their own. */
static int create(const char *dir, const char *name)
{
	size_t buffer = 4 * MIB;
	int file;

	OK(nc__create(in(dir, name), NC_CLOBBER, 0, &buffer, &file));
	return file;
}

/* An attribute that does not fit before the data moves 32 MiB of it; or room was left. */
static void header(bool bad, const char *dir)
{
	signed char *data = calloc(POINTS, 1);
	int file = create(dir, "header.nc"), dim, var;

	CHECK(data);
	OK(nc_set_fill(file, NC_NOFILL, NULL));
	OK(nc_def_dim(file, "x", POINTS, &dim));
	OK(nc_def_var(file, "field", NC_BYTE, 1, &dim, &var));
	OK(nc__enddef(file, bad ? 0 : 2 * sizeof(text), 4, 0, 4));
	OK(nc_put_var_schar(file, var, data));
	OK(nc_redef(file));
	OK(nc_put_att_text(file, NC_GLOBAL, "history", sizeof(text), text));
	OK(nc_enddef(file));    /* planted: header */
	OK(nc_close(file));
	free(data);
}

/* Each attribute in a define mode of its own, or all in one. */
static void define(bool bad, const char *dir)
{
	char name[32];
	int file = create(dir, "define.nc"), dim, var;

	OK(nc_def_dim(file, "x", KIB, &dim));
	OK(nc_def_var(file, "field", NC_FLOAT, 1, &dim, &var));
	OK(nc__enddef(file, 4 * MIB, 4, 0, 4));
	if (!bad)
		OK(nc_redef(file));
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "attribute%d", i);
		if (bad)
			OK(nc_redef(file));
		OK(nc_put_att_text(file, NC_GLOBAL, name, 8 * KIB, text));
		if (bad)
			OK(nc_enddef(file));    /* planted: define */
	}
	if (!bad)
		OK(nc_enddef(file));
	OK(nc_close(file));
}

int main(int argc, char **argv)
{
	static const struct planted cases[] = { { "header", header }, { "define", define } };

	memset(text, 'x', sizeof(text));
	return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
