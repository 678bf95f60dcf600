/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * cover_pnetcdf DIR EXPECTED: every function of probes/pnetcdf.probes that the library has, on a file of all ranks: each with
 * values of its own type, so that bytes in memory are bytes in the file. Two witnesses of every size: the library's own count of
 * what it moved, and the buffer that a read has filled, as far and no further. The file with the expectations gets the rank as its
 * ending.
 */
#include "cover.h"

#include <mpi.h>
#include <pnetcdf.h>

enum { N = 4, HALF = N / 2, MOST_RANKS = 16, LARGEST = 8, FILL = 7 };

static int rank, ranks, nc, dim, whole, status;
static bool all;                /* collective data mode */
static size_t size;             /* of a value */
static MPI_Offset before[2];
static _Alignas(LARGEST) char room[2][N * MOST_RANKS * LARGEST];
static char *const filled = room[1];
static void *const values = room[0], *const back = room[1];     /* of any type */

/* The rank's own part of a variable: N values, in two pieces of HALF. */
static MPI_Offset first[1], second[1], edges[1] = { N }, half[1] = { HALF }, one[1] = { 1 }, two[1] = { 2 };
static MPI_Offset *starts[2] = { first, second }, *halves[2] = { half, half }, *ones[2] = { one, one };
static void *from[2] = { room[0], room[0] }, *to[2] = { room[1], room[1] };
static MPI_Datatype types[2], file_type;

#define NC(call, ...) CALL((call) == NC_NOERR, __VA_ARGS__)
#define NC_FAILS(line, ...) \
	do { \
		int code_ = (__VA_ARGS__); \
		must(code_ != NC_NOERR, #__VA_ARGS__); \
		cover_expect(line, code_); \
	} while (0)

/* ---- what a call moved ---- */

/* Bytes that the library reports as read or written since the file was opened. */
static MPI_Offset library_count(bool write)
{
	MPI_Offset n;

	must((write ? ncmpi_inq_put_size(nc, &n) : ncmpi_inq_get_size(nc, &n)) == NC_NOERR, "ncmpi_inq_put_size");
	return n;
}

static void mark(void)
{
	memset(back, 0, sizeof(room[1]));
	before[0] = library_count(false);
	before[1] = library_count(true);
}

static void really_moved(const char *name, bool write, size_t bytes)
{
	size_t n = 0;

	while (n < sizeof(room[1]) && filled[n] == FILL)
		n++;
	must(library_count(write) - before[write] == (MPI_Offset)bytes, name);
	must(n == (write ? 0 : bytes), name);
}

/* Of the pieces of flexible mput and mget the trace does not know the size. */
static const char *bytes_text(size_t bytes, bool known)
{
	static char text[24];

	snprintf(text, sizeof(text), known ? "%zu" : "?%zu", bytes);
	return text;
}

static void moved(const char *name, bool write, size_t bytes, bool known)
{
	const char *text = bytes_text(bytes, known);

	really_moved(name, write, bytes);
	cover_expect("%s %s%s:%s/%s", name, all ? "all-" : "", write ? "write" : "read", text, text);
}

static void posted_and_waited(const char *name, bool write, size_t bytes, bool known, int request)
{
	const char *text = bytes_text(bytes, known);

	cover_expect("%s issue-%s:%s", name, write ? "write" : "read", text);
	if (all)
		NC(ncmpi_wait_all(nc, 1, &request, &status), "ncmpi_wait_all done:%s", text);
	else
		NC(ncmpi_wait(nc, 1, &request, &status), "ncmpi_wait done:%s", text);
	must(status == NC_NOERR, name);
	really_moved(name, write, bytes);
}

/* ---- the calls of one type ---- */

/* T is a name's ending ("_int") or nothing; A is "_all" or nothing; TAIL and TAILS are what the flexible functions are given behind
 * their buffers; KNOWN whether the size of the pieces of mput and mget is known. */
#define MOVE(write, n, known, name, ...) \
	do { \
		mark(); \
		must(name(nc, __VA_ARGS__) == NC_NOERR, #name); \
		moved(#name, write, (n) * size, known); \
	} while (0)
#define PUT(...) MOVE(true, __VA_ARGS__)
#define GET(...) MOVE(false, __VA_ARGS__)
#define MPUT(n, known, name, ...) PUT(n, known, name, __VA_ARGS__)
#define MGET(n, known, pieces, name, ...) \
	do { \
		to[1] = filled + (n) / (pieces) * size; \
		GET(n, known, name, __VA_ARGS__); \
	} while (0)

#define BLOCKING(T, A, TAIL, TAILS, KNOWN) \
static void blocking##T##A(int var) \
{ \
	int vars[2] = { var, var }; \
\
	PUT(whole, true, ncmpi_put_var##T##A, var, values TAIL(whole)); \
	PUT(1, true, ncmpi_put_var1##T##A, var, first, values TAIL(1)); \
	PUT(N, true, ncmpi_put_vara##T##A, var, first, edges, values TAIL(N)); \
	PUT(HALF, true, ncmpi_put_vars##T##A, var, first, half, two, values TAIL(HALF)); \
	PUT(N, true, ncmpi_put_varm##T##A, var, first, edges, one, one, values TAIL(N)); \
	PUT(N, true, ncmpi_put_varn##T##A, var, 2, starts, halves, values TAIL(N)); \
	GET(whole, true, ncmpi_get_var##T##A, var, back TAIL(whole)); \
	GET(1, true, ncmpi_get_var1##T##A, var, first, back TAIL(1)); \
	GET(N, true, ncmpi_get_vara##T##A, var, first, edges, back TAIL(N)); \
	GET(HALF, true, ncmpi_get_vars##T##A, var, first, half, two, back TAIL(HALF)); \
	GET(N, true, ncmpi_get_varm##T##A, var, first, edges, one, one, back TAIL(N)); \
	GET(N, true, ncmpi_get_varn##T##A, var, 2, starts, halves, back TAIL(N)); \
	MPUT(whole, KNOWN, ncmpi_mput_var##T##A, 1, vars, (void *)from TAILS(whole)); \
	MPUT(2, KNOWN, ncmpi_mput_var1##T##A, 2, vars, starts, (void *)from TAILS(1)); \
	MPUT(N, KNOWN, ncmpi_mput_vara##T##A, 2, vars, starts, halves, (void *)from TAILS(HALF)); \
	MPUT(N, KNOWN, ncmpi_mput_vars##T##A, 2, vars, starts, halves, ones, (void *)from TAILS(HALF)); \
	MPUT(N, KNOWN, ncmpi_mput_varm##T##A, 2, vars, starts, halves, ones, ones, (void *)from TAILS(HALF)); \
	MGET(whole, KNOWN, 1, ncmpi_mget_var##T##A, 1, vars, (void *)to TAILS(whole)); \
	MGET(2, KNOWN, 2, ncmpi_mget_var1##T##A, 2, vars, starts, (void *)to TAILS(1)); \
	MGET(N, KNOWN, 2, ncmpi_mget_vara##T##A, 2, vars, starts, halves, (void *)to TAILS(HALF)); \
	MGET(N, KNOWN, 2, ncmpi_mget_vars##T##A, 2, vars, starts, halves, ones, (void *)to TAILS(HALF)); \
	MGET(N, KNOWN, 2, ncmpi_mget_varm##T##A, 2, vars, starts, halves, ones, ones, (void *)to TAILS(HALF)); \
}

#define POST(write, n, known, name, ...) \
	do { \
		int request_; \
		mark(); \
		must(name(nc, __VA_ARGS__, &request_) == NC_NOERR, #name); \
		posted_and_waited(#name, write, (n) * size, known, request_); \
	} while (0)
#define POST_FAMILY(write, VERB, T, buf, TAIL) \
	POST(write, whole, true, ncmpi_##VERB##_var##T, var, buf TAIL(whole)); \
	POST(write, 1, true, ncmpi_##VERB##_var1##T, var, first, buf TAIL(1)); \
	POST(write, N, true, ncmpi_##VERB##_vara##T, var, first, edges, buf TAIL(N)); \
	POST(write, HALF, true, ncmpi_##VERB##_vars##T, var, first, half, two, buf TAIL(HALF)); \
	POST(write, N, true, ncmpi_##VERB##_varm##T, var, first, edges, one, one, buf TAIL(N)); \
	POST(write, N, true, ncmpi_##VERB##_varn##T, var, 2, starts, halves, buf TAIL(N))

#define TYPE(T, X, SIZE, TAIL, TAILS, KNOWN, ATT) \
BLOCKING(T, , TAIL, TAILS, KNOWN) \
BLOCKING(T, _all, TAIL, TAILS, KNOWN) \
static int var##T; \
static void define##T(void) \
{ \
	size = SIZE; \
	NC(ncmpi_def_var(nc, "v" #T, X, 1, &dim, &var##T), "ncmpi_def_var"); \
	NC(ncmpi_put_att##T(nc, var##T, "a", ATT N, values), "ncmpi_put_att" #T " write:%zu/%zu", N * size, N * size); \
	NC(ncmpi_get_att##T(nc, var##T, "a", back), "ncmpi_get_att" #T " read:?/?"); \
} \
static void nonblocking##T(int var) \
{ \
	POST_FAMILY(true, iput, T, values, TAIL); \
	POST_FAMILY(true, bput, T, values, TAIL); \
	POST_FAMILY(false, iget, T, back, TAIL); \
} \
static void move##T(void) \
{ \
	size = SIZE; \
	if (all) \
		blocking##T##_all(var##T); \
	else \
		blocking##T(var##T); \
	nonblocking##T(var##T); \
}

#define NOTHING(n)
#define COUNT_AND_TYPE(n) , n, MPI_SHORT
#define COUNTS_AND_TYPES(n) , ((MPI_Offset[]){ n, n }), types
#define NUMBERS(T, X, SIZE) TYPE(T, X, SIZE, NOTHING, NOTHING, true, X COMMA)
#define COMMA ,

TYPE(_text, NC_CHAR, 1, NOTHING, NOTHING, true, )
NUMBERS(_schar, NC_BYTE, 1)
NUMBERS(_uchar, NC_UBYTE, 1)
NUMBERS(_short, NC_SHORT, 2)
NUMBERS(_ushort, NC_USHORT, 2)
NUMBERS(_int, NC_INT, 4)
NUMBERS(_uint, NC_UINT, 4)
NUMBERS(_long, NC_INT64, 8)
NUMBERS(_longlong, NC_INT64, 8)
NUMBERS(_ulonglong, NC_UINT64, 8)
NUMBERS(_float, NC_FLOAT, 4)
NUMBERS(_double, NC_DOUBLE, 8)
TYPE(, NC_SHORT, 2, COUNT_AND_TYPE, COUNTS_AND_TYPES, false, NC_SHORT COMMA)

#define EACH(f) \
	do { \
		f##_text(), f##_schar(), f##_uchar(), f##_short(), f##_ushort(), f##_int(), f##_uint(), f##_long(); \
		f##_longlong(), f##_ulonglong(), f##_float(), f##_double(), f(); \
	} while (0)

/* ---- the rest ---- */

static void definitions(void)
{
	int other, unwanted, old;

	NC(ncmpi_def_dim(nc, "n", whole, &dim), "ncmpi_def_dim");
	EACH(define);
	NC(ncmpi_def_dim(nc, "other", 3, &other), "ncmpi_def_dim");
	NC(ncmpi_rename_dim(nc, other, "other2"), "ncmpi_rename_dim");
	NC(ncmpi_def_var(nc, "other", NC_INT, 1, &other, &unwanted), "ncmpi_def_var");
	NC(ncmpi_rename_var(nc, unwanted, "other2"), "ncmpi_rename_var");
	NC(ncmpi_copy_att(nc, var_int, "a", nc, unwanted), "ncmpi_copy_att");
	NC(ncmpi_rename_att(nc, unwanted, "a", "b"), "ncmpi_rename_att");
	NC(ncmpi_del_att(nc, unwanted, "b"), "ncmpi_del_att");
	NC(ncmpi_set_fill(nc, NC_NOFILL, &old), "ncmpi_set_fill");
	NC_FAILS("ncmpi_def_dim !%d", ncmpi_def_dim(nc, "n", N, &other));
	NC_FAILS("ncmpi_get_att_int !%d read:?/?", ncmpi_get_att_int(nc, NC_GLOBAL, "none", back));
}

static void records(void)
{
	int dims[2] = { 0, dim }, zero = 0, var;

	NC(ncmpi_redef(nc), "ncmpi_redef");
	NC(ncmpi_def_dim(nc, "time", NC_UNLIMITED, &dims[0]), "ncmpi_def_dim");
	NC(ncmpi_def_var(nc, "records", NC_INT, 2, dims, &var), "ncmpi_def_var");
	NC(ncmpi_def_var_fill(nc, var, 0, &zero), "ncmpi_def_var_fill");
	NC(ncmpi__enddef(nc, 0, 4, 0, 4), "ncmpi__enddef");
	NC(ncmpi_fill_var_rec(nc, var, 0), "ncmpi_fill_var_rec all-write:?/?");
	size = 4;
	PUT(N, true, ncmpi_put_vara_int_all, var, ((MPI_Offset[]){ 0, first[0] }), ((MPI_Offset[]){ 1, N }), values);
	NC(ncmpi_sync_numrecs(nc), "ncmpi_sync_numrecs");
}

/* The variable's own type, by MPI_DATATYPE_NULL; and types of the file. */
static void by_types(void)
{
	size = 2;
	PUT(N, true, ncmpi_put_vara_all, var, first, edges, values, N, MPI_DATATYPE_NULL);
	PUT(N, true, ncmpi_put_vard_all, var, file_type, values, N, MPI_SHORT);
	GET(N, true, ncmpi_get_vard_all, var, file_type, back, N, MPI_SHORT);
}

static void several_requests(void)
{
	int r[3], s[3];

	for (int i = 0; i < 2; i++)
		NC(ncmpi_iput_var1_int(nc, var_int, starts[i], values, &r[i]), "ncmpi_iput_var1_int issue-write:4");
	NC(ncmpi_iget_vara_int(nc, var_int, first, edges, back, &r[2]), "ncmpi_iget_vara_int issue-read:16");
	NC(ncmpi_cancel(nc, 1, &r[1], &s[1]), "ncmpi_cancel cancelled");
	NC(ncmpi_wait_all(nc, NC_GET_REQ_ALL, NULL, NULL), "ncmpi_wait_all done:16");
	NC(ncmpi_wait_all(nc, NC_PUT_REQ_ALL, NULL, NULL), "ncmpi_wait_all done:4");
	NC(ncmpi_bput_vara_int(nc, var_int, first, half, values, &r[0]), "ncmpi_bput_vara_int issue-write:8");
	NC(ncmpi_iget_var1_int(nc, var_int, first, back, &r[1]), "ncmpi_iget_var1_int issue-read:4");
	NC(ncmpi_wait_all(nc, NC_REQ_ALL, NULL, NULL), "ncmpi_wait_all done:8 done:4");
	NC(ncmpi_iput_vara_int(nc, var_int, first, edges, values, &r[0]), "ncmpi_iput_vara_int issue-write:16");
	NC(ncmpi_iget_var1_int(nc, var_int, first, back, &r[1]), "ncmpi_iget_var1_int issue-read:4");
	NC(ncmpi_cancel(nc, NC_GET_REQ_ALL, NULL, NULL), "ncmpi_cancel cancelled");
	NC(ncmpi_cancel(nc, NC_REQ_ALL, NULL, NULL), "ncmpi_cancel cancelled");
	NC(ncmpi_iput_vara_int(nc, var_int, first, half, values, &r[0]), "ncmpi_iput_vara_int issue-write:8");
	NC(ncmpi_iput_vara_int(nc, var_int, second, half, values, &r[1]), "ncmpi_iput_vara_int issue-write:8");
	/* in the wrong mode, they are left alone */
	NC_FAILS("ncmpi_wait !%d test", ncmpi_wait(nc, 1, r, s));
	NC_FAILS("ncmpi_wait !%d", ncmpi_wait(nc, NC_REQ_ALL, NULL, NULL));
	NC(ncmpi_wait_all(nc, 2, r, s), "ncmpi_wait_all done:8 done:8");
	NC_FAILS("ncmpi_iput_vara_int !%d", ncmpi_iput_vara_int(nc, 999, first, edges, values, &r[0]));
	NC_FAILS("ncmpi_put_vara_int !%d write:16/?", ncmpi_put_vara_int(nc, var_int, first, edges, values)); /* not independent */
}

static void collectively(void)
{
	all = true;
	NC(ncmpi_buffer_attach(nc, 4096), "ncmpi_buffer_attach");
	EACH(move);
	by_types();
	several_requests();
}

static void independently(void)
{
	NC(ncmpi_begin_indep_data(nc), "ncmpi_begin_indep_data");
	all = false;
	EACH(move);
	size = 2;
	PUT(N, true, ncmpi_put_vard, var, file_type, values, N, MPI_SHORT);
	GET(N, true, ncmpi_get_vard, var, file_type, back, N, MPI_SHORT);
	NC_FAILS("ncmpi_put_var1_int !%d write:4/?", ncmpi_put_var1_int(nc, var_int, (MPI_Offset[]){ whole }, values));
	NC_FAILS("ncmpi_get_vara_int !%d read:?/?", ncmpi_get_vara_int(nc, 999, first, edges, back));
	NC(ncmpi_end_indep_data(nc), "ncmpi_end_indep_data");
	all = true;
	NC(ncmpi_buffer_detach(nc), "ncmpi_buffer_detach");
}

static void own_file(const char *dir)
{
	char name[32];
	const char *path;
	int own;

	snprintf(name, sizeof(name), "own%d.nc", rank);
	path = IN_DIR(dir, name);
	NC(ncmpi_create(MPI_COMM_SELF, path, NC_CLOBBER, MPI_INFO_NULL, &own), "ncmpi_create create");
	NC(ncmpi_enddef(own), "ncmpi_enddef");
	NC(ncmpi_close(own), "ncmpi_close destroy");
	NC(ncmpi_open(MPI_COMM_SELF, path, NC_WRITE, MPI_INFO_NULL, &own), "ncmpi_open create");
	NC(ncmpi_abort(own), "ncmpi_abort destroy");
	NC_FAILS("ncmpi_create !%d", ncmpi_create(MPI_COMM_SELF, path, NC_NOCLOBBER, MPI_INFO_NULL, &own));
	NC(ncmpi_delete(path, MPI_INFO_NULL), "ncmpi_delete delete");
	NC_FAILS("ncmpi_delete !%d", ncmpi_delete(path, MPI_INFO_NULL));
	NC_FAILS("ncmpi_open !%d", ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &own));
	NC_FAILS("ncmpi_close !%d", ncmpi_close(999));
}

void golden(const char *dir)
{
	const char *path = IN_DIR(dir, "all.nc");

	NC(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &nc), "ncmpi_create create");
	definitions();
	NC(ncmpi_enddef(nc), "ncmpi_enddef");
	collectively();
	independently();
	records();
	NC(ncmpi_sync(nc), "ncmpi_sync flush");
	NC(ncmpi_flush(nc), "ncmpi_flush flush");
	NC(ncmpi_close(nc), "ncmpi_close destroy");
	own_file(dir);
}

int main(int argc, char **argv)
{
	char path[4096];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 3 || ranks > MOST_RANKS)
		MPI_Abort(MPI_COMM_WORLD, 2);
	whole = N * ranks;
	first[0] = (MPI_Offset)N * rank;
	second[0] = first[0] + HALF;
	memset(values, FILL, sizeof(room[0]));
	types[0] = types[1] = MPI_SHORT;
	MPI_Type_contiguous(N, MPI_SHORT, &file_type);
	MPI_Type_commit(&file_type);
	golden(argv[1]);
	MPI_Type_free(&file_type);
	must(snprintf(path, sizeof(path), "%s.%d", argv[2], rank) < (int)sizeof(path), "path too long");
	cover_write(path);
	MPI_Finalize();
	return 0;
}
