/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * cover_hdf5 DIR EXPECTED: every function of probes/hdf5.probes that HDF5 1.10 has, each rank on files of its own, and calls that
 * fail. The file with the expectations gets the rank as its ending.
 */
#include "cover.h"

#include <dlfcn.h>
#define H5_USE_110_API          /* of later versions, too */
#include <hdf5.h>
#include <mpi.h>

#define H5(call, line) CALL((call) >= 0, line)
#define ID(id, call, line) CALL((id = (call)) >= 0, line)
#define FAILS(call, line) CALL((call) < 0, line)

static int rank;
static hid_t file;
static int v[4];
static const hsize_t four[1] = { 4 }, unlimited[1] = { H5S_UNLIMITED };

static const char *name_of(const char *dir, const char *what)
{
	static char path[4][4096];
	static int i;

	i = (i + 1) % 4;
	must(snprintf(path[i], sizeof(path[i]), "%s/%s%d.h5", dir, what, rank) < (int)sizeof(path[i]), "path too long");
	return path[i];
}

/* By its very name: the header makes another one of it. NULL if the library does not have it: since 1.12 it has numbered names
 * only. */
static void *function(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

#if H5_VERSION_GE(1, 12, 0)
#define LINK_INFO "H5Lget_info1"
#define LINK_INFO_BY_IDX "H5Lget_info_by_idx1"
#else
#define LINK_INFO "H5Lget_info"
#define LINK_INFO_BY_IDX "H5Lget_info_by_idx"
#endif

static void datasets(void)
{
	hid_t space = H5Screate_simple(1, four, unlimited), plain = H5Screate_simple(1, four, NULL),
	      dcpl = H5Pcreate(H5P_DATASET_CREATE);
	hid_t d, c;
	hsize_t place[1] = { 0 }, size, n;
	H5D_space_status_t status;
	unsigned mask;
	haddr_t addr;
	uint32_t filters;

	H5Pset_chunk(dcpl, 1, four);
	ID(d, H5Dcreate1(file, "one", H5T_NATIVE_INT, plain, H5P_DEFAULT), "H5Dcreate1 create");
	H5(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "H5Dwrite write:16/16");
	H5(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "H5Dread read:16/16");
	FAILS(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, 12345, H5P_DEFAULT, v), "H5Dread ! read:?/?");
	FAILS(H5Dwrite(d, 12345, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), "H5Dwrite ! write:?/?");
	H5(H5Dflush(d), "H5Dflush flush");
	H5(H5Drefresh(d), "H5Drefresh");
	CALL(H5Dget_storage_size(d) == 16, "H5Dget_storage_size");
	H5(H5Dget_space_status(d, &status), "H5Dget_space_status");
	H5(H5Odisable_mdc_flushes(d), "H5Odisable_mdc_flushes");
	H5(H5Oenable_mdc_flushes(d), "H5Oenable_mdc_flushes");
	H5(H5Dclose(d), "H5Dclose destroy");
	FAILS(H5Dclose(d), "H5Dclose !");
	ID(c, H5Dcreate2(file, "chunked", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), "H5Dcreate2 create");
	H5(H5Dwrite_chunk(c, H5P_DEFAULT, 0, place, sizeof(v), v), "H5Dwrite_chunk write:16/16");
	H5(H5Dread_chunk(c, H5P_DEFAULT, place, &filters, v), "H5Dread_chunk read:16/16");
	H5(H5Dget_num_chunks(c, space, &n), "H5Dget_num_chunks");
	H5(H5Dget_chunk_info(c, space, 0, place, &mask, &addr, &size), "H5Dget_chunk_info");
	H5(H5Dget_chunk_info_by_coord(c, place, &mask, &addr, &size), "H5Dget_chunk_info_by_coord");
	H5(H5Dget_chunk_storage_size(c, place, &size), "H5Dget_chunk_storage_size");
	H5(H5Dset_extent(c, (hsize_t[1]){ 8 }), "H5Dset_extent");
	H5(H5Dextend(c, (hsize_t[1]){ 12 }), "H5Dextend");
	H5(H5Dformat_convert(c), "H5Dformat_convert");
	H5(H5Dclose(c), "H5Dclose destroy");
	ID(d, H5Dopen1(file, "one"), "H5Dopen1 create");
	H5(H5Dclose(d), "H5Dclose destroy");
	ID(d, H5Dopen2(file, "one", H5P_DEFAULT), "H5Dopen2 create");
	H5(H5Dclose(d), "H5Dclose destroy");
	ID(d, H5Dcreate_anon(file, H5T_NATIVE_INT, plain, H5P_DEFAULT, H5P_DEFAULT), "H5Dcreate_anon create");
	H5(H5Olink(d, file, "anon", H5P_DEFAULT, H5P_DEFAULT), "H5Olink");
	H5(H5Dclose(d), "H5Dclose destroy");
	FAILS(H5Dopen2(file, "none", H5P_DEFAULT), "H5Dopen2 !");
	FAILS(H5Dcreate2(file, "one", H5T_NATIVE_INT, plain, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Dcreate2 !");
	H5Sclose(space);
	H5Sclose(plain);
	H5Pclose(dcpl);
}

static void groups(void)
{
	H5G_info_t info;
	H5G_stat_t stat;
	hsize_t n;
	char text[100];
	hid_t g;

	ID(g, H5Gcreate1(file, "g1", 0), "H5Gcreate1 create");
	H5(H5Gflush(g), "H5Gflush flush");
	H5(H5Aget_num_attrs(g), "H5Aget_num_attrs");
	H5(H5Gget_info(g, &info), "H5Gget_info");
	H5(H5Gclose(g), "H5Gclose destroy");
	ID(g, H5Gcreate2(file, "g2", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Gcreate2 create");
	H5(H5Grefresh(g), "H5Grefresh");
	H5(H5Gclose(g), "H5Gclose destroy");
	ID(g, H5Gcreate_anon(file, H5P_DEFAULT, H5P_DEFAULT), "H5Gcreate_anon create");
	H5(H5Gclose(g), "H5Gclose destroy");
	ID(g, H5Gopen1(file, "g1"), "H5Gopen1 create");
	H5(H5Gclose(g), "H5Gclose destroy");
	ID(g, H5Gopen2(file, "g1", H5P_DEFAULT), "H5Gopen2 create");
	H5(H5Gclose(g), "H5Gclose destroy");
	FAILS(H5Gopen2(file, "none", H5P_DEFAULT), "H5Gopen2 !");
	H5(H5Glink(file, H5G_LINK_HARD, "g1", "hard1"), "H5Glink");
	H5(H5Glink2(file, "g1", H5G_LINK_SOFT, file, "soft1"), "H5Glink2");
	H5(H5Gmove(file, "hard1", "hard2"), "H5Gmove");
	H5(H5Gmove2(file, "hard2", file, "hard3"), "H5Gmove2");
	H5(H5Gget_linkval(file, "soft1", sizeof(text), text), "H5Gget_linkval");
	H5(H5Gunlink(file, "hard3"), "H5Gunlink");
	H5(H5Gset_comment(file, "g1", "comment"), "H5Gset_comment");
	H5(H5Gget_comment(file, "g1", sizeof(text), text), "H5Gget_comment");
	H5(H5Gget_info_by_name(file, "g1", &info, H5P_DEFAULT), "H5Gget_info_by_name");
	H5(H5Gget_info_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, 2, &info, H5P_DEFAULT), "H5Gget_info_by_idx *");
	H5(H5Gget_num_objs(file, &n), "H5Gget_num_objs");
	H5(H5Gget_objinfo(file, "g1", 0, &stat), "H5Gget_objinfo");
	H5(H5Gget_objname_by_idx(file, 0, text, sizeof(text)), "H5Gget_objname_by_idx");
	H5(H5Gget_objtype_by_idx(file, 0), "H5Gget_objtype_by_idx");
}

static void attributes(void)
{
	hid_t space = H5Screate_simple(1, four, NULL), a;
	H5A_info_t info;

	ID(a, H5Acreate1(file, "a1", H5T_NATIVE_INT, space, H5P_DEFAULT), "H5Acreate1 create");
	H5(H5Awrite(a, H5T_NATIVE_INT, v), "H5Awrite write:16/16");
	H5(H5Aread(a, H5T_NATIVE_INT, v), "H5Aread read:16/16");
	H5(H5Aget_info(a, &info), "H5Aget_info");
	FAILS(H5Aread(a, 12345, v), "H5Aread ! read:?/?");
	H5(H5Aclose(a), "H5Aclose destroy");
	ID(a, H5Acreate2(file, "a2", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2 create");
	H5(H5Aclose(a), "H5Aclose destroy");
	ID(a, H5Acreate_by_name(file, "g1", "a3", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
	   "H5Acreate_by_name create");
	H5(H5Aclose(a), "H5Aclose destroy");
	ID(a, H5Aopen(file, "a1", H5P_DEFAULT), "H5Aopen create");
	H5(H5Aclose(a), "H5Aclose destroy");
	ID(a, H5Aopen_name(file, "a1"), "H5Aopen_name create");
	H5(H5Aclose(a), "H5Aclose destroy");
	ID(a, H5Aopen_idx(file, 0), "H5Aopen_idx create");
	H5(H5Aclose(a), "H5Aclose destroy");
	ID(a, H5Aopen_by_name(file, "g1", "a3", H5P_DEFAULT, H5P_DEFAULT), "H5Aopen_by_name create");
	H5(H5Aclose(a), "H5Aclose destroy");
	ID(a, H5Aopen_by_idx(file, "g1", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT, H5P_DEFAULT), "H5Aopen_by_idx create");
	H5(H5Aclose(a), "H5Aclose destroy");
	FAILS(H5Aopen(file, "none", H5P_DEFAULT), "H5Aopen !");
	H5(H5Aexists(file, "a1"), "H5Aexists");
	H5(H5Aexists_by_name(file, "g1", "a3", H5P_DEFAULT), "H5Aexists_by_name");
	H5(H5Aget_info_by_name(file, "g1", "a3", &info, H5P_DEFAULT), "H5Aget_info_by_name");
	H5(H5Aget_info_by_idx(file, "g1", H5_INDEX_NAME, H5_ITER_INC, 0, &info, H5P_DEFAULT), "H5Aget_info_by_idx");
	H5(H5Arename(file, "a1", "a4"), "H5Arename");
	H5(H5Arename_by_name(file, "g1", "a3", "a5", H5P_DEFAULT), "H5Arename_by_name");
	H5(H5Adelete(file, "a4"), "H5Adelete");
	H5(H5Adelete_by_name(file, "g1", "a5", H5P_DEFAULT), "H5Adelete_by_name");
	H5(H5Adelete_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT), "H5Adelete_by_idx");
	FAILS(H5Adelete(file, "none"), "H5Adelete !");
	H5Sclose(space);
}

static void objects(void)
{
	typedef herr_t info_fn(hid_t, H5O_info_t *);
	typedef herr_t info_by_name_fn(hid_t, const char *, H5O_info_t *, hid_t);
	typedef herr_t info_by_idx_fn(hid_t, const char *, H5_index_t, H5_iter_order_t, hsize_t, H5O_info_t *, hid_t);
	H5O_info_t info;
	hobj_ref_t ref;
	char text[100];
	hid_t o;

	ID(o, H5Oopen(file, "g1", H5P_DEFAULT), "H5Oopen create");
	H5(H5Oflush(o), "H5Oflush flush");
	H5(H5Orefresh(o), "H5Orefresh");
	if (function("H5Oget_info"))
		H5(((info_fn *)function("H5Oget_info"))(o, &info), "H5Oget_info");
	H5(H5Oget_info1(o, &info), "H5Oget_info1");
	H5(H5Oget_info2(o, &info, H5O_INFO_ALL), "H5Oget_info2");
	H5(H5Oset_comment(o, "c"), "H5Oset_comment");
	H5(H5Oget_comment(o, text, sizeof(text)), "H5Oget_comment");
	H5(H5Oincr_refcount(o), "H5Oincr_refcount");
	H5(H5Odecr_refcount(o), "H5Odecr_refcount");
	H5(H5Oclose(o), "H5Oclose destroy");
	ID(o, H5Oopen_by_addr(file, info.addr), "H5Oopen_by_addr create");
	H5(H5Oclose(o), "H5Oclose destroy");
	ID(o, H5Oopen_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT), "H5Oopen_by_idx create");
	CALL(H5Idec_ref(o) == 0, "H5Idec_ref destroy");
	must(H5Rcreate(&ref, file, "g1", H5R_OBJECT, -1) >= 0, "H5Rcreate");
	ID(o, H5Rdereference1(file, H5R_OBJECT, &ref), "H5Rdereference1 create");
	H5(H5Oclose(o), "H5Oclose destroy");
	ID(o, H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, &ref), "H5Rdereference2 create");
	H5(H5Oclose(o), "H5Oclose destroy");
	FAILS(H5Oopen(file, "none", H5P_DEFAULT), "H5Oopen !");
	H5(H5Oset_comment_by_name(file, "g1", "d", H5P_DEFAULT), "H5Oset_comment_by_name");
	H5(H5Oget_comment_by_name(file, "g1", text, sizeof(text), H5P_DEFAULT), "H5Oget_comment_by_name");
	H5(H5Oexists_by_name(file, "g1", H5P_DEFAULT), "H5Oexists_by_name");
	if (function("H5Oget_info_by_name"))
		H5(((info_by_name_fn *)function("H5Oget_info_by_name"))(file, "g1", &info, H5P_DEFAULT), "H5Oget_info_by_name");
	H5(H5Oget_info_by_name1(file, "g1", &info, H5P_DEFAULT), "H5Oget_info_by_name1");
	H5(H5Oget_info_by_name2(file, "g1", &info, H5O_INFO_ALL, H5P_DEFAULT), "H5Oget_info_by_name2");
	if (function("H5Oget_info_by_idx"))
		H5(((info_by_idx_fn *)function("H5Oget_info_by_idx"))(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, &info, H5P_DEFAULT),
		   "H5Oget_info_by_idx");
	H5(H5Oget_info_by_idx1(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, &info, H5P_DEFAULT), "H5Oget_info_by_idx1");
	H5(H5Oget_info_by_idx2(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, &info, H5O_INFO_ALL, H5P_DEFAULT), "H5Oget_info_by_idx2");
	H5(H5Ocopy(file, "g1", file, "g1copy", H5P_DEFAULT, H5P_DEFAULT), "H5Ocopy");
	FAILS(H5Ocopy(file, "none", file, "copy", H5P_DEFAULT, H5P_DEFAULT), "H5Ocopy !");
}

static void links(void)
{
	H5L_info_t info;
	char text[100];

	H5(H5Lcreate_hard(file, "g1", file, "lh", H5P_DEFAULT, H5P_DEFAULT), "H5Lcreate_hard");
	H5(H5Lcreate_soft("g1", file, "ls", H5P_DEFAULT, H5P_DEFAULT), "H5Lcreate_soft");
	H5(H5Lcreate_external("other.h5", "g1", file, "le", H5P_DEFAULT, H5P_DEFAULT), "H5Lcreate_external");
	FAILS(H5Lcreate_ud(file, "lu", (H5L_type_t)200, NULL, 0, H5P_DEFAULT, H5P_DEFAULT), "H5Lcreate_ud !");
	H5(H5Lcopy(file, "lh", file, "lh2", H5P_DEFAULT, H5P_DEFAULT), "H5Lcopy");
	H5(H5Lmove(file, "lh2", file, "lh3", H5P_DEFAULT, H5P_DEFAULT), "H5Lmove");
	H5(H5Lexists(file, "lh", H5P_DEFAULT), "H5Lexists");
	H5(H5Lget_info(file, "ls", &info, H5P_DEFAULT), LINK_INFO);
	H5(H5Lget_info_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, &info, H5P_DEFAULT), LINK_INFO_BY_IDX);
	H5(H5Lget_val(file, "ls", text, sizeof(text), H5P_DEFAULT), "H5Lget_val");
	H5(H5Lget_val_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_DEC, 0, text, sizeof(text), H5P_DEFAULT), "H5Lget_val_by_idx");
	H5(H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, 0, text, sizeof(text), H5P_DEFAULT), "H5Lget_name_by_idx");
	H5(H5Ldelete(file, "lh3", H5P_DEFAULT), "H5Ldelete");
	H5(H5Ldelete_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_DEC, 0, H5P_DEFAULT), "H5Ldelete_by_idx");
	FAILS(H5Ldelete(file, "none", H5P_DEFAULT), "H5Ldelete !");
}

static void types(void)
{
	hid_t t = H5Tcopy(H5T_NATIVE_INT), u = H5Tcopy(H5T_NATIVE_INT), w = H5Tcopy(H5T_NATIVE_INT);

	H5(H5Tcommit1(file, "t1", t), "H5Tcommit1");
	H5(H5Tcommit2(file, "t2", u, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Tcommit2");
	H5(H5Tcommit_anon(file, w, H5P_DEFAULT, H5P_DEFAULT), "H5Tcommit_anon");
	H5(H5Tflush(t), "H5Tflush");
	H5(H5Trefresh(t), "H5Trefresh");
	H5Tclose(t);
	H5Tclose(u);
	H5Tclose(w);
	ID(t, H5Topen1(file, "t1"), "H5Topen1");
	H5Tclose(t);
	ID(t, H5Topen2(file, "t2", H5P_DEFAULT), "H5Topen2");
	H5Tclose(t);
	FAILS(H5Topen2(file, "none", H5P_DEFAULT), "H5Topen2 !");
}

static void files(const char *dir)
{
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), again, other, all;
	H5F_info1_t info1;
	H5F_info2_t info2;
	hsize_t size;
	static char image[1 << 20];

	H5(H5Fflush(file, H5F_SCOPE_LOCAL), "H5Fflush flush");
	ID(again, H5Freopen(file), "H5Freopen dup");
	H5(H5Fclose(again), "H5Fclose destroy");
	CALL(H5Fis_hdf5(name_of(dir, "a")) > 0, "H5Fis_hdf5");
	CALL(H5Fis_hdf5("/proc/self/status") <= 0, "H5Fis_hdf5");
	ID(other, H5Fcreate(name_of(dir, "b"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "H5Fcreate create");
	H5(H5Fmount(file, "g2", other, H5P_DEFAULT), "H5Fmount");
	H5(H5Funmount(file, "g2"), "H5Funmount");
	H5(H5Fget_info1(file, &info1), "H5Fget_info1");
	H5(H5Fget_info2(file, &info2), "H5Fget_info2");
	H5(H5Fget_filesize(file, &size), "H5Fget_filesize");
	H5(H5Fget_freespace(file), "H5Fget_freespace");
	H5(H5Fget_file_image(file, image, sizeof(image)), "H5Fget_file_image");
	H5(H5Fset_libver_bounds(file, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST), "H5Fset_libver_bounds");
	H5(H5Fformat_convert(file), "H5Fformat_convert");
	H5(H5Fincrement_filesize(file, 512), "H5Fincrement_filesize");
	H5(H5Fclear_elink_file_cache(file), "H5Fclear_elink_file_cache");
	H5(H5Fclose(other), "H5Fclose destroy");
	FAILS(H5Fopen("no/such", H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen !");
	FAILS(H5Fopen("/proc/self/status", H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen !");
	FAILS(H5Fcreate("no/such", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "H5Fcreate !");
	FAILS(H5Fclose(12345), "H5Fclose !");
	H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
	ID(other, H5Fcreate(name_of(dir, "swmr"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl), "H5Fcreate create");
	CALL((H5Fstart_swmr_write(other), true), "H5Fstart_swmr_write *");
	H5(H5Fclose(other), "H5Fclose destroy");
	ID(other, H5Fopen(name_of(dir, "b"), H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen create");
	H5(H5Fclose(other), "H5Fclose destroy");
	H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
	ID(all, H5Fcreate(IN_DIR(dir, "all.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl), "H5Fcreate create");
	H5(H5Fset_mpi_atomicity(all, 0), "H5Fset_mpi_atomicity");
	H5(H5Fclose(all), "H5Fclose destroy");
	H5Pclose(fapl);
}

void golden(const char *dir)
{
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	ID(file, H5Fcreate(name_of(dir, "a"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "H5Fcreate create");
	datasets();
	groups();
	attributes();
	objects();
	links();
	types();
	files(dir);
	H5(H5Fclose(file), "H5Fclose destroy");
	H5(H5close(), "H5close");
}

int main(int argc, char **argv)
{
	char path[4096];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc != 3)
		MPI_Abort(MPI_COMM_WORLD, 2);
	golden(argv[1]);
	must(snprintf(path, sizeof(path), "%s.%d", argv[2], rank) < (int)sizeof(path), "path too long");
	cover_write(path);
	MPI_Finalize();
	return 0;
}
