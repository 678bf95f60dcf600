/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * The tables of probes/, and the descriptors for the BPF programs made of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "table/builtin.h"
#include "table/table.h"

static struct table_set builtin;

static int load_builtin(void **state)
{
	char err[256] = "";

	(void)state;
	table_set_init(&builtin);
	if (table_parse_builtin(&builtin, err, sizeof(err)))
		fail_msg("%s", err);
	return 0;
}

static int unload_builtin(void **state)
{
	(void)state;
	table_set_deinit(&builtin);
	return 0;
}

static const struct table_row *row_of(const char *layer, const char *function)
{
	const struct table_row *row = table_find(&builtin, layer, function);

	if (!row)
		fail_msg("%s is not in layer %s", function, layer);
	return row;
}

static const struct table_layer *layer_of(const char *name)
{
	for (size_t i = 0; i < builtin.nlayers; i++)
		if (!strcmp(builtin.layers[i].name, name))
			return &builtin.layers[i];
	fail_msg("layer %s is missing", name);
	return NULL;
}

/* ---- the tables of probes/ ---- */

static void test_builtin_consistent(void **state)
{
	static const char *const layers[] = { "ADIOS2", "AIO", "HDF5", "ISOC", "MPI", "MPI-IO", "OMPIO", "ROMIO", "netCDF",
		"PnetCDF", "POSIX",
		"unwind",
		"jump", "catch" };

	(void)state;
	assert_int_equal(builtin.nlayers, sizeof(layers) / sizeof(layers[0]));
	assert_int_equal(builtin.nsources, table_builtin_n - 1);        /* one is optional */
	for (size_t i = 0; i < builtin.nlayers; i++) {
		size_t rows = 0;

		assert_string_equal(builtin.layers[i].name, layers[i]);
		for (size_t j = 0; j < builtin.nrows; j++)
			rows += builtin.rows[j].layer == i;
		assert_true(rows > 0);
	}
	for (size_t i = 0; i < builtin.nrows; i++) {
		const struct table_row *row = &builtin.rows[i];

		assert_int_equal(row->id, i);
		assert_ptr_equal(table_find(&builtin, builtin.layers[row->layer].name, row->name), row);
		if (i)
			assert_true(row->layer >= builtin.rows[i - 1].layer);
	}
}

/* The same file twice is refused: its functions are there already. */
static void test_builtin_twice(void **state)
{
	char err[256];
	size_t rows = builtin.nrows;

	(void)state;
	assert_int_equal(table_parse_builtin(&builtin, err, sizeof(err)), -EINVAL);
	assert_int_equal(builtin.nrows, rows);
}

/* Asked for by name; then every row of it is a call of this machine, and its descriptors that are sockets are its handles. */
static void test_optional(void **state)
{
	struct table_set set;
	char err[256];

	(void)state;
	table_set_init(&set);
	assert_int_equal(table_parse_optional(&set, "sock", err, sizeof(err)), -ENOENT);
	assert_string_equal(err, "there is no table optional/sock.probes");
	assert_int_equal(table_parse_optional(&set, "sockets", err, sizeof(err)), 0);
	assert_int_equal(set.nlayers, 1);
	assert_true(set.layers[0].syscalls && set.layers[0].sockets);
	for (size_t i = 0; i < set.nrows; i++)
		if (set.rows[i].syscall_nr < 0)
			fail_msg("%s has no number", set.rows[i].name);
	for (size_t i = 0; i < builtin.nlayers; i++)
		assert_false(builtin.layers[i].sockets);
	table_set_deinit(&set);
}

static void test_paradigms(void **state)
{
	static const struct { const char *layer, *paradigm; enum table_class klass; enum table_success success; bool os;
	} expected[] = {
		{ "HDF5", "HDF5", CLASS_SERIAL, SUCCESS_NONNEGATIVE, false }, { "ISOC", "ISOC", CLASS_SERIAL, SUCCESS_ZERO, false },
		{ "MPI", "", CLASS_SERIAL, SUCCESS_ZERO, false }, { "MPI-IO", "MPI-IO", CLASS_PARALLEL, SUCCESS_ZERO, false },
		{ "netCDF", "netCDF", CLASS_SERIAL, SUCCESS_ZERO, false }, { "POSIX", "POSIX", CLASS_SERIAL, SUCCESS_NONNEGATIVE,
			true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct table_layer *layer = layer_of(expected[i].layer);

		assert_string_equal(layer->paradigm, expected[i].paradigm);
		assert_int_equal(layer->klass, expected[i].klass);
		assert_int_equal(layer->success, expected[i].success);
		assert_int_equal(layer->os, expected[i].os);
	}
	assert_string_equal(layer_of("HDF5")->parallel_symbol, "H5Pset_fapl_mpio");
	assert_string_equal(layer_of("netCDF")->parallel_needed, "libmpi*.so*");
	assert_true(layer_of("netCDF")->handle_mask == 0xffff0000);
	for (size_t i = 0; i < builtin.nlayers; i++)
		assert_int_equal(builtin.layers[i].per_process,
				 !strcmp(builtin.layers[i].name, "ISOC") || !strcmp(builtin.layers[i].name, "AIO"));
}

/* What calls mean: operation, modifiers, result, and the captured arguments as "role position kind" in order. */
static const struct { const char *layer, *function; enum table_op op; unsigned mods; enum table_result result; bool result_int;
	struct { enum table_role role; int position; enum iop_arg_kind kind; } arg[IOP_MAX_ARGS]; } meanings[] = {
	{ "netCDF", "nc_create_par", OP_CREATE, 0, RESULT_STATUS, true, { { ROLE_PATH, 0, IOP_ARG_STRING }, { ROLE_FLAGS, 1,
		IOP_ARG_INT },
		{ ROLE_COMM, 2, IOP_ARG_VALUE }, { ROLE_INFO, 3, IOP_ARG_VALUE }, { ROLE_HANDLE, 4, IOP_ARG_OUT_INT } } },
	{ "netCDF", "nc_def_var_chunking", OP_META, 0, RESULT_STATUS, true, {
		{ ROLE_HANDLE, 0, IOP_ARG_INT }, { ROLE_VARIABLE, 1, IOP_ARG_INT },
		{ ROLE_FACT, 2, IOP_ARG_INT }, { ROLE_FACT, 3, IOP_ARG_LONGS } } },
	{ "HDF5", "H5Pset_chunk_cache", OP_LEARN, 0, RESULT_STATUS, true, {
		{ ROLE_LIST, 0, IOP_ARG_VALUE }, { ROLE_FACT, 1, IOP_ARG_VALUE },
		{ ROLE_FACT, 2, IOP_ARG_VALUE } } },
	{ "MPI-IO", "MPI_File_set_view", OP_META, 0, RESULT_STATUS, true, {
		{ ROLE_HANDLE, 0, IOP_ARG_VALUE }, { ROLE_FACT, 1, IOP_ARG_VALUE },
		{ ROLE_FACT, 2, IOP_ARG_IN_VALUE }, { ROLE_FACT, 3, IOP_ARG_IN_VALUE }, { ROLE_INFO, 5, IOP_ARG_VALUE } } },
	{ "MPI-IO", "MPI_Info_get", OP_LEARN, 0, RESULT_STATUS, true, {
		{ ROLE_INFO, 0, IOP_ARG_VALUE }, { ROLE_HINT, 1, IOP_ARG_OUT_STRING },
		{ ROLE_VALUE, 3, IOP_ARG_OUT_STRING }, { ROLE_DONE, 4, IOP_ARG_OUT_INT } } },
	{ "netCDF", "nc_put_vara_double", OP_WRITE, 0, RESULT_STATUS, true, { { ROLE_HANDLE, 0, IOP_ARG_INT },
		{ ROLE_VARIABLE, 1, IOP_ARG_INT }, { ROLE_EDGES, 3, IOP_ARG_LONGS } } },
	{ "netCDF", "nc_inq_var", OP_LEARN, 0, RESULT_STATUS, true, { { ROLE_HANDLE, 0, IOP_ARG_INT }, { ROLE_VARIABLE, 1,
		IOP_ARG_INT },
		{ ROLE_NAME, 2, IOP_ARG_OUT_STRING }, { ROLE_TYPE, 3, IOP_ARG_OUT_INT }, { ROLE_NDIMS, 4, IOP_ARG_OUT_INT },
		{ ROLE_DIMS, 5, IOP_ARG_OUT_INTS } } },
	{ "PnetCDF", "ncmpi_iput_vara_double", OP_WRITE, MOD_NONBLOCKING, RESULT_STATUS, true, { { ROLE_HANDLE, 0, IOP_ARG_INT },
		{ ROLE_VARIABLE, 1, IOP_ARG_INT }, { ROLE_EDGES, 3, IOP_ARG_LONGS }, { ROLE_REQUEST, 5, IOP_ARG_OUT_INT } } },
	{ "netCDF", "nc_close", OP_CLOSE, 0, RESULT_STATUS, true, { { ROLE_HANDLE, 0, IOP_ARG_INT } } },
	{ "HDF5", "H5Dcreate2", OP_CREATE, 0, RESULT_HANDLE, false, { { ROLE_PARENT, 0, IOP_ARG_VALUE }, { ROLE_NAME, 1,
		IOP_ARG_STRING },
		{ ROLE_TYPE, 2, IOP_ARG_VALUE }, { ROLE_SPACE, 3, IOP_ARG_VALUE }, { ROLE_LIST, 5, IOP_ARG_VALUE },
		{ ROLE_LIST2, 6, IOP_ARG_VALUE } } },
	{ "HDF5", "H5Sget_simple_extent_dims", OP_LEARN, MOD_DIRECT, RESULT_NDIMS, true, { { ROLE_SPACE, 0, IOP_ARG_VALUE },
		{ ROLE_DIMS, 1, IOP_ARG_OUT_LONGS } } },
	{ "HDF5", "H5Dwrite", OP_WRITE, 0, RESULT_STATUS, true, { { ROLE_HANDLE, 0, IOP_ARG_VALUE }, { ROLE_TYPE, 1,
		IOP_ARG_VALUE },
		{ ROLE_SPACE, 2, IOP_ARG_VALUE }, { ROLE_SPACE2, 3, IOP_ARG_VALUE }, { ROLE_TRANSFER, 4, IOP_ARG_VALUE } } },
	{ "HDF5", "H5Dwrite_async", OP_WRITE, MOD_NONBLOCKING, RESULT_STATUS, true, { { ROLE_HANDLE, 3, IOP_ARG_VALUE },
		{ ROLE_TYPE, 4, IOP_ARG_VALUE }, { ROLE_SPACE, 5, IOP_ARG_VALUE }, { ROLE_SPACE2, 6, IOP_ARG_VALUE },
		{ ROLE_TRANSFER, 7, IOP_ARG_VALUE }, { ROLE_REQUEST, 9, IOP_ARG_VALUE } } },
	{ "HDF5", "H5Idec_ref", OP_CLOSE, MOD_AT_ZERO, RESULT_REFERENCES, true, { { ROLE_HANDLE, 0, IOP_ARG_VALUE } } },
	{ "MPI-IO", "MPI_File_open", OP_OPEN, 0, RESULT_STATUS, true, { { ROLE_COMM, 0, IOP_ARG_VALUE }, { ROLE_PATH, 1,
		IOP_ARG_STRING },
		{ ROLE_FLAGS, 2, IOP_ARG_INT }, { ROLE_INFO, 3, IOP_ARG_VALUE }, { ROLE_HANDLE, 4, IOP_ARG_OUT_VALUE } } },
	{ "MPI-IO", "MPI_File_close", OP_CLOSE, MOD_DELETES, RESULT_STATUS, true, { { ROLE_HANDLE, 0, IOP_ARG_IN_VALUE } } },
	{ "MPI-IO", "MPI_File_write_at_all", OP_WRITE, MOD_COLLECTIVE, RESULT_STATUS, true, { { ROLE_HANDLE, 0, IOP_ARG_VALUE },
		{ ROLE_OFFSET, 1, IOP_ARG_VALUE }, { ROLE_COUNT, 3, IOP_ARG_INT }, { ROLE_DATATYPE, 4, IOP_ARG_IN_VALUE },
		{ ROLE_STATUS, 5, IOP_ARG_OUT_VALUE } } },
	{ "MPI-IO", "MPI_File_write_shared", OP_WRITE, 0, RESULT_STATUS, true, { { ROLE_HANDLE, 0, IOP_ARG_VALUE },
		{ ROLE_COUNT, 2, IOP_ARG_INT }, { ROLE_DATATYPE, 3, IOP_ARG_IN_VALUE }, { ROLE_STATUS, 4, IOP_ARG_OUT_VALUE } } },
	{ "MPI-IO", "MPI_File_iread_at_c", OP_READ, MOD_NONBLOCKING, RESULT_STATUS, true, { { ROLE_HANDLE, 0, IOP_ARG_VALUE },
		{ ROLE_OFFSET, 1, IOP_ARG_VALUE }, { ROLE_COUNT, 3, IOP_ARG_VALUE }, { ROLE_DATATYPE, 4, IOP_ARG_IN_VALUE },
		{ ROLE_REQUEST, 5, IOP_ARG_OUT_VALUE } } },
	{ "MPI-IO", "MPI_File_read_all_end", OP_READ, MOD_COLLECTIVE | MOD_COMPLETES, RESULT_STATUS, true, {
		{ ROLE_HANDLE, 0, IOP_ARG_VALUE }, { ROLE_STATUS, 2, IOP_ARG_OUT_VALUE } } },
	{ "MPI-IO", "MPI_Waitsome", OP_WAIT, MOD_ON_DEMAND, RESULT_STATUS, true, { { ROLE_COUNT, 0, IOP_ARG_INT },
		{ ROLE_REQUESTS, 1, IOP_ARG_VALUE }, { ROLE_OUTCOUNT, 2, IOP_ARG_VALUE }, { ROLE_INDICES, 3, IOP_ARG_VALUE },
		{ ROLE_STATUSES, 4, IOP_ARG_VALUE } } },
	{ "MPI-IO", "MPI_Request_get_status", OP_TEST, MOD_ON_DEMAND, RESULT_STATUS, true, { { ROLE_REQUEST, 0, IOP_ARG_VALUE },
		{ ROLE_DONE, 1, IOP_ARG_VALUE }, { ROLE_STATUS, 2, IOP_ARG_VALUE } } },
	{ "AIO", "aio_write", OP_WRITE, MOD_NONBLOCKING, RESULT_STATUS, true, { { ROLE_REQUEST, 0, IOP_ARG_VALUE },
		{ ROLE_HANDLE, 0, IOP_ARG_IN_INT }, { ROLE_BYTES, 0, IOP_ARG_IN_VALUE }, { ROLE_OFFSET, 0, IOP_ARG_IN_VALUE } } },
	{ "AIO", "lio_listio", OP_SUBMIT, 0, RESULT_STATUS, true, { { ROLE_CMD, 0, IOP_ARG_INT }, { ROLE_REQUESTS, 1,
		IOP_ARG_VALUE },
		{ ROLE_COUNT, 2, IOP_ARG_INT } } },
	{ "MPI", "MPI_Comm_dup", OP_COMM, 0, RESULT_STATUS, true, { { ROLE_COMM, 0, IOP_ARG_VALUE }, { ROLE_COMM_OUT, 1,
		IOP_ARG_OUT_VALUE } } },
	{ "MPI", "MPI_Allreduce", OP_REGION, MOD_NESTED, RESULT_STATUS, true, { { 0 } } },
	{ "ISOC", "fopen", OP_OPEN, 0, RESULT_HANDLE, false, { { ROLE_PATH, 0, IOP_ARG_STRING }, { ROLE_STREAM_MODE, 1,
		IOP_ARG_STRING } } },
	{ "ISOC", "fread", OP_READ, 0, RESULT_ITEMS, false, { { ROLE_SIZE, 1, IOP_ARG_VALUE }, { ROLE_ITEMS, 2, IOP_ARG_VALUE },
		{ ROLE_HANDLE, 3, IOP_ARG_VALUE } } },
	{ "ISOC", "__fread_chk", OP_READ, 0, RESULT_ITEMS, false, { { ROLE_SIZE, 2, IOP_ARG_VALUE }, { ROLE_ITEMS, 3,
		IOP_ARG_VALUE },
		{ ROLE_HANDLE, 4, IOP_ARG_VALUE } } },
	{ "ISOC", "fprintf", OP_WRITE, 0, RESULT_BYTES, true, { { ROLE_HANDLE, 0, IOP_ARG_VALUE } } },
	{ "ISOC", "fdopen", OP_OPEN, 0, RESULT_HANDLE, false, { { ROLE_FD, 0, IOP_ARG_INT }, { ROLE_STREAM_MODE, 1,
		IOP_ARG_STRING } } },
	{ "ISOC", "fsetpos", OP_SEEK, 0, RESULT_STATUS, true, { { ROLE_HANDLE, 0, IOP_ARG_VALUE }, { ROLE_OFFSET, 1,
		IOP_ARG_IN_VALUE } } },
	{ "POSIX", "pwritev2", OP_WRITE, 0, RESULT_BYTES, false, { { ROLE_HANDLE, 0, IOP_ARG_INT }, { ROLE_IOV, 1, IOP_ARG_IOV },
		{ ROLE_IOVCNT, 2, IOP_ARG_VALUE }, { ROLE_OFFSET, 3, IOP_ARG_VALUE } } },
	/* the BPF side looks at the third value of mmap and the second of fcntl */
	{ "POSIX", "mmap", OP_MAP, 0, RESULT_POINTER, false, { { ROLE_ADDR, 0, IOP_ARG_VALUE }, { ROLE_BYTES, 1, IOP_ARG_VALUE },
		{ ROLE_ARG, 2, IOP_ARG_VALUE }, { ROLE_FLAGS, 3, IOP_ARG_INT }, { ROLE_HANDLE, 4, IOP_ARG_INT }, { ROLE_OFFSET, 5,
			IOP_ARG_VALUE } } },
	{ "POSIX", "fcntl", OP_CONTROL, 0, RESULT_COUNT, false, { { ROLE_HANDLE, 0, IOP_ARG_INT }, { ROLE_CMD, 1, IOP_ARG_INT },
		{ ROLE_ARG, 2, IOP_ARG_VALUE }, { ROLE_LOCK, 2, IOP_ARG_FLOCK }, { ROLE_OFFSET, 2, IOP_ARG_FLOCK }, { ROLE_BYTES, 2,
			IOP_ARG_FLOCK } } },
};

static void test_meanings(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		const struct table_row *row = row_of(meanings[i].layer, meanings[i].function);
		int n = 0;

		assert_int_equal(row->op, meanings[i].op);
		assert_int_equal(row->mods, meanings[i].mods);
		assert_int_equal(row->result, meanings[i].result);
		assert_int_equal(row->result_int, meanings[i].result_int);
		for (int a = 0; a < row->nargs; a++) {
			if (row->args[a].capture < 0)
				continue;
			assert_true(n < IOP_MAX_ARGS);
			assert_int_equal(row->args[a].capture, n);
			assert_int_equal(row->args[a].role, meanings[i].arg[n].role);
			assert_int_equal(row->args[a].position, meanings[i].arg[n].position);
			assert_int_equal(row->args[a].kind, meanings[i].arg[n].kind);
			n++;
		}
		if (n < IOP_MAX_ARGS)
			assert_int_equal(meanings[i].arg[n].role, ROLE_NONE);
	}
}

static void test_std_streams(void **state)
{
	(void)state;
	assert_int_equal(row_of("ISOC", "printf")->std_stream, 1);
	assert_int_equal(row_of("ISOC", "__isoc99_scanf")->std_stream, 0);
	for (size_t i = 0; i < builtin.nrows; i++) {
		const struct table_row *row = &builtin.rows[i];
		bool data = row->op == OP_READ || row->op == OP_WRITE;

		/* data goes to one stream: an argument or a standard one, and never both */
		if (!strcmp(builtin.layers[row->layer].name, "ISOC") && data)
			assert_int_equal(table_row_arg(row, ROLE_HANDLE) >= 0, row->std_stream < 0);
		if (row->std_stream >= 0)
			assert_int_equal(row->std_stream, row->op == OP_WRITE);
	}
}

/* ---- kernel descriptors ---- */

static const struct { const char *layer, *function; unsigned flags, fd_arg, fd_arg2; } descriptors[] = {
	{ "POSIX", "openat", IOP_D_MAKES_FD | IOP_D_STRINGS, 0, IOP_NO_FD },
	{ "POSIX", "open", IOP_D_MAKES_FD | IOP_D_STRINGS, IOP_NO_FD, IOP_NO_FD },
	{ "POSIX", "creat", IOP_D_MAKES_FD | IOP_D_STRINGS, IOP_NO_FD, IOP_NO_FD },
	{ "POSIX", "dup", IOP_D_MAKES_FD | IOP_D_OF_FILE, 0, IOP_NO_FD },
	{ "POSIX", "dup2", IOP_D_REPLACES_FD | IOP_D_OF_FILE, 0, 1 },
	{ "POSIX", "dup3", IOP_D_REPLACES_FD | IOP_D_OF_FILE, 0, 1 },
	{ "POSIX", "fcntl", IOP_D_OF_FILE, 0, IOP_NO_FD },
	{ "POSIX", "close", IOP_D_CLOSES_FD | IOP_D_OF_FILE, 0, IOP_NO_FD },
	{ "POSIX", "close_range", IOP_D_CLOSES_RANGE, IOP_NO_FD, IOP_NO_FD },
	{ "POSIX", "chdir", IOP_D_CHDIR | IOP_D_STRINGS, IOP_NO_FD, IOP_NO_FD },
	{ "POSIX", "fchdir", IOP_D_CHDIR, 0, IOP_NO_FD },
	{ "POSIX", "mmap", IOP_D_NEEDS_FD | IOP_D_OF_FILE, 4, IOP_NO_FD },
	{ "POSIX", "unlinkat", IOP_D_STRINGS, 0, IOP_NO_FD },
	{ "POSIX", "sendfile", IOP_D_OF_FILE | IOP_D_DATA, 1, 0 },
	{ "POSIX", "copy_file_range", IOP_D_OF_FILE | IOP_D_DATA, 0, 1 },
	{ "POSIX", "renameat2", IOP_D_STRINGS, 0, 2 },
	{ "POSIX", "pwrite64", IOP_D_OF_FILE | IOP_D_DATA, 0, IOP_NO_FD },
	{ "POSIX", "stat", IOP_D_STRINGS, IOP_NO_FD, IOP_NO_FD },
	{ "POSIX", "statx", IOP_D_STRINGS, 0, IOP_NO_FD },
	{ "MPI", "MPI_Bcast", IOP_D_NESTED, IOP_NO_FD, IOP_NO_FD },
	{ "MPI-IO", "MPI_File_open", IOP_D_STRINGS, IOP_NO_FD, IOP_NO_FD },
	{ "MPI-IO", "MPI_File_call_errhandler", IOP_D_NO_RETURN, IOP_NO_FD, IOP_NO_FD },
	{ "MPI-IO", "MPI_File_write_at", IOP_D_DATA, IOP_NO_FD, IOP_NO_FD },
	{ "MPI-IO", "MPI_File_write_at_all", 0, IOP_NO_FD, IOP_NO_FD },
	{ "MPI-IO", "MPI_File_iwrite_at", 0, IOP_NO_FD, IOP_NO_FD },
	{ "ISOC", "fputc", IOP_D_DATA | IOP_D_STREAM_BYTES, IOP_NO_FD, IOP_NO_FD },
	{ "netCDF", "nc_put_vara_int", IOP_D_DATA, IOP_NO_FD, IOP_NO_FD },
	{ "netCDF", "nc_inq_vardimid", 0, IOP_NO_FD, IOP_NO_FD },
	{ "netCDF", "nc_def_var", IOP_D_STRINGS, IOP_NO_FD, IOP_NO_FD },
	{ "netCDF", "nc_put_vara_int", IOP_D_DATA, IOP_NO_FD, IOP_NO_FD },
	{ "netCDF", "nc_inq_vardimid", 0, IOP_NO_FD, IOP_NO_FD },
	{ "HDF5", "H5Dwrite", IOP_D_DATA, IOP_NO_FD, IOP_NO_FD },
	{ "HDF5", "H5Sselect_hyperslab", 0, IOP_NO_FD, IOP_NO_FD },
	{ "netCDF", "nc_def_var", IOP_D_STRINGS, IOP_NO_FD, IOP_NO_FD },
	{ "ISOC", "fclose", 0, IOP_NO_FD, IOP_NO_FD },
	{ "unwind", "_Unwind_RaiseException", IOP_D_UNWIND | IOP_D_NO_RETURN, IOP_NO_FD, IOP_NO_FD },
	{ "jump", "longjmp", IOP_D_UNWIND | IOP_D_NO_RETURN, IOP_NO_FD, IOP_NO_FD },
	{ "catch", "__cxa_begin_catch", IOP_D_UNWIND | IOP_D_NO_RETURN, IOP_NO_FD, IOP_NO_FD },
};

static void test_descriptors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++) {
		const struct table_row *row = row_of(descriptors[i].layer, descriptors[i].function);
		struct iop_desc desc;

		table_row_descriptor(&builtin, row, &desc);
		assert_int_equal(desc.flags, descriptors[i].flags);
		assert_int_equal(desc.fd_arg, descriptors[i].fd_arg);
		assert_int_equal(desc.fd_arg2, descriptors[i].fd_arg2);
	}
}

/* How the BPF side finds the bytes of a call that a filter leaves out. */
static void test_moved_bytes(void **state)
{
	static const struct { const char *layer, *function; unsigned moved; unsigned size_arg; } moved[] = {
		{ "POSIX", "pread64", IOP_MOVED_READ | IOP_MOVED_BYTES, 0 },
		{ "POSIX", "sendfile", IOP_MOVED_READ | IOP_MOVED_WRITE | IOP_MOVED_BYTES, 0 },
		{ "POSIX", "openat", 0, 0 },
		{ "ISOC", "fwrite", IOP_MOVED_WRITE | IOP_MOVED_ITEMS, 0 },
		{ "ISOC", "fprintf", IOP_MOVED_WRITE | IOP_MOVED_BYTES | IOP_MOVED_INT, 0 },
		{ "ISOC", "fgetc", IOP_MOVED_READ | IOP_MOVED_CHAR | IOP_MOVED_INT, 0 },
		{ "ISOC", "fgets", IOP_MOVED_READ, 0 },
		{ "HDF5", "H5Dwrite", IOP_MOVED_WRITE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
		struct iop_desc desc;

		table_row_descriptor(&builtin, row_of(moved[i].layer, moved[i].function), &desc);
		assert_int_equal(desc.moved, moved[i].moved | moved[i].size_arg << IOP_MOVED_SIZE_SHIFT);
		assert_string_equal(builtin.layers[desc.layer].name, moved[i].layer);
	}
}

static void assert_layers_on(const struct table_set *set, const char *names)
{
	char on[256] = "";

	for (size_t i = 0; i < set->nlayers; i++)
		if (!set->layers[i].off)
			strcat(strcat(on, set->layers[i].name), " ");
	assert_string_equal(on, names);
}

static void test_selected_layers(void **state)
{
	struct table_set set;
	char err[256];

	(void)state;
	table_set_init(&set);
	assert_int_equal(table_parse_builtin(&set, err, sizeof(err)), 0);
	assert_int_equal(table_set_select(&set, "posix,IsoC", err, sizeof(err)), 0);
	assert_layers_on(&set, "ISOC POSIX unwind jump catch ");
	assert_false(table_find(&set, "POSIX", "read")->off);
	assert_true(table_find(&set, "MPI", "MPI_Comm_dup")->off);
	assert_false(table_find(&set, "unwind", "_Unwind_Resume")->off);
	assert_int_equal(table_set_select(&set, "mpiio", err, sizeof(err)), 0);
	assert_layers_on(&set, "MPI-IO OMPIO ROMIO unwind jump catch ");
	assert_true(table_find(&set, "POSIX", "read")->off);
	assert_true(table_find(&set, "MPI", "MPI_Bcast")->off);
	assert_false(table_find(&set, "MPI", "MPI_Comm_dup")->off);
	assert_int_equal(table_set_select(&set, "posix,mp", err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "no layer 'mp'"));
	assert_null(strstr(err, "unwind"));
	assert_int_equal(table_set_select(&set, "posix", err, sizeof(err)), 0);
	assert_true(table_find(&set, "unwind", "_Unwind_Resume")->off);
	assert_true(table_find(&set, "jump", "longjmp")->off);
	table_set_deinit(&set);
}

/* A stream's handle may be none; that of stdout is not an argument. */
static void test_heap_handles(void **state)
{
	static const struct { const char *layer, *function; uint8_t heap_handle; } rows[] = {
		{ "ISOC", "fwrite", 4 }, { "ISOC", "fprintf", 1 }, { "ISOC", "printf", 0 }, { "ISOC", "fopen", 0 }, { "POSIX",
			"write", 0 },
		{ "HDF5", "H5Dwrite", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct iop_desc desc;

		table_row_descriptor(&builtin, row_of(rows[i].layer, rows[i].function), &desc);
		assert_int_equal(desc.heap_handle, rows[i].heap_handle);
	}
}

/* What calls are inside those of the layer above, and which begin a program's own use of theirs. */
static void test_inner_calls(void **state)
{
	static const struct { const char *layer, *function; enum iop_inner inner; bool covers; } rows[] = {
		{ "HDF5", "H5Dget_space", IOP_INNER_SKIPPED, false }, { "HDF5", "H5Sselect_hyperslab", IOP_INNER_SKIPPED, false },
		{ "HDF5", "H5Pset_dxpl_mpio", IOP_INNER_AT_ENTRY, false }, { "HDF5", "H5Fopen", IOP_INNER_BEGINS, false },
		{ "HDF5", "H5Dopen2", IOP_INNER_RECORDED, false }, { "HDF5", "H5Dwrite", IOP_INNER_RECORDED, false },
		{ "HDF5", "H5Screate_simple", IOP_INNER_BEGINS_SPACE, false },
		{ "HDF5", "H5Aget_space", IOP_INNER_RECORDED, false }, { "netCDF", "nc_open", IOP_INNER_RECORDED, true },
		{ "netCDF", "nc_inq_var", IOP_INNER_RECORDED, true }, { "MPI-IO", "MPI_File_open", IOP_INNER_RECORDED, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct iop_desc desc;

		table_row_descriptor(&builtin, row_of(rows[i].layer, rows[i].function), &desc);
		assert_int_equal(desc.inner, rows[i].inner);
		assert_int_equal(desc.covers, rows[i].covers ? row_of("HDF5", "H5Fopen")->layer + 1 : 0);
	}
}

/* Where the BPF side finds the requests of a call, in captured arguments. */
static void test_request_descriptors(void **state)
{
	struct iop_request_desc d;
	struct iop_desc desc;

	(void)state;
	assert_true(table_row_requests(&builtin, row_of("MPI-IO", "MPI_Wait"), &d));
	assert_int_equal(d.requests, 0);
	assert_int_equal(d.count, IOP_NO_ARG);
	assert_int_equal(d.status, 1);
	assert_false(d.many);
	assert_true(table_row_requests(&builtin, row_of("MPI-IO", "MPI_Testsome"), &d));
	assert_int_equal(d.count, 0);
	assert_int_equal(d.requests, 1);
	assert_int_equal(d.outcount, 2);
	assert_int_equal(d.indices, 3);
	assert_int_equal(d.status, 4);
	assert_true(d.many && d.width == 8 && d.status_size == 24 && d.status_bytes == 16 && d.status_cancelled == 12);
	assert_true(table_row_requests(&builtin, row_of("MPI-IO", "MPI_File_iwrite_at"), &d));
	assert_int_equal(d.requests, 4);
	assert_true(table_row_requests(&builtin, row_of("AIO", "lio_listio"), &d));
	assert_true(d.requests == 1 && d.count == 2 && d.block_opcode == 4 && d.block_bytes == 24 && d.block_offset == 128);
	assert_false(table_row_requests(&builtin, row_of("AIO", "aio_read"), &d));
	assert_false(table_row_requests(&builtin, row_of("MPI-IO", "MPI_File_read"), &d));
	table_row_descriptor(&builtin, row_of("MPI-IO", "MPI_Test"), &desc);
	assert_int_equal(desc.requests, IOP_R_TAKES | IOP_R_FILTER | IOP_R_TESTS);
	table_row_descriptor(&builtin, row_of("MPI-IO", "MPI_File_iread_all"), &desc);
	assert_int_equal(desc.requests, IOP_R_ISSUES | IOP_R_DEMAND);
	table_row_descriptor(&builtin, row_of("MPI-IO", "MPI_File_open"), &desc);
	assert_int_equal(desc.requests, IOP_R_DEMAND);
	table_row_descriptor(&builtin, row_of("HDF5", "H5Dwrite_async"), &desc);
	assert_int_equal(desc.requests, 0);
}

static void test_syscall_numbers(void **state)
{
	(void)state;
	assert_int_equal(row_of("POSIX", "pwrite64")->syscall_nr, SYS_pwrite64);
	assert_int_equal(row_of("POSIX", "openat")->syscall_nr, SYS_openat);
	assert_int_equal(row_of("ISOC", "remove")->syscall_nr, -1);
#ifdef __x86_64__
	for (size_t i = 0; i < builtin.nrows; i++)
		if (builtin.layers[builtin.rows[i].layer].syscalls && builtin.rows[i].syscall_nr < 0 &&
		    !(builtin.rows[i].mods & MOD_POLLED))
			fail_msg("%s has no number", builtin.rows[i].name);
	for (size_t i = 0; i < builtin.nrows; i++)
		for (size_t j = 0; j < i; j++)
			if (builtin.rows[i].syscall_nr >= 0)
				assert_int_not_equal(builtin.rows[i].syscall_nr, builtin.rows[j].syscall_nr);
#endif
}

/* Static facts come from calls that make, set and ask: a call that moves data is recorded as if there were none. */
static void facts_cost_data_calls_nothing(void **state)
{
	static const enum table_role roles[] = { ROLE_FACT, ROLE_LIST, ROLE_LIST2, ROLE_INFO, ROLE_INFO_OUT, ROLE_HINT };
	unsigned rows = 0, facts = 0;

	(void)state;
	for (size_t i = 0; i < builtin.nrows; i++) {
		const struct table_row *row = &builtin.rows[i];
		bool data = row->op == OP_READ || row->op == OP_WRITE;

		rows += data;
		for (int k = 0; k < row->nargs; k++)
			for (size_t r = 0; r < sizeof(roles) / sizeof(roles[0]); r++) {
				facts += row->args[k].role == roles[r];
				if (data && row->args[k].role == roles[r])
					fail_msg("%s has an argument for static facts", row->name);
			}
	}
	assert_true(rows > 300 && facts > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin_consistent), cmocka_unit_test(test_builtin_twice), cmocka_unit_test(test_optional),
		cmocka_unit_test(test_paradigms), cmocka_unit_test(test_meanings), cmocka_unit_test(test_std_streams),
		cmocka_unit_test(test_descriptors), cmocka_unit_test(test_moved_bytes), cmocka_unit_test(test_selected_layers),
		cmocka_unit_test(test_heap_handles), cmocka_unit_test(test_inner_calls),
		cmocka_unit_test(test_request_descriptors),
		cmocka_unit_test(test_syscall_numbers), cmocka_unit_test(facts_cost_data_calls_nothing),
	};

	return cmocka_run_group_tests(tests, load_builtin, unload_builtin);
}
