/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * headers DIR MODE: opens the classic netCDF file DIR/f.nc with nc_open and reads each of its 400 variables whole with nc_get_var,
 * without an inquiry: v0, v1, … of 5 values, every other one int (20 bytes), the others double (40). Between the library's reads
 * of the header the program reads other files, as a callback may: DIR/notes, which is no netCDF file, and DIR/other.nc, whose
 * variables have the types the other way round. MODE:
 *	others	at offset 0 of DIR/notes, then of DIR/other.nc where the library is going to read DIR/f.nc, but not at offset 0;
 *	twins	the same at offset 0, too: two files begin like a netCDF file;
 *	jump	instead the program leaves nc_open by longjmp at the library's first call of read(2), then reads DIR/f.nc itself.
 */
#include <fcntl.h>
#include <netcdf.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { VARIABLES = 400, VALUES = 5 };

static bool opening, twins, jumps;
static int notes, other;
static jmp_buf away;

/* In the library's place: its reads come here. */
ssize_t read(int fd, void *buffer, size_t n)
{
	static char room[65536];
	off_t at = opening ? lseek(fd, 0, SEEK_CUR) : 0;

	if (opening && jumps) {
		jumps = false;
		longjmp(away, 1);
	}
	if (opening && !at && pread(notes, room, sizeof(room), 0) < 1)
		exit(3);
	if (opening && (at || twins) && pread(other, room, n < sizeof(room) ? n : sizeof(room), at) < 0)
		exit(4);
	return syscall(SYS_read, fd, buffer, n);
}

static void must(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "headers: %s failed\n", what);
	exit(1);
}

static void make_file(const char *path, bool ints_first)
{
	int file, dim, variable;
	char name[16];

	must(nc_create(path, NC_CLOBBER, &file), "nc_create");
	must(nc_def_dim(file, "x", VALUES, &dim), "nc_def_dim");
	for (int i = 0; i < VARIABLES; i++) {
		snprintf(name, sizeof(name), "v%d", i);
		must(nc_def_var(file, name, ints_first == (i % 2 == 0) ? NC_INT : NC_DOUBLE, 1, &dim, &variable), "nc_def_var");
	}
	must(nc_close(file), "nc_close");
}

static int open_file(const char *path)
{
	int file;

	opening = true;
	must(nc_open(path, NC_NOWRITE, &file), "nc_open");
	opening = false;
	return file;
}

static void read_it_alone(const char *path)
{
	static char room[65536];
	int fd = open(path, O_RDONLY);

	opening = false;
	must(fd < 0 || syscall(SYS_read, fd, room, sizeof(room)) <= 0, "read");
	close(fd);
}

int main(int argc, char **argv)
{
	double values[VALUES];
	int file;

	must(argc != 3 || chdir(argv[1]), "headers DIR MODE");
	make_file("f.nc", true);
	make_file("other.nc", false);
	twins = !strcmp(argv[2], "twins");
	jumps = !strcmp(argv[2], "jump");
	notes = open("notes", O_RDWR | O_CREAT, 0644);
	other = jumps ? -1 : open("other.nc", O_RDONLY);
	must(write(notes, "plain text", 10) != 10, "write");
	if (!strcmp(argv[2], "jump")) {
		if (!setjmp(away))
			open_file("f.nc");
		read_it_alone("f.nc");
		return 0;
	}
	file = open_file("f.nc");
	for (int i = 0; i < VARIABLES; i++)
		must(nc_get_var(file, i, values), "nc_get_var");
	must(nc_close(file), "nc_close");
	return 0;
}
