/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * hdf5_sizes FILE: HDF5, every way to say how much an operation moves; each dataset is written exactly once:
 *	"whole" 4 x 6 double, 1 H5Dwrite of all (192), 1 H5Dread of all through H5S_ALL (192), into float (96);
 *	"rows" 8 x 5 int, 4 H5Dwrite of hyperslabs of 2 rows (40 each), in blocks: 1 H5Dread of start 0 stride 4 count 2 block 2 x 5
 *	  (80);
 *	"points" 10 short, 1 H5Dwrite of 10 (20), 1 H5Dread of 3 elements by coordinates, which an H5S_SELECT_APPEND makes 5 (10);
 *	"grown" 0 to 6 long long, H5Dset_extent, 1 H5Dwrite of all (48);
 *	"pairs" 3 of a compound of 16 bytes, 1 H5Dwrite (48);
 *	"words" 2 strings of variable length, 1 H5Dwrite (of unknown size);
 *	"combined": 4 int in 1 H5Dwrite (16), then 1 H5Dread of two hyperslabs joined by H5S_SELECT_OR, in file and memory (of
 *	  unknown size:
 *	2 elements), and 1 of the same with H5Sget_select_npoints asked before (8);
 *	attribute "scale" of "whole", 3 float, 1 H5Awrite (12), 1 H5Aread (12); group "g" with dataset "inner", scalar double, 1
 *	  H5Dwrite (8).
 * The file is opened again: 1 H5Dread of "whole" without asking (of unknown size), 1 after asking H5Sget_simple_extent_npoints
 * (192).
 */
#include <hdf5.h>

#include "golden.h"

static hid_t valid(hid_t id, const char *what)
{
	must(id >= 0, what);
	return id;
}

static void good(herr_t status, const char *what)
{
	must(status >= 0, what);
}

static hid_t dataset(hid_t where, const char *name, hid_t type, int rank, const hsize_t *dims)
{
	hid_t space = valid(rank ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR), "H5Screate");
	hid_t id = valid(H5Dcreate2(where, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Dcreate2");

	good(H5Sclose(space), "H5Sclose");
	return id;
}

static void whole(hid_t file)
{
	hid_t id = dataset(file, "whole", H5T_IEEE_F64LE, 2, (hsize_t[]){ 4, 6 }), space, attribute;
	double values[24] = { 1 };
	float floats[24], scale[3] = { 1, 2, 3 };

	good(H5Dwrite(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
	good(H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dread");
	good(H5Dread(id, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, floats), "H5Dread");
	space = valid(H5Screate_simple(1, (hsize_t[]){ 3 }, NULL), "H5Screate_simple");
	attribute = valid(H5Acreate2(id, "scale", H5T_IEEE_F32BE, space, H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2");
	good(H5Awrite(attribute, H5T_NATIVE_FLOAT, scale), "H5Awrite");
	good(H5Aread(attribute, H5T_NATIVE_FLOAT, scale), "H5Aread");
	H5Aclose(attribute);
	H5Sclose(space);
	H5Dclose(id);
}

static void rows(hid_t file)
{
	hid_t id = dataset(file, "rows", H5T_STD_I32LE, 2, (hsize_t[]){ 8, 5 });
	hid_t space = valid(H5Dget_space(id), "H5Dget_space"),
	      memory = valid(H5Screate_simple(1, (hsize_t[]){ 10 }, NULL), "H5Screate_simple");
	int values[40] = { 0 };

	for (hsize_t i = 0; i < 4; i++) {
		good(H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){ 2 * i, 0 }, NULL, (hsize_t[]){ 2, 5 }, NULL),
		     "H5Sselect_hyperslab");
		good(H5Dwrite(id, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values), "H5Dwrite");
	}
	good(H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){ 0, 0 }, (hsize_t[]){ 4, 5 }, (hsize_t[]){ 2, 1 },
				 (hsize_t[]){ 2, 5 }),
	     "H5Sselect_hyperslab");
	good(H5Dread(id, H5T_NATIVE_INT, H5S_ALL, space, H5P_DEFAULT, values), "H5Dread");
	H5Sclose(memory);
	H5Sclose(space);
	H5Dclose(id);
}

static void points(hid_t file)
{
	hid_t id = dataset(file, "points", H5T_STD_I16LE, 1, (hsize_t[]){ 10 }), space;
	short values[10] = { 0 };

	good(H5Dwrite(id, H5T_NATIVE_SHORT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
	space = valid(H5Dget_space(id), "H5Dget_space");
	good(H5Sselect_elements(space, H5S_SELECT_SET, 3, (hsize_t[]){ 1, 5, 7 }), "H5Sselect_elements");
	good(H5Sselect_elements(space, H5S_SELECT_APPEND, 2, (hsize_t[]){ 2, 3 }), "H5Sselect_elements");
	good(H5Dread(id, H5T_NATIVE_SHORT, H5S_ALL, space, H5P_DEFAULT, values), "H5Dread");
	H5Sclose(space);
	H5Dclose(id);
}

static void grown(hid_t file)
{
	hid_t properties = valid(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate"), id;
	hid_t space = valid(H5Screate_simple(1, (hsize_t[]){ 0 }, (hsize_t[]){ H5S_UNLIMITED }), "H5Screate_simple");
	long long values[6] = { 6 };

	good(H5Pset_chunk(properties, 1, (hsize_t[]){ 4 }), "H5Pset_chunk");
	id = valid(H5Dcreate2(file, "grown", H5T_STD_I64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT), "H5Dcreate2");
	good(H5Dset_extent(id, (hsize_t[]){ 6 }), "H5Dset_extent");
	good(H5Dwrite(id, H5T_NATIVE_LLONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
	H5Sclose(space);
	H5Pclose(properties);
	H5Dclose(id);
}

static void types(hid_t file)
{
	hid_t pair = valid(H5Tcreate(H5T_COMPOUND, 16), "H5Tcreate"), word = valid(H5Tcopy(H5T_C_S1), "H5Tcopy"), id;
	const char *words[2] = { "a", "word" };
	double pairs[6] = { 0 };

	good(H5Tinsert(pair, "x", 0, H5T_NATIVE_DOUBLE), "H5Tinsert");
	good(H5Tinsert(pair, "y", 8, H5T_NATIVE_DOUBLE), "H5Tinsert");
	id = dataset(file, "pairs", pair, 1, (hsize_t[]){ 3 });
	good(H5Dwrite(id, pair, H5S_ALL, H5S_ALL, H5P_DEFAULT, pairs), "H5Dwrite");
	H5Dclose(id);
	good(H5Tset_size(word, H5T_VARIABLE), "H5Tset_size");
	id = dataset(file, "words", word, 1, (hsize_t[]){ 2 });
	good(H5Dwrite(id, word, H5S_ALL, H5S_ALL, H5P_DEFAULT, words), "H5Dwrite");
	H5Dclose(id);
	H5Tclose(word);
	H5Tclose(pair);
}

static void combined(hid_t file)
{
	hid_t id = dataset(file, "combined", H5T_STD_I32LE, 1, (hsize_t[]){ 4 }), space;
	int values[4] = { 0 };

	good(H5Dwrite(id, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
	space = valid(H5Dget_space(id), "H5Dget_space");
	good(H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){ 0 }, NULL, (hsize_t[]){ 1 }, NULL), "H5Sselect_hyperslab");
	good(H5Sselect_hyperslab(space, H5S_SELECT_OR, (hsize_t[]){ 3 }, NULL, (hsize_t[]){ 1 }, NULL), "H5Sselect_hyperslab");
	good(H5Dread(id, H5T_NATIVE_INT, space, space, H5P_DEFAULT, values), "H5Dread");
	must(H5Sget_select_npoints(space) == 2, "H5Sget_select_npoints");
	good(H5Dread(id, H5T_NATIVE_INT, space, space, H5P_DEFAULT, values), "H5Dread");
	H5Sclose(space);
	H5Dclose(id);
}

static void in_group(hid_t file)
{
	hid_t group = valid(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Gcreate2");
	hid_t id = dataset(group, "inner", H5T_IEEE_F64LE, 0, NULL);
	double value = 1;

	good(H5Dwrite(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), "H5Dwrite");
	H5Dclose(id);
	H5Gclose(group);
}

static void read_again(const char *path)
{
	hid_t file = valid(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen"),
	      id = valid(H5Dopen2(file, "whole", H5P_DEFAULT), "H5Dopen2");
	hid_t space;
	double values[24];

	good(H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dread");
	space = valid(H5Dget_space(id), "H5Dget_space");
	must(H5Sget_simple_extent_npoints(space) == 24 && values[0] == 1, "the file has what was written");
	good(H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dread");
	H5Sclose(space);
	H5Dclose(id);
	H5Fclose(file);
}

int main(int argc, char **argv)
{
	hid_t file;

	must(argc == 2, "usage: hdf5_sizes FILE");
	file = valid(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "H5Fcreate");
	whole(file);
	rows(file);
	points(file);
	grown(file);
	types(file);
	combined(file);
	in_group(file);
	good(H5Fclose(file), "H5Fclose");
	read_again(argv[1]);
	return 0;
}
