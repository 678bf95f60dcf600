/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * hints FILE: static facts of a file that MPI opens. Each rank opens it with the hints cb_nodes=2 and no_such_hint=7, asks
 * which of both are in use, and writes "hint NAME VALUE" or "hint NAME not set" for each to stdout; sets a view of
 * displacement 16, elements of 8 bytes and a filetype of 24 bytes, and atomic mode; writes 24 bytes. Then it opens the file
 * again without hints. Before, it writes "library VERSION" to stdout, as the library says.
 */
#include <mpi.h>
#include <string.h>

#include "golden.h"

static int rank;

static void ok(int status, const char *what)
{
	must(status == 0, what);
}

static void ask_hint(MPI_Info info, const char *key)
{
	char value[MPI_MAX_INFO_VAL + 1];
	int found;

	ok(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found), "MPI_Info_get");
	dprintf(1, "hint %s %s\n", key, found ? value : "not set");
}

static void hints(const char *path)
{
	MPI_Info info, used;
	MPI_File file;
	MPI_Datatype three;
	double values[3] = { rank };

	ok(MPI_Info_create(&info), "MPI_Info_create");
	ok(MPI_Info_set(info, "cb_nodes", "9"), "MPI_Info_set");
	ok(MPI_Info_set(info, "cb_nodes", "2"), "MPI_Info_set");
	ok(MPI_Info_set(info, "no_such_hint", "7"), "MPI_Info_set");
	ok(MPI_Info_set(info, "deleted_hint", "1"), "MPI_Info_set");
	ok(MPI_Info_delete(info, "deleted_hint"), "MPI_Info_delete");
	ok(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file), "MPI_File_open");
	ok(MPI_Info_free(&info), "MPI_Info_free");
	ok(MPI_File_get_info(file, &used), "MPI_File_get_info");
	ask_hint(used, "cb_nodes");
	ask_hint(used, "no_such_hint");
	ok(MPI_Info_free(&used), "MPI_Info_free");
	ok(MPI_Type_contiguous(3, MPI_DOUBLE, &three), "MPI_Type_contiguous");
	ok(MPI_Type_commit(&three), "MPI_Type_commit");
	ok(MPI_File_set_view(file, 16, MPI_DOUBLE, three, "native", MPI_INFO_NULL), "MPI_File_set_view");
	ok(MPI_File_set_atomicity(file, 1), "MPI_File_set_atomicity");
	ok(MPI_File_write_at_all(file, rank * 3, values, 3, MPI_DOUBLE, MPI_STATUS_IGNORE), "MPI_File_write_at_all");
	ok(MPI_File_close(&file), "MPI_File_close");
	ok(MPI_Type_free(&three), "MPI_Type_free");
}

static void again(const char *path)
{
	MPI_File file;

	ok(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), "MPI_File_open");
	ok(MPI_File_close(&file), "MPI_File_close");
}

int main(int argc, char **argv)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int len;

	must(argc == 2, "usage: hints FILE");
	ok(MPI_Init(NULL, NULL), "MPI_Init");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	ok(MPI_Get_library_version(version, &len), "MPI_Get_library_version");
	dprintf(1, "library %.*s\n", (int)strcspn(version, "\n"), version);
	hints(argv[1]);
	again(argv[1]);
	ok(MPI_Finalize(), "MPI_Finalize");
	return 0;
}
