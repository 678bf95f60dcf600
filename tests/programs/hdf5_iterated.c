/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * hdf5_iterated DIR ids: HDF5, ids that iterations pass to the program's functions, and two files at a time. In DIR/a.h5 and
 * DIR/b.h5, each with groups "one" and "two" in which a dataset "data" (10 and 20 doubles in a, 1000 and 2000 in b) was made
 * from a type whose precision was set, and closed:
 *	in each, H5Literate over the file opens both groups by the id that it passes, H5Literate over each of these opens "data"
 *	  by the id that it passes: 2 H5Dread of all in the native type, without asking (80 and 160; 8000 and 16000);
 *	H5Literate over a calls H5Literate_by_name with the id that it passes, which opens "data": 2 H5Dread (80, 160);
 *	H5Literate over "one" of a, whose function does nothing, then over "two" of b, no id made between: 1 H5Dread in b that
 *	  may be of either (of unknown size);
 *	both files are closed, a is opened again: 4 H5Aread: of "none", without elements, after H5Sget_simple_extent_dims alone,
 *	  and of "unit" (4 characters) after H5Sget_simple_extent_ndims alone (of unknown size: without dimensions it is a
 *	  scalar, or has no element), of both after H5Sget_simple_extent_type (4 and 0).
 *
 * hdf5_iterated DIR types: H5Literate over a alone. Then a type is opened in b and gets an attribute "note": 1 H5Awrite (8), which
 * is not in a.
 */
#include <hdf5.h>

#include "golden.h"

static double values[2000];

static hid_t valid(hid_t id, const char *what)
{
	must(id >= 0, what);
	return id;
}

static void good(herr_t status, const char *what)
{
	must(status >= 0, what);
}

static void make_data(hid_t file, const char *name, hsize_t elements)
{
	hid_t group = valid(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Gcreate2");
	hid_t type = valid(H5Tcopy(H5T_NATIVE_DOUBLE), "H5Tcopy"), space = valid(H5Screate_simple(1, &elements, NULL), "H5Screate");
	hid_t data;

	good(H5Tset_precision(type, 64), "H5Tset_precision");
	data = valid(H5Dcreate2(group, "data", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Dcreate2");
	good(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
	good(H5Dclose(data), "H5Dclose");
	good(H5Sclose(space), "H5Sclose");
	good(H5Tclose(type), "H5Tclose");
	good(H5Gclose(group), "H5Gclose");
}

static void make_attribute(hid_t where, const char *name, hid_t type, H5S_class_t class, const void *value)
{
	hid_t space = valid(H5Screate(class), "H5Screate");
	hid_t id = valid(H5Acreate2(where, name, type, space, H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2");

	if (value)
		good(H5Awrite(id, type, value), "H5Awrite");
	good(H5Aclose(id), "H5Aclose");
	good(H5Sclose(space), "H5Sclose");
}

static hid_t make_file(const char *path, hsize_t elements)
{
	hid_t file = valid(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "H5Fcreate");
	hid_t text = valid(H5Tcopy(H5T_C_S1), "H5Tcopy");

	make_data(file, "one", elements);
	make_data(file, "two", 2 * elements);
	good(H5Tset_size(text, 4), "H5Tset_size");
	make_attribute(file, "unit", text, H5S_SCALAR, "mm/s");
	make_attribute(file, "none", H5T_NATIVE_INT, H5S_NULL, NULL);
	good(H5Tclose(text), "H5Tclose");
	return file;
}

static herr_t read_data(hid_t group, const char *name, const H5L_info_t *info, void *unused)
{
	hid_t data = valid(H5Dopen2(group, name, H5P_DEFAULT), "H5Dopen2"), type = valid(H5Dget_type(data), "H5Dget_type");
	hid_t native = valid(H5Tget_native_type(type, H5T_DIR_ASCEND), "H5Tget_native_type");

	(void)info;
	(void)unused;
	good(H5Dread(data, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dread");
	good(H5Tclose(native), "H5Tclose");
	good(H5Tclose(type), "H5Tclose");
	return H5Dclose(data);
}

static herr_t read_group(hid_t file, const char *name, const H5L_info_t *info, void *unused)
{
	hid_t group = valid(H5Gopen2(file, name, H5P_DEFAULT), "H5Gopen2");

	(void)info;
	(void)unused;
	good(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, read_data, NULL), "H5Literate");
	return H5Gclose(group);
}

static herr_t read_by_name(hid_t file, const char *name, const H5L_info_t *info, void *unused)
{
	(void)info;
	(void)unused;
	return H5Literate_by_name(file, name, H5_INDEX_NAME, H5_ITER_INC, NULL, read_data, NULL, H5P_DEFAULT);
}

static herr_t nothing(hid_t group, const char *name, const H5L_info_t *info, void *unused)
{
	(void)group;
	(void)name;
	(void)info;
	(void)unused;
	return 0;
}

static void iterate(hid_t id, H5L_iterate_t function)
{
	good(H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, NULL, function, NULL), "H5Literate");
}

static void read_either(hid_t a, hid_t b)
{
	hid_t one = valid(H5Gopen2(a, "one", H5P_DEFAULT), "H5Gopen2"), two = valid(H5Gopen2(b, "two", H5P_DEFAULT), "H5Gopen2");

	iterate(one, nothing);
	iterate(two, read_data);
	good(H5Gclose(one), "H5Gclose");
	good(H5Gclose(two), "H5Gclose");
}

enum question { CLASS, RANK, DIMENSIONS };

static void read_attribute(hid_t file, const char *name, enum question question)
{
	hid_t id = valid(H5Aopen(file, name, H5P_DEFAULT), "H5Aopen"), type = valid(H5Aget_type(id), "H5Aget_type");
	hid_t space = valid(H5Aget_space(id), "H5Aget_space");
	hsize_t dims[8];
	char value[16];

	must(H5Tget_size(type) == 4, "H5Tget_size");
	if (question == CLASS)
		must(H5Sget_simple_extent_type(space) != H5S_SIMPLE, "H5Sget_simple_extent_type");
	else if (question == RANK)
		must(H5Sget_simple_extent_ndims(space) == 0, "H5Sget_simple_extent_ndims");
	else
		must(H5Sget_simple_extent_dims(space, dims, NULL) == 0, "H5Sget_simple_extent_dims");
	good(H5Aread(id, type, value), "H5Aread");
	good(H5Sclose(space), "H5Sclose");
	good(H5Tclose(type), "H5Tclose");
	good(H5Aclose(id), "H5Aclose");
}

static void ids(const char *dir)
{
	hid_t a = make_file(IN_DIR(dir, "a.h5"), 10), b = make_file(IN_DIR(dir, "b.h5"), 1000);

	iterate(a, read_group);
	iterate(b, read_group);
	iterate(a, read_by_name);
	read_either(a, b);
	good(H5Fclose(a), "H5Fclose");
	good(H5Fclose(b), "H5Fclose");
	a = valid(H5Fopen(IN_DIR(dir, "a.h5"), H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen");
	read_attribute(a, "none", DIMENSIONS);
	read_attribute(a, "unit", RANK);
	read_attribute(a, "unit", CLASS);
	read_attribute(a, "none", CLASS);
	good(H5Fclose(a), "H5Fclose");
}

static void types(const char *dir)
{
	hid_t a = make_file(IN_DIR(dir, "a.h5"), 10), b = make_file(IN_DIR(dir, "b.h5"), 1000);
	hid_t type = valid(H5Tcopy(H5T_NATIVE_DOUBLE), "H5Tcopy");

	iterate(a, read_group);
	good(H5Tcommit2(b, "t", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Tcommit2");
	good(H5Tclose(type), "H5Tclose");
	type = valid(H5Topen2(b, "t", H5P_DEFAULT), "H5Topen2");
	make_attribute(type, "note", H5T_NATIVE_DOUBLE, H5S_SCALAR, values);
	good(H5Tclose(type), "H5Tclose");
	good(H5Fclose(a), "H5Fclose");
	good(H5Fclose(b), "H5Fclose");
}

int main(int argc, char **argv)
{
	must(argc == 3 && (!strcmp(argv[2], "ids") || !strcmp(argv[2], "types")), "usage: hdf5_iterated DIR ids|types");
	if (!strcmp(argv[2], "ids"))
		ids(argv[1]);
	else
		types(argv[1]);
	return 0;
}
