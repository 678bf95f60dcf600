/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * nczarr DIR: writes 100 integers in four chunks to the NCZarr data set DIR/z.zarr, a directory of files, opens it again and reads
 * them. Ends with status 4 if the library has no NCZarr.
 */
#include "golden.h"

#include <netcdf.h>

enum { N = 100, CHUNK = 25 };

static void check(int status, const char *what)
{
	if (!status)
		return;
	dprintf(2, "%s: %s\n", what, nc_strerror(status));
	_exit(3);
}

int main(int argc, char **argv)
{
	static int data[N];
	const size_t chunk = CHUNK;
	int file, dim, var, status;
	char address[4096];

	must(argc == 2 && snprintf(address, sizeof(address), "file://%s/z.zarr#mode=nczarr,file", argv[1]) < 4096, "usage");
	status = nc_create(address, NC_NETCDF4, &file);
	if (status) {
		dprintf(2, "nc_create: %s\n", nc_strerror(status));
		return 4;
	}
	check(nc_def_dim(file, "x", N, &dim), "nc_def_dim");
	check(nc_def_var(file, "v", NC_INT, 1, &dim, &var), "nc_def_var");
	check(nc_def_var_chunking(file, var, NC_CHUNKED, &chunk), "nc_def_var_chunking");
	check(nc_enddef(file), "nc_enddef");
	check(nc_put_var_int(file, var, data), "nc_put_var_int");
	check(nc_close(file), "nc_close");
	check(nc_open(address, NC_NOWRITE, &file), "nc_open");
	check(nc_get_var_int(file, 0, data), "nc_get_var_int");
	check(nc_close(file), "nc_close");
	return 0;
}
