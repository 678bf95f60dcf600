/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * coroutines_mpi DIR: one rank, two coroutines. The first makes 5 MPI_Comm_dup, whose attribute callback makes an MPI_File_write_at
 * and switches; the second walks over 5 attributes of an HDF5 file (H5Aiterate2), whose callback makes an fwrite on a cookie
 * stream, and the callback of that one switches: calls return while those of the other coroutine are open. Before and after, the
 * thread itself makes an MPI_File_write_at. 5 MPI_Comm_dup, 7 MPI_File_write_at, 5 fwrite; DIR/data has 7 numbered lines. Exit
 * status 48.
 */
#include "golden.h"

#include <hdf5.h>
#include <mpi.h>
#include <ucontext.h>

#define CALLS 5
#define STACK (1 << 20)

static ucontext_t contexts[2], outside;
static bool done[2];
static int current, duplicates, lines, written;
static MPI_File data;
static hid_t h5;

static void switch_to_other(void)
{
	int from = current, to = !from;

	if (done[to])
		return;
	current = to;
	must(!swapcontext(&contexts[from], &contexts[to]), "swapcontext");
}

static void write_line(void)
{
	char line[8];

	snprintf(line, sizeof(line), "%06d\n", lines);
	must(MPI_File_write_at(data, 7 * lines++, line, 7, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "MPI_File_write_at");
}

static int on_duplicate(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
	(void)comm, (void)key, (void)state, (void)in;
	*(void **)out = NULL;
	*flag = 0;
	write_line();
	switch_to_other();
	duplicates++;
	return MPI_SUCCESS;
}

static void duplicator(void)
{
	int key;

	must(MPI_Comm_create_keyval(on_duplicate, MPI_COMM_NULL_DELETE_FN, &key, NULL) == MPI_SUCCESS, "MPI_Comm_create_keyval");
	must(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) == MPI_SUCCESS, "MPI_Comm_set_attr");
	for (int i = 0; i < CALLS; i++) {
		MPI_Comm copy;

		must(MPI_Comm_dup(MPI_COMM_SELF, &copy) == MPI_SUCCESS, "MPI_Comm_dup");
		MPI_Comm_free(&copy);
	}
	done[0] = true;
	switch_to_other();
	setcontext(&outside);
}

static ssize_t on_write(void *cookie, const char *bytes, size_t len)
{
	(void)cookie, (void)bytes;
	switch_to_other();
	written += len;
	return len;
}

static herr_t on_attribute(hid_t object, const char *name, const H5A_info_t *info, void *stream)
{
	(void)object, (void)info;
	return fwrite(name, 1, 2, stream) == 2 ? 0 : -1;
}

static void walker(void)
{
	FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = on_write });
	hsize_t at = 0;

	must(stream && !setvbuf(stream, NULL, _IONBF, 0), "fopencookie");
	must(H5Aiterate2(h5, H5_INDEX_NAME, H5_ITER_INC, &at, on_attribute, stream) >= 0, "H5Aiterate2");
	done[1] = true;
	switch_to_other();
	setcontext(&outside);
}

static void make_file(const char *path)
{
	hid_t space = H5Screate(H5S_SCALAR);

	h5 = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	for (int i = 0; i < CALLS; i++)
		must(H5Aclose(H5Acreate2(h5, (char[]){ 'a', '0' + i, 0 }, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT)) >= 0,
		     "H5Acreate2");
	H5Sclose(space);
}

static void make(int which, void (*body)(void))
{
	must(!getcontext(&contexts[which]), "getcontext");
	contexts[which].uc_stack.ss_sp = malloc(STACK);
	contexts[which].uc_stack.ss_size = STACK;
	makecontext(&contexts[which], body, 0);
}

int main(int argc, char **argv)
{
	volatile bool back = false;

	must(argc > 1, "no directory given");
	MPI_Init(&argc, &argv);
	must(MPI_File_open(MPI_COMM_SELF, IN_DIR(argv[1], "data"), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &data) ==
		     MPI_SUCCESS,
	     "MPI_File_open");
	make_file(IN_DIR(argv[1], "file.h5"));
	write_line();
	make(0, duplicator);
	make(1, walker);
	must(!getcontext(&outside), "getcontext");
	if (!back) {
		back = true;
		setcontext(&contexts[0]);
	}
	write_line();
	MPI_File_close(&data);
	H5Fclose(h5);
	dprintf(1, "%d duplicates, %d lines, %d bytes\n", duplicates, lines, written);
	MPI_Finalize();
	return 48;
}
