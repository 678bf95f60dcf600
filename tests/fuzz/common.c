/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * What the targets share (see fuzz.h).
 */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/builtin.h"

#define CHECK(ok) do { if (!(ok)) { fprintf(stderr, "fuzz:%d: %s\n", __LINE__, #ok); _exit(3); } } while (0)

/* ---- files ---- */

static char directory[64];

static void remove_directory(void)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(directory);
}

const char *fuzz_directory(void)
{
	if (!directory[0]) {
		strcpy(directory, "/dev/shm/ioprobe-fuzz-XXXXXX");
		CHECK(mkdtemp(directory));
		atexit(remove_directory);
	}
	return directory;
}

const char *fuzz_file(const char *name, const void *data, size_t size)
{
	static char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fuzz_directory(), name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && (size_t)write(fd, data, size) == size);
	close(fd);
	return path;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	CHECK(text);
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	return text;
}

/* ---- tables ---- */

static const char *const functions[] = {
	"open", "openat", "creat", "close", "close_range", "dup", "dup2", "dup3", "fcntl", "flock", "read", "pread64", "readv",
	"write",
	"pwrite64", "writev", "copy_file_range", "lseek", "mmap", "io_setup", "io_submit", "io_getevents", "io_uring_enter",
	"io_uring_sqpoll", "io_uring_complete", "fsync", "ftruncate", "newfstatat", "mkdir", "rename", "unlink", "unlinkat",
	"chdir",
	"socket", "accept4", "connect", "sendto", "recvmmsg",
	"fopen", "fdopen", "freopen", "popen", "pclose", "fclose", "fread", "fwrite", "fputc", "fgets", "fseek", "printf",
	"aio_read", "aio_write", "aio_error", "aio_return", "aio_cancel", "lio_listio", "aio_suspend",
	"MPI_Comm_dup", "MPI_Comm_split", "MPI_Comm_create", "MPI_Wait", "MPI_Test", "MPI_Waitall", "MPI_Cancel",
	"MPI_Request_free",
	"MPI_File_open", "MPI_File_close", "MPI_File_delete", "MPI_File_iwrite", "MPI_File_read_at", "MPI_File_write_at_all",
	"MPI_File_write_all_begin", "MPI_File_write_all_end", "MPI_File_seek", "MPI_File_set_view",
	"H5Fcreate", "H5Fopen", "H5Fclose", "H5Dcreate2", "H5Dopen2", "H5Dwrite", "H5Dread", "H5Dclose", "H5Dset_extent",
	"H5Dget_space",
	"H5Screate_simple", "H5Screate", "H5Scopy", "H5Sclose", "H5Sselect_hyperslab", "H5Sselect_elements", "H5Sselect_all",
	"H5Sget_simple_extent_dims", "H5Sget_select_npoints", "H5Tcopy", "H5Tcreate", "H5Tget_size", "H5Tequal",
	"H5Tget_native_type",
	"H5Tset_size", "H5Iinc_ref", "H5Idec_ref", "H5ESwait", "H5Dwrite_async",
	"nc_create", "nc_open", "nc_close", "nc_def_dim", "nc_def_var", "nc_inq_varndims", "nc_inq_vardimid", "nc_inq_dimlen",
	"nc_inq_varid", "nc_put_var", "nc_put_vara", "nc_get_vara_double", "nc_put_att", "nc_delete",
	"ncmpi_create", "ncmpi_def_var", "ncmpi_iput_vara_int", "ncmpi_put_vara_all", "ncmpi_wait_all", "ncmpi_cancel",
	"ncmpi_close",
};

static int is_wanted(const char *line)
{
	size_t len = strcspn(line, " \t\n");

	if (!strncmp(line, "layer ", 6) || line[0] == ' ' || line[0] == '\t' || line[0] == '\n')
		return 1;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strlen(functions[i]) == len && !memcmp(line, functions[i], len))
			return 1;
	return 0;
}

const char *fuzz_tables(void)
{
	static char *text;
	size_t len;
	FILE *out;

	if (text)
		return text;
	out = open_memstream(&text, &len);
	CHECK(out);
	for (size_t i = 0; i < table_builtin_n; i++) {
		for (const char *line = table_builtin[i].text; *line;
		     line += strcspn(line, "\n") + (line[strcspn(line, "\n")] != 0))
			if (!strchr(table_builtin[i].name, '/') && is_wanted(line))
				fprintf(out, "%.*s\n", (int)strcspn(line, "\n"), line);
	}
	fclose(out);
	return text;
}
