/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * cover_netcdf DIR EXPECTED: every function of probes/netcdf.probes, each rank on a file of its own, and the parallel ones on files
 * of all. Sizes are those of the values in the file's types. The file with the expectations gets the rank as its ending.
 */
#include "cover.h"

#include <mpi.h>
#include <netcdf.h>
#include <netcdf_filter.h>
#include <netcdf_mem.h>
#include <netcdf_par.h>

/* Made for older programs and for Fortran: not in the headers. */
int nc_create_par_fortran(const char *path, int cmode, int comm, int info, int *ncidp);
int nc_open_par_fortran(const char *path, int mode, int comm, int info, int *ncidp);
int nc_def_var_bzip2(int ncid, int varid, int level);
int nc_def_var_zstandard(int ncid, int varid, int level);
int nc_def_var_blosc(int ncid, int varid, unsigned subcompressor, unsigned level, unsigned blocksize, unsigned addshuffle);
int nc_delete_mp(const char *path, int basepe);
int nc_put_varm(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const ptrdiff_t *imap,
		const void *op);
int nc_get_varm(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride, const ptrdiff_t *imap,
		void *ip);
int nc_put_var_ubyte(int ncid, int varid, const unsigned char *op);

enum { N = 4 };

static int rank;
static int dim, nc;

#define NC(call, ...) CALL((call) == NC_NOERR, __VA_ARGS__)
/* Whose result the library's build decides. */
#define NC_MAY(name, ...) \
	do { \
		int status_ = name(__VA_ARGS__); \
		if (status_) \
			cover_expect(#name " !%d", status_); \
		else \
			cover_expect(#name); \
	} while (0)

#define NC_FAILS(line, ...) \
	do { \
		int code_ = (__VA_ARGS__); \
		must(code_ != NC_NOERR, #__VA_ARGS__); \
		cover_expect(line, code_); \
	} while (0)

static const size_t start[1] = { 0 }, edges[1] = { N };
static const ptrdiff_t stride[1] = { 1 }, map[1] = { 1 };

/* The calls of one type; name_ is "" for those without a type, else "_int" and so on; size is 0 where values have none. */
#define WORDS(name, verb) "nc_" name " " verb ":%s/%s"
#define SIZES(n) size_text(n), size_text(n)

static const char *size_text(size_t size)
{
	static char text[2][24];
	static int i;

	i = !i;
	if (size)
		snprintf(text[i], sizeof(text[i]), "%zu", size);
	return size ? text[i] : "?";
}

#define TYPED(T, C, X, SIZE, PUT_ATT, GET_ATT) \
static void type##T(void) \
{ \
	static C v[N]; \
	int var; \
	NC(nc_def_var(nc, "v" #T, X, 1, &dim, &var), "nc_def_var"); \
	NC(PUT_ATT, WORDS("put_att" #T, "write"), SIZES(N * SIZE)); \
	NC(nc_put_var##T(nc, var, v), WORDS("put_var" #T, "write"), SIZES(N * SIZE)); \
	NC(nc_put_var1##T(nc, var, start, v), WORDS("put_var1" #T, "write"), SIZES(SIZE)); \
	NC(nc_put_vara##T(nc, var, start, edges, v), WORDS("put_vara" #T, "write"), SIZES(N * SIZE)); \
	NC(nc_put_vars##T(nc, var, start, edges, stride, v), WORDS("put_vars" #T, "write"), SIZES(N * SIZE)); \
	NC(nc_put_varm##T(nc, var, start, edges, stride, map, v), WORDS("put_varm" #T, "write"), SIZES(N * SIZE)); \
	NC(GET_ATT, WORDS("get_att" #T, "read"), SIZES(N * SIZE)); \
	NC(nc_get_var##T(nc, var, v), WORDS("get_var" #T, "read"), SIZES(N * SIZE)); \
	NC(nc_get_var1##T(nc, var, start, v), WORDS("get_var1" #T, "read"), SIZES(SIZE)); \
	NC(nc_get_vara##T(nc, var, start, edges, v), WORDS("get_vara" #T, "read"), SIZES(N * SIZE)); \
	NC(nc_get_vars##T(nc, var, start, edges, stride, v), WORDS("get_vars" #T, "read"), SIZES(N * SIZE)); \
	NC(nc_get_varm##T(nc, var, start, edges, stride, map, v), WORDS("get_varm" #T, "read"), SIZES(N * SIZE)); \
}
#define NUMBERS(T, C, X, SIZE) \
	TYPED(T, C, X, SIZE, nc_put_att##T(nc, var, "a", X, N, v), nc_get_att##T(nc, var, "a", v))

NUMBERS(_schar, signed char, NC_BYTE, 1)
NUMBERS(_uchar, unsigned char, NC_UBYTE, 1)
NUMBERS(_ubyte, unsigned char, NC_UBYTE, 1)
NUMBERS(_short, short, NC_SHORT, 2)
NUMBERS(_ushort, unsigned short, NC_USHORT, 2)
NUMBERS(_int, int, NC_INT, 4)
NUMBERS(_uint, unsigned, NC_UINT, 4)
NUMBERS(_long, long, NC_INT64, 8)
NUMBERS(_longlong, long long, NC_INT64, 8)
NUMBERS(_ulonglong, unsigned long long, NC_UINT64, 8)
NUMBERS(_float, float, NC_FLOAT, 4)
NUMBERS(_double, double, NC_DOUBLE, 8)
NUMBERS(, short, NC_SHORT, 2)
TYPED(_text, char, NC_CHAR, 1, nc_put_att_text(nc, var, "a", N, v), nc_get_att_text(nc, var, "a", v))

static void type_string(void)
{
	const char *v[N] = { "a", "b", "c", "d" };
	char *back[N];
	int var;

	NC(nc_def_var(nc, "v_string", NC_STRING, 1, &dim, &var), "nc_def_var");
	NC(nc_put_att_string(nc, var, "a", N, v), "nc_put_att_string write:?/?");
	NC(nc_put_var_string(nc, var, v), "nc_put_var_string write:?/?");
	NC(nc_put_var1_string(nc, var, start, v), "nc_put_var1_string write:?/?");
	NC(nc_put_vara_string(nc, var, start, edges, v), "nc_put_vara_string write:?/?");
	NC(nc_put_vars_string(nc, var, start, edges, stride, v), "nc_put_vars_string write:?/?");
	NC(nc_put_varm_string(nc, var, start, edges, stride, map, v), "nc_put_varm_string write:?/?");
	NC(nc_get_att_string(nc, var, "a", back), "nc_get_att_string read:?/?");
	NC(nc_get_var_string(nc, var, back), "nc_get_var_string read:?/?");
	NC(nc_get_var1_string(nc, var, start, back), "nc_get_var1_string read:?/?");
	NC(nc_get_vara_string(nc, var, start, edges, back), "nc_get_vara_string read:?/?");
	NC(nc_get_vars_string(nc, var, start, edges, stride, back), "nc_get_vars_string read:?/?");
	NC(nc_get_varm_string(nc, var, start, edges, stride, map, back), "nc_get_varm_string read:?/?");
}

static void definitions(void)
{
	size_t chunk = 2;
	int group, other, type, var, old, sizes[1] = { 2 }, one = 1;
	float zero = 0;

	NC(nc_def_grp(nc, "group", &group), "nc_def_grp");
	NC(nc_rename_grp(group, "group2"), "nc_rename_grp");
	NC(nc_def_compound(nc, 12, "compound", &type), "nc_def_compound");
	NC(nc_insert_compound(nc, type, "one", 0, NC_INT), "nc_insert_compound");
	NC(nc_insert_array_compound(nc, type, "two", 4, NC_INT, 1, sizes), "nc_insert_array_compound");
	NC(nc_def_enum(nc, NC_INT, "enum", &type), "nc_def_enum");
	NC(nc_insert_enum(nc, type, "one", &one), "nc_insert_enum");
	NC(nc_def_opaque(nc, 8, "opaque", &type), "nc_def_opaque");
	NC(nc_def_vlen(nc, "vlen", NC_INT, &type), "nc_def_vlen");
	NC(nc_def_var(group, "packed", NC_FLOAT, 1, &dim, &var), "nc_def_var");
	NC(nc_def_var_chunking(group, var, NC_CHUNKED, &chunk), "nc_def_var_chunking");
	NC(nc_def_var_deflate(group, var, 1, 1, 1), "nc_def_var_deflate");
	NC(nc_def_var_endian(group, var, NC_ENDIAN_LITTLE), "nc_def_var_endian");
	NC(nc_def_var_fill(group, var, NC_FILL, &zero), "nc_def_var_fill");
	NC(nc_def_var_fletcher32(group, var, 1), "nc_def_var_fletcher32");
	NC_MAY(nc_def_var_quantize, group, var, NC_QUANTIZE_BITGROOM, 3);
	NC_MAY(nc_def_var_filter, group, var, 1, 1, (unsigned[1]){ 2 });
	NC(nc_def_var(group, "szip", NC_FLOAT, 1, &dim, &var), "nc_def_var");
	NC_MAY(nc_def_var_szip, group, var, 32, 4);
	NC_MAY(nc_def_var_bzip2, group, var, 1);
	NC_MAY(nc_def_var_zstandard, group, var, 1);
	NC_MAY(nc_def_var_blosc, group, var, 0, 1, 0, 0);
	NC(nc_rename_var(group, var, "other"), "nc_rename_var");
	NC(nc_def_dim(nc, "extra", 3, &other), "nc_def_dim");
	NC(nc_rename_dim(nc, other, "extra2"), "nc_rename_dim");
	NC(nc_put_att_text(nc, NC_GLOBAL, "a", 3, "abc"), "nc_put_att_text write:3/3");
	NC(nc_rename_att(nc, NC_GLOBAL, "a", "b"), "nc_rename_att");
	NC(nc_copy_att(nc, NC_GLOBAL, "b", group, NC_GLOBAL), "nc_copy_att");
	NC(nc_del_att(nc, NC_GLOBAL, "b"), "nc_del_att");
	NC(nc_set_fill(nc, NC_NOFILL, &old), "nc_set_fill");
}

static void failures(void)
{
	int other, v[N];

	CALL(nc_open("no/such", NC_NOWRITE, &other) == ENOENT, "nc_open !2");
	NC_FAILS("nc_create !%d", nc_create("no/such", NC_NETCDF4, &other));
	NC_FAILS("nc_delete !%d", nc_delete("no/such"));
	CALL(nc_get_var_int(nc, 999, v) == NC_ENOTVAR, "nc_get_var_int !%d read:?/?", NC_ENOTVAR);
	CALL(nc_get_att_int(nc, NC_GLOBAL, "none", v) == NC_ENOTATT, "nc_get_att_int !%d read:?/?", NC_ENOTATT);
	NC_FAILS("nc_put_vara_int !%d write:16/?", nc_put_vara_int(nc, 0, (size_t[1]){ 3 }, edges, v));
	CALL(nc_def_dim(nc, "n", N, &other) == NC_ENAMEINUSE, "nc_def_dim !%d", NC_ENAMEINUSE);
	CALL(nc_close(0x7fff0000) == NC_EBADID, "nc_close !%d", NC_EBADID);
}

static void own_file(const char *dir)
{
	char name[32], second[32];
	const char *path, *path2;
	int other, var;

	snprintf(name, sizeof(name), "own%d.nc", rank);
	snprintf(second, sizeof(second), "second%d.nc", rank);
	path = IN_DIR(dir, name);
	path2 = IN_DIR(dir, second);
	NC(nc_create(path, NC_NETCDF4, &nc), "nc_create create");
	NC(nc_def_dim(nc, "n", N, &dim), "nc_def_dim");
	definitions();
	type_schar();
	type_uchar();
	type_ubyte();
	type_short();
	type_ushort();
	type_int();
	type_uint();
	type_long();
	type_longlong();
	type_ulonglong();
	type_float();
	type_double();
	type();
	type_text();
	type_string();
	NC(nc_redef(nc), "nc_redef");
	NC(nc__enddef(nc, 0, 4, 0, 4), "nc__enddef");
	NC(nc_sync(nc), "nc_sync flush");
	failures();
	NC(nc_create(path2, NC_CLOBBER, &other), "nc_create create");
	NC(nc_def_dim(other, "n", N, &var), "nc_def_dim");
	NC(nc_enddef(other), "nc_enddef");
	CALL(nc_inq_varid(nc, "v_int", &var) == NC_NOERR && nc_copy_var(nc, var, other) == NC_NOERR, "nc_copy_var");
	NC(nc_close(other), "nc_close destroy");
	NC(nc_close(nc), "nc_close destroy");
	NC(nc_delete(path2), "nc_delete delete");
}

static void makers(const char *dir)
{
	static char memory[1 << 20];
	size_t chunk = 4096;
	NC_memio memio = { 0 };
	const char *path;
	char name[32];
	int other;

	snprintf(name, sizeof(name), "classic%d.nc", rank);
	path = IN_DIR(dir, name);
	NC(nc__create(path, NC_CLOBBER, 0, &chunk, &other), "nc__create create");
	NC(nc_close(other), "nc_close destroy");
	NC(nc__create_mp(path, NC_CLOBBER, 0, 0, &chunk, &other), "nc__create_mp create");
	NC(nc_close(other), "nc_close destroy");
	NC(nc__open(path, NC_WRITE, &chunk, &other), "nc__open create");
	NC(nc_abort(other), "nc_abort destroy");
	NC(nc__open_mp(path, NC_NOWRITE, 0, &chunk, &other), "nc__open_mp create");
	NC(nc_close(other), "nc_close destroy");
	NC(nc_open(path, NC_NOWRITE, &other), "nc_open create");
	NC(nc_close(other), "nc_close destroy");
	NC(nc_delete_mp(path, 0), "nc_delete_mp delete");
	NC(nc_create_mem("memory", NC_NETCDF4, 65536, &other), "nc_create_mem create");
	NC(nc_close_memio(other, &memio), "nc_close_memio destroy");
	must(memio.size <= sizeof(memory), "size");
	memcpy(memory, memio.memory, memio.size);
	NC(nc_open_mem("memory", NC_NOWRITE, memio.size, memory, &other), "nc_open_mem create");
	NC(nc_close(other), "nc_close destroy");
	NC(nc_open_memio("memory", NC_NOWRITE, &memio, &other), "nc_open_memio create");
	NC(nc_close(other), "nc_close destroy");
}

static void together(const char *dir)
{
	const char *path = IN_DIR(dir, "all.nc");
	MPI_Fint comm = MPI_Comm_c2f(MPI_COMM_WORLD), info = MPI_Info_c2f(MPI_INFO_NULL);
	int all, var, d;

	NC(nc_create_par(path, NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &all), "nc_create_par create");
	NC(nc_def_dim(all, "n", N, &d), "nc_def_dim");
	NC(nc_def_var(all, "v", NC_INT, 1, &d, &var), "nc_def_var");
	NC(nc_var_par_access(all, var, NC_COLLECTIVE), "nc_var_par_access");
	NC(nc_close(all), "nc_close destroy");
	NC(nc_open_par(path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &all), "nc_open_par create");
	NC(nc_close(all), "nc_close destroy");
	NC(nc_create_par_fortran(IN_DIR(dir, "f.nc"), NC_NETCDF4, comm, info, &all), "nc_create_par_fortran");
	NC(nc_close(all), "nc_close destroy");
	NC(nc_open_par_fortran(IN_DIR(dir, "f.nc"), NC_NOWRITE, comm, info, &all), "nc_open_par_fortran");
	NC(nc_close(all), "nc_close destroy");
}

void golden(const char *dir)
{
	own_file(dir);
	makers(dir);
	together(dir);
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
