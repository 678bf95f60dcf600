/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * direct_hdf5 DIR PUTS [PARTS [space|stop|hang|jump|fork FILE]]: PUTS calls of nc_put_vara_double, of two values each, on DIR/n.nc
 * (netCDF-4). With PARTS the program then uses HDF5 itself: it writes 3 doubles PARTS times, by selections in memory and in the
 * file, and 10 doubles at once, to the dataset "mine" of DIR/h.h5; and puts two more values into the variable in between.
 *	space	instead it writes 3 doubles by a selection in memory; its first call of HDF5 makes a dataspace, and a system call
 *		inside reads a file;
 *	stop	the same, but before that it stops its parent, the recorder, and lets it go on afterwards: its first call of HDF5
 *		waits in vain;
 *	hang	the same, but it stops only the recorder's main thread;
 *	jump	as hang, but it leaves the call that waits by longjmp, and ends by _exit;
 *	fork	it makes the file DIR/ready, waits for FILE, and has a child use HDF5 as with PARTS, without puts.
 */
#include <fcntl.h>
#include <hdf5.h>
#include <netcdf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define VALUES 10

static const double values[VALUES];
static int file, variable;
static char path[4096];

static bool reads_inside, jumps;
static jmp_buf left;
static int own_file;

extern void *__libc_malloc(size_t size);

/* HDF5's memory comes from here. */
void *malloc(size_t size)
{
	char byte;

	if (reads_inside) {
		reads_inside = false;
		if (pread(own_file, &byte, 1, 0) < 0)
			exit(3);
		if (jumps)
			longjmp(left, 1);
	}
	return __libc_malloc(size);
}

static const char *in_dir(const char *dir, const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int create_netcdf(const char *dir)
{
	int dim;

	return nc_create(in_dir(dir, "n.nc"), NC_NETCDF4 | NC_CLOBBER, &file) || nc_def_dim(file, "x", VALUES, &dim) ||
	       nc_def_var(file, "theirs", NC_DOUBLE, 1, &dim, &variable) || nc_enddef(file);
}

static int put(int puts)
{
	size_t start = 4, count = 2;
	int failed = 0;

	while (puts-- && !failed)
		failed = nc_put_vara_double(file, variable, &start, &count, values);
	return failed;
}

static int write_parts(hid_t set, int parts)
{
	hsize_t dims = VALUES, start = 5, count = 3;
	hid_t memory = H5Screate_simple(1, &dims, NULL), place = H5Dget_space(set);
	int failed = memory < 0 || place < 0;

	failed |= H5Sselect_hyperslab(memory, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0;
	failed |= H5Sselect_hyperslab(place, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0;
	for (int i = 0; i < parts && !failed; i++)
		failed = H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, place, H5P_DEFAULT, values) < 0 || put(1);
	return failed | (H5Sclose(memory) < 0) | (H5Sclose(place) < 0);
}

static int use_hdf5(const char *dir, int parts)
{
	hid_t mine = H5Fcreate(in_dir(dir, "h.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space, set;
	hsize_t dims = VALUES;
	int failed;

	space = H5Screate_simple(1, &dims, NULL);
	set = H5Dcreate2(mine, "mine", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	failed = set < 0 || write_parts(set, parts) || H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0;
	return failed | (H5Sclose(space) < 0) | (H5Dclose(set) < 0) | (H5Fclose(mine) < 0);
}

static bool hangs(const char *mode)
{
	return !strcmp(mode, "hang") || !strcmp(mode, "jump");
}

static int recorder_stop(const char *mode, pid_t recorder)
{
	if (!strcmp(mode, "stop"))
		return kill(recorder, SIGSTOP);
	if (hangs(mode))
		return ptrace(PTRACE_SEIZE, recorder, NULL, NULL) || ptrace(PTRACE_INTERRUPT, recorder, NULL, NULL) ||
		       waitpid(recorder, NULL, __WALL) != recorder;
	return 0;
}

static int recorder_continue(const char *mode, pid_t recorder)
{
	if (!strcmp(mode, "stop"))
		return kill(recorder, SIGCONT);
	return hangs(mode) && ptrace(PTRACE_DETACH, recorder, NULL, NULL);
}

static int use_hdf5_alone(const char *dir, const char *mode)
{
	hsize_t dims = VALUES, start = 5, count = 3;
	pid_t recorder = getppid();
	hid_t memory, mine, space, set;
	int failed = (own_file = open("/proc/self/exe", O_RDONLY)) < 0 || H5garbage_collect() < 0 || recorder_stop(mode, recorder);

	reads_inside = true;    /* without free lists the dataspace needs memory */
	memory = H5Screate_simple(1, &dims, NULL);
	failed |= reads_inside;
	failed |= H5Sselect_hyperslab(memory, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0;
	mine = H5Fcreate(in_dir(dir, "h.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	space = H5Screate_simple(1, &count, NULL);
	set = H5Dcreate2(mine, "mine", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	failed |= H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, H5S_ALL, H5P_DEFAULT, values) < 0;
	failed |= recorder_continue(mode, recorder);
	return failed | (H5Sclose(memory) < 0) | (H5Sclose(space) < 0) | (H5Dclose(set) < 0) | (H5Fclose(mine) < 0);
}

/* HDF5 is left in the middle of a call and not used again. */
static int jump_out_of_hdf5(const char *mode)
{
	hsize_t dims = VALUES;
	pid_t recorder = getppid();

	if ((own_file = open("/proc/self/exe", O_RDONLY)) < 0 || H5garbage_collect() < 0 || recorder_stop(mode, recorder))
		return 4;
	jumps = reads_inside = true;
	if (!setjmp(left)) {
		H5Screate_simple(1, &dims, NULL);
		return 5;
	}
	if (recorder_continue(mode, recorder))
		return 6;
	usleep(1500000);        /* the recorder finds the process alive */
	return 0;
}

static int fork_to_use_hdf5(const char *dir, const char *go)
{
	int status = close(creat(in_dir(dir, "ready"), 0644));
	pid_t child;

	while (access(go, F_OK))
		usleep(10000);
	child = fork();
	if (!child)
		_exit(use_hdf5(dir, 0));
	return status || waitpid(child, &status, 0) != child || status;
}

int main(int argc, char **argv)
{
	int failed;

	if (argc < 3)
		return 2;
	failed = create_netcdf(argv[1]) || put(atoi(argv[2]));
	if (!failed && argc > 4 && !strcmp(argv[4], "jump"))
		_exit(jump_out_of_hdf5(argv[4]));
	if (!failed && argc > 5)
		failed = fork_to_use_hdf5(argv[1], argv[5]);
	else if (!failed && argc > 3)
		failed = argc > 4 ? use_hdf5_alone(argv[1], argv[4]) : use_hdf5(argv[1], atoi(argv[3]));
	return failed || nc_close(file);
}
