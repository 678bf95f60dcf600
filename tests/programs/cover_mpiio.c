/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * cover_mpiio DIR EXPECTED: every function of probes/mpiio.probes that Open MPI 4 has, on all ranks, and calls that fail. The file
 * with the expectations gets the rank as its ending.
 */
#include "cover.h"

#include <mpi.h>

enum { BLOCK = 16 };

static int rank, ranks;
static char block[BLOCK];
static MPI_File file;
static MPI_Status status;

#define MPI(line, ...) CALL((__VA_ARGS__) == MPI_SUCCESS, line)
#define MPI_AT(line, offset, ...) CALL((__VA_ARGS__) == MPI_SUCCESS, line "@%lld", (long long)(offset))

/* The n-th block of this rank. */
static MPI_Offset at(int n)
{
	return (MPI_Offset)(n * ranks + rank) * BLOCK;
}

static void explicit_offsets(void)
{
	MPI_Request request;

	MPI_AT("MPI_File_write_at write:16/16", at(0), MPI_File_write_at(file, at(0), block, BLOCK, MPI_BYTE, &status));
	MPI_AT("MPI_File_write_at_all all-write:16/16", at(1), MPI_File_write_at_all(file, at(1), block, BLOCK, MPI_BYTE, &status));
	MPI_AT("MPI_File_write_at write:16/16", at(2), MPI_File_write_at(file, at(2), block, 4, MPI_INT, &status));
	MPI_AT("MPI_File_read_at read:16/16", at(0), MPI_File_read_at(file, at(0), block, BLOCK, MPI_BYTE, &status));
	MPI_AT("MPI_File_read_at_all all-read:16/16", at(1), MPI_File_read_at_all(file, at(1), block, 2, MPI_DOUBLE, &status));
	MPI_AT("MPI_File_read_at read:16/0", 100000, MPI_File_read_at(file, 100000, block, BLOCK, MPI_BYTE, &status));
	MPI_AT("MPI_File_iwrite_at issue-write:16", at(3), MPI_File_iwrite_at(file, at(3), block, BLOCK, MPI_BYTE, &request));
	MPI("MPI_Wait done:16", MPI_Wait(&request, &status));
	MPI_AT("MPI_File_iread_at issue-read:16", at(0), MPI_File_iread_at(file, at(0), block, BLOCK, MPI_BYTE, &request));
	MPI("MPI_Wait done:16", MPI_Wait(&request, &status));
	MPI_AT("MPI_File_iwrite_at_all issue-all-write:16", at(4),
	       MPI_File_iwrite_at_all(file, at(4), block, BLOCK, MPI_BYTE, &request));
	MPI("MPI_Wait done:16", MPI_Wait(&request, &status));
	MPI_AT("MPI_File_iread_at_all issue-all-read:16", at(0),
	       MPI_File_iread_at_all(file, at(0), block, BLOCK, MPI_BYTE, &request));
	MPI("MPI_Wait done:16", MPI_Wait(&request, &status));
}

/* Until what was begun is done, as far as the library needs calls for that: calls that are not recorded. */
static void let_it_be_done(void)
{
	for (int i = 0, flag; i < 200; i++) {
		must(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_Iprobe");
		usleep(500);
	}
}

static void begin(MPI_Request *requests, int n)
{
	for (int i = 0; i < n; i++)
		MPI_AT("MPI_File_iwrite_at issue-write:16", at(3),
		       MPI_File_iwrite_at(file, at(3), block, BLOCK, MPI_BYTE, &requests[i]));
}

/* Every other function that ends non-blocking operations, or tries to. */
static void ends_of_operations(void)
{
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int index, indices[2], flag = 0;

	begin(requests, 2);
	MPI("MPI_Waitall done:16 done:16", MPI_Waitall(2, requests, statuses));
	begin(requests, 1);
	MPI("MPI_Waitany done:16", MPI_Waitany(1, requests, &index, &status));
	begin(requests, 1);
	MPI("MPI_Waitsome done:16", MPI_Waitsome(1, requests, &index, indices, statuses));
	begin(requests, 1);
	let_it_be_done();
	MPI("MPI_Test done:16", MPI_Test(requests, &flag, &status));
	begin(requests, 2);
	let_it_be_done();
	MPI("MPI_Testall done:16 done:16", MPI_Testall(2, requests, &flag, statuses));
	begin(requests, 1);
	let_it_be_done();
	MPI("MPI_Testany done:16", MPI_Testany(1, requests, &index, &flag, &status));
	begin(requests, 1);
	let_it_be_done();
	MPI("MPI_Testsome done:16", MPI_Testsome(1, requests, &index, indices, statuses));
	begin(requests, 1);
	let_it_be_done();
	MPI("MPI_Request_get_status done:16", MPI_Request_get_status(*requests, &flag, &status));
	must(MPI_Wait(requests, &status) == MPI_SUCCESS, "MPI_Wait");   /* its end was reported already: not recorded */
	begin(requests, 1);
	MPI("MPI_Cancel", MPI_Cancel(requests));
	MPI("MPI_Wait done:16", MPI_Wait(requests, &status));
	begin(requests, 1);
	MPI("MPI_Request_free", MPI_Request_free(requests));
	let_it_be_done();
}

static void own_pointer(void)
{
	MPI_Request request;

	MPI("MPI_File_seek seek:?", MPI_File_seek(file, at(0), MPI_SEEK_SET));
	MPI("MPI_File_write write:16/16", MPI_File_write(file, block, BLOCK, MPI_BYTE, &status));
	MPI("MPI_File_seek seek:?", MPI_File_seek(file, -BLOCK, MPI_SEEK_CUR));
	MPI("MPI_File_read read:16/16", MPI_File_read(file, block, BLOCK, MPI_BYTE, &status));
	MPI("MPI_File_seek seek:?", MPI_File_seek(file, at(1), MPI_SEEK_SET));
	MPI("MPI_File_write_all all-write:16/16", MPI_File_write_all(file, block, BLOCK, MPI_BYTE, &status));
	MPI("MPI_File_seek seek:?", MPI_File_seek(file, at(1), MPI_SEEK_SET));
	MPI("MPI_File_read_all all-read:16/16", MPI_File_read_all(file, block, BLOCK, MPI_BYTE, &status));
	MPI("MPI_File_seek seek:?", MPI_File_seek(file, at(2), MPI_SEEK_SET));
	MPI("MPI_File_iwrite issue-write:16", MPI_File_iwrite(file, block, BLOCK, MPI_BYTE, &request));
	MPI("MPI_Wait done:16", MPI_Wait(&request, &status));
	MPI("MPI_File_seek seek:?", MPI_File_seek(file, at(0), MPI_SEEK_SET));
	MPI("MPI_File_iread issue-read:16", MPI_File_iread(file, block, BLOCK, MPI_BYTE, &request));
	MPI("MPI_Wait done:16", MPI_Wait(&request, &status));
	MPI("MPI_File_seek seek:?", MPI_File_seek(file, at(3), MPI_SEEK_SET));
	MPI("MPI_File_iwrite_all issue-all-write:16", MPI_File_iwrite_all(file, block, BLOCK, MPI_BYTE, &request));
	MPI("MPI_Wait done:16", MPI_Wait(&request, &status));
	MPI("MPI_File_seek seek:?", MPI_File_seek(file, at(0), MPI_SEEK_SET));
	MPI("MPI_File_iread_all issue-all-read:16", MPI_File_iread_all(file, block, BLOCK, MPI_BYTE, &request));
	MPI("MPI_Wait done:16", MPI_Wait(&request, &status));
}

static void shared_pointer(void)
{
	MPI_Request request;
	MPI_Offset offset;

	MPI("MPI_File_seek_shared seek:?", MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
	MPI("MPI_File_write_shared write:16/16", MPI_File_write_shared(file, block, BLOCK, MPI_BYTE, &status));
	MPI("MPI_File_write_ordered all-write:16/16", MPI_File_write_ordered(file, block, BLOCK, MPI_BYTE, &status));
	MPI("MPI_File_iwrite_shared issue-write:16", MPI_File_iwrite_shared(file, block, BLOCK, MPI_BYTE, &request));
	MPI("MPI_Wait done:16", MPI_Wait(&request, &status));
	MPI("MPI_File_write_ordered_begin issue-all-write:16", MPI_File_write_ordered_begin(file, block, BLOCK, MPI_BYTE));
	MPI("MPI_File_write_ordered_end done:16", MPI_File_write_ordered_end(file, block, &status));
	must(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS, "MPI_Barrier");
	MPI("MPI_File_seek_shared seek:?", MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
	MPI("MPI_File_read_shared read:16/16", MPI_File_read_shared(file, block, BLOCK, MPI_BYTE, &status));
	MPI("MPI_File_read_ordered all-read:16/16", MPI_File_read_ordered(file, block, BLOCK, MPI_BYTE, &status));
	MPI("MPI_File_iread_shared issue-read:16", MPI_File_iread_shared(file, block, BLOCK, MPI_BYTE, &request));
	MPI("MPI_Wait done:16", MPI_Wait(&request, &status));
	MPI("MPI_File_read_ordered_begin issue-all-read:16", MPI_File_read_ordered_begin(file, block, BLOCK, MPI_BYTE));
	MPI("MPI_File_read_ordered_end done:16", MPI_File_read_ordered_end(file, block, &status));
	MPI("MPI_File_get_position_shared", MPI_File_get_position_shared(file, &offset));
}

static void split(void)
{
	MPI_AT("MPI_File_write_at_all_begin issue-all-write:16", at(0),
	       MPI_File_write_at_all_begin(file, at(0), block, BLOCK, MPI_BYTE));
	MPI("MPI_File_write_at_all_end done:16", MPI_File_write_at_all_end(file, block, &status));
	MPI_AT("MPI_File_read_at_all_begin issue-all-read:16", at(0),
	       MPI_File_read_at_all_begin(file, at(0), block, BLOCK, MPI_BYTE));
	MPI("MPI_File_read_at_all_end done:16", MPI_File_read_at_all_end(file, block, &status));
	MPI("MPI_File_seek seek:?", MPI_File_seek(file, at(1), MPI_SEEK_SET));
	MPI("MPI_File_write_all_begin issue-all-write:16", MPI_File_write_all_begin(file, block, BLOCK, MPI_BYTE));
	MPI("MPI_File_write_all_end done:16", MPI_File_write_all_end(file, block, &status));
	MPI("MPI_File_seek seek:?", MPI_File_seek(file, at(1), MPI_SEEK_SET));
	MPI("MPI_File_read_all_begin issue-all-read:16", MPI_File_read_all_begin(file, block, BLOCK, MPI_BYTE));
	MPI("MPI_File_read_all_end done:16", MPI_File_read_all_end(file, block, &status));
}

static void on_error(MPI_File *f, int *code, ...)
{
	(void)f;
	(void)code;
}

static int extent(MPI_Datatype type, MPI_Aint *value, void *state)
{
	(void)type;
	(void)state;
	*value = 1;
	return MPI_SUCCESS;
}

static void inquiries(void)
{
	MPI_Errhandler handler, old;
	MPI_Group group;
	MPI_Info info;
	MPI_Offset offset;
	MPI_Datatype etype, filetype;
	MPI_Aint size;
	char datarep[MPI_MAX_DATAREP_STRING];
	int value;

	MPI("MPI_File_get_size", MPI_File_get_size(file, &offset));
	MPI("MPI_File_get_group", MPI_File_get_group(file, &group));
	MPI("MPI_File_get_amode", MPI_File_get_amode(file, &value));
	MPI("MPI_File_get_info", MPI_File_get_info(file, &info));
	MPI("MPI_File_set_info", MPI_File_set_info(file, info));
	MPI("MPI_File_get_position", MPI_File_get_position(file, &offset));
	MPI("MPI_File_get_byte_offset", MPI_File_get_byte_offset(file, 10, &offset));
	MPI("MPI_File_get_type_extent", MPI_File_get_type_extent(file, MPI_INT, &size));
	MPI("MPI_File_set_atomicity", MPI_File_set_atomicity(file, 0));
	MPI("MPI_File_get_atomicity", MPI_File_get_atomicity(file, &value));
	MPI("MPI_File_create_errhandler", MPI_File_create_errhandler(on_error, &handler));
	MPI("MPI_File_get_errhandler", MPI_File_get_errhandler(file, &old));
	MPI("MPI_File_set_errhandler", MPI_File_set_errhandler(file, handler));
	MPI("MPI_File_call_errhandler *", MPI_File_call_errhandler(file, MPI_ERR_IO));
	MPI("MPI_File_set_errhandler", MPI_File_set_errhandler(file, old));
	MPI_Register_datarep("ioprobe", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent, NULL);
	cover_expect("MPI_Register_datarep *");
	MPI("MPI_File_set_view", MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	MPI_AT("MPI_File_write_at write:16/16", 4 * rank, MPI_File_write_at(file, 4 * rank, block, 4, MPI_INT, &status));
	MPI("MPI_File_get_view", MPI_File_get_view(file, &offset, &etype, &filetype, datarep));
	MPI("MPI_File_set_size", MPI_File_set_size(file, 4096));
	MPI("MPI_File_preallocate", MPI_File_preallocate(file, 8192));
	MPI("MPI_File_sync flush", MPI_File_sync(file));
	MPI_Info_free(&info);
	MPI_Group_free(&group);
}

/* The line has the place of the error, which the trace must have as it was returned. */
#define MPI_FAILS(line, ...) \
	do { \
		int code_ = (__VA_ARGS__); \
		must(code_ != MPI_SUCCESS, #__VA_ARGS__); \
		cover_expect(line, code_); \
	} while (0)

static void failures(const char *path)
{
	MPI_File other;

	MPI_FAILS("MPI_File_open !%d", MPI_File_open(MPI_COMM_SELF, "no/such", MPI_MODE_RDONLY, MPI_INFO_NULL, &other));
	MPI_FAILS("MPI_File_delete !%d", MPI_File_delete("no/such", MPI_INFO_NULL));
	MPI("MPI_File_open create", MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &other));
	MPI_FAILS("MPI_File_write_at !%d write:16/?@0", MPI_File_write_at(other, 0, block, BLOCK, MPI_BYTE, &status));
	MPI_FAILS("MPI_File_write !%d write:16/?", MPI_File_write(other, block, BLOCK, MPI_BYTE, &status));
	MPI_FAILS("MPI_File_set_size !%d", MPI_File_set_size(other, 10));
	MPI_FAILS("MPI_File_read_at !%d read:?/?", MPI_File_read_at(other, -5, block, -1, MPI_BYTE, &status));
	MPI("MPI_File_close destroy", MPI_File_close(&other));
}

void golden(const char *dir)
{
	const char *path = IN_DIR(dir, "file");

	MPI("MPI_File_open create", MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
	sleep(1); /* what completes requests is probed from the first call of MPI-IO on, as soon as an observer is able to */
	explicit_offsets();
	ends_of_operations();
	own_pointer();
	shared_pointer();
	split();
	inquiries();
	MPI("MPI_File_close destroy", MPI_File_close(&file));
	failures(path);
	must(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS, "MPI_Barrier");
	if (rank == 0)
		MPI("MPI_File_delete delete", MPI_File_delete(path, MPI_INFO_NULL));
	MPI("MPI_File_open create", MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
						   MPI_INFO_NULL, &file));
	MPI("MPI_File_close delete destroy", MPI_File_close(&file));
}

int main(int argc, char **argv)
{
	char path[4096];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 3)
		MPI_Abort(MPI_COMM_WORLD, 2);
	golden(argv[1]);
	must(snprintf(path, sizeof(path), "%s.%d", argv[2], rank) < (int)sizeof(path), "path too long");
	cover_write(path);
	MPI_Finalize();
	return 0;
}
