/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * dlopen_hdf5 DIR LIBRARY: 3 fwrite, then loads HDF5 at run time and makes DIR/late.h5 with one dataset of 1000 doubles, 5 times:
 * 5 each of H5Fcreate, H5Dcreate2, H5Dwrite, H5Dclose, H5Fclose; then H5Fopen and H5Dread (8000 bytes) once. Nothing links HDF5.
 */
#include "golden.h"

#include <dlfcn.h>
#include <stdint.h>

/* As in HDF5 1.10 and later, whose headers the program must not need. */
typedef int64_t id;
enum { TRUNCATE = 2, READ_ONLY = 0, POINTS = 1000, ROUNDS = 5 };

static int (*h5open)(void), (*sclose)(id), (*dclose)(id), (*fclose5)(id);
static id (*fcreate)(const char *, unsigned, id, id), (*fopen5)(const char *, unsigned, id);
static id (*screate)(int, const uint64_t *, const uint64_t *), (*dcreate)(id, const char *, id, id, id, id, id);
static id (*dopen)(id, const char *, id);
static int (*dwrite)(id, id, id, id, id, const void *), (*dread)(id, id, id, id, id, void *);
static id native_double;

static void *symbol(void *library, const char *name)
{
	void *address = dlsym(library, name);

	must(address != NULL, name);
	return address;
}

static void load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);

	must(lib != NULL, path);
	h5open = symbol(lib, "H5open");
	fcreate = symbol(lib, "H5Fcreate");
	fopen5 = symbol(lib, "H5Fopen");
	fclose5 = symbol(lib, "H5Fclose");
	screate = symbol(lib, "H5Screate_simple");
	sclose = symbol(lib, "H5Sclose");
	dcreate = symbol(lib, "H5Dcreate2");
	dopen = symbol(lib, "H5Dopen2");
	dwrite = symbol(lib, "H5Dwrite");
	dread = symbol(lib, "H5Dread");
	dclose = symbol(lib, "H5Dclose");
	must(h5open() >= 0, "H5open");
	native_double = *(id *)symbol(lib, "H5T_NATIVE_DOUBLE_g");
}

static void make(const char *path, const double *data)
{
	uint64_t points = POINTS;
	id file = fcreate(path, TRUNCATE, 0, 0), space = screate(1, &points, NULL);
	id set = dcreate(file, "values", native_double, space, 0, 0, 0);

	must(file >= 0 && space >= 0 && set >= 0, "H5Fcreate, H5Dcreate2");
	must(dwrite(set, native_double, 0, 0, 0, data) >= 0, "H5Dwrite");
	must(dclose(set) >= 0 && sclose(space) >= 0 && fclose5(file) >= 0, "H5Fclose");
}

static void verify(const char *path, const double *data)
{
	static double back[POINTS];
	id file = fopen5(path, READ_ONLY, 0), set = dopen(file, "values", 0);

	must(file >= 0 && set >= 0, "H5Fopen");
	must(dread(set, native_double, 0, 0, 0, back) >= 0, "H5Dread");
	must(memcmp(back, data, sizeof(back)) == 0, "data differ");
	must(dclose(set) >= 0 && fclose5(file) >= 0, "H5Fclose");
}

int main(int argc, char **argv)
{
	static double data[POINTS];
	FILE *log;

	if (argc != 3)
		return 2;
	for (int i = 0; i < POINTS; i++)
		data[i] = i;
	log = fopen(IN_DIR(argv[1], "log"), "w");
	must(log != NULL, "fopen");
	for (int i = 0; i < 3; i++)
		must(fwrite("log\n", 1, 4, log) == 4, "fwrite");
	must(fclose(log) == 0, "fclose");
	load(argv[2]);
	for (int i = 0; i < ROUNDS; i++)
		make(IN_DIR(argv[1], "late.h5"), data);
	verify(IN_DIR(argv[1], "late.h5"), data);
	return 0;
}
