/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * hdf5_objects FILE: HDF5, what memory and file differ in, and objects that are opened again:
 *	"x", 1000 of a compound of one float: 1 H5Dwrite from a compound of 32 bytes in memory that has this member alone (4000 of
 *	  4000);
 *	"particles", 1000 of a compound of 8 floats: 1 H5Dwrite whole (32000), 1 H5Dread of member "x" into 32 bytes (4000 asked,
 *	  32000 moved);
 *	"narrow", 1000 float: 1 H5Dwrite of double (8000 asked, 4000 moved);
 *	"plane", 10 x 10 int: 1 H5Dwrite of all (400), 1 H5Dread of rows 0 to 3 and columns 2 to 4 joined (58 elements, 232), 1 of
 *	  the same
 *	without column 3 (48 elements, 192), 1 of two squares of 2 x 2 that begin from none (8 elements, 32);
 *	"narrow" and its attribute "scale" (2 double) are closed and opened again: 1 H5Dread of all (8000 asked, 4000 moved), 1
 *	  H5Aread (16);
 *	H5Literate over group "g": its function opens "inner" (5 double) by the id that it is given: 1 H5Dread (40);
 *	"narrow" is deleted and "other" (7 int) takes its name: 1 H5Dread of all without asking (of unknown size).
 */
#include <hdf5.h>

#include "golden.h"

#define N 1000

struct particle { float x, y, z, i, px, py, pz, id; };

static hid_t valid(hid_t id, const char *what)
{
	must(id >= 0, what);
	return id;
}

static void good(herr_t status, const char *what)
{
	must(status >= 0, what);
}

static hid_t create(hid_t where, const char *name, hid_t type, int rank, const hsize_t *dims)
{
	hid_t space = valid(H5Screate_simple(rank, dims, NULL), "H5Screate_simple");
	hid_t id = valid(H5Dcreate2(where, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Dcreate2");

	good(H5Sclose(space), "H5Sclose");
	return id;
}

static hid_t compound(size_t size, const char *members, size_t stride)
{
	hid_t type = valid(H5Tcreate(H5T_COMPOUND, size), "H5Tcreate");

	for (size_t i = 0; members[i]; i++)
		good(H5Tinsert(type, (char[]){ members[i], 0 }, i * stride, H5T_NATIVE_FLOAT), "H5Tinsert");
	return type;
}

static void compounds(hid_t file)
{
	static struct particle particles[N];
	hid_t one_in_memory = compound(sizeof(struct particle), "x", 4), one_in_file = compound(4, "x", 4);
	hid_t all = compound(sizeof(struct particle), "xyzipqrs", 4);
	hid_t x = create(file, "x", one_in_file, 1, (hsize_t[]){ N });
	hid_t whole = create(file, "particles", all, 1, (hsize_t[]){ N });

	good(H5Dwrite(x, one_in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, particles), "H5Dwrite");
	good(H5Dwrite(whole, all, H5S_ALL, H5S_ALL, H5P_DEFAULT, particles), "H5Dwrite");
	good(H5Dread(whole, one_in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, particles), "H5Dread");
	good(H5Dclose(x), "H5Dclose");
	good(H5Dclose(whole), "H5Dclose");
}

static void narrow(hid_t file)
{
	static double values[N];
	hid_t id = create(file, "narrow", H5T_IEEE_F32LE, 1, (hsize_t[]){ N }), space, attribute;

	good(H5Dwrite(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
	space = valid(H5Screate_simple(1, (hsize_t[]){ 2 }, NULL), "H5Screate_simple");
	attribute = valid(H5Acreate2(id, "scale", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2");
	good(H5Aclose(attribute), "H5Aclose");
	good(H5Dclose(id), "H5Dclose");
}

static void again(hid_t file)
{
	static double values[N];
	hid_t id = valid(H5Dopen2(file, "/./narrow", H5P_DEFAULT), "H5Dopen2");
	hid_t attribute = valid(H5Aopen_by_name(file, "narrow", "scale", H5P_DEFAULT, H5P_DEFAULT), "H5Aopen_by_name");

	good(H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dread");
	good(H5Aread(attribute, H5T_NATIVE_DOUBLE, values), "H5Aread");
	good(H5Aclose(attribute), "H5Aclose");
	good(H5Dclose(id), "H5Dclose");
}

static void slab(hid_t space, H5S_seloper_t how, hsize_t row, hsize_t column, hsize_t rows, hsize_t columns)
{
	good(H5Sselect_hyperslab(space, how, (hsize_t[]){ row, column }, NULL, (hsize_t[]){ rows, columns }, NULL),
	     "H5Sselect_hyperslab");
}

static void read_selected(hid_t id, hid_t space, hsize_t elements)
{
	static int values[100];
	hid_t memory = valid(H5Screate_simple(1, &elements, NULL), "H5Screate_simple");

	slab(space, H5S_SELECT_OR, 0, 0, 1, 1); /* is selected already */
	good(H5Sselect_none(memory), "H5Sselect_none");
	good(H5Sselect_hyperslab(memory, H5S_SELECT_OR, (hsize_t[]){ 0 }, NULL, &elements, NULL), "H5Sselect_hyperslab");
	good(H5Dread(id, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values), "H5Dread");
	good(H5Sclose(memory), "H5Sclose");
}

static void plane(hid_t file)
{
	static int values[100];
	hid_t id = create(file, "plane", H5T_STD_I32LE, 2, (hsize_t[]){ 10, 10 }), space = valid(H5Dget_space(id), "H5Dget_space");

	good(H5Dwrite(id, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
	slab(space, H5S_SELECT_SET, 0, 0, 4, 10);
	slab(space, H5S_SELECT_OR, 0, 2, 10, 3);
	read_selected(id, space, 40 + 18);
	slab(space, H5S_SELECT_NOTB, 0, 3, 10, 1);
	read_selected(id, space, 40 + 18 - 10);
	good(H5Sselect_none(space), "H5Sselect_none");
	slab(space, H5S_SELECT_OR, 2, 2, 2, 2);
	slab(space, H5S_SELECT_XOR, 0, 0, 2, 2);
	read_selected(id, space, 8);
	good(H5Sclose(space), "H5Sclose");
	good(H5Dclose(id), "H5Dclose");
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
	static double values[5];
	hid_t id = valid(H5Dopen2(group, name, H5P_DEFAULT), "H5Dopen2");

	(void)info;
	(void)data;
	good(H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dread");
	return H5Dclose(id);
}

static void iteration(hid_t file)
{
	hid_t group = valid(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Gcreate2");

	good(H5Dclose(create(group, "inner", H5T_IEEE_F64LE, 1, (hsize_t[]){ 5 })), "H5Dclose");
	good(H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit, NULL), "H5Literate");
	good(H5Gclose(group), "H5Gclose");
}

static void renamed(hid_t file)
{
	static double values[N];
	hid_t id;

	good(H5Dclose(create(file, "other", H5T_STD_I32LE, 1, (hsize_t[]){ 7 })), "H5Dclose");
	good(H5Ldelete(file, "narrow", H5P_DEFAULT), "H5Ldelete");
	good(H5Lmove(file, "other", file, "narrow", H5P_DEFAULT, H5P_DEFAULT), "H5Lmove");
	id = valid(H5Dopen2(file, "narrow", H5P_DEFAULT), "H5Dopen2");
	good(H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dread");
	good(H5Dclose(id), "H5Dclose");
}

int main(int argc, char **argv)
{
	hid_t file;

	must(argc == 2, "usage: hdf5_objects FILE");
	file = valid(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "H5Fcreate");
	compounds(file);
	narrow(file);
	plane(file);
	again(file);
	iteration(file);
	renamed(file);
	good(H5Fclose(file), "H5Fclose");
	return 0;
}
